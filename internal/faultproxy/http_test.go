package faultproxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/faultproxy"
)

// upstream counts what arrives and answers 201 with it.
type upstream struct {
	*httptest.Server
	mu   sync.Mutex
	hits []string
}

func startUpstream(tb testing.TB) *upstream {
	tb.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.hits = append(u.hits, r.Method+" "+r.Host+r.URL.RequestURI()+" "+r.Header.Get("Idempotency-Key")+" "+string(body))
		u.mu.Unlock()
		w.Header().Set("X-Own", "yes")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "made")
	}))
	tb.Cleanup(u.Close)
	return u
}

func (u *upstream) seen() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Join(u.hits, "|")
}

// put sends one request through a proxy with a fault, and returns the answer
// ("" if there was none) and what the proxy saw.
func put(tb testing.TB, u *upstream, f faultproxy.HTTPFault, timeout time.Duration) (status int, body string, x faultproxy.Exchange) {
	tb.Helper()
	seen := make(chan faultproxy.Exchange, 1)
	p, err := faultproxy.StartHTTP(faultproxy.HTTPOptions{
		Upstream: u.URL, Seen: func(x faultproxy.Exchange) { seen <- x },
		Choose: func(string, string, []byte) faultproxy.HTTPFault { return f },
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/a%2Fb?c=d", strings.NewReader("body"))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "k1")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if res, err := client.Do(req); err == nil {
		data, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		status, body = res.StatusCode, string(data)
		if status == http.StatusCreated && res.Header.Get("X-Own") != "yes" {
			tb.Error("a header of the answer is lost")
		}
	}
	if err := p.Quiet(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	x = <-seen
	if err := p.Close(); err != nil {
		tb.Fatal(err)
	}
	return status, body, x
}

func TestHTTPFaultsReachTheServerOnceOrNever(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   faultproxy.HTTPFault
		timeout time.Duration
		status  int // that the client gets; 0: none
		arrives bool
	}{
		"nothing":                {faultproxy.HTTPFault{}, 10 * time.Second, 201, true},
		"request lost":           {faultproxy.HTTPFault{Kind: faultproxy.LoseRequest}, 10 * time.Second, 0, false},
		"answer lost":            {faultproxy.HTTPFault{Kind: faultproxy.LoseAnswer}, 10 * time.Second, 0, true},
		"answer held":            {faultproxy.HTTPFault{Kind: faultproxy.HoldAnswer, Delay: 20 * time.Millisecond}, 10 * time.Second, 201, true},
		"answer held too long":   {faultproxy.HTTPFault{Kind: faultproxy.HoldAnswer, Delay: time.Hour}, 50 * time.Millisecond, 0, true},
		"delivered late":         {faultproxy.HTTPFault{Kind: faultproxy.DeliverLate, Delay: 60 * time.Millisecond}, 10 * time.Second, 0, true},
		"refused by the proxy":   {faultproxy.HTTPFault{Kind: faultproxy.AnswerInstead, Status: 429}, 10 * time.Second, 429, false},
		"other status than true": {faultproxy.HTTPFault{Kind: faultproxy.AnswerAfter, Status: 503}, 10 * time.Second, 503, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := startUpstream(t)
			status, _, x := put(t, u, c.fault, c.timeout)
			want := ""
			if c.arrives {
				want = "POST " + strings.TrimPrefix(u.URL, "http://") + "/a%2Fb?c=d k1 body"
			}
			if got := u.seen(); status != c.status || got != want {
				t.Errorf("the client got %d, want %d; the server %q, want %q", status, c.status, got, want)
			}
			if x.Forwarded != c.arrives || (x.Status == 201) != c.arrives || x.Method != "POST" || string(x.Body) != "body" {
				t.Errorf("the proxy saw %+v", x)
			}
			if c.fault.Kind == faultproxy.DeliverLate && x.AnsweredAt.Sub(x.At) < c.fault.Delay {
				t.Errorf("delivered after %v", x.AnsweredAt.Sub(x.At))
			}
		})
	}
}

func TestAServerThatIsReachedByHTTPSGetsTheSame(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.Store(r.Proto + " " + r.Host + " " + r.Header.Get("Authorization") + " " + string(body))
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	p, err := faultproxy.StartHTTP(faultproxy.HTTPOptions{Upstream: srv.URL, Transport: srv.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/x", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t")
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if want := "HTTP/1.1 " + strings.TrimPrefix(srv.URL, "https://") + " Bearer t body"; res.StatusCode != http.StatusTemporaryRedirect || seen.Load() != want {
		t.Errorf("answered %d; the server saw %v, want %s", res.StatusCode, seen.Load(), want)
	}
}

func TestALateRequestNeverArrivesAfterClose(t *testing.T) {
	t.Parallel()
	u := startUpstream(t)
	p, err := faultproxy.StartHTTP(faultproxy.HTTPOptions{
		Upstream: u.URL,
		Choose: func(string, string, []byte) faultproxy.HTTPFault {
			return faultproxy.HTTPFault{Kind: faultproxy.DeliverLate, Delay: time.Hour}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := http.Post(p.URL(), "text/plain", strings.NewReader("x")); err == nil {
		_ = res.Body.Close()
		t.Error("there was an answer")
	}
	if err := p.Close(); err != nil || u.seen() != "" {
		t.Errorf("close: %v; the server got %q", err, u.seen())
	}
}
