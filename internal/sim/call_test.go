package sim

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// call is one request under way.
type call struct {
	*Call
	name    string
	tries   int
	process *process
	cancel  context.CancelFunc
	over    bool
	askedAt time.Duration
}

// post is what a call's goroutine leaves when it ends.
type post struct {
	c    *call
	told Told
	none bool // the connection went: nobody was told anything

	batch []Told          // instead of told
	grant *onceward.Grant // of a claim
	until time.Time       // of a heartbeat
}

// ask sends a request to a replica, in a goroutine of its own.
func (e *engine) ask(plan *Call, name string, tries int) {
	p := e.processes[plan.Replica%len(e.processes)]
	if p.dead || !p.ready || p.stopped || plan.Kind == CallBatch && e.s.now-p.beatAt > beatFresh {
		e.again(plan, name, tries)
		return
	}
	ctx, cancel := context.WithCancel(tagged(name))
	c := &call{Call: plan, name: name, tries: tries, process: p, cancel: cancel, askedAt: e.s.now}
	e.due[name] = e.s.now
	if _, since := e.asked[c.token()]; plan.Kind == CallClaim && !since {
		e.asked[c.token()] = e.s.now
	}
	e.calls = append(e.calls, c)
	e.s.note(name, ": ", plan.Kind.String(), " ", e.plan.Ops[plan.Op].Name, " at ", p.name)
	if plan.HangUp > 0 {
		e.s.after(e.s.now+plan.HangUp, name+" hangs up", func() { e.hangUp(c) })
	}
	go e.perform(ctx, c)
}

// again lets the caller come back later, to another replica.
func (e *engine) again(plan *Call, name string, tries int) {
	if tries >= plan.Repeats {
		return
	}
	next := *plan
	next.Replica++
	e.s.after(e.s.now+500*time.Millisecond+time.Duration(e.s.random.IntN(3000))*time.Millisecond, name+" comes again", func() { e.ask(&next, strings.TrimRight(name, "+")+strings.Repeat("+", tries+1), tries+1) })
}

// hangUp ends a caller's context while its goroutine waits and does not stand
// at a point: so what wakes it is this and nothing else.
func (e *engine) hangUp(c *call) {
	if c.over || c.process.dead {
		return
	}
	for _, pt := range e.s.standing {
		if pt.process == c.process && strings.HasPrefix(pt.what, c.process.name+" "+c.name+" ") {
			e.s.after(e.s.now+20*time.Millisecond, c.name+" hangs up", func() { e.hangUp(c) })
			return
		}
	}
	c.cancel()
}

func (e *engine) perform(ctx context.Context, c *call) {
	left := post{c: c, none: true}
	defer func() {
		e.s.mu.Lock()
		defer e.s.mu.Unlock()
		e.letters = append(e.letters, left)
	}()
	told := Told{Call: c.name, Op: e.plan.Ops[c.Op].Name, Submit: c.Kind == CallSubmit || c.Kind == CallClaim || c.Kind == CallFork, Amount: int64(c.Amount), Since: c.askedAt}
	var more post
	op, err := e.request(ctx, c, &more)
	if c.process.dead {
		return
	}
	c.process.stand(c.name+" is answered", 0)
	if more.batch != nil {
		left = post{c: c, batch: more.batch}
		return
	}
	if err != nil {
		told.Code = string(onceward.CodeOf(err))
	} else if op != nil {
		told.Row = e.row(op)
	}
	left = post{c: c, told: told, none: err == nil && op == nil && more.until.IsZero(), grant: more.grant, until: more.until}
}

// useKey is, in the context of a call, the use of its key that it speaks of.
type useKey struct{}

type use struct {
	generation int
	read       bool // the call has read its operation once
}

// request asks the ledger for what the caller wants.
func (e *engine) request(ctx context.Context, c *call, more *post) (*onceward.Operation, error) {
	l, who := c.process.ledger, onceward.LocalPrincipal()
	name, spec := e.plan.Ops[c.Op].Name, &Specs[e.plan.Ops[c.Op].Spec]
	tool := onceward.ToolName(spec.Name)
	id := e.opID(c.Op)
	row := e.audit.Rows()[name]
	reference, there := e.world.Known(row.Key)
	switch c.Kind {
	case CallSubmit:
		a, err := l.Submit(ctx, onceward.Intent{Principal: who, Tool: tool, Wait: c.Wait, OnDuplicate: onceward.OnDuplicate(c.Strict),
			Input: e.input(c.Op, c.Amount, c.Words)})
		if err != nil {
			return nil, err
		}
		return a.Operation, nil
	case CallCancel:
		return l.Cancel(ctx, who, id, "not wanted any more")
	case CallReconcile:
		return l.Reconcile(ctx, who, id)
	case CallProve:
		if !there {
			return nil, nil
		}
		return l.Prove(context.WithValue(ctx, useKey{}, &use{generation: row.Generation}), who, id, reference, "the provider's event")
	case CallReplay:
		plan, err := l.PlanReplay(ctx, who, id)
		if err != nil {
			return nil, err
		}
		sentence := ""
		row = e.audit.Rows()[name] // the plan may have taken long: what it speaks of is looked at now
		if _, known := e.world.Known(row.Key); !known && !e.world.Pending(row.Key) {
			sentence = plan.Sentence // the person looked, and it is true
		}
		return l.Replay(ctx, who, id, "tried again by hand", sentence)
	case CallResolve:
		if row.State != "needs_review" && row.State != "outcome_unknown" || e.world.Pending(row.Key) {
			return nil, nil
		}
		r := onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Reason: "looked at the provider", Retry: c.At%2 == 0, Attempt: row.Attempts}
		if there {
			r = onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Reference: reference, Attempt: row.Attempts}
		}
		if c.Slow > 0 {
			r.Retry = r.Retry && c.At/time.Millisecond%2 == 0
			c.process.stand(c.name+" thinks", e.s.now+c.Slow)
		}
		if e.bug.resolve != nil {
			e.bug.resolve(&r)
		}
		return l.Resolve(ctx, who, id, r)
	case CallPause:
		return nil, l.PauseTool(ctx, who, tool, "something is odd")
	case CallResume:
		_, err := l.ResumeTool(ctx, who, tool)
		return nil, err
	case CallClaim, CallBeat, CallReport:
		return e.remote(ctx, c, more)
	case CallFork:
		return e.fork(ctx, c)
	case CallBatch:
		e.batch(ctx, c, more)
	case CallApprove, CallReject, CallEdit:
		return e.person(ctx, c)
	}
	return nil, nil
}

// deliver tells the auditor what callers were told since the last step.
func (e *engine) deliver() {
	letters := e.letters
	e.letters = nil
	slices.SortStableFunc(letters, func(a, b post) int { return cmp.Compare(a.c.name, b.c.name) })
	for _, l := range letters {
		l.c.over = true
		if l.none && !l.c.process.dead {
			continue
		}
		if l.none {
			e.s.note(l.c.name, " is cut off")
			e.again(l.c.Call, l.c.name, l.c.tries)
			continue
		}
		if l.batch != nil {
			e.tellBatch(&l)
			continue
		}
		e.s.note(l.c.name, " is told ", l.told.Code, l.told.Row.State, " ", l.told.Row.Reference)
		if l.c.Kind == CallBeat {
			e.tellPerformer(&l)
			continue
		}
		if l.c.HangUp == 0 || e.s.now < 0 || l.told.Code != "canceled" {
			e.audit.Heard(l.told)
		}
		e.tellPerformer(&l)
		if l.c.Kind == CallCancel && l.told.Code == "" {
			e.audit.Cancelled(l.told.Row)
		}
		if l.told.Code != "" && l.told.Code != "key_reused" && l.told.Code != "duplicate" && l.told.Code != "key_retired" || l.told.Code == "" && l.c.Kind == CallSubmit && !l.told.Row.ended() {
			e.again(l.c.Call, l.c.name, l.c.tries)
		}
	}
}
