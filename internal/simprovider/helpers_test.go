package simprovider

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a provider behind a real listener, and a client of it.
type site struct {
	t      testing.TB
	server *Server
	clock  *handClock
	http   *httptest.Server
	client *http.Client
}

// start serves a provider whose clock stands still. The client opens a
// connection per request, so that it never re-sends one by itself.
func start(t testing.TB, opts Options) *site {
	t.Helper()
	clock := newHandClock()
	opts.Clock = clock
	server, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, server: server, clock: clock, http: httptest.NewServer(server.Handler())}
	s.client = &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(s.stop)
	return s
}

func (s *site) stop() {
	if err := s.server.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	s.http.Close()
}

// got is what a client saw.
type got struct {
	status int
	header http.Header
	body   string
	err    error // of the exchange or of reading the body
}

func (g got) field(t testing.TB, name string) any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(g.body), &v); err != nil {
		t.Fatalf("answer %d is not a JSON object: %v\n%s", g.status, err, g.body)
	}
	return v[name]
}

func (g got) code(t testing.TB) string {
	t.Helper()
	code, _ := g.field(t, "code").(string)
	return code
}

// do sends a request; headers are name, value, name, value.
func (s *site) do(method, path, body string, headers ...string) got {
	s.t.Helper()
	return s.doContext(s.t.Context(), method, path, body, headers...)
}

func (s *site) doContext(ctx context.Context, method, path, body string, headers ...string) got {
	req, err := http.NewRequestWithContext(ctx, method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		return got{err: err}
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return got{status: resp.StatusCode, header: resp.Header, body: string(read), err: err}
}

// must is do for an exchange that works and ends with the given status.
func (s *site) must(status int, method, path, body string, headers ...string) got {
	s.t.Helper()
	g := s.do(method, path, body, headers...)
	if g.err != nil || g.status != status {
		s.t.Fatalf("%s %s: got %d %s (error %v), want %d", method, path, g.status, g.body, g.err, status)
	}
	return g
}

// wantCount checks effects and arrivals under a reference, over the wire.
func (s *site) wantCount(reference string, effects, requests int) {
	s.t.Helper()
	rep := s.report(reference)
	if rep.Count != effects || rep.Requests != requests {
		s.t.Errorf("%s: %d effects by %d requests, want %d by %d", reference, rep.Count, rep.Requests, effects, requests)
	}
}

func (s *site) report(reference string) Report {
	s.t.Helper()
	var rep Report
	body := s.must(http.StatusOK, http.MethodGet, "/effects?reference="+reference, "").body
	if err := json.Unmarshal([]byte(body), &rep); err != nil {
		s.t.Fatal(err)
	}
	return rep
}

func (s *site) items(path string) []any {
	s.t.Helper()
	items, ok := s.must(http.StatusOK, http.MethodGet, path, "").field(s.t, "items").([]any)
	if !ok {
		s.t.Fatalf("%s has no list of items", path)
	}
	return items
}

func ticketBody(externalID string) string {
	return `{"title":"Printer on fire","text":"hurry","external_id":"` + externalID + `"}`
}

func paymentBody(reference string) string {
	return `{"amount":1200,"currency":"EUR","reference":"` + reference + `"}`
}

// handClock moves only when it is told to.
type handClock struct {
	mu     sync.Mutex
	cond   *sync.Cond
	now    time.Time
	timers map[*handTimer]struct{}
}

type handTimer struct {
	at time.Time
	f  func()
}

func newHandClock() *handClock {
	c := &handClock{
		now:    time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC),
		timers: map[*handTimer]struct{}{},
	}
	c.cond = sync.NewCond(&c.mu)
	return c
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &handTimer{at: c.now.Add(d), f: f}
	c.timers[timer] = struct{}{}
	c.cond.Broadcast()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.timers[timer]
		delete(c.timers, timer)
		return there
	}
}

// advance moves the clock and runs what has become due before it returns.
func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []*handTimer
	for timer := range c.timers {
		if !timer.at.After(c.now) {
			due = append(due, timer)
			delete(c.timers, timer)
		}
	}
	c.mu.Unlock()
	for _, timer := range due {
		timer.f()
	}
}

// awaitTimers blocks until n timers are set.
func (c *handClock) awaitTimers(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers) < n {
		c.cond.Wait()
	}
}

func newHTTP2(s *Server) *httptest.Server {
	server := httptest.NewUnstartedServer(s.Handler())
	server.EnableHTTP2 = true
	server.StartTLS()
	return server
}

func newTLS(s *Server) *httptest.Server { return httptest.NewTLSServer(s.Handler()) }

// lineChannel is a log whose lines can be waited for.
type lineChannel chan string

func (c lineChannel) Write(line []byte) (int, error) {
	c <- string(line)
	return len(line), nil
}
