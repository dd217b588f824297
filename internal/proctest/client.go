package proctest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/simprovider"
)

// Answer is what a caller reads of an answer.
type Answer struct {
	Status    int
	Decision  string    `json:"decision"`
	Code      string    `json:"code"` // of a problem
	Detail    string    `json:"detail"`
	Operation Operation `json:"operation"`
}

// Operation is what a caller reads of an operation.
type Operation struct {
	ID           string `json:"id"`
	State        string `json:"state"`
	Reference    string `json:"reference"`
	Attempts     int    `json:"attempts"`
	OpenAttempts int    `json:"open_attempts"`
	Cancel       bool   `json:"cancel_requested"`
}

// Final reports whether the operation needs nothing but, at most, a person.
func (o Operation) Final() bool {
	switch o.State {
	case "succeeded", "failed", "cancelled", "abandoned", "compensated", "needs_review":
		return true
	}
	return false
}

var client = &http.Client{Timeout: 90 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// Ask makes one request, as a caller that may lose the answer.
func Ask(ctx context.Context, method, address, body string) (Answer, error) {
	var r io.Reader
	if body != "" {
		r = bytes.NewReader([]byte(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, address, r)
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: res.StatusCode}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("read answer %d: %w", res.StatusCode, err)
	}
	return a, nil
}

// Call asks a server for a tool's write.
func (s *Server) Call(ctx context.Context, tool, input string, wait time.Duration) (Answer, error) {
	return Ask(ctx, http.MethodPost, s.URL()+"/v1/tools/"+url.PathEscape(tool)+"/call?wait="+wait.String(), input)
}

// Provider is the bundled provider, in the test's own process.
type Provider struct {
	*simprovider.Server
	URL string
}

// NewProvider starts a provider that is stopped when the test ends.
func NewProvider(tb testing.TB) *Provider {
	tb.Helper()
	s := simprovider.New(simprovider.Options{})
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	l := listen(tb)
	go func() { _ = srv.Serve(l) }()
	tb.Cleanup(func() { _ = s.Close(); _ = srv.Close() })
	return &Provider{Server: s, URL: "http://" + l.Addr().String()}
}
