package httpcall_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

// tunnels is a proxy that opens CONNECT tunnels and writes down what it was asked.
type tunnels struct {
	addr   string
	answer string

	mu    sync.Mutex
	asked []string // target and credentials
}

func startTunnels(tb testing.TB, answer string) *tunnels {
	tb.Helper()
	l := listen(tb)
	p := &tunnels{addr: l.Addr().String(), answer: answer}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(c) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return p
}

func (p *tunnels) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	br := bufio.NewReader(c)
	r, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	_, _ = io.WriteString(c, p.answer)
	if !strings.Contains(p.answer, " 200 ") {
		return
	}
	to, err := net.Dial("tcp", r.RequestURI)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(to, br)
		_ = to.Close()
	}()
	_, _ = io.Copy(c, to)
}

func (p *tunnels) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

const opened = "HTTP/1.1 200 Connection established\r\n\r\n"

func TestProxyOpensATunnelForEveryScheme(t *testing.T) {
	t.Parallel()
	cert, roots := authority(t)
	proxy := startTunnels(t, opened)
	c := newClient(t, httpcall.Options{RootCAs: roots, Proxy: &url.URL{Scheme: "http", Host: proxy.addr, User: url.UserPassword("u", "proxy-pass")}})
	plain, secure := providertest.NewUpstream(t), tlsUpstream(t, cert, nil)
	for range 2 {
		for _, u := range []string{"http://" + plain.Addr(), "https://" + secure.Addr()} {
			ev := c.Send(t.Context(), post(u+"/a"), write(plain.Addr(), secure.Addr()))
			if ev.Status != 200 || strings.Contains(show(ev), "proxy-pass") {
				t.Errorf("%s: %s", u, show(ev))
			}
		}
	}
	arrived(t, plain, 2)
	arrived(t, secure, 2)
	asked := proxy.requests()
	if len(asked) != 2 || asked[0] != "CONNECT "+plain.Addr()+" Basic dTpwcm94eS1wYXNz" {
		t.Errorf("the proxy was asked %q", asked)
	}
	if raw := string(plain.Requests()[0].Raw); strings.Contains(raw, "Proxy") {
		t.Errorf("the upstream got %q", raw)
	}
	if c.ByteTail() != 15*time.Minute {
		t.Errorf("tail behind a proxy = %v, want 15m", c.ByteTail())
	}
}

func TestProxyThatOpensNoTunnelSendsNothing(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	for _, answer := range []string{"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "nonsense\r\n\r\n", "", opened + "unasked bytes"} {
		proxy := startTunnels(t, answer)
		c := newClient(t, httpcall.Options{Proxy: &url.URL{Scheme: "http", Host: proxy.addr}})
		ev := c.Send(t.Context(), post("http://"+up.Addr()+"/a"), write(up.Addr()))
		if ev.ErrorCode != "proxy_failed" || !ev.Reach.NothingSent() || ev.ErrorClass != onceward.ClassConnection {
			t.Errorf("%q: %s", answer, show(ev))
		}
	}
	arrived(t, up, 0)
}

func TestProxyDoesNotOpenTheHostList(t *testing.T) {
	t.Parallel()
	proxy := startTunnels(t, opened)
	c := newClient(t, httpcall.Options{Proxy: &url.URL{Scheme: "http", Host: proxy.addr}})
	if ev := c.Send(t.Context(), post("http://elsewhere.example/"), write("api.example")); ev.ErrorCode != "host_refused" {
		t.Errorf("evidence = %s", show(ev))
	}
	if ev := c.Send(t.Context(), post("http://169.254.169.254:1/"), write("169.254.169.254")); ev.ErrorCode != "address_refused" {
		t.Errorf("evidence = %s", show(ev))
	}
	if n := len(proxy.requests()); n != 0 {
		t.Errorf("the proxy was asked %d times", n)
	}
}
