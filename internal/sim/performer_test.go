package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/onceward/onceward"
)

// performer performs a claimed operation itself. It lives outside of every
// process, keeps to its lease as it counts it, from when it asked, and writes once.
type performer struct {
	e          *engine
	name       string
	plan       Call
	id         onceward.AttemptID
	generation int
	key        string
	secret     string
	ends       time.Duration // of its lease, by its own count
	until      time.Time     // of its lease, as it was told
	flight     *Flight
	lost       bool // it was told that the lease is not its own any more
	out        onceward.RemoteOutcome
	over       bool
}

// remote asks a replica for what performers want.
func (e *engine) remote(ctx context.Context, c *call, more *post) (*onceward.Operation, error) {
	l, who := c.process.ledger, onceward.LocalPrincipal()
	if c.Kind == CallBeat {
		p := e.performers[c.Token]
		until, err := l.Heartbeat(ctx, who, p.id, p.secret)
		if e.bug.beat != nil {
			until, err = e.bug.beat(until, err)
		}
		more.until = until
		return nil, err
	}
	if c.Kind == CallReport {
		p := e.performers[c.Token]
		return l.ReportOutcome(ctx, who, p.id, p.secret, p.out)
	}
	g, err := l.Claim(ctx, onceward.Intent{Principal: who, Tool: onceward.ToolName(Specs[e.plan.Ops[c.Op].Spec].Name), Wait: c.Wait, Input: e.input(c.Op, c.Amount, c.Words)}, c.token())
	if err != nil {
		return nil, err
	}
	more.grant = g
	return g.Operation, nil
}

// tellPerformer gives an answer to whoever performs.
func (e *engine) tellPerformer(l *post) {
	switch l.c.Kind {
	case CallClaim:
		if l.grant != nil && l.grant.Secret != "" {
			e.granted(l.c, l.grant)
		}
	case CallBeat:
		p := e.performers[l.c.Token]
		switch l.told.Code {
		case "":
			p.ends = max(p.ends, min(p.ends+l.until.Sub(p.until), l.c.askedAt+Lease))
			p.until = l.until
		case "fence_lost", "attempt_not_found":
			p.lost = true
		}
	case CallReport:
		p := e.performers[l.c.Token]
		switch l.told.Code {
		case "", "attempt_not_found", "fence_lost", "state_forbids":
			p.over = true
		}
	case CallSubmit, CallCancel, CallReplay, CallReconcile, CallProve, CallResolve, CallPause, CallResume, CallFork, CallBatch, CallApprove, CallReject, CallEdit:
	}
}

// granted lets a performer begin. The same attempt again is the same performer's.
func (e *engine) granted(c *call, g *onceward.Grant) {
	generation := int(g.Operation.Generation)
	e.audit.Granted(c.name, fmt.Sprintf("%s/%d.%d", e.plan.Ops[c.Op].Name, generation, g.Attempt.Number), c.token(), g.Secret)
	for _, p := range e.performers {
		if p.id == g.Attempt && p.generation == generation {
			return
		}
	}
	since := c.askedAt
	if first, ok := e.asked[c.token()]; ok {
		since = min(since, first)
	}
	delete(e.asked, c.token())
	a := g.Operation.Running()
	p := &performer{e: e, plan: *c.Call, name: "performer" + strconv.Itoa(len(e.performers)+1), id: g.Attempt, generation: generation, key: g.Operation.ProviderKey,
		secret: g.Secret, ends: since + a.LeaseUntil.Sub(a.StartedAt), until: a.LeaseUntil}
	p.plan.Token = len(e.performers)
	e.performers = append(e.performers, p)
	e.s.note("  ", p.name, " has attempt ", strconv.Itoa(p.id.Number), " of ", e.plan.Ops[c.Op].Name)
	e.s.after(e.s.now+p.plan.Work, p.name+" writes", p.write)
	if p.plan.Beats {
		first := Lease / 3
		if p.plan.Work > Lease {
			first = Lease + Lease/10 // it was slow, and asks whether it may go on
		}
		e.s.after(e.s.now+first, p.name+" beats", p.beat)
	}
}

func (p *performer) errand(kind CallKind, repeats int) {
	p.e.s.after(p.e.s.now, p.name+" asks", func() {
		n := len(p.e.calls)
		p.e.ask(&Call{Kind: kind, Op: p.plan.Op, Replica: p.plan.Replica + n, Token: p.plan.Token, Repeats: repeats}, p.name+"."+strconv.Itoa(n), 0)
	})
}

func (p *performer) beat() {
	if p.flight != nil || p.lost || p.over {
		return
	}
	p.errand(CallBeat, 0)
	p.e.s.after(p.e.s.now+Lease/3, p.name+" beats", p.beat)
}

func (p *performer) write() {
	e, op := p.e, &p.e.plan.Ops[p.plan.Op]
	if p.lost || e.s.now >= p.ends {
		p.out = onceward.RemoteOutcome{Verdict: onceward.VerdictNotDone, Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: "too_late", Retryable: true}}
		p.report()
		return
	}
	spec, until := &Specs[op.Spec], min(e.s.now+Deadline, p.ends)
	e.audit.Performs(op.Name, p.id.Number, p.generation)
	e.audit.Sent("caller", spec.Name, op.Name, p.key, op.Name)
	p.flight = e.world.Write(spec, op.Name, p.key, until)
	e.s.note("  ", p.name, " sends ", op.Name)
	if p.flight.faulty {
		e.s.note("    which meets: ", p.flight.fate.String())
	}
	e.s.after(until, p.name+" hears", p.hear)
}

// hear is when the performer stops listening for the answer to its write.
func (p *performer) hear() {
	f, failed := p.flight, func(v onceward.Verdict, code string) {
		p.out = onceward.RemoteOutcome{Verdict: v, Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: code, Retryable: true}}
	}
	switch {
	case f.AnswerAt == 0 || f.AnswerAt > p.e.s.now || f.Status == 0:
		failed(onceward.VerdictUnknown, "no_answer")
	case f.Status/100 == 2:
		p.out = onceward.RemoteOutcome{Verdict: onceward.VerdictDone, Reference: f.Body}
	case f.Status == 412:
		reference, _ := p.e.world.Known(p.key)
		p.out = onceward.RemoteOutcome{Verdict: onceward.VerdictDone, Reference: reference}
	case f.Status == 409 || f.Status/100 == 5:
		failed(onceward.VerdictUnknown, "http_"+strconv.Itoa(f.Status))
	default:
		failed(onceward.VerdictNotDone, "http_"+strconv.Itoa(f.Status))
	}
	p.report()
}

func (p *performer) report() {
	says, after := p.plan.Says, time.Duration(0)
	if p.e.calm {
		says = SaysTruth
	}
	switch says {
	case SaysTruth:
	case SaysUnknown:
		p.out = onceward.RemoteOutcome{Verdict: onceward.VerdictUnknown}
	case SaysLate:
		after = 2 * Lease
	case SaysNothing, saysCount:
		p.over = true
		return
	}
	p.e.s.after(p.e.s.now+after, p.name+" reports", func() { p.errand(CallReport, 500) })
}

// claimOn claims what still wants a performer, as long as there is something to perform.
func (e *engine) claimOn(i, n int) {
	if r := e.audit.Rows()[e.plan.Ops[i].Name]; !r.ended() && r.State != "needs_review" && r.State != "effect_pending" {
		e.ask(&Call{Kind: CallClaim, Op: i, Replica: e.s.random.IntN(len(e.processes)), Token: 100 + n, Amount: int(r.Amount), Repeats: 3, Work: 50 * time.Millisecond}, fmt.Sprintf("last%d.%d", i+1, n), 0)
	}
	e.s.after(e.s.now+4*time.Second, "more work is looked for", func() { e.claimOn(i, n+1) })
}
