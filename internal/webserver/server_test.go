package webserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// started is a server that is served until the test ends.
type started struct {
	testing.TB
	*Server
	done chan error
}

func start(t testing.TB, handler http.HandlerFunc, edit ...func(*Options)) *started {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Handler: handler, Listener: l, Refuse: func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, string(onceward.CodeOf(err)), http.StatusForbidden)
	}}
	for _, e := range edit {
		e(&opts)
	}
	srv, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	s := &started{TB: t, Server: srv, done: make(chan error, 1)}
	go func() { s.done <- srv.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shut down: %v", err)
		}
		if err := <-s.done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

// raw sends bytes on a connection of its own and returns what comes back until
// the server closes it or the answer has been read.
func (s *started) raw(text string) *http.Response {
	s.Helper()
	c := s.dial()
	if _, err := io.WriteString(c, text); err != nil {
		s.Fatal(err)
	}
	return s.read(c)
}

func (s *started) dial() net.Conn {
	s.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *started) read(c net.Conn) *http.Response {
	s.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.Fatalf("read the answer: %v", err)
	}
	return res
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestServerNeedsAHandlerAndAListener(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Handler: http.NotFoundHandler()}); !onceward.Is(err, onceward.CodeConfigInvalid) {
		t.Errorf("error is %v", err)
	}
}

// What net/http refuses before any handler is plain text; docs/rough-edges.md says so.
func TestHeaderThatIsNoHeaderReachesNoHandler(t *testing.T) {
	t.Parallel()
	s := start(t, func(http.ResponseWriter, *http.Request) { t.Error("a handler saw the request") })
	for _, line := range []string{"X-Bad: a\x01b", "X Bad: a", "no header"} {
		res := s.raw("GET / HTTP/1.1\r\nHost: " + s.Addr().String() + "\r\n" + line + "\r\n\r\n")
		if res.StatusCode != http.StatusBadRequest || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") || !res.Close {
			t.Errorf("%q is answered by %d %v", line, res.StatusCode, res.Header)
		}
	}
}

func TestHeaderOverItsLimitIsRefusedAsEverythingElseIs(t *testing.T) {
	t.Parallel()
	s := start(t, func(http.ResponseWriter, *http.Request) { t.Error("a handler saw the request") }, func(o *Options) {
		o.HeaderBytesMax = 2000
		o.Refuse = func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, string(onceward.CodeOf(err)), http.StatusTeapot)
		}
	})
	for _, head := range []string{"GET / HTTP/1.1\r\nX-Long: " + strings.Repeat("a", 2000), "GET /?" + strings.Repeat("a", 2000) + " HTTP/1.1"} {
		res := s.raw(head + "\r\nHost: " + s.Addr().String() + "\r\n\r\n")
		if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusTeapot || strings.TrimSpace(string(body)) != string(onceward.CodeTooLarge) {
			t.Errorf("answered %d %s", res.StatusCode, body)
		}
	}
}

func TestQuestionForTheWholeServerIsAnsweredByTheHandler(t *testing.T) {
	t.Parallel()
	s := start(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	if res := s.raw("OPTIONS * HTTP/1.1\r\nHost: " + s.Addr().String() + "\r\n\r\n"); res.StatusCode != http.StatusTeapot {
		t.Errorf("answered %d by something else", res.StatusCode)
	}
	if res := s.raw("OPTIONS * HTTP/1.1\r\nHost: evil.example.com\r\n\r\n"); res.StatusCode != http.StatusForbidden {
		t.Errorf("another host is answered %d", res.StatusCode)
	}
}

func TestHeaderThatDawdlesIsCutOff(t *testing.T) {
	t.Parallel()
	s := start(t, hello, func(o *Options) { o.HeaderTimeout = 50 * time.Millisecond })
	c := s.dial()
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("the connection was not closed by the server: %v", err)
	}
}

func TestBodyThatDawdlesIsCutOff(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	s := start(t, func(_ http.ResponseWriter, req *http.Request) {
		_, err := io.ReadAll(req.Body)
		failed <- err
	}, func(o *Options) { o.RequestTimeout = 50 * time.Millisecond })
	c := s.dial()
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: "+s.Addr().String()+"\r\nContent-Length: 10\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	select {
	case err := <-failed:
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("reading the body ended with %v, want a timeout", err)
		}
	case <-time.After(20 * time.Second): // closing the connection ends the handler
		t.Error("the body is still waited for")
	}
}

func TestHandlerMayWaitLongerThanARequestMayTake(t *testing.T) {
	t.Parallel()
	const within = 50 * time.Millisecond
	s := start(t, func(w http.ResponseWriter, req *http.Request) {
		if _, err := io.ReadAll(req.Body); err != nil {
			t.Errorf("read body: %v", err)
		}
		select { // the caller must not seem to hang up when the body's time is over
		case <-req.Context().Done():
			t.Error("the request ended while its handler waited")
		case <-time.After(3 * within): // on a real connection only real time passes
		}
		hello(w, req)
	}, func(o *Options) { o.RequestTimeout = within })
	for _, framing := range []string{"Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"} {
		if res := s.raw("POST / HTTP/1.1\r\nHost: " + s.Addr().String() + "\r\n" + framing); res.StatusCode != 200 {
			t.Errorf("status %d after %q", res.StatusCode, framing)
		}
	}
}

// What is longer by far is not read to its end, and refused by net/http.
func TestHeaderThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, hello)
	res := s.raw("GET / HTTP/1.1\r\nHost: " + s.Addr().String() + "\r\nX-Long: " + strings.Repeat("a", 2*DefaultHeaderBytesMax+8<<10) + "\r\n\r\n")
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestAnswerToABodyThatIsNotReadArrives(t *testing.T) {
	t.Parallel()
	s := start(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	c := s.dial()
	go func() {
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: "+s.Addr().String()+"\r\nContent-Length: 8000000\r\n\r\n"+strings.Repeat("a", 8_000_000))
	}()
	if res := s.read(c); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestConnectionsBeyondTheLimitWaitForASlot(t *testing.T) {
	t.Parallel()
	s := start(t, hello, func(o *Options) { o.ConnectionsMax = 1 })
	request := "GET / HTTP/1.1\r\nHost: " + s.Addr().String() + "\r\n\r\n"
	first := s.dial()
	if _, err := io.WriteString(first, request); err != nil {
		t.Fatal(err)
	}
	if res := s.read(first); res.StatusCode != 200 {
		t.Fatalf("status %d", res.StatusCode)
	}
	second := s.dial() // in the kernel's queue
	if _, err := io.WriteString(second, request); err != nil {
		t.Fatal(err)
	}
	if err := second.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := second.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Fatal("the second connection was served beside the first")
	}
	if err := errors.Join(first.Close(), second.SetReadDeadline(time.Now().Add(20*time.Second))); err != nil {
		t.Fatal(err)
	}
	if res := s.read(second); res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestShutdownLetsARequestBeAnswered(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	s := start(t, func(w http.ResponseWriter, req *http.Request) {
		close(entered)
		<-release
		hello(w, req)
	})
	s.OnShutdown(func() { close(release) })
	answered := make(chan int, 1)
	go func() { answered <- s.raw("GET / HTTP/1.1\r\nHost: " + s.Addr().String() + "\r\n\r\n").StatusCode }()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if status := <-answered; status != 200 {
		t.Errorf("status %d", status)
	}
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("the server still listens")
	}
}

func TestShutdownCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	entered, hungUp := make(chan struct{}), make(chan struct{})
	s := start(t, func(_ http.ResponseWriter, req *http.Request) {
		close(entered)
		<-req.Context().Done()
		close(hungUp)
	})
	c := s.dial()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+s.Addr().String()+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shut down: %v, want the context's end", err)
	}
	select {
	case <-hungUp:
	case <-time.After(20 * time.Second):
		t.Error("the request was not cut off")
	}
}

func TestEveryRequestHasAName(t *testing.T) {
	t.Parallel()
	s := start(t, hello)
	host := "\r\nHost: " + s.Addr().String() + "\r\n"
	seen := map[string]bool{}
	for range 3 {
		seen[s.raw("GET / HTTP/1.1"+host+"\r\n").Header.Get(RequestIDHeader)] = true
	}
	if len(seen) != 3 || seen[""] {
		t.Errorf("names are %v", seen)
	}
	if got := s.raw("GET / HTTP/1.1" + host + "X-Request-ID: mine-1\r\n\r\n").Header.Get(RequestIDHeader); got != "mine-1" {
		t.Errorf("the caller's name became %q", got)
	}
	for _, bad := range []string{"a b", `a"b`, strings.Repeat("a", requestIDBytesMax+1)} {
		if got := s.raw("GET / HTTP/1.1" + host + "X-Request-ID: " + bad + "\r\n\r\n").Header.Get(RequestIDHeader); !strings.HasPrefix(got, "req_") {
			t.Errorf("the unusable name %.10q became %.10q", bad, got)
		}
	}
}

func TestLimitedConnectionCanEndItsAnswerAlone(t *testing.T) {
	t.Parallel()
	inner, err := Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 1)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	half, ok := c.(interface{ CloseWrite() error }) // what net/http looks for
	if !ok {
		t.Fatal("net/http cannot end its answer and go on reading")
	}
	if err := errors.Join(half.CloseWrite(), client.SetDeadline(time.Now().Add(20*time.Second))); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(client); err != nil || len(b) > 0 {
		t.Errorf("the answer did not end: %q, %v", b, err)
	}
}

func TestLimitsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/http.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		fmt.Sprintf("| request header | %d bytes |", DefaultHeaderBytesMax),
		fmt.Sprintf("| a request header arrives within | %s |", DefaultHeaderTimeout),
		fmt.Sprintf("| a whole request arrives within | %s |", DefaultRequestTimeout),
		fmt.Sprintf("| a request is answered within, waiting included | %s |", DefaultAnswerTimeout),
		fmt.Sprintf("| a connection is kept open between requests for | %s |", DefaultIdleTimeout),
		fmt.Sprintf("| connections served at once; more wait | %d |", DefaultConnectionsMax),
	} {
		if !strings.Contains(string(page), "\n"+line+"\n") {
			t.Errorf("docs/reference/http.md lacks the line %q", line)
		}
	}
	if DefaultAnswerTimeout <= onceward.MaxWait {
		t.Errorf("an answer after the longest wait of %s would be cut off after %s", onceward.MaxWait, DefaultAnswerTimeout)
	}
}
