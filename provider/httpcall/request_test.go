package httpcall_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

func TestHeaderThatCouldChangeTheMessageIsRefused(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	c := newClient(t, httpcall.Options{})
	for _, h := range []onceward.HeaderField{
		{Name: "X", Value: "a\r\nEvil: 1"}, {Name: "X", Value: "a\nEvil: 1"}, {Name: "X", Value: "a\rb"}, {Name: "X", Value: "a\x00b"}, {Name: "X", Value: "a\x7f"},
		{Name: "X\r\nEvil", Value: "1"}, {Name: "X:", Value: "1"}, {Name: "X Y", Value: "1"}, {Name: "", Value: "1"}, {Name: "Ü", Value: "1"},
		{Name: "content-length", Value: "3"}, {Name: "Transfer-Encoding", Value: "chunked"}, {Name: "Connection", Value: "close"}, {Name: "Host", Value: "evil"},
		{Name: "TE", Value: "trailers"}, {Name: "Trailer", Value: "X"}, {Name: "Upgrade", Value: "h2c"}, {Name: "Expect", Value: "100-continue"},
		{Name: "Keep-Alive", Value: "1"}, {Name: "Proxy-Connection", Value: "1"}, {Name: "Proxy-Authorization", Value: "1"}, {Name: "HTTP2-Settings", Value: "1"},
	} {
		req := post("http://" + up.Addr() + "/a")
		req.Header = append(req.Header, h)
		ev := c.Send(t.Context(), req, write(up.Addr()))
		if ev.ErrorCode != "header_refused" || ev.ErrorClass != onceward.ClassValidation || ev.Reach != onceward.ReachNotDialled {
			t.Errorf("%q: %q: %s", h.Name, h.Value, show(ev))
		}
		if strings.Contains(ev.ErrorText, "Evil") {
			t.Errorf("the text quotes the request: %q", ev.ErrorText)
		}
	}
	for _, method := range []string{"", "CONNECT", "TRACE", "GET /x HTTP/1.1\r\nA:", "PO ST"} {
		req := post("http://" + up.Addr() + "/a")
		req.Method = method
		if ev := c.Send(t.Context(), req, write(up.Addr())); ev.ErrorCode != "method_refused" || ev.Reach != onceward.ReachNotDialled {
			t.Errorf("method %q: %s", method, show(ev))
		}
	}
	if up.Connections() != 0 {
		t.Errorf("%d connections were made", up.Connections())
	}
}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	const agent, plain = "User-Agent: onceward/dev\r\n", "Accept-Encoding: identity\r\n"
	for name, c := range map[string]struct {
		req  onceward.Request
		path string
		want string
	}{
		"no body and none expected":  {onceward.Request{Method: "DELETE"}, "/a?x=1&y=%20#part", "DELETE /a?x=1&y=%20 HTTP/1.1\r\nHost: HOST\r\n" + agent + plain + "\r\n"},
		"no body where one is usual": {onceward.Request{Method: "PUT"}, "", "PUT / HTTP/1.1\r\nHost: HOST\r\n" + agent + plain + "Content-Length: 0\r\n\r\n"},
		"empty body":                 {onceward.Request{Method: "DELETE", Body: []byte{}}, "/", "DELETE / HTTP/1.1\r\nHost: HOST\r\n" + agent + plain + "Content-Length: 0\r\n\r\n"},
		"repeated and own headers": {onceward.Request{Method: "POST", Body: []byte("a\x00\r\n\r\nb"), Header: []onceward.HeaderField{
			{Name: "x-b", Value: "2"}, {Name: "User-Agent", Value: "mine/1"}, {Name: "X-A", Value: "1"}, {Name: "x-b", Value: "\t3"}, {Name: "Accept-Encoding", Value: "br, gzip"},
		}}, "/a", "POST /a HTTP/1.1\r\nHost: HOST\r\n" + plain + "x-b: 2\r\nUser-Agent: mine/1\r\nX-A: 1\r\nx-b: \t3\r\nContent-Length: 7\r\n\r\na\x00\r\n\r\nb"},
		"odd characters": {onceward.Request{Method: "PATCH", Body: []byte("x"), Header: []onceward.HeaderField{{Name: "Accept-Encoding", Value: "GZIP"}}}, "/ü/a%2Fb c?q=ü \"<", "PATCH /%C3%BC/a%2Fb%20c?q=%C3%BC%20\"< HTTP/1.1\r\nHost: HOST\r\n" + agent + "Accept-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"},
	} {
		up := providertest.NewUpstream(t)
		client := newClient(t, httpcall.Options{})
		c.req.URL = "http://" + up.Addr() + c.path
		if ev := client.Send(t.Context(), &c.req, write(up.Addr())); ev.Status != 200 {
			t.Errorf("%s: %s", name, show(ev))
			continue
		}
		if got, want := string(up.Requests()[0].Raw), strings.ReplaceAll(c.want, "HOST", up.Addr()); got != want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}
