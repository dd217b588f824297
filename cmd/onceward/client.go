package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
)

// client asks a server. It never repeats a request by itself: the person, or
// the program around it, asks again with the same key.
type client struct {
	base  string
	token string
	http  *http.Client
	other bool // what is asked is not onceward, as the bundled provider: it does not say its version
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
	token, err := cfg.bearer()
	if err != nil {
		return nil, err
	}
	if token != "" && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return nil, usageError("the token would travel in clear to %s: ask by https://", u.Host)
	}
	return &client{base: strings.TrimRight(cfg.Server, "/"), token: token, http: &http.Client{
		Timeout: onceward.MaxWait + answerGrace,
		// Why: onceward redirects nobody, and a write, with its token, belongs to
		// the address that was given.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// answerGrace is how long a server may take beyond the time that it was asked to wait.
const answerGrace = 30 * time.Second

// answerBytesMax is the longest answer that is read: an operation with all of
// its attempts' evidence is far below.
const answerBytesMax = 64 << 20

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
	data, err := io.ReadAll(io.LimitReader(res.Body, answerBytesMax+1))
	if err != nil {
		return nil, unreachable(cl.base, err)
	}
	if len(data) > answerBytesMax {
		return nil, stranger(cl.base, fmt.Sprintf("the answer is longer than %d bytes", answerBytesMax))
	}
	rep := &reply{status: res.StatusCode, header: res.Header, body: data}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); {
	case res.StatusCode/100 == 2 && kind == "application/json" && json.Valid(data) && (cl.other || res.Header.Get(httpapi.VersionHeader) != ""):
		return rep, nil
	case kind != "application/problem+json":
		return nil, stranger(cl.base, fmt.Sprintf("it answered %d with %s", res.StatusCode, orNothing(kind)))
	}
	var p problem
	if json.Unmarshal(data, &p) != nil || p.Code == "" {
		return nil, stranger(cl.base, fmt.Sprintf("it answered %d with a problem that is not one of onceward", res.StatusCode))
	}
	if res.StatusCode == http.StatusFailedDependency && len(p.Operation) > 0 {
		return rep, nil
	}
	return rep, &refusal{err: p.refusal(), body: data}
}

// refusal is a problem as it came, with the words of the server as an error.
type refusal struct {
	err  *onceward.Error
	body []byte
}

func (r *refusal) Error() string { return r.err.Error() }

// Unwrap gives the error its code.
func (r *refusal) Unwrap() error { return r.err }

func orNothing(kind string) string {
	if kind == "" {
		return "nothing that says what it is"
	}
	return kind
}

// stranger is the error of an address at which something else answers.
func stranger(base, how string) error {
	return &exitError{code: exitUnreachable, err: &onceward.Error{Code: onceward.CodeLedgerUnavailable,
		Message: base + " does not answer as onceward does: " + how, Hint: "is --server the address of an onceward server, with nothing in between?"}}
}

func unreachable(base string, err error) error {
	if errors.Is(err, context.Canceled) {
		return &onceward.Error{Code: onceward.CodeCanceled, Message: "stopped waiting", Hint: "ask again with the same key"}
	}
	what := "a write may have been recorded: ask again with the same key"
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		what = "nothing was sent"
	}
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Message: "no answer from " + base, Err: err,
		Hint: "is it running? onceward serve starts one; " + what}
}

// refusal is the problem as an error with the server's words.
func (p *problem) refusal() *onceward.Error {
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
