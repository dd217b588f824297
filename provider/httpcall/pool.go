package httpcall

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// origin is what a connection can be used again for.
type origin struct {
	tls  bool
	host string // normalised; an address without brackets
	port string
}

// Bounds of how long an idle connection is kept. Why so short without a word
// from the server: a server that closes an idle connection at the moment of a
// write makes an unknown outcome of it, and common servers close after two to
// five seconds. One that announces its limit is trusted, less a second.
const (
	idleUnannounced = 1500 * time.Millisecond
	idleMax         = 30 * time.Second
)

// pool holds idle connections, last in first out.
type pool struct {
	mu      sync.Mutex
	idle    map[origin][]*conn
	perHost int
	timer   *time.Timer // reaps; nil until first needed
	armed   bool
	closed  bool
}

// take returns an idle connection that is still within its time, or nil. The
// caller has to check that it is quiet.
func (p *pool) take(key origin) *conn {
	now := time.Now()
	p.mu.Lock()
	list := p.idle[key]
	var c *conn
	if n := len(list); n > 0 && now.Before(list[n-1].idleTo) {
		c = list[n-1]
		list[n-1] = nil
		p.idle[key] = list[:n-1]
	}
	p.mu.Unlock()
	return c
}

// put keeps a connection for the next exchange, or closes it.
func (p *pool) put(c *conn) {
	if cap(c.out) > keptBuffer {
		c.out = nil
	}
	c.reused = true
	c.wire.gate = nil
	c.idleTo = time.Now().Add(c.keep)
	p.mu.Lock()
	if p.closed || c.keep <= 0 || len(p.idle[c.key]) >= p.perHost {
		p.mu.Unlock()
		c.finish()
		return
	}
	p.idle[c.key] = append(p.idle[c.key], c)
	p.arm(c.keep)
	p.mu.Unlock()
}

// arm makes sure that somebody will look at idle connections; p.mu is held.
func (p *pool) arm(after time.Duration) {
	if p.armed {
		return
	}
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(after, p.reap)
		return
	}
	p.timer.Reset(after)
}

// reap closes what was idle too long and looks again while something is idle.
func (p *pool) reap() {
	now := time.Now()
	var old []*conn
	p.mu.Lock()
	p.armed = false
	next := time.Duration(0)
	for key, list := range p.idle {
		kept := list[:0]
		for _, c := range list {
			if left := c.idleTo.Sub(now); left <= 0 {
				old = append(old, c)
			} else {
				kept = append(kept, c)
				if next == 0 || left < next {
					next = left
				}
			}
		}
		clear(list[len(kept):])
		if len(kept) == 0 {
			delete(p.idle, key)
		} else {
			p.idle[key] = kept
		}
	}
	if next > 0 && !p.closed {
		p.arm(next)
	}
	p.mu.Unlock()
	for _, c := range old {
		c.finish()
	}
}

// close closes what is idle and keeps nothing from now on.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	all := p.idle
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	for _, list := range all {
		for _, c := range list {
			c.finish()
		}
	}
}

func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// idleFor reads how long the server keeps an idle connection from its
// Keep-Alive header ("timeout=5, max=100").
func idleFor(header string) time.Duration {
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !strings.EqualFold(name, "timeout") {
			continue
		}
		seconds, err := strconv.Atoi(strings.Trim(value, `" `))
		if err != nil || seconds < 0 {
			return idleUnannounced
		}
		return min(time.Duration(seconds)*time.Second-time.Second, idleMax)
	}
	return idleUnannounced
}
