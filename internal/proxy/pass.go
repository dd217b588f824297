package proxy

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/onceward/onceward"
)

// passed are the fields of a request that passes: what came, and ours over it.
func (x *exchange) passed() ([]onceward.HeaderField, error) {
	ours, err := x.up.Headers()
	if err != nil {
		return nil, &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "pass request", Message: "a header of the upstream cannot be made", Err: err}
	}
	return overlaid(x.forwardable(), ours), nil
}

// mayPass refuses requests without an operation to credentials that are narrowed
// to something else: reads of an upstream of which they have no tool, or without
// the class of reads; and writes, which have neither tool nor class.
func (x *exchange) mayPass(write bool) error {
	who := &x.who
	mine := len(who.Tools) == 0 || slices.ContainsFunc(who.Tools, func(t onceward.ToolName) bool { return strings.HasPrefix(string(t), x.up.Name()+".") })
	reads := len(who.Effects) == 0 || slices.Contains(who.Effects, onceward.EffectRead)
	if mine && reads && (!write || len(who.Tools)+len(who.Effects) == 0) {
		return nil
	}
	return &onceward.Error{Code: onceward.CodeForbidden, Op: "authorize", Message: "the credentials are narrowed, and not for this request to the upstream " + x.up.Name(), Hint: "ask with credentials that are not narrowed so"}
}

// passRead sends a read on and its answer back, as they are.
func (x *exchange) passRead() error {
	if err := x.mayPass(false); err != nil {
		return err
	}
	fields, err := x.passed()
	if err != nil {
		return err
	}
	res, err := x.read(x.req.Method, x.up.URL(x.target), fields)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	x.copyHeader(passable(res.Header))
	x.w.WriteHeader(res.StatusCode)
	return x.copyBody(res)
}

// read asks the upstream. The caller closes the answer's body.
func (x *exchange) read(method, address string, fields []onceward.HeaderField) (*http.Response, error) {
	out, err := http.NewRequestWithContext(x.req.Context(), method, address, http.NoBody)
	if err != nil {
		return nil, onceward.Errorf(onceward.CodeInvalidRequest, "the address cannot be read")
	}
	out.Header.Set("User-Agent", "") // none of ours, where the caller sent none
	for _, f := range fields {
		out.Header.Del(f.Name)
	}
	for _, f := range fields {
		out.Header.Add(f.Name, f.Value)
	}
	res, err := x.up.reads.RoundTrip(out)
	if err != nil {
		return nil, &onceward.Error{Code: onceward.CodeProviderUnreachable, Op: "pass read", Message: "the upstream " + x.up.Name() + " gave no answer"}
	}
	return res, nil
}

// recoverer is a tool that knows where the object of a done operation is read.
type recoverer interface {
	Recover(op *onceward.Operation) (address string, status int, ok bool)
}

// recovered answers with the object as it is now, where the write is known to be
// done and its own answer is gone; false if that cannot be had.
func (x *exchange) recovered(op *onceward.Operation) bool {
	tool, err := x.opts.Ledger.Tool(op.Tool)
	if err != nil {
		return false
	}
	r, ok := tool.(recoverer)
	if !ok {
		return false
	}
	address, status, ok := r.Recover(op)
	if !ok {
		return false
	}
	fields, err := x.passed()
	if err != nil {
		return false
	}
	res, err := x.read(http.MethodGet, address, without(fields, "content-type", "idempotency-key", "x-idempotency-key"))
	if err != nil {
		return false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return false
	}
	x.copyHeader(passable(res.Header))
	x.w.Header().Set(recoveredHeader, "true")
	x.w.WriteHeader(status)
	_ = x.copyBody(res) // it ends the connection itself where the body is cut
	return true
}

// pieces are buffers for bodies on their way. Without them most of what a small
// read allocates would be its buffer.
var pieces = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// copyBody hands a body on as it comes.
func (x *exchange) copyBody(res *http.Response) error {
	flush := http.NewResponseController(x.w)
	piece := pieces.Get().(*[32 << 10]byte)
	defer pieces.Put(piece)
	buf := piece[:]
	for {
		n, err := res.Body.Read(buf)
		if n > 0 {
			x.until(answerGrace)
			if _, werr := x.w.Write(buf[:n]); werr != nil {
				return nil // the caller went away
			}
			if res.ContentLength < 0 {
				_ = flush.Flush() // what cannot be flushed is sent at the end
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			panic(http.ErrAbortHandler) // half an answer must not look whole
		}
	}
}

// passable are the fields of an answer that passes: not those of this hop, and
// no cookies, which would be ours for the browser.
func passable(h http.Header) []onceward.HeaderField {
	hop := strings.Join(h.Values("Connection"), ",")
	var out []onceward.HeaderField
	for name, values := range h {
		low := strings.ToLower(name)
		switch low {
		case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade",
			"set-cookie", "set-cookie2", "alt-svc", "strict-transport-security", "clear-site-data":
			continue
		}
		if named(hop, low) {
			continue
		}
		for _, v := range values {
			out = append(out, onceward.HeaderField{Name: name, Value: v})
		}
	}
	return out
}

// passWrite sends a write on once, without an operation. Its key, if it has one,
// goes along: the upstream may know it.
func (x *exchange) passWrite(body []byte) error {
	if err := x.mayPass(true); err != nil {
		return err
	}
	fields, err := x.passed()
	if err != nil {
		return err
	}
	s := newSink()
	x.until(x.up.Deadline() + answerGrace)
	done := make(chan onceward.Evidence, 1)
	go func() {
		done <- x.opts.Provider.Send(x.detached(), &onceward.Request{Method: x.req.Method, URL: x.up.URL(x.target), Header: without(fields, "accept-encoding"), Body: body},
			onceward.SendOptions{Write: true, Deadline: x.up.Deadline(), Hosts: x.up.Hosts(), Tap: s})
	}()
	for {
		select {
		case <-s.moved:
			if status, header, live := s.streaming(); live {
				x.stream(s, nil, status, header)
				return nil
			}
		case ev := <-done:
			if status, header, live := s.streaming(); live {
				x.stream(s, nil, status, header)
				return nil
			}
			return x.passedAnswer(&ev, s)
		}
	}
}

func (x *exchange) passedAnswer(ev *onceward.Evidence, s *sink) error {
	if r, ok := s.answer(); ok {
		x.write(&r)
		return nil
	}
	if ev.Reach.NothingSent() {
		return &onceward.Error{Code: onceward.CodeProviderUnreachable, Op: "pass write", Message: "nothing was sent to the upstream " + x.up.Name() + ": " + ev.ErrorText}
	}
	return &onceward.Error{Code: onceward.CodePassedUnknown, Op: "pass write", Message: "the upstream " + x.up.Name() + " gave no whole answer"}
}
