package oncewardtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/onceward/onceward"
)

// Fault is what a Provider does with one write.
type Fault uint8

// The faults. Zero is none.
const (
	FaultNone         Fault = iota
	FaultAnswerLost         // the effect happens, the answer does not arrive
	FaultRequestLost        // no effect, no answer
	FaultRefused            // nothing was sent
	FaultLate               // no answer; the effect happens at Commit
	FaultErrorAfter         // the effect happens, the answer is 500
	FaultUnauthorized       // 401
	FaultRateLimited        // 429
	FaultInvalid            // 400
	FaultTwice              // the effect happens twice
)

// Provider is an outside system in memory with its own idea of truth: it counts
// effects by provider key and honours no key unless told.
type Provider struct {
	Clock onceward.Clock
	// HonoursKeys makes a second write under one key answer as the first.
	HonoursKeys bool

	mu      sync.Mutex
	script  []Fault
	hold    chan struct{}
	effects map[string][]string
	late    []string
	writes  int
	probes  int
	broken  bool
}

// NewProvider returns an empty provider.
func NewProvider(clock onceward.Clock) *Provider {
	return &Provider{Clock: clock, effects: map[string][]string{}}
}

// Script makes the next writes meet these faults, in order.
func (p *Provider) Script(fs ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = append(p.script, fs...)
}

// BreakProbes makes every look-up answer 503 until it is called with false.
func (p *Provider) BreakProbes(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// Hold stops every write before its first byte until the returned function is called.
func (p *Provider) Hold() (release func()) {
	ch := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = ch
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(ch)
		p.hold = nil
	})
}

// Commit makes the effects of FaultLate writes happen.
func (p *Provider) Commit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range p.late {
		p.commit(key)
	}
	p.late = nil
}

// Effects counts the effects under all keys.
func (p *Provider) Effects() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, refs := range p.effects {
		n += len(refs)
	}
	return n
}

// Writes counts the writes that arrived.
func (p *Provider) Writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes
}

// Probes counts the look-ups that arrived.
func (p *Provider) Probes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.probes
}

// Send implements onceward.Provider.
func (p *Provider) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	ev := onceward.Evidence{StartedAt: p.Clock.Now()}
	if !opts.Write && req.Method == "GET" {
		p.look(req, &ev)
	} else {
		p.write(ctx, req, opts, &ev)
	}
	ev.EndedAt = p.Clock.Now()
	return ev
}

func (p *Provider) look(req *onceward.Request, ev *onceward.Evidence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes++
	u, err := url.Parse(req.URL)
	if err != nil || p.broken {
		ev.Status = 503
		return
	}
	ev.Reach, ev.Status = onceward.ReachFirstByte, 200
	ev.Body = []byte(strings.Join(p.effects[u.Query().Get("key")], "\n"))
}

func (p *Provider) write(ctx context.Context, req *onceward.Request, opts onceward.SendOptions, ev *onceward.Evidence) {
	p.mu.Lock()
	hold := p.hold
	p.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	if opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(); err != nil {
			ev.Reach, ev.ErrorClass, ev.ErrorCode = onceward.ReachConnected, onceward.ClassUnavailable, "stopped"
			return
		}
	}
	p.mu.Lock()
	fault := FaultNone
	if len(p.script) > 0 {
		fault, p.script = p.script[0], p.script[1:]
	}
	p.mu.Unlock()
	if fault == FaultRefused {
		ev.Reach, ev.ErrorClass, ev.ErrorCode = onceward.ReachNotDialled, onceward.ClassConnection, "dial_refused"
		return
	}
	if opts.OnReach != nil {
		opts.OnReach(onceward.ReachHeadersWritten)
		opts.OnReach(onceward.ReachBodyWritten)
	}
	ev.LastByteAt = p.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	p.answer(fault, keyOf(req), ev)
}

func keyOf(req *onceward.Request) string {
	for _, h := range req.Header {
		if h.Name == "Idempotency-Key" {
			return h.Value
		}
	}
	return ""
}

func (p *Provider) answer(fault Fault, key string, ev *onceward.Evidence) {
	ev.Reach, ev.Status = onceward.ReachFirstByte, 0
	lost := func() {
		ev.Reach, ev.ErrorClass, ev.ErrorCode = onceward.ReachBodyWritten, onceward.ClassConnection, "reset"
	}
	switch fault {
	case FaultUnauthorized:
		ev.Status = 401
	case FaultRateLimited:
		ev.Status = 429
	case FaultInvalid:
		ev.Status = 400
	case FaultRequestLost:
		lost()
	case FaultLate:
		p.late = append(p.late, key)
		lost()
	case FaultAnswerLost:
		p.commit(key)
		lost()
	case FaultErrorAfter:
		p.commit(key)
		ev.Status = 500
	case FaultTwice:
		p.commit(key)
		p.commit(key)
		lost()
	case FaultNone, FaultRefused:
		ev.Status, ev.Body = 201, []byte(p.commit(key))
	}
}

func (p *Provider) commit(key string) string {
	refs := p.effects[key]
	if p.HonoursKeys && len(refs) > 0 {
		return refs[0]
	}
	ref := fmt.Sprintf("eff_%d_%.8s", len(refs)+1, key)
	p.effects[key] = append(refs, ref)
	return ref
}
