package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// HTTPKind is what an HTTPFault does.
type HTTPKind uint8

// The kinds of fault of HTTP. "Reset" is a reset connection, as a dead host or
// a firewall leaves it.
const (
	Forward       HTTPKind = iota // nothing
	LoseRequest                   // the whole request is read and never passed on; reset
	LoseAnswer                    // passed on; the answer is read and dropped; reset
	HoldAnswer                    // passed on; the answer comes after Delay, if somebody still waits
	DeliverLate                   // reset at once; passed on after Delay
	AnswerInstead                 // not passed on; answered with Status
	AnswerAfter                   // passed on; answered with Status whatever the answer was
)

// HTTPFault is what happens to one request. The zero value passes it on.
type HTTPFault struct {
	Kind   HTTPKind
	Delay  time.Duration
	Status int         // of AnswerInstead and AnswerAfter
	Header http.Header // of AnswerInstead and AnswerAfter; may be nil
	Body   string      // of AnswerInstead and AnswerAfter; empty: a JSON object that says who put it there
}

// Answer is what an AnswerInstead or AnswerAfter answers, as its client reads it.
func (f *HTTPFault) Answer() (status int, header http.Header, body string) {
	header, body = f.Header.Clone(), f.Body
	if header == nil {
		header = http.Header{}
	}
	if body == "" {
		body = `{"error":"put in the way by a drill"}`
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	return f.Status, header, body
}

// Exchange is what became of one request, as seen by the proxy.
type Exchange struct {
	Method, URI string
	Body        []byte
	Fault       HTTPFault
	Forwarded   bool      // put on the wire to the server
	At          time.Time // when the request had been read
	AnsweredAt  time.Time // when the server's answer had been read, or the attempt to get one ended
	Status      int       // of the server; 0: no answer
	Err         error     // why the server gave no answer; nil: it did, or was not asked
	Header      http.Header
	Answer      []byte
}

// HTTPOptions configure an HTTP.
type HTTPOptions struct {
	Upstream string // http(s)://host[:port]
	// Choose says what happens to a request. It must not block. Nil passes all on.
	Choose func(method, uri string, body []byte) HTTPFault
	// Seen is called for each request, before its sender is answered. It must not
	// block. Nil: nobody looks.
	Seen func(Exchange)
	// Transport is for tests; nil is a transport of its own.
	Transport http.RoundTripper
}

// HTTP is a proxy that speaks HTTP on both sides: plain HTTP/1.1 to clients,
// http or https to the server. It puts each request on the wire at most once,
// whatever its client does meanwhile, follows no redirect, and changes neither
// bodies nor header fields that are meant for the server. It is safe for
// concurrent use.
type HTTP struct {
	opts     HTTPOptions
	upstream *url.URL
	server   *http.Server
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	served   chan struct{}

	mu      sync.Mutex
	pending int           // requests under way to the server, late ones included
	notify  chan struct{} // closed and renewed whenever pending falls to 0
}

// Limits of what is carried.
const (
	httpRequestMax = 16 << 20
	httpAnswerMax  = 64 << 20
	httpTimeout    = 2 * time.Minute // for the server's answer
)

// StartHTTP listens on a free loopback port. Close ends it.
func StartHTTP(opts HTTPOptions) (*HTTP, error) {
	u, err := url.Parse(opts.Upstream)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("start http proxy: %q is no http(s)://host", opts.Upstream)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, fmt.Errorf("listen for http proxy: %w", err)
	}
	if opts.Transport == nil {
		// Why no connection is kept: a transport sends a request that carries an
		// Idempotency-Key again when a kept connection turns out to be dead.
		opts.Transport = &http.Transport{
			DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: false,
			TLSHandshakeTimeout: 30 * time.Second, ResponseHeaderTimeout: httpTimeout,
		}
	}
	p := &HTTP{opts: opts, upstream: u, listener: l, ctx: ctx, cancel: cancel, served: make(chan struct{}), notify: make(chan struct{})}
	p.server = &http.Server{Handler: http.HandlerFunc(p.handle), ReadHeaderTimeout: 30 * time.Second}
	go func() { defer close(p.served); _ = p.server.Serve(l) }()
	return p, nil
}

// URL is http://host:port, what clients use instead of the upstream.
func (p *HTTP) URL() string { return "http://" + p.listener.Addr().String() }

// Quiet waits until nothing is under way to the server, late requests included.
func (p *HTTP) Quiet(ctx context.Context) error {
	for {
		p.mu.Lock()
		pending, notify := p.pending, p.notify
		p.mu.Unlock()
		if pending == 0 {
			return nil
		}
		select {
		case <-notify:
		case <-ctx.Done():
			return fmt.Errorf("await %d requests that are under way: %w", pending, ctx.Err())
		}
	}
}

// Close ends the proxy: what is held is dropped, and late requests never arrive.
func (p *HTTP) Close() error {
	p.cancel()
	err := p.server.Close()
	<-p.served
	return errors.Join(err, p.Quiet(context.Background()))
}

func (p *HTTP) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending++
}

func (p *HTTP) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending--; p.pending == 0 {
		close(p.notify)
		p.notify = make(chan struct{})
	}
}

func (p *HTTP) handle(w http.ResponseWriter, r *http.Request) {
	p.begin()
	passed := false
	defer func() {
		if !passed {
			p.end()
		}
	}()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, httpRequestMax))
	if err != nil {
		return // the client went away in the middle: nothing to pass on
	}
	x := Exchange{Method: r.Method, URI: r.URL.RequestURI(), Body: body, At: time.Now()}
	if p.opts.Choose != nil {
		x.Fault = p.opts.Choose(x.Method, x.URI, body)
	}
	header := forwarded(r.Header)
	switch x.Fault.Kind {
	case LoseRequest:
		p.seen(x)
		reset(w)
		return
	case AnswerInstead:
		p.seen(x)
		answer(w, x.Fault)
		return
	case DeliverLate:
		passed = true
		go p.late(x, header)
		reset(w)
		return
	case Forward, LoseAnswer, HoldAnswer, AnswerAfter:
	}
	p.send(&x, header)
	p.seen(x)
	p.reply(w, r, x)
}

// reply gives the client what the fault leaves of the server's answer.
func (p *HTTP) reply(w http.ResponseWriter, r *http.Request, x Exchange) {
	switch x.Fault.Kind {
	case AnswerAfter:
		answer(w, x.Fault)
		return
	case LoseAnswer:
		reset(w)
		return
	case HoldAnswer:
		if !p.wait(r.Context(), x.Fault.Delay) {
			reset(w)
			return
		}
	case Forward, LoseRequest, DeliverLate, AnswerInstead:
	}
	if x.Status == 0 {
		reset(w)
		return
	}
	h := w.Header()
	for name, values := range forwarded(x.Header) {
		h[name] = values
	}
	h.Set("Content-Length", strconv.Itoa(len(x.Answer)))
	w.WriteHeader(x.Status)
	_, _ = w.Write(x.Answer)
}

// late delivers a request whose sender was told that it is lost.
func (p *HTTP) late(x Exchange, header http.Header) {
	defer p.end()
	if p.wait(p.ctx, x.Fault.Delay) {
		p.send(&x, header)
	}
	p.seen(x)
}

func (p *HTTP) wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-p.ctx.Done():
	}
	return false
}

// send puts the request on the wire, once. Why not under the client's context: a
// network delivers what was sent, also when its sender has died since.
func (p *HTTP) send(x *Exchange, header http.Header) {
	defer func() { x.AnsweredAt = time.Now() }()
	target := p.upstream.Scheme + "://" + p.upstream.Host + x.URI
	req, err := http.NewRequestWithContext(p.ctx, x.Method, target, bytes.NewReader(x.Body))
	if err != nil {
		return
	}
	if len(x.Body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
	}
	req.Header = header
	x.Forwarded = true
	res, err := p.opts.Transport.RoundTrip(req)
	if err != nil {
		x.Err = err
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, httpAnswerMax))
	if err != nil {
		x.Err = err
		return
	}
	x.Status, x.Header, x.Answer = res.StatusCode, res.Header, body
}

func (p *HTTP) seen(x Exchange) {
	if p.opts.Seen != nil {
		p.opts.Seen(x)
	}
}

// hopByHop are header fields that are about one connection (RFC 9110, 7.6.1).
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length"}

func forwarded(h http.Header) http.Header {
	out := h.Clone()
	for _, name := range hopByHop {
		out.Del(name)
	}
	return out
}

// answer says something of the proxy's own.
func answer(w http.ResponseWriter, f HTTPFault) {
	status, header, body := f.Answer()
	h := w.Header()
	for name, values := range header {
		h[name] = values
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// reset resets the client's connection, so that it learns nothing.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // an end of stream instead
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
