package onceward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// bulkSideBySide is how many bulk replays a step looks at.
const bulkSideBySide = 16

// StepBulkReplays takes on at most one operation of each bulk replay whose time
// has come, and says whether it did anything.
func (l *Ledger) StepBulkReplays(ctx context.Context) (worked bool, err error) {
	running, err := l.store.RunningBulkReplays(ctx, bulkSideBySide)
	if err != nil {
		return false, err
	}
	var errs []error
	for _, b := range running {
		if l.clock.now().Before(b.NextAt) {
			continue
		}
		if err := l.stepBulk(ctx, b); err != nil { // the others go on
			errs = append(errs, fmt.Errorf("step bulk replay %s: %w", b.ID, err))
			continue
		}
		worked = true
	}
	return worked, errors.Join(errs...)
}

// stepBulk chooses an operation, stores that, tries it, and stores what became of
// it. Whoever crashes in between has its choice tried again by another replica,
// once bulkHold is over: the operation has moved on then, and is left alone.
//
// Crash point: bulk.after_choice, bulk.before_commit.
func (l *Ledger) stepBulk(ctx context.Context, b *BulkReplay) error {
	again := b.Pending != nil
	if !again {
		if err := l.choose(ctx, b); err != nil {
			return err
		}
	}
	if b.Pending == nil {
		b.State, b.FinishedAt = BulkFinished, l.clock.now()
		_, _, err := l.nextBulk(ctx, b)
		return err
	}
	began := l.clock.now()
	if why, err := l.lostRights(ctx, b.By, ActionReplay); err != nil || why != "" {
		return cmp.Or(err, l.stopBulk(ctx, b, why))
	}
	b.NextAt = began.Add(bulkHold)
	if stored, applied, err := l.nextBulk(ctx, b); err != nil || !applied || stored.State != BulkRunning {
		return err // another replica was faster, or it was cancelled
	}
	l.crash("bulk.after_choice")
	if err := l.tryBulk(ctx, b, b.Pending); err != nil {
		b.NextAt = l.clock.now().Add(bulkAgain)
		if errors.Is(err, ErrFunctionNotHere) {
			l.warnOnce("a bulk replay left to others", b.Filter.Tool, err)
			err = nil
		}
		_, _, later := l.nextBulk(ctx, b) // if not even that can be written, bulkHold ends
		return errors.Join(err, later)
	}
	if again && b.Pending.Outcome == BulkMovedOn {
		b.Pending.Message = "it was tried before this server took over: " + b.Pending.Message
	}
	l.crash("bulk.before_commit")
	b.Results, b.Pending = append(b.Results, *b.Pending), nil
	b.NextAt = began.Add(time.Minute / time.Duration(b.Rate))
	_, _, err := l.nextBulk(ctx, b)
	return err
}

// choose finds the next operation; Pending stays nil where there is none.
func (l *Ledger) choose(ctx context.Context, b *BulkReplay) error {
	if !b.Plan.IsZero() {
		plan, err := l.store.LoadBulkReplay(ctx, b.Plan)
		if err != nil || plan == nil || len(b.Results) >= len(plan.Results) {
			return err
		}
		r := plan.Results[len(b.Results)]
		b.Pending = &BulkResult{Operation: r.Operation, Attempt: r.Attempt, Outcome: r.Outcome}
		return nil
	}
	f := Filter{Tenant: b.Tenant, Tool: b.Filter.Tool, States: b.Filter.States, Run: b.Filter.Run, CorrelationID: b.Filter.CorrelationID, After: b.After, Limit: 1}
	if len(f.States) == 0 {
		f.States = DeadStates
	}
	page, err := l.store.List(ctx, f)
	if err != nil || len(page) == 0 || page[0].CreatedAt.Before(b.Filter.From) {
		return err
	}
	if len(b.Results) >= BulkReplayMax {
		b.Cut = true
		return nil
	}
	b.After = Cursor{CreatedAt: page[0].CreatedAt, ID: page[0].ID}
	b.Pending = &BulkResult{Operation: page[0].ID, Attempt: page[0].Attempt()}
	return nil
}

// lostRights says why whoever asked for something that goes on may not do it any
// more; empty: it may.
func (l *Ledger) lostRights(ctx context.Context, p Principal, a Action) (string, error) {
	c, at := p.Credential, l.clock.now()
	if c.Token != "" {
		t, err := l.readToken(ctx, c.Token)
		switch {
		case err != nil:
			return "", err
		case t == nil:
			return "the token " + string(c.Token) + " is gone", nil
		case t.refusal(at) != nil:
			return messageOf(t.refusal(at)), nil
		}
	}
	if !c.EndsAt.IsZero() && !at.Before(c.EndsAt) {
		return "the sign-in of " + p.String() + " ended at " + c.EndsAt.UTC().Format(time.RFC3339), nil
	}
	if err := Authorize(p, a); err != nil {
		return messageOf(err), nil
	}
	return "", nil
}

// stopBulk cancels what whoever asked for may not do any more.
func (l *Ledger) stopBulk(ctx context.Context, b *BulkReplay, why string) error {
	b.State, b.FinishedAt, b.Why = BulkCancelled, l.clock.now(), why
	_, _, err := l.nextBulk(ctx, b, NewAuditEvent(AuditEvent{Tenant: b.Tenant, Actor: l.opts.Owner, Action: AuditBulkReplayCancelled, Subject: b.ID.String(), Reason: why}))
	return err
}

// tryAgain reports whether an error says nothing of the operation: the ledger was
// away, or busy, or another process has what it takes.
func tryAgain(err error) bool {
	return errors.Is(err, ErrFunctionNotHere) || slices.Contains([]Code{CodeLedgerUnavailable, CodeMayBeRecorded, CodeLedgerReadOnly, CodeWriteConflict, CodeOverloaded, CodeCanceled}, CodeOf(err))
}

// tryBulk plans, and replays what may be replayed. An error is no verdict: the
// operation is to be tried again.
func (l *Ledger) tryBulk(ctx context.Context, b *BulkReplay, r *BulkResult) error {
	confirmed := b.Confirm && r.Outcome == BulkConfirm
	end := func(o BulkOutcome, message string) {
		r.Outcome, r.Message = o, strings.ToValidUTF8(message[:min(len(message), bulkMessageMax)], "")
	}
	plan, err := l.PlanReplay(ctx, b.By, r.Operation)
	switch {
	case tryAgain(err):
		return err
	case err != nil:
		end(BulkError, messageOf(err))
		return nil
	case plan.Operation.Attempt() != r.Attempt || plan.Operation.State == StateReady || plan.Operation.State == StateEffectPending:
		end(BulkMovedOn, "it is "+plan.Operation.State.String())
		return nil
	case plan.Verdict == ReplayRefuse:
		end(BulkRefused, plan.Reasons[0])
		return nil
	case plan.Verdict == ReplayConfirm && !confirmed:
		end(BulkConfirm, plan.Reasons[0])
		return nil
	case b.DryRun:
		end(BulkSafe, plan.Reasons[0])
		return nil
	}
	op, err := l.carryOutPlan(ctx, b.By, plan, b.Reason+" ("+b.ID.String()+")")
	switch {
	case tryAgain(err):
		return err
	case Is(err, CodeReplayRefused):
		end(BulkMovedOn, messageOf(err))
	case err != nil:
		end(BulkError, messageOf(err))
	default:
		end(BulkReplayed, "it is "+op.State.String())
	}
	return nil
}
