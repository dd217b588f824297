package faultproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// chunk is how much is read at once; faults strike at the exact byte within.
const chunk = 32 << 10

// link is one connection: two ends and the bytes between them.
type link struct {
	proxy   *Proxy
	fault   Fault
	ends    [2]*net.TCPConn // by the direction whose bytes are written to it
	passed  [2]int64        // bytes of a direction that were read; used by its pump only
	once    sync.Once       // a fault strikes once
	swallow [2]atomic.Bool
	delayed atomic.Bool
	parted  atomic.Bool // has lived through a partition: what a reset side sent is not delivered any more
}

// run passes bytes until both directions have ended.
func (l *link) run() {
	var other sync.WaitGroup
	other.Go(func() { l.pump(ToServer) })
	l.pump(ToClient)
	other.Wait()
	l.close()
}

// pump carries the bytes of one direction.
func (l *link) pump(d Direction) {
	from, to := l.ends[d.other()], l.ends[d]
	buf := make([]byte, chunk)
	for {
		n, err := from.Read(buf)
		if n > 0 && !l.carry(d, buf[:n]) {
			l.reset()
			return
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if !l.passable(d) {
				return
			}
			if !l.swallow[d].Load() {
				_ = to.CloseWrite()
			}
			return
		default:
			l.reset()
			return
		}
	}
}

// carry passes one chunk on, up to the byte at which the fault strikes. It
// reports false when the connection is over.
func (l *link) carry(d Direction, p []byte) bool {
	if !l.passable(d) {
		return false
	}
	if l.fault.Kind != Pass && l.fault.On == d {
		if left := l.fault.After - l.passed[d]; int64(len(p)) > left {
			left = max(left, 0)
			if !l.forward(d, p[:left]) {
				return false
			}
			p = p[left:]
			l.once.Do(l.strike)
		}
	}
	return l.forward(d, p)
}

func (l *link) forward(d Direction, p []byte) bool {
	l.passed[d] += int64(len(p))
	if len(p) == 0 || l.swallow[d].Load() {
		return true
	}
	if d == l.fault.On && l.delayed.Load() && !l.pause() {
		return false
	}
	n, err := l.ends[d].Write(p)
	l.proxy.count(d, n)
	return err == nil
}

// passable waits while a partition holds the direction; false: nothing of it is
// passed on any more.
func (l *link) passable(d Direction) bool {
	return l.proxy.passable(d) && !(l.parted.Load() && wasReset(l.ends[d.other()]))
}

// pause holds a chunk for the fault's delay; false: the proxy ended first.
func (l *link) pause() bool {
	t := time.NewTimer(l.fault.Delay)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.proxy.ctx.Done():
		return false
	}
}

// strike makes the fault happen, before the byte that called for it goes on.
func (l *link) strike() {
	switch l.fault.Kind {
	case Pass, Refuse:
	case Cut:
		l.swallow[ToServer].Store(true)
		l.swallow[ToClient].Store(true)
		for _, end := range l.ends {
			_ = end.CloseWrite()
		}
	case Reset:
		l.swallow[ToServer].Store(true)
		l.swallow[ToClient].Store(true)
		l.reset()
	case Swallow:
		l.swallow[l.fault.On].Store(true)
	case BlackHole:
		l.swallow[ToServer].Store(true)
		l.swallow[ToClient].Store(true)
	case Delay:
		l.delayed.Store(true)
	}
	l.proxy.strike()
}

func (l *link) reset() {
	for _, end := range l.ends {
		resetConn(end)
	}
}

func (l *link) close() {
	for _, end := range l.ends {
		_ = end.Close()
	}
}

func resetConn(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// wasReset reports whether the other side of c has reset the connection, without
// reading what it had sent before.
func wasReset(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	code := 0
	ctl := raw.Control(func(fd uintptr) { code, err = pendingError(fd) })
	return ctl != nil || err != nil || syscall.Errno(code) == syscall.ECONNRESET || syscall.Errno(code) == syscall.EPIPE
}
