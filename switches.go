package onceward

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// switches is this process's picture of the shared tool switches.
type switches struct {
	mu     sync.RWMutex
	paused map[switchKey]ToolSwitch
	parked map[switchKey]struct{} // tools under whose pause this process parked something since it last released
	swept  time.Time              // when all tools that were ever paused were taken for such
}

// sweepEvery is how often what was parked under a pause that is over is looked
// for, whoever parked it.
//
// Why: a commit whose answer was lost may come through late, after the resume had
// released what was parked by then, and the process that made it may be gone.
const sweepEvery = time.Minute

type switchKey struct {
	tenant Tenant
	tool   ToolName
}

// find returns the switch that stops the tool, if one does.
func (s *switches) find(t Tenant, tool ToolName) (ToolSwitch, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if sw, ok := s.paused[switchKey{t, tool}]; ok {
		return sw, true
	}
	if sw, ok := s.paused[switchKey{t, ""}]; ok {
		return sw, true
	}
	sw, ok := s.paused[switchKey{EveryTenant, ""}]
	return sw, ok
}

// set takes a switch over, and reports whether it was thrown: whoever finds a
// tool paused that is paused already throws nothing.
func (s *switches) set(sw ToolSwitch) (thrown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == nil {
		s.paused = map[switchKey]ToolSwitch{}
	}
	k := switchKey{sw.Tenant, sw.Tool}
	_, was := s.paused[k]
	if sw.Paused {
		s.paused[k] = sw
	} else {
		delete(s.paused, k)
	}
	return was != sw.Paused
}

func (s *switches) replace(all []ToolSwitch) {
	next := make(map[switchKey]ToolSwitch, len(all))
	for _, sw := range all {
		if sw.Paused {
			next[switchKey{sw.Tenant, sw.Tool}] = sw
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = next
}

// park notes that something was parked because the tool is paused.
func (s *switches) park(t Tenant, tool ToolName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parked == nil {
		s.parked = map[switchKey]struct{}{}
	}
	s.parked[switchKey{t, tool}] = struct{}{}
}

// sweep notes every tool that was ever paused as one under which something may
// be parked, if that was not done lately.
func (s *switches) sweep(all []ToolSwitch, now time.Time) {
	s.mu.Lock()
	since := now.Sub(s.swept)
	due := since < 0 || since >= sweepEvery // a clock may have been set back
	if due {
		s.swept = now
	}
	s.mu.Unlock()
	for i := range all {
		if due {
			s.park(all[i].Tenant, all[i].Tool)
		}
	}
}

// takeResumed returns, in order, the tools under which something was parked
// and that are not paused, and forgets them.
func (s *switches) takeResumed() []switchKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	var resumed []switchKey
	for k := range s.parked {
		_, one := s.paused[k]
		_, all := s.paused[switchKey{k.tenant, ""}]
		_, everything := s.paused[switchKey{EveryTenant, ""}]
		if !one && !all && !everything {
			resumed = append(resumed, k)
			delete(s.parked, k)
		}
	}
	slices.SortFunc(resumed, func(a, b switchKey) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.tool, b.tool))
	})
	return resumed
}

// RefreshSwitches reads the shared tool switches, and which contracts are in
// force. A worker calls it at least once a second, so that a pause takes effect
// on every replica within one, and so does a contract that another one brought.
func (l *Ledger) RefreshSwitches(ctx context.Context) error {
	all, err := l.readSwitches(ctx)
	if err != nil {
		return err
	}
	l.switches.sweep(all, l.opts.Clock.Now())
	return errors.Join(l.releaseMissed(ctx), l.refreshTools(ctx))
}

func (l *Ledger) readSwitches(ctx context.Context) ([]ToolSwitch, error) {
	all, err := l.store.Switches(ctx)
	if err == nil {
		l.switches.replace(all)
	}
	return all, err
}

// releaseMissed releases what this process parked under a tool that is not
// paused. A resume releases what is parked by then; whoever still took the tool
// for paused parks after it, and nobody else would ever look at that again.
func (l *Ledger) releaseMissed(ctx context.Context) error {
	for _, k := range l.switches.takeResumed() {
		if k.tool == "" {
			if err := l.releaseWide(ctx, k); err != nil {
				return err
			}
			continue
		}
		n, err := l.store.Unpark(ctx, k.tenant, k.tool, ParkToolPaused, resumeStep)
		if err != nil || n == resumeStep {
			l.switches.park(k.tenant, k.tool) // again at the next refresh
		}
		if err != nil {
			return err
		}
		if n > 0 {
			l.Wake()
		}
	}
	return nil
}

// releaseWideSteps bounds how many steps are released at once of what a stop of
// many tools had parked. Why: what is under another pause is parked again behind
// them, and must not be released for ever.
const releaseWideSteps = 100

// releaseWide releases what an earlier process parked while many tools were
// stopped, and did not live to release.
func (l *Ledger) releaseWide(ctx context.Context, k switchKey) error {
	for range releaseWideSteps {
		n, err := l.store.Unpark(ctx, k.tenant, "", ParkToolPaused, resumeStep)
		if err != nil {
			l.switches.park(k.tenant, k.tool) // again at the next refresh
			return err
		}
		if n > 0 {
			l.Wake()
		}
		if n < resumeStep {
			return nil
		}
	}
	return nil
}

// Paused returns the switch that stops a tool in a tenant, if one does.
func (l *Ledger) Paused(t Tenant, tool ToolName) (ToolSwitch, bool) { return l.switches.find(t, tool) }

// PauseTool stops new attempts of a tool (all tools when empty). Running
// attempts settle. Reason is kept with who did it.
func (l *Ledger) PauseTool(ctx context.Context, p Principal, tool ToolName, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "pause tool", Message: "a pause needs a reason", Hint: "say why, so that the next person knows when to resume"}
	}
	if tool != "" {
		if _, err := l.tools.known(ctx, tool); err != nil && !Is(err, CodeContractSuperseded) { // what is behind can be stopped, too
			return err
		}
	}
	if err := l.maySwitch(ctx, p, tool); err != nil {
		return err
	}
	return l.throw(ctx, ToolSwitch{Tenant: p.Tenant, Tool: tool, Paused: true, Reason: reason, By: p.String()})
}

// StopEverything stops new attempts of every tool of every tenant, with a
// reason. Running attempts settle. It is for whoever runs the server: operators
// of [DefaultTenant] that are admins, too.
func (l *Ledger) StopEverything(ctx context.Context, p Principal, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "stop everything", Message: "a stop needs a reason", Hint: "say why, so that the next person knows when to resume"}
	}
	if err := mayStopEverything(p); err != nil {
		return err
	}
	return l.throw(ctx, ToolSwitch{Tenant: EveryTenant, Paused: true, Reason: reason, By: p.String()})
}

// ResumeEverything takes StopEverything back and releases what waited, in steps.
// What is paused by itself stays so.
func (l *Ledger) ResumeEverything(ctx context.Context, p Principal) (int, error) {
	if err := mayStopEverything(p); err != nil {
		return 0, err
	}
	if err := l.throw(ctx, ToolSwitch{Tenant: EveryTenant, By: p.String()}); err != nil {
		return 0, err
	}
	return l.release(ctx, EveryTenant, "")
}

func mayStopEverything(p Principal) error {
	for _, a := range []Action{ActionSwitchTools, ActionStopEverything} {
		if err := Authorize(p, a); err != nil {
			return err
		}
	}
	if p.Tenant != DefaultTenant {
		return &Error{Code: CodeForbidden, Op: "stop everything", Message: "other tenants are not yours to stop", Hint: "stop every tool of your own tenant"}
	}
	return p.permitsAll()
}

// throw stores a switch and takes it over. The other replicas see it at their
// next refresh.
func (l *Ledger) throw(ctx context.Context, sw ToolSwitch) error {
	sw.At = l.clock.now()
	if err := l.store.SetSwitch(ctx, sw, switched(sw)); err != nil {
		return err
	}
	l.switches.set(sw)
	l.log.Warn("switch thrown", "tool", sw.Tool, "tenant", sw.Tenant, "paused", sw.Paused, "by", sw.By, "reason", sw.Reason)
	return nil
}

// Switches lists what is stopped in the tenant, and by whom, when and why: every
// tool of every tenant first, then every tool of the tenant, then single ones.
func (l *Ledger) Switches(ctx context.Context, p Principal) ([]ToolSwitch, error) {
	if err := Authorize(p, ActionReadTools); err != nil {
		return nil, err
	}
	all, err := l.readSwitches(ctx)
	if err != nil {
		return nil, err
	}
	return stoppedIn(all, p.Tenant), nil
}

// stoppedIn are the switches that keep attempts of a tenant from starting, the
// widest first.
func stoppedIn(all []ToolSwitch, t Tenant) []ToolSwitch {
	stopped := []ToolSwitch{}
	for _, sw := range all {
		if sw.Paused && (sw.Tenant == t || sw.Tenant == EveryTenant) {
			stopped = append(stopped, sw)
		}
	}
	slices.SortFunc(stopped, func(a, b ToolSwitch) int {
		if a.Tenant != b.Tenant {
			return map[bool]int{true: -1, false: 1}[a.Tenant == EveryTenant]
		}
		return cmp.Compare(a.Tool, b.Tool)
	})
	return stopped
}

// switched is the audit event of a switch that somebody threw.
func switched(sw ToolSwitch) AuditEvent {
	e := AuditEvent{Tenant: sw.Tenant, Actor: sw.By, Action: AuditToolResumed, Subject: string(sw.Tool), Reason: sw.Reason}
	if sw.Paused {
		e.Action = AuditToolPaused
	}
	if sw.Tool == "" {
		e.Subject = "every tool"
	}
	if sw.Tenant == EveryTenant {
		e.Tenant, e.Subject = "", "every tool of every tenant"
	}
	return NewAuditEvent(e)
}

// maySwitch refuses who is narrowed to other tools. A tool whose contract is
// gone has no effect class: only its name counts.
func (l *Ledger) maySwitch(ctx context.Context, p Principal, tool ToolName) error {
	if err := Authorize(p, ActionSwitchTools); err != nil {
		return err
	}
	if tool == "" {
		return p.permitsAll()
	}
	t, err := l.tools.known(ctx, tool)
	if err != nil {
		p.Effects = nil
		return p.Permits(tool, 0)
	}
	return p.Permits(tool, t.Info().Policy.Effect)
}

// resumeStep is how many parked operations a resume releases at a time.
const resumeStep = 100

// ResumeTool lets attempts of a tool start again and releases what waited, in
// steps so that the provider is not flooded. It returns how many it released. A
// paused tool whose contract is gone can be resumed too; CodeToolNotFound for one
// that has no contract and is not paused.
func (l *Ledger) ResumeTool(ctx context.Context, p Principal, tool ToolName) (int, error) {
	if err := l.maySwitch(ctx, p, tool); err != nil {
		return 0, err
	}
	if _, err := l.tools.known(ctx, tool); tool != "" && err != nil {
		if sw, paused := l.switches.find(p.Tenant, tool); !paused || sw.Tool != tool {
			return 0, err
		}
	}
	if err := l.throw(ctx, ToolSwitch{Tenant: p.Tenant, Tool: tool, By: p.String()}); err != nil {
		return 0, err
	}
	return l.release(ctx, p.Tenant, tool)
}

func (l *Ledger) release(ctx context.Context, t Tenant, tool ToolName) (int, error) {
	released := 0
	for {
		n, err := l.store.Unpark(ctx, t, tool, ParkToolPaused, resumeStep)
		released += n
		if err != nil || n == 0 {
			return released, err
		}
		l.Wake()
		if n < resumeStep {
			return released, nil
		}
		select {
		case <-ctx.Done():
			return released, ctx.Err()
		case <-l.opts.Clock.After(50 * time.Millisecond):
		}
	}
}
