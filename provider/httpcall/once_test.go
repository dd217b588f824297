package httpcall_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

// plainClient is the standard client with a pool of its own. Tests use it to
// show that a trap is one: where it sends twice, the trap works.
func plainClient(tb testing.TB, t *http.Transport) *http.Client {
	tb.Helper()
	tb.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

func plainSend(tb testing.TB, c *http.Client, req *onceward.Request) {
	tb.Helper()
	var body *bytes.Reader
	r, err := http.NewRequestWithContext(context.Background(), req.Method, req.URL, nil)
	if req.Body != nil {
		body = bytes.NewReader(req.Body)
		r, err = http.NewRequestWithContext(context.Background(), req.Method, req.URL, body)
	}
	if err != nil {
		tb.Fatal(err)
	}
	for _, h := range req.Header {
		r.Header.Add(h.Name, h.Value)
	}
	resp, err := c.Do(r)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

func TestReusedConnectionClosedAfterReadingTheWriteIsNotSentAgain(t *testing.T) {
	t.Parallel()
	bodyless := func(method string) func(string) *onceward.Request {
		return func(url string) *onceward.Request {
			return &onceward.Request{Method: method, URL: url, Header: post("").Header[1:]}
		}
	}
	for name, make := range map[string]func(string) *onceward.Request{
		"post with key": post, "put without body": bodyless("PUT"), "delete without body": bodyless("DELETE"), "get": bodyless("GET"),
	} {
		for how, end := range map[string]providertest.Step{"close": providertest.Close(), "reset": providertest.Reset()} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				control := providertest.NewUpstream(t, providertest.Answer(providertest.OK), end)
				plain := plainClient(t, &http.Transport{})
				plainSend(t, plain, post("http://"+control.Addr()+"/warm"))
				plainSend(t, plain, make("http://"+control.Addr()+"/x"))
				if n := len(control.Requests()); n != 3 {
					t.Fatalf("the trap is none: the standard client sent %d requests, want 3", n)
				}

				up := providertest.NewUpstream(t, providertest.Answer(providertest.OK), end)
				c := newClient(t, httpcall.Options{})
				c.Send(t.Context(), post("http://"+up.Addr()+"/warm"), write(up.Addr()))
				ev := c.Send(t.Context(), make("http://"+up.Addr()+"/x"), write(up.Addr()))
				if n, conns := len(up.Requests()), up.Connections(); n != 2 || conns != 1 {
					t.Errorf("%d requests over %d connections, want 2 over 1", n, conns)
				}
				if ev.Status != 0 || ev.Reach != onceward.ReachBodyWritten || ev.ErrorClass != onceward.ClassConnection || ev.LastByteAt.IsZero() {
					t.Errorf("evidence = %+v", ev)
				}
			})
		}
	}
}
