package providertest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Seen is one request that reached the upstream, wholly or in part.
type Seen struct {
	Conn   int // number of the connection, from 0
	Method string
	Target string // path and query as written
	Host   string
	Header http.Header
	Body   []byte
	Whole  bool // the body came to its promised end
	Raw    []byte
}

// Call is one request as a Step sees it, and the means to answer.
type Call struct {
	Seen
	Upstream *Upstream
	conn     net.Conn
}

// Step says what happens to one request after it was read. It reports whether
// the connection goes on.
type Step func(c *Call) (again bool)

// Answer writes raw bytes and keeps the connection.
func Answer(raw string) Step {
	return func(c *Call) bool {
		_, err := io.WriteString(c.conn, raw)
		return err == nil
	}
}

// AnswerAndClose writes raw bytes and ends the stream.
func AnswerAndClose(raw string) Step {
	return func(c *Call) bool {
		_, _ = io.WriteString(c.conn, raw)
		return false
	}
}

// AnswerAndHang writes raw bytes and then nothing until the other side goes.
func AnswerAndHang(raw string) Step {
	return func(c *Call) bool {
		_, _ = io.WriteString(c.conn, raw)
		_, _ = io.Copy(io.Discard, c.conn)
		return false
	}
}

// Close ends the stream without an answer.
func Close() Step { return func(*Call) bool { return false } }

// Reset ends the connection with a reset and without an answer.
func Reset() Step {
	return func(c *Call) bool {
		reset(c.conn)
		return false
	}
}

// Hang never answers; it ends when the other side goes.
func Hang() Step { return AnswerAndHang("") }

func reset(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// OK is a plain answer with a small JSON body.
const OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n" + `{"id":"t1"}`

// Upstream is a server on raw TCP that does with each request what its script
// says, and counts what arrived. It uses no http.Server, which would hide
// connections and answer by itself.
type Upstream struct {
	tb       testing.TB
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	count int // connections so far
	seen  []Seen
	steps []Step
	rest  Step // when the script is over
	other func(Seen) (raw string, is bool)
	more  chan struct{}
}

// NewUpstream starts an upstream on a loopback port. After the steps, every
// further request gets OK. It ends with the test.
func NewUpstream(tb testing.TB, steps ...Step) *Upstream {
	tb.Helper()
	return NewUpstreamOn(tb, listen(tb), steps...)
}

// NewUpstreamOn is NewUpstream on a listener of the caller's, for TLS.
func NewUpstreamOn(tb testing.TB, l net.Listener, steps ...Step) *Upstream {
	tb.Helper()
	u := &Upstream{tb: tb, listener: l, conns: make(map[net.Conn]bool), steps: steps, rest: Answer(OK), more: make(chan struct{})}
	u.running.Go(u.accept)
	tb.Cleanup(u.stop)
	return u
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	return l
}

// Ignore sets apart requests that are not the writes under test, such as the
// opening of a session: they get the raw answer that other gives, are not
// counted, and use up no step. Call it before the first request.
func (u *Upstream) Ignore(other func(Seen) (raw string, is bool)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.other = other
}

// Addr is host:port.
func (u *Upstream) Addr() string { return u.listener.Addr().String() }

// Requests returns what has arrived so far, in order.
func (u *Upstream) Requests() []Seen {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Seen(nil), u.seen...)
}

// Connections returns how many connections were accepted.
func (u *Upstream) Connections() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count
}

// Await waits until n requests have arrived.
func (u *Upstream) Await(n int) []Seen {
	u.tb.Helper()
	limit := time.After(10 * time.Second)
	for {
		u.mu.Lock()
		seen, more := append([]Seen(nil), u.seen...), u.more
		u.mu.Unlock()
		if len(seen) >= n {
			return seen
		}
		select {
		case <-more:
		case <-limit:
			u.tb.Fatalf("%d requests arrived, want %d", len(seen), n)
		}
	}
}

// CloseIdle ends every open connection, as a server does whose patience with
// idle ones is over, and returns when that is done.
func (u *Upstream) CloseIdle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.conns {
		_ = c.Close()
	}
}

func (u *Upstream) stop() {
	_ = u.listener.Close()
	u.CloseIdle()
	u.running.Wait()
}

func (u *Upstream) accept() {
	for {
		c, err := u.listener.Accept()
		if err != nil {
			return
		}
		u.mu.Lock()
		u.conns[c] = true
		number := u.count
		u.count++
		u.mu.Unlock()
		u.running.Go(func() {
			u.serve(c, number)
			_ = c.Close()
			u.mu.Lock()
			delete(u.conns, c)
			u.mu.Unlock()
		})
	}
}

func (u *Upstream) serve(c net.Conn, number int) {
	var raw bytes.Buffer
	br := bufio.NewReader(io.TeeReader(c, &raw))
	for {
		if _, err := br.Peek(1); err != nil {
			return
		}
		seen := Seen{Conn: number}
		r, err := http.ReadRequest(br)
		if err == nil {
			seen.Method, seen.Target, seen.Host, seen.Header = r.Method, r.RequestURI, r.Host, r.Header
			seen.Body, err = io.ReadAll(r.Body)
			seen.Whole = err == nil
		}
		seen.Raw = bytes.Clone(raw.Bytes()[:raw.Len()-br.Buffered()])
		raw.Next(raw.Len() - br.Buffered())
		step := u.record(seen)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if !step(&Call{Seen: seen, Upstream: u, conn: c}) {
			return
		}
	}
}

// record counts a request before anything is answered and picks its step.
func (u *Upstream) record(s Seen) Step {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.other != nil {
		if raw, is := u.other(s); is {
			return Answer(raw)
		}
	}
	u.seen = append(u.seen, s)
	close(u.more)
	u.more = make(chan struct{})
	if len(u.steps) == 0 {
		return u.rest
	}
	step := u.steps[0]
	u.steps = u.steps[1:]
	return step
}
