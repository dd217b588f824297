package httpcall

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// exchange is one Send on its way: the request, the bounds, and what was seen.
type exchange struct {
	client   *Client
	req      *onceward.Request
	opts     *onceward.SendOptions
	end      time.Time // the deadline
	writeEnd time.Time // the deadline or the lease's end, whichever is first
	gate     gate
	secrets  []string // values that must not come back in evidence
	location string   // of the last answer, as it came
	answered bool     // a byte of an answer came on this connection
	whole    bool     // the whole request was written on this connection

	mu sync.Mutex // reach is told from two goroutines while a large body is written
	ev onceward.Evidence
}

func (c *Client) newExchange(req *onceward.Request, opts *onceward.SendOptions) *exchange {
	now := time.Now()
	deadline := opts.Deadline
	if deadline <= 0 {
		deadline = DefaultDeadline
	}
	x := &exchange{client: c, req: req, opts: opts, end: now.Add(deadline)}
	x.writeEnd = x.end
	if !opts.NotAfter.IsZero() && opts.NotAfter.Before(x.end) {
		x.writeEnd = opts.NotAfter
	}
	x.gate.notAfter = opts.NotAfter
	x.gate.before = opts.BeforeWrite
	x.gate.owner = x
	x.ev = onceward.Evidence{Reach: onceward.ReachNotDialled, StartedAt: now}
	return x
}

// reached records progress, in order and once each.
func (x *exchange) reached(r onceward.Reach) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r <= x.ev.Reach {
		return
	}
	x.ev.Reach = r
	if x.opts.OnReach != nil {
		x.opts.OnReach(r)
	}
}

// watch makes the end of ctx end whatever the connection waits for. The
// returned stop reports false when that has happened.
func (x *exchange) watch(ctx context.Context, pc *conn) (stop func() bool) {
	if ctx.Done() == nil {
		return unwatched
	}
	return context.AfterFunc(ctx, func() {
		x.gate.canceled.Store(true)
		_ = pc.tcp.SetDeadline(time.Unix(1, 0))
	})
}

func unwatched() bool { return true }

// write is a write: planned, sent once, answered or not.
func (x *exchange) write(ctx context.Context) {
	t, f := x.client.plan(x.req, x.opts)
	if f != nil {
		f.record(&x.ev)
		return
	}
	x.secrets = secretValues(x.req.Header, x.opts.SecretHeader)
	if f := x.once(ctx, t); f != nil {
		f.record(&x.ev)
	}
}

// once finds a connection and makes the exchange on it.
//
// Why a second connection is allowed for a write: only where the kernel took no
// byte of the request from the first, which was kept from an earlier exchange
// and proved dead. There is still one request on the wire.
func (x *exchange) once(ctx context.Context, t *target) *fault {
	pc, f := x.connection(ctx, t, false)
	if f != nil {
		return f
	}
	reused := pc.reused
	f = x.roundTrip(ctx, pc, t)
	if f == nil || !reused || x.gate.refused.Load() != nil || f.class != onceward.ClassConnection {
		return f
	}
	if unsent := x.gate.sent.Load() == 0; !unsent && (x.opts.Write || x.answered) {
		return f
	}
	if pc, f = x.connection(ctx, t, true); f != nil {
		return f
	}
	return x.roundTrip(ctx, pc, t)
}

// connection returns a quiet kept connection, or a new one.
func (x *exchange) connection(ctx context.Context, t *target, fresh bool) (*conn, *fault) {
	c := x.client
	if ctx.Err() != nil {
		return nil, newFault(onceward.ClassTimeout, codeCanceled)
	}
	if x.gate.late() {
		return nil, newFault(onceward.ClassTimeout, codeLease)
	}
	if c.pool.isClosed() {
		return nil, newFault(onceward.ClassConnection, codeClosedClient)
	}
	var pc *conn
	for !fresh && pc == nil {
		if pc = c.pool.take(t.origin); pc == nil {
			break
		}
		if pc.arm(&x.gate, x.end, x.writeEnd) != nil || !pc.quiet() {
			pc.cut()
			pc = nil
		}
	}
	if pc == nil {
		var f *fault
		if pc, f = c.connect(ctx, t, x); f != nil {
			return nil, f
		}
	}
	x.ev.RemoteAddr = pc.remote
	x.reached(onceward.ReachConnected)
	return pc, nil
}

// roundTrip writes the request and reads its answer. Whatever happens, the
// connection is either kept, answered and clean, or closed when it returns.
func (x *exchange) roundTrip(ctx context.Context, pc *conn, t *target) *fault {
	stop := x.watch(ctx, pc)
	if err := pc.boundTail(time.Until(x.writeEnd)); err != nil {
		stop()
		pc.cut()
		return x.named(newFault(onceward.ClassConnection, codeNoTimeout))
	}
	x.answered, x.whole = false, false
	x.gate.request, x.gate.checked = true, false // a new connection took time: everything is checked anew
	x.gate.sent.Store(0)
	pc.out = t.appendHead(pc.out[:0], x.client.agent)
	var keep bool
	var f *fault
	if len(pc.out)+len(x.req.Body) <= inlineWrite {
		keep, f = x.inline(pc, t)
	} else {
		keep, f = x.beside(pc, t)
	}
	x.gate.request = false
	if !stop() {
		keep = false
	}
	if keep && f == nil {
		x.client.pool.put(pc)
		return nil
	}
	if f == nil && x.whole && !x.ev.BodyCut && !x.ev.BodyTooBig {
		pc.finish()
		return nil
	}
	pc.cut()
	if x.gate.sent.Load() > 0 {
		x.ev.LastByteAt = time.Now()
	}
	return x.named(f)
}

// named gives the gate's reason precedence: an error of the connection that we
// caused ourselves says nothing.
func (x *exchange) named(f *fault) *fault {
	switch {
	case f == nil:
		return nil
	case x.gate.refused.Load() != nil:
		return x.gate.refused.Load()
	case x.gate.canceled.Load():
		return newFault(onceward.ClassTimeout, codeCanceled)
	}
	return f
}

// inline writes a small request in one go and then reads: no goroutine, one
// system call.
func (x *exchange) inline(pc *conn, t *target) (keep bool, f *fault) {
	pc.out = append(pc.out, x.req.Body...)
	_, err := pc.top.Write(pc.out)
	if err == nil {
		x.whole = true
		x.reached(onceward.ReachBodyWritten)
		return x.readAnswer(pc, t)
	}
	f = wireFault(err, false)
	if f.class == onceward.ClassTimeout || x.gate.refused.Load() != nil || x.gate.sent.Load() == 0 {
		return false, f
	}
	// The other side may have answered and closed before it read everything.
	if _, answered := x.readAnswer(pc, t); answered == nil {
		return false, nil
	}
	return false, f
}

// How long the rest of a large request is still written after its answer came.
const lateBodyGrace = 100 * time.Millisecond

// beside writes a large request in a goroutine of its own while the answer is
// awaited: a server may answer before it has read all, and would otherwise wait
// for us as we wait for it.
func (x *exchange) beside(pc *conn, t *target) (keep bool, f *fault) {
	written := make(chan error, 1)
	hopeless := false // nobody can answer; read only after written
	go func() {
		err := x.writeLarge(pc)
		if err == nil {
			x.reached(onceward.ReachBodyWritten)
		} else if x.gate.refused.Load() != nil || x.gate.sent.Load() == 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			hopeless = true
			_ = pc.tcp.SetReadDeadline(time.Unix(1, 0)) // wake the reader
		}
		written <- err
	}()
	keep, f = x.readAnswer(pc, t)
	err, ended := error(nil), false
	select {
	case err = <-written:
		ended = true
	default:
	}
	if !ended {
		_ = pc.tcp.SetWriteDeadline(x.writeOn(f))
		err = <-written
	}
	x.whole = err == nil
	if hopeless && f != nil && f.code == codeDeadline { // the reader was woken; the writer knows why
		if f = wireFault(err, false); x.gate.late() {
			f = newFault(onceward.ClassTimeout, codeLease)
		}
	}
	return keep && err == nil, f
}

// writeOn is how long the rest of a large request is still written once its
// answer came, or cannot come any more. A 2xx may come before the end of a body
// that the server still wants.
func (x *exchange) writeOn(f *fault) time.Time {
	switch {
	case f != nil:
		return time.Unix(1, 0)
	case x.ev.Status/100 == 2:
		return x.writeEnd
	}
	return time.Now().Add(lateBodyGrace)
}

// writeLarge writes the head with the start of the body, then the rest.
func (x *exchange) writeLarge(pc *conn) error {
	head := min(len(x.req.Body), max(inlineWrite-len(pc.out), 0))
	pc.out = append(pc.out, x.req.Body[:head]...)
	if _, err := pc.top.Write(pc.out); err != nil {
		return err
	}
	_, err := pc.top.Write(x.req.Body[head:])
	return err
}
