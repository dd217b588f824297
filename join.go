package onceward

import (
	"context"
	"fmt"
	"time"
)

// Join is a transaction of the caller's own on the ledger's database. What is
// done through it is stored if the caller commits, and never was if the caller
// rolls back. postgres.InTx, postgres.InSQL and sqlite.InTx make one; it is as
// safe for concurrent use as the transaction is.
type Join interface {
	// Apply writes one change as [Store] does, but does not commit. Where it lost,
	// Stored may be nil: the row can be read outside then, unless this transaction
	// wrote it.
	Apply(ctx context.Context, c Change) (Committed, error)
	// AddOutbox appends events, complete as [NewOutboxEvent] makes them.
	AddOutbox(ctx context.Context, events []OutboxEvent) error
	// Receive marks a message as handled; false: it was already. CodeStillRunning:
	// another transaction is handling it.
	Receive(ctx context.Context, r Receipt) (first bool, err error)
	// Within runs work and undoes what it wrote if it fails or panics; a panic goes on.
	Within(ctx context.Context, work func() error) error
}

// LocalEffect is what a function wrote in the caller's transaction.
type LocalEffect struct {
	Reference string  // of what was written, as a probe or a person finds it; may be empty
	Result    *Result // for later requests; nil: none
}

// SubmitIn records an intention in the caller's transaction: business row and
// operation commit together. Nothing is sent before that. Once it is committed,
// the first attempt starts by itself; [Ledger.Wake] after the commit makes that
// soon. The answer does not wait: a fresh operation is ready, or waits for an
// approval; the same intention again gets the operation as it stands now.
//
// Where it fails, roll back.
func (l *Ledger) SubmitIn(ctx context.Context, j Join, in Intent) (*Answer, error) {
	a, err := l.submitIn(ctx, j, in)
	l.count(in.Principal, in.Tool, a, err)
	return a, err
}

func (l *Ledger) submitIn(ctx context.Context, j Join, in Intent) (*Answer, error) {
	in.Wait = 0
	r, err := l.admit(ctx, &in)
	if err != nil {
		return nil, err
	}
	op, won, err := l.claimIn(ctx, j, r, starter{generation: r.gen}, false)
	if err != nil {
		return nil, err
	}
	if !won {
		return l.answerIn(ctx, r, op)
	}
	return &Answer{Operation: op, Decision: DecisionFresh, RetryAfter: l.retryAfter(op)}, nil
}

// DoIn performs an intention whose effect is nothing but writes in the caller's
// transaction: fn makes them, and they, the operation and its result commit
// together, or none of them. So there is no unknown outcome, and exactly one
// effect, however often the intention comes. The tool's contract says
// executor: caller.
//
// fn is run if the intention is new, or waits for its performer; else the answer
// is that of [Ledger.Claim] for a duplicate, without waiting. If fn fails, the
// transaction holds nothing of the operation, and the error is returned as it is.
// While another transaction performs the same intention, DoIn waits for its end,
// as the database lets it.
//
// fn must do nothing that a rollback does not undo: no message, no call.
func (l *Ledger) DoIn(ctx context.Context, j Join, in Intent, fn func(ctx context.Context) (LocalEffect, error)) (*Answer, error) {
	a, err := l.doIn(ctx, j, in, fn)
	l.count(in.Principal, in.Tool, a, err)
	return a, err
}

func (l *Ledger) doIn(ctx context.Context, j Join, in Intent, fn func(ctx context.Context) (LocalEffect, error)) (*Answer, error) {
	r, err := l.admitLocal(ctx, &in)
	if err != nil {
		return nil, err
	}
	var answer *Answer
	err = j.Within(ctx, func() error {
		op, won, err := l.claimIn(ctx, j, r, localStarter(r.gen), true)
		if err == nil && !won {
			op, won, err = l.resumeIn(ctx, j, r, op)
		}
		switch {
		case err != nil:
			return err
		case !won:
			answer, err = l.answerIn(ctx, r, op)
			return err
		case op.State != StateEffectPending: // it waits, or may have been performed
			answer = &Answer{Operation: op, Decision: decisionFor(op.State, op), RetryAfter: l.retryAfter(op)}
			return nil
		}
		answer, err = l.performIn(ctx, j, r, op, fn)
		return err
	})
	return answer, err
}

// localStarter marks an attempt that lives inside one transaction: nobody else
// can report on it.
func localStarter(g Generation) starter {
	return starter{generation: g, claimToken: hashToken("in transaction")}
}

// admitLocal is admit for what the caller performs in its own transaction.
func (l *Ledger) admitLocal(ctx context.Context, in *Intent) (*admitted, error) {
	t, err := l.permitted(ctx, in.Principal, in.Tool, ActionPerform)
	if err != nil {
		return nil, err
	}
	if !t.Info().Policy.RemoteExecutor {
		return nil, &Error{Code: CodeInvalidRequest, Op: "perform", Message: fmt.Sprintf("tool %s is performed by onceward", in.Tool), Hint: "use SubmitIn, or set executor: caller in the contract"}
	}
	gen := l.firstGeneration(t.Info())
	p, err := t.Prepare(in, gen)
	if err != nil {
		return nil, err
	}
	if p.SerialKey != "" {
		return nil, &Error{Code: CodeUnsupportedPolicy, Op: "perform", Message: fmt.Sprintf("tool %s has serialize_by, which no open transaction can hold", in.Tool),
			Hint: "leave serialize_by out: lock the business row in the transaction"}
	}
	if err := l.documented(ctx, in, t, p); err != nil {
		return nil, err
	}
	return &admitted{in: in, tool: t, gen: gen, p: p}, nil
}

// claimIn inserts the operation in the caller's transaction, with its first
// attempt if start says so and it may start.
func (l *Ledger) claimIn(ctx context.Context, j Join, r *admitted, s starter, start bool) (op *Operation, won bool, err error) {
	id := NewOperationID(r.in.Principal.Tenant, r.tool.Info().Name, r.p.Key)
	if err := l.join(ctx, r.in, id); err != nil {
		return nil, false, err
	}
	at := l.clock.now()
	fresh := NewOperation(r.in, r.p, r.tool.Info(), s.generation, at)
	if err := l.unsure(ctx, &fresh, r.tool.Info(), at); err != nil {
		return nil, false, err
	}
	if err := l.assign(ctx, &fresh, r.p); err != nil {
		return nil, false, err
	}
	var fs []fact
	if start {
		fs = l.firstFacts(&fresh, at, s)
	}
	c, _, err := l.build(&fresh, fs, at)
	if err != nil {
		return nil, false, err
	}
	c.complete(r.in, r.p, &fresh, at)
	return l.applyIn(ctx, j, c)
}

// resumeIn starts an attempt of an operation that waits for its performer, or asks
// anew where its yes does not hold any more; it is not won if it does neither.
func (l *Ledger) resumeIn(ctx context.Context, j Join, r *admitted, op *Operation) (*Operation, bool, error) {
	at := l.clock.now()
	if op.Retired || op.State != StateReady || op.NextStep(at) != StepNone || at.Before(op.startFrom()) {
		return op, false, nil
	}
	if err := l.sameIntention(ctx, r.in, r.tool, r.p, op); err != nil {
		return op, false, err
	}
	asked, err := l.outdated(ctx, op, r.tool)
	if err != nil {
		return op, false, err
	}
	if asked != nil {
		return l.buildIn(ctx, j, op, facts(l.opts.Owner, *asked), at)
	}
	s := localStarter(op.Generation)
	s.contract = op.Contract
	fs := l.startFacts(op, at, s)
	if isPark(fs) {
		return op, false, nil
	}
	return l.buildIn(ctx, j, op, fs, at)
}

// buildIn tells the machine facts about a stored operation in the caller's transaction.
func (l *Ledger) buildIn(ctx context.Context, j Join, op *Operation, fs []fact, at time.Time) (*Operation, bool, error) {
	c, _, err := l.build(op, fs, at)
	if err != nil {
		return op, false, err
	}
	return l.applyIn(ctx, j, c)
}

// performIn runs the function and records its effect.
func (l *Ledger) performIn(ctx context.Context, j Join, r *admitted, op *Operation, fn func(ctx context.Context) (LocalEffect, error)) (*Answer, error) {
	effect, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	out := RemoteOutcome{Verdict: VerdictDone, Reference: effect.Reference, Result: effect.Result}
	if err := out.check(); err != nil {
		return nil, err
	}
	at := l.clock.now()
	done := AttemptDone{Attempt: op.Attempt(), Sent: Sent{Reach: ReachFirstByte, LastByteAt: at}, Reference: effect.Reference, Settler: SettledByAnswer}
	if effect.Result != nil {
		kept := *effect.Result
		kept.Header = ReplayableHeader(kept.Header)
		done.Result = r.tool.Info().kept(&kept)
	}
	stored, won, err := l.buildIn(ctx, j, op, facts(r.in.Principal.String(), done), at)
	if err == nil && !won {
		err = &Error{Code: CodeWriteConflict, Op: "perform", OperationID: op.ID, Message: "the operation was changed by somebody else inside the transaction", Hint: "roll back"}
	}
	if err != nil {
		return nil, err
	}
	return &Answer{Operation: stored, Decision: DecisionFresh}, nil
}

// applyIn writes a change in the caller's transaction; won is false if it lost,
// and then op is what it lost to.
func (l *Ledger) applyIn(ctx context.Context, j Join, c *Change) (op *Operation, won bool, err error) {
	if err := l.Refusal(); err != nil {
		return nil, false, err
	}
	got, err := l.applySealed(ctx, j, c)
	if err == nil {
		err = got.Err
	}
	if err != nil {
		return nil, false, fmt.Errorf("record operation %s: %w", c.After.ID, err)
	}
	if got.Applied {
		after := c.After
		return &after, true, nil
	}
	stored := got.Stored
	for _, id := range append([]OperationID{c.After.ID}, c.Aliases...) {
		if stored == nil {
			if stored, err = l.writer.Read(ctx, id); err != nil {
				return nil, false, fmt.Errorf("load operation %s: %w", id, err)
			}
		}
	}
	if stored == nil {
		return nil, false, &Error{Code: CodeStillRunning, Op: "record operation", OperationID: c.After.ID, Message: "this transaction, or another one, is at the same intention and has not committed",
			Hint: "ask once in a transaction, and again after its end"}
	}
	lost, err := l.lostClaim(ctx, &c.After, stored)
	return lost.op, false, err
}

// applySealed hands a change to the caller's transaction as a store keeps it.
func (l *Ledger) applySealed(ctx context.Context, j Join, c *Change) (Committed, error) {
	switch {
	case l.opts.Sealer == nil && c.After.Subject != "":
		return Committed{}, keysMissing()
	case l.opts.Sealer == nil:
		return j.Apply(ctx, *c)
	}
	hidden, err := l.opts.Sealer.Conceal(ctx, c)
	if err != nil {
		return Committed{}, err
	}
	got, err := j.Apply(ctx, hidden)
	if err == nil && got.Stored != nil {
		err = l.opts.Sealer.Reveal(ctx, got.Stored)
	}
	return got, err
}

// answerIn answers an intention that was there first, without waiting and
// without doing anything about it.
func (l *Ledger) answerIn(ctx context.Context, r *admitted, op *Operation) (*Answer, error) {
	if op.Retired {
		return nil, keyRetired(op)
	}
	if err := l.sameIntention(ctx, r.in, r.tool, r.p, op); err != nil {
		return nil, err
	}
	if err := refuseDuplicate(r.in.OnDuplicate, op); err != nil {
		return nil, err
	}
	return &Answer{Operation: op, Decision: decisionFor(op.State, op), RetryAfter: l.retryAfter(op)}, nil
}
