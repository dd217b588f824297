package onceward

import (
	"context"
	"fmt"
	"time"
)

// EarlyApproval is a person's yes to an operation that is not there yet. Its ID
// is computed from its identity, so that it can be named. The claim applies it.
type EarlyApproval struct {
	Operation OperationID
	Tenant    Tenant
	Tool      ToolName
	Actor     string
	Digest    Digest
	Contract  string
	Reason    string
	At        time.Time
	Until     time.Time // it is void after it
}

// EarlyApprovalStore keeps approvals that came before their operation. Its
// methods are safe for concurrent use and return the errors of [Store].
type EarlyApprovalStore interface {
	// PutEarlyApproval stores one, in place of an earlier one of the same person,
	// and removes what is void by then. It notes the events in the same transaction.
	PutEarlyApproval(ctx context.Context, a EarlyApproval, notes ...AuditEvent) error
	// EarlyApprovals lists those for an operation, oldest first.
	EarlyApprovals(ctx context.Context, id OperationID) ([]EarlyApproval, error)
	// DropEarlyApprovals removes those for an operation.
	DropEarlyApprovals(ctx context.Context, id OperationID) error
}

// approveEarly stores a yes to what is not asked for yet. It returns the
// operation if it is there by now.
func (l *Ledger) approveEarly(ctx context.Context, p Principal, id OperationID, a ApprovalAnswer) (*Operation, error) {
	t, err := l.tools.known(ctx, a.Tool)
	if err != nil {
		return nil, err
	}
	info := t.Info()
	if err := mayAnswer(p, &Operation{Tool: a.Tool, Effect: info.Policy.Effect}, info); err != nil {
		return nil, err
	}
	switch {
	case info.Policy.ApprovalExpiry <= 0:
		return nil, &Error{Code: CodeStateForbids, Op: "approve operation", OperationID: id, Message: "the contract asks for no approval"}
	case a.Contract != info.Version:
		return nil, &Error{Code: CodeStateForbids, Op: "approve operation", OperationID: id, Message: "contract version " + info.Version + " is in force", Hint: "read the contract, and answer for that version"}
	}
	at := l.clock.now()
	early := EarlyApproval{Operation: id, Tenant: p.Tenant, Tool: a.Tool, Actor: p.String(), Digest: a.Digest, Contract: a.Contract, Reason: a.Reason,
		At: at, Until: at.Add(info.Policy.ApprovalExpiry)}
	l.crash("approve.before_commit")
	note := NewAuditEvent(AuditEvent{Tenant: p.Tenant, Actor: early.Actor, Action: AuditEarlyApproval, Subject: id.String(), Reason: a.Reason, Detail: string(a.Tool)})
	if !l.encrypts() { // why: it would tell of the input
		note.Detail += ", digest " + a.Digest.String()
	}
	if err := l.store.PutEarlyApproval(ctx, early, note); err != nil {
		return nil, fmt.Errorf("approve operation %s: %w", id, err)
	}
	// Why read again: a claim that came meanwhile has looked for it too early. One
	// of the two sees the other.
	op, _, err := l.load(ctx, p.Tenant, id)
	if Is(err, CodeOperationNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.applyEarly(ctx, op)
}

// applyEarly lets the yeses count that came before the operation. What is for
// another digest or contract version is for another question, and dropped.
func (l *Ledger) applyEarly(ctx context.Context, op *Operation) (*Operation, error) {
	if op.State != StateAwaitingApproval {
		return op, nil
	}
	all, err := l.store.EarlyApprovals(ctx, op.ID)
	if err != nil || len(all) == 0 {
		return op, err
	}
	for _, a := range all {
		if a.Tenant != op.Tenant || a.Tool != op.Tool || a.Until.Before(l.clock.now()) {
			continue
		}
		yes := ApprovalGranted{Actor: a.Actor, Digest: a.Digest, Contract: a.Contract, Until: a.Until, Reason: a.Reason}
		stored, err := l.change(ctx, op, func(*Operation, time.Time) ([]fact, error) { return facts(a.Actor, yes), nil })
		switch {
		case err == nil:
			op = stored
		case Is(err, CodeStateForbids) || Is(err, CodeForbidden):
			l.log.Info("an early approval does not count", about(op, "error", err)...)
		default:
			return op, err
		}
	}
	return op, l.store.DropEarlyApprovals(ctx, op.ID)
}
