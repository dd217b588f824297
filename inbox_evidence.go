package onceward

import (
	"context"
	"time"
)

// settleByEvent tells the operation of which an event speaks what the event
// proves. A zero ID: there is no such operation that could be settled.
//
// What the machine makes of it is its own rule: proof of done settles whatever
// is not proven yet, a not-done closes one open attempt.
func (l *Ledger) settleByEvent(ctx context.Context, p Principal, e *InboxEvent, ev *EventEvidence) (OperationID, error) {
	op, err := l.spokenOf(ctx, p, ev)
	if err != nil || op == nil {
		return OperationID{}, err
	}
	if _, err := l.hydrate(ctx, op); err != nil {
		return op.ID, err
	}
	if err := p.Permits(op.Tool, op.Effect); err != nil {
		return op.ID, err
	}
	generation := op.Generation
	_, err = l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Generation != generation {
			return nil, nil // the key was retired and taken anew meanwhile
		}
		if ev.Done {
			return provenBy(now, p, e, ev), nil
		}
		return notDoneBy(now, p, ev)
	})
	if err == nil {
		l.Wake()
	}
	return op.ID, err
}

// spokenOf finds the operation; nil if there is none. By its ID or key it is one
// read; by what else the provider knows of it, the operations of the tool are
// looked through that are not settled.
func (l *Ledger) spokenOf(ctx context.Context, p Principal, ev *EventEvidence) (*Operation, error) {
	id := ev.Operation
	if ev.Key != "" {
		id = NewOperationID(p.Tenant, ev.Tool, ev.Key)
	}
	if id.IsZero() {
		return l.unsettledWith(ctx, p.Tenant, ev)
	}
	op, err := l.writer.Read(ctx, id)
	if err != nil || op == nil || op.Tenant != p.Tenant || op.Tool != ev.Tool || op.Retired {
		return nil, err
	}
	return op, nil
}

// unsettled are the states in which evidence from outside can change something
// and which stores list without looking through what has succeeded.
var unsettled = []State{StateReady, StateOutcomeUnknown, StateNeedsReview, StateFailed, StateAbandoned, StateCancelled}

// unsettledWith looks through the unsettled operations of a tool, newest first,
// up to ReviewsScanMax.
func (l *Ledger) unsettledWith(ctx context.Context, t Tenant, ev *EventEvidence) (*Operation, error) {
	f := Filter{Tenant: t, Tool: ev.Tool, States: unsettled, Limit: MaxPage}
	for seen := 0; seen < ReviewsScanMax; seen += MaxPage {
		page, err := l.store.List(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, op := range page {
			if ev.ProviderKey != "" && op.ProviderKey == ev.ProviderKey || ev.Reference != "" && op.knownAs(ev.Reference) {
				return l.writer.Read(ctx, op.ID)
			}
		}
		if len(page) < MaxPage {
			return nil, nil
		}
		last := page[len(page)-1]
		f.After = Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	return nil, nil
}

// knownAs reports whether the provider's reference is the operation's, or one of
// its attempts'.
func (o *Operation) knownAs(reference string) bool {
	for i := range o.Attempts {
		if o.Attempts[i].Reference == reference {
			return true
		}
	}
	return o.Reference == reference
}

// provenBy is the proof, unless it says nothing new.
func provenBy(o *Operation, p Principal, e *InboxEvent, ev *EventEvidence) []fact {
	switch {
	case o.Attempt() == 0:
		return nil // nothing was sent: it is another one's effect
	case o.State == StateSucceeded && (ev.Effect == "" || ev.Effect == o.Reference), o.State == StateCompensated:
		return nil
	}
	return facts(p.String(), EffectProven{Reference: ev.Effect, Source: e.Source + " " + e.ID.String()})
}

// notDoneBy closes the one open attempt. The event says nothing of which attempt
// it speaks: where more than one is open, or one is on its way, it proves nothing
// for sure.
func notDoneBy(o *Operation, p Principal, ev *EventEvidence) ([]fact, error) {
	if o.Running() != nil {
		return nil, &Error{Code: CodeStillRunning, Op: "settle operation", OperationID: o.ID, Message: "an attempt is on its way", Hint: "the event is looked at again later"}
	}
	open := 0
	for i := range o.Attempts {
		if o.Attempts[i].Status == StatusOpen {
			if open > 0 {
				return nil, &Error{Code: CodeStateForbids, Op: "settle operation", OperationID: o.ID, Message: "more than one attempt is open, and the event does not say of which it speaks",
					Hint: "look at the provider, and resolve the operation"}
			}
			open = o.Attempts[i].Number
		}
	}
	if open == 0 {
		return nil, nil
	}
	f := Failure{Class: ClassUnavailable, Code: "sender_says_not_done", Message: "the provider's own event says that it did not happen"}
	if ev.Reason != "" {
		f.Message += ": " + ev.Reason
	}
	return facts(p.String(), AttemptNotDone{Attempt: open, Failure: f}), nil
}
