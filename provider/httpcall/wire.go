package httpcall

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
)

// writeChunk is how much is handed to the kernel between two looks at the
// lease. Small enough that a stop within a large body takes effect.
const writeChunk = 64 << 10

// gate stands between one exchange and the system call that lets its bytes go.
// One goroutine writes at a time; what others read is atomic.
type gate struct {
	notAfter time.Time             // no byte after it; zero: no such bound
	before   func() error          // the ledger's last check; nil: none
	owner    *exchange             // told when the first byte of the request went
	request  bool                  // bytes that pass now belong to the request, not to a handshake
	checked  bool                  // before was called and agreed
	sent     atomic.Int64          // bytes of the request that the kernel took (ciphertext under TLS)
	refused  atomic.Pointer[fault] // why a write was stopped; sticky
	canceled atomic.Bool           // the caller's context ended
}

// pass decides about one write, directly before it.
//
// Why both clocks: a process that was stopped sees the monotonic clock go on; a
// machine that was suspended may see only the wall clock move.
func (g *gate) pass() *fault {
	if f := g.refused.Load(); f != nil {
		return f
	}
	if f := g.decide(); f != nil {
		g.refused.Store(f)
		return f
	}
	return nil
}

func (g *gate) decide() *fault {
	if g.canceled.Load() {
		return newFault(onceward.ClassTimeout, codeCanceled)
	}
	if g.late() {
		return newFault(onceward.ClassTimeout, codeLease)
	}
	if !g.request || g.checked || g.before == nil {
		return nil
	}
	if err := g.before(); err != nil {
		return gateFault(err)
	}
	g.checked = true
	if g.late() { // the check itself took time
		return newFault(onceward.ClassTimeout, codeLease)
	}
	return nil
}

func (g *gate) late() bool {
	if g.notAfter.IsZero() {
		return false
	}
	now := time.Now()
	return now.After(g.notAfter) || now.Round(0).After(g.notAfter.Round(0))
}

// took counts bytes of the request that left.
func (g *gate) took(n int) {
	if n <= 0 || !g.request {
		return
	}
	if g.sent.Add(int64(n)) == int64(n) {
		g.owner.reached(onceward.ReachHeadersWritten)
	}
}

// wire is the connection at the bottom, under TLS and under a proxy's tunnel:
// what passes its Write is what the kernel gets.
type wire struct {
	net.Conn
	gate *gate // of the exchange that uses the connection; nil while idle
}

// Write asks the gate and then hands p to the kernel.
//
// Invariant: no byte of a request reaches the kernel without the gate's leave
// given after everything else was ready.
func (w *wire) Write(p []byte) (int, error) {
	g := w.gate
	if g == nil {
		return w.Conn.Write(p)
	}
	written := 0
	for {
		chunk := p[written:min(len(p), written+writeChunk)]
		if f := g.pass(); f != nil {
			return written, f
		}
		n, err := w.Conn.Write(chunk)
		g.took(n)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}
