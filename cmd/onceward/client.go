package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
)

// client asks a server. It never repeats a request by itself: the person, or
// the program around it, asks again with the same key.
type client struct {
	base  string
	token string
	http  *http.Client
}

// reply is an answer of the server, as it came.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// problem is a refusal (RFC 9457).
type problem struct {
	Code      string          `json:"code"`
	Detail    string          `json:"detail"`
	Title     string          `json:"title"`
	Advice    string          `json:"advice"`
	Operation json.RawMessage `json:"operation"`
}

func newClient(c *cobra.Command) (*client, error) {
	cfg, err := loadConfig(c)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(cfg.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError("server %q is not an http:// or https:// address", cfg.Server)
	}
	return &client{base: strings.TrimRight(cfg.Server, "/"), token: cfg.Token, http: &http.Client{Timeout: onceward.MaxWait + 30*time.Second}}, nil
}

// do sends one request and returns the answer if it is 2xx, or a 424 with an
// operation; any other answer is an error that carries the server's words.
func (cl *client) do(ctx context.Context, method, path string, body any, header ...string) (*reply, error) {
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, cl.base+path, r)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if cl.token != "" {
		req.Header.Set("Authorization", "Bearer "+cl.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := cl.http.Do(req)
	if err != nil {
		return nil, unreachable(cl.base, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, unreachable(cl.base, err)
	}
	rep := &reply{status: res.StatusCode, header: res.Header, body: data}
	if res.StatusCode/100 == 2 || res.StatusCode == http.StatusFailedDependency {
		return rep, nil
	}
	return rep, refusal(res.StatusCode, data)
}

func unreachable(base string, err error) error {
	if errors.Is(err, context.Canceled) {
		return &onceward.Error{Code: onceward.CodeCanceled, Message: "stopped waiting", Hint: "ask again with the same key"}
	}
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Message: "no answer from " + base, Err: err,
		Hint: "is it running? onceward serve starts one; a write may have been recorded: ask again with the same key"}
}

func refusal(status int, body []byte) error {
	var p problem
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return &onceward.Error{Code: onceward.CodeInternal, Message: fmt.Sprintf("the server answered %d, and not as onceward does", status), Hint: "is --server the address of an onceward server?"}
	}
	msg := p.Detail
	if msg == "" {
		msg = p.Title
	}
	return &onceward.Error{Code: onceward.Code(p.Code), Message: msg, Hint: p.Advice}
}

// printJSON prints an answer as it came, indented.
func printJSON(w io.Writer, body []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := b.WriteTo(w)
	return err
}

func wantsJSON(c *cobra.Command) bool {
	v, err := c.Flags().GetBool("json")
	return err == nil && v
}
