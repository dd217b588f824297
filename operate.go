package onceward

import (
	"context"
	"time"
)

// Get returns one operation of the tenant, waiting for its end up to wait.
func (l *Ledger) Get(ctx context.Context, p Principal, id OperationID, wait time.Duration) (*Operation, error) {
	if err := Authorize(p, ActionRead); err != nil {
		return nil, err
	}
	wait, err := boundedWait(max(wait, 0))
	if err != nil {
		return nil, err
	}
	op, _, err := l.load(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	// Whoever asks for a parked operation waits for its release; a request for the
	// write itself is answered at once that it is parked.
	return l.awaitUntil(ctx, op, wait, func(op *Operation) bool { return op.State != StateReady && settled(op) })
}

// RetryAfter advises when to ask for an operation again; 0: its end stays.
func (l *Ledger) RetryAfter(op *Operation) time.Duration { return l.retryAfter(op) }

// Timeline returns the records of an operation, oldest first. What the happy
// path does not record is told by the row itself.
func (l *Ledger) Timeline(ctx context.Context, p Principal, id OperationID) ([]Record, error) {
	if err := Authorize(p, ActionRead); err != nil {
		return nil, err
	}
	if _, _, err := l.load(ctx, p.Tenant, id); err != nil {
		return nil, err
	}
	d, err := l.store.LoadDetail(ctx, id)
	return d.Records, err
}

// List returns a page of the tenant's operations, newest first, without bodies.
func (l *Ledger) List(ctx context.Context, p Principal, f Filter) ([]*Operation, error) {
	if err := Authorize(p, ActionRead); err != nil {
		return nil, err
	}
	f.Tenant = p.Tenant
	if f.Limit < 1 || f.Limit > MaxPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", f.Limit, MaxPage)
	}
	if f.Key != "" && f.Tool == "" {
		return nil, &Error{Code: CodeInvalidRequest, Op: "list operations", Message: "a key is looked up within one tool", Hint: "give tool as well"}
	}
	ops, err := l.store.List(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		if _, err := l.hydrate(ctx, op); err != nil {
			l.log.Warn("contract of an operation cannot be loaded", about(op, "error", err)...)
		}
	}
	return ops, nil
}

// Cancel notes that the operation shall not happen. Where something may have
// been sent already, it is reported as unknown until that is settled.
func (l *Ledger) Cancel(ctx context.Context, p Principal, id OperationID, reason string) (*Operation, error) {
	op, _, err := l.loadToAct(ctx, p, id, ActionCancel)
	if err != nil {
		return nil, err
	}
	return l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
		if now.CancelRequested || now.State == StateCancelled && !now.AskedInVain() {
			return nil, nil
		}
		return l.cancelFacts(now, at, CancelRequested{Actor: p.String(), Reason: reason}), nil
	})
}

// Resolve settles an operation by a person's word. Of two people who resolve at
// once, one wins and the other is told CodeStateForbids; so is one who is
// overtaken by another attempt: what was found out says nothing about that. The
// error names who resolved it and when.
func (l *Ledger) Resolve(ctx context.Context, p Principal, id OperationID, r Resolved) (*Operation, error) {
	op, _, err := l.loadToAct(ctx, p, id, ActionResolve)
	if err != nil {
		return nil, err
	}
	r.Actor = p.String()
	if r.Attempt == 0 {
		r.Attempt = op.Attempt()
	}
	op, err = l.change(ctx, op, func(*Operation, time.Time) ([]fact, error) { return facts(r.Actor, r), nil })
	if err == nil {
		l.Wake()
		return op, nil
	}
	return op, l.whoResolved(ctx, op, err)
}

// Tools returns the contracts in force, by name.
func (l *Ledger) Tools() []Tool { return l.tools.All() }

// Tool returns one contract in force, or CodeToolNotFound.
func (l *Ledger) Tool(name ToolName) (Tool, error) { return l.tools.Active(name) }
