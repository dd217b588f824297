package onceward

import (
	"context"
	"slices"
	"time"
)

// Gap is a stretch of time of which the ledger has forgotten what it did: it was
// restored from a backup of before. Whatever could have been dispatched in it is
// looked up, sent again under the same key, or shown to a person before it is
// attempted once more.
type Gap struct {
	Since   time.Time  // the last change that the ledger knew; zero: not known
	Until   time.Time  // when it was opened again: ledger time, and the gap's name
	Lost    int        // how many dispatches its witness named; more may have been
	Cleared []ToolName // by name: somebody found out what they did, and they start as ever
	By      string
	Reason  string
}

// GapStore keeps the gaps. Its methods are safe for concurrent use and return the
// errors of [Store].
type GapStore interface {
	// Gaps returns all gaps, oldest first.
	Gaps(ctx context.Context) ([]Gap, error)
	// PutGap stores a gap, in place of one that ended at the same time, and notes
	// the events in the same transaction.
	PutGap(ctx context.Context, g Gap, notes ...AuditEvent) error
}

// ownerForgotten is the owner of an attempt that may have been made in a gap.
const ownerForgotten = "forgotten"

// gapOver returns the newest gap in which the operation may have been attempted,
// unless that was accounted for already: an operation of before its end, or one
// whose duplicate of then can still arrive.
func (l *Ledger) gapOver(op *Operation, at time.Time) *Gap {
	if !op.Effect.Writes() {
		return nil
	}
	l.behind.mu.RLock()
	defer l.behind.mu.RUnlock()
	for i := len(l.behind.gaps) - 1; i >= 0; i-- {
		g := &l.behind.gaps[i]
		if slices.Contains(g.Cleared, op.Tool) || !op.CreatedAt.Before(g.Until) && l.outlived(op.Tool, g, at) {
			continue
		}
		if slices.ContainsFunc(op.Attempts, func(a Attempt) bool { return a.Owner == ownerForgotten && !a.LastByteAt.Before(g.Until) }) {
			return nil
		}
		return g
	}
	return nil
}

// outlived reports whether no duplicate of what was done in a gap can arrive any more.
func (l *Ledger) outlived(tool ToolName, g *Gap, at time.Time) bool {
	t, err := l.tools.Active(tool)
	return err == nil && t.Info().Horizon > 0 && at.After(g.Until.Add(t.Info().Horizon))
}

// forgottenFacts take an operation to have been attempted once before, at some
// time in the gap: the rules of its class say how that is found out.
func forgottenFacts(op *Operation, g *Gap, s starter) []fact {
	began := g.Since
	if began.IsZero() {
		began = time.Unix(0, 0).UTC()
	}
	why := Failure{Class: ClassUnavailable, Code: "forgotten", Retryable: true, Message: "the ledger was restored from a backup and may have forgotten an attempt"}
	return []fact{
		{actor: ownerForgotten, event: AttemptStarted{Owner: ownerForgotten, Began: began, LeaseUntil: g.Until, Contract: s.contract, Free: true}},
		{actor: ownerForgotten, event: AttemptUnknown{Attempt: op.Attempt() + 1, Sent: Sent{LastByteAt: g.Until}, Failure: why}},
	}
}

// inGap are the facts that come before an operation that waits may be called ended
// without effect: where it may have been attempted in a gap, that is found out
// first. nil: there is nothing to find out.
func (l *Ledger) inGap(op *Operation, at time.Time) []fact {
	if op.State != StateReady || op.OpenAttempts() > 0 {
		return nil
	}
	g := l.gapOver(op, at)
	if g == nil {
		return nil
	}
	return forgottenFacts(op, g, starter{contract: op.Contract})
}

// cancelFacts are those of a cancel.
func (l *Ledger) cancelFacts(op *Operation, at time.Time, e CancelRequested) []fact {
	return append(l.inGap(op, at), facts(e.Actor, e)...)
}

// unsure refuses a new operation, or a new use of a retired key, whose lost twin
// could not be told from it: where tombstones end, what a provider is given as a
// key depends on when a key was first used. An operation that is known is not new.
func (l *Ledger) unsure(ctx context.Context, op *Operation, info *ToolInfo, at time.Time) error {
	if !info.tombstonesEnd() || l.gapOver(op, at) == nil {
		return nil
	}
	if there, err := l.writer.Read(ctx, op.ID); err != nil || there != nil && !there.Retired {
		return err
	}
	return &Error{Code: CodeLedgerBehind, Op: "claim operation", OperationID: op.ID,
		Message: "the ledger was restored, and a lost operation of " + string(op.Tool) + " cannot be looked up: its tombstones end, so that its provider keys depend on the time",
		Hint:    "find out at the provider what is missing, then onceward recover --clear " + string(op.Tool)}
}
