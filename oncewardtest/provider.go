package oncewardtest

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	FaultErrorBefore        // no effect, the answer is 503
	FaultDeadline           // no effect, and no answer within the deadline
	FaultAnswerCut          // the effect happens, the answer's body is cut
	FaultInProgress         // 409: the provider is still working under this key
	FaultKeyReused          // 422: this key was used with other parameters
)

// Answer is what a write without a fault is answered with, in place of 201 and
// the effect's reference.
type Answer struct {
	Status int
	Header []onceward.HeaderField
	Body   []byte
	TooBig bool // longer than what is read of an answer; Body is its head
}

// Provider is an outside system in memory with its own idea of truth: it counts
// effects by provider key and honours no key unless told.
type Provider struct {
	Clock onceward.Clock
	// HonoursKeys makes a second write under one key answer as the first.
	HonoursKeys bool

	mu       sync.Mutex
	script   []Fault
	answers  []Answer
	retry    time.Duration
	hold     chan struct{}
	first    *Held // the next write, before its first byte
	last     *Held // the next write, before its answer
	seen     *Held // the next look-up, before its answer
	effects  map[string][]string
	bodies   map[string][]byte // of the first write under each key that was honoured
	late     []string
	requests []onceward.Request
	stopped  int
	probes   int
	broken   bool
}

// NewProvider returns an empty provider.
func NewProvider(clock onceward.Clock) *Provider {
	return &Provider{Clock: clock, effects: map[string][]string{}, bodies: map[string][]byte{}}
}

// Held is a write that a Provider keeps waiting.
type Held struct {
	reached, released chan struct{}
	once              sync.Once
}

func newHeld() *Held { return &Held{reached: make(chan struct{}), released: make(chan struct{})} }

// Reached is closed once the write waits.
func (h *Held) Reached() <-chan struct{} { return h.reached }

// Release lets it go on. It may be called again.
func (h *Held) Release() { h.once.Do(func() { close(h.released) }) }

// stand waits to be released, or for the process to end.
func (h *Held) stand(ctx context.Context) {
	if h == nil {
		return
	}
	close(h.reached)
	select {
	case <-h.released:
	case <-ctx.Done():
	}
}

// HoldFirstByte keeps the next write waiting before its first byte.
func (p *Provider) HoldFirstByte() *Held {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first = newHeld()
	return p.first
}

// HoldAnswer keeps the next write waiting for its answer. What it does is done
// by then.
func (p *Provider) HoldAnswer() *Held {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = newHeld()
	return p.last
}

// HoldLook keeps the next look-up waiting for its answer. What it sees is seen
// by then.
func (p *Provider) HoldLook() *Held {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = newHeld()
	return p.seen
}

// AnswerWith makes the next writes without a fault be answered so, in order.
func (p *Provider) AnswerWith(as ...Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = append(p.answers, as...)
}

// AskToWait adds a Retry-After of d to the answers 409, 429 and 503; 0: none.
func (p *Provider) AskToWait(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retry = d
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

// Make makes an effect under a key, as somebody else would.
func (p *Provider) Make(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commit(key)
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
	return len(p.requests)
}

// Requests returns the writes that arrived, as they arrived.
func (p *Provider) Requests() []onceward.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Stopped counts the writes that were stopped before their first byte.
func (p *Provider) Stopped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
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
		p.look(ctx, req, &ev)
	} else {
		p.write(ctx, req, opts, &ev)
	}
	ev.EndedAt = p.Clock.Now()
	return ev
}

func (p *Provider) look(ctx context.Context, req *onceward.Request, ev *onceward.Evidence) {
	p.see(req, ev).stand(ctx)
}

// see fills in what a look-up finds now, and returns what holds its answer.
func (p *Provider) see(req *onceward.Request, ev *onceward.Evidence) (held *Held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held, p.seen = p.seen, nil
	p.probes++
	u, err := url.Parse(req.URL)
	if err != nil || p.broken {
		ev.Status = 503
		return held
	}
	ev.Reach, ev.Status = onceward.ReachFirstByte, 200
	ev.Body = []byte(strings.Join(p.effects[u.Query().Get("key")], "\n"))
	return held
}

func (p *Provider) write(ctx context.Context, req *onceward.Request, opts onceward.SendOptions, ev *onceward.Evidence) {
	p.mu.Lock()
	hold, first, last := p.hold, p.first, p.last
	p.first, p.last = nil, nil
	p.mu.Unlock()
	first.stand(ctx)
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	if opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(); err != nil {
			ev.Reach, ev.ErrorClass, ev.ErrorCode = onceward.ReachConnected, onceward.ClassUnavailable, "stopped"
			p.mu.Lock()
			p.stopped++
			p.mu.Unlock()
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
	ev.LastByteAt = p.Clock.Now()
	p.mu.Lock()
	p.requests = append(p.requests, onceward.Request{Method: req.Method, URL: req.URL, Header: slices.Clone(req.Header), Body: bytes.Clone(req.Body)})
	p.answer(fault, req, ev)
	p.mu.Unlock()
	if opts.OnReach != nil {
		opts.OnReach(onceward.ReachHeadersWritten)
		opts.OnReach(onceward.ReachBodyWritten)
	}
	last.stand(ctx)
}

func keyOf(req *onceward.Request) string {
	for _, h := range req.Header {
		if h.Name == "Idempotency-Key" {
			return h.Value
		}
	}
	return ""
}

func (p *Provider) answer(fault Fault, req *onceward.Request, ev *onceward.Evidence) {
	key := keyOf(req)
	ev.Reach = onceward.ReachFirstByte
	switch fault {
	case FaultUnauthorized:
		ev.Status = 401
	case FaultRateLimited:
		ev.Status = 429
	case FaultInvalid:
		ev.Status = 400
	case FaultInProgress:
		ev.Status = 409
	case FaultKeyReused:
		ev.Status = 422
	case FaultErrorBefore:
		ev.Status = 503
	case FaultRequestLost:
		unanswered(ev, onceward.ClassConnection, "reset")
	case FaultDeadline:
		unanswered(ev, onceward.ClassTimeout, "deadline")
	case FaultLate:
		p.late = append(p.late, key)
		unanswered(ev, onceward.ClassConnection, "reset")
	case FaultAnswerLost:
		p.commit(key)
		unanswered(ev, onceward.ClassConnection, "reset")
	case FaultErrorAfter:
		p.commit(key)
		ev.Status = 500
	case FaultTwice:
		p.commit(key)
		p.commit(key)
		unanswered(ev, onceward.ClassConnection, "reset")
	case FaultAnswerCut:
		p.commit(key)
		ev.Status, ev.BodyCut = 201, true
	case FaultNone, FaultRefused:
		p.sound(key, req, ev)
	}
	if p.retry > 0 && (ev.Status == 409 || ev.Status == 429 || ev.Status == 503) {
		ev.Header = append(ev.Header, onceward.HeaderField{Name: "Retry-After", Value: strconv.Itoa(int(p.retry / time.Second))})
	}
}

func unanswered(ev *onceward.Evidence, c onceward.ErrorClass, code string) {
	ev.Reach, ev.Status, ev.ErrorClass, ev.ErrorCode = onceward.ReachBodyWritten, 0, c, code
}

// sound answers a write that meets no fault. Whoever honours keys knows the
// write again by its key, and refuses another write under it.
func (p *Provider) sound(key string, req *onceward.Request, ev *onceward.Evidence) {
	if first, known := p.bodies[key]; p.HonoursKeys && known && !bytes.Equal(first, req.Body) {
		ev.Status = 422
		return
	}
	p.bodies[key] = bytes.Clone(req.Body)
	ev.Status, ev.Body = 201, []byte(p.commit(key))
	if len(p.answers) > 0 {
		a := p.answers[0]
		p.answers = p.answers[1:]
		ev.Status, ev.Header, ev.Body, ev.BodyTooBig = a.Status, slices.Clone(a.Header), bytes.Clone(a.Body), a.TooBig
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
