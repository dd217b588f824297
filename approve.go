package onceward

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// DefaultApprovalExpiry is how long a question waits that is asked anew under a
// contract which asks for no approval any more.
const DefaultApprovalExpiry = 24 * time.Hour

// ApprovalAnswer is a person's yes. Digest and Contract are those that were
// shown: an answer for anything else is refused.
type ApprovalAnswer struct {
	Digest   Digest
	Contract string
	Reason   string   // may be empty
	Edit     []byte   // the whole input, edited; nil: as it was shown
	Tool     ToolName // of an operation that is not there yet; else empty
}

// Approve says yes. The first attempt spends it, and it covers all attempts
// under that digest. Of two who answer at once one wins, and the other is told
// CodeStateForbids, with who and when. CodeForbidden: the principal is none who
// may answer.
//
// Of an operation that does not exist yet, and whose tool the answer names, the
// yes is kept until it is claimed: the returned operation is nil then.
//
// Crash point: approve.before_commit.
func (l *Ledger) Approve(ctx context.Context, p Principal, id OperationID, a ApprovalAnswer) (*Operation, error) {
	if err := Authorize(p, ActionDecideApprovals); err != nil {
		return nil, err
	}
	if a.Digest.IsZero() || a.Contract == "" {
		return nil, &Error{Code: CodeInvalidRequest, Op: "approve operation", OperationID: id, Message: "digest and contract_version are needed: those that were shown",
			Hint: "read them at GET /v1/operations/{id}/approval"}
	}
	op, t, err := l.load(ctx, p.Tenant, id)
	switch {
	case Is(err, CodeOperationNotFound) && a.Tool != "" && a.Edit == nil:
		return l.approveEarly(ctx, p, id, a)
	case err != nil:
		return nil, err
	}
	if op, err = l.open(ctx, p, op, t); err != nil {
		return op, err
	}
	shown, err := l.keepShowing(ctx, op, t, p.String())
	if err != nil {
		return op, err
	}
	var edit *ApprovalEdited
	if a.Edit != nil {
		if edit, err = l.edit(op, t, a.Edit); err != nil {
			return op, err
		}
	}
	l.crash("approve.before_commit")
	return l.answer(ctx, p, op, t, func(at time.Time) Event {
		until := at.Add(cmp.Or(op.Policy.ApprovalExpiry, DefaultApprovalExpiry))
		if edit == nil {
			return ApprovalGranted{Actor: p.String(), Digest: a.Digest, Contract: a.Contract, Until: until, Reason: a.Reason, Shown: shown}
		}
		e := *edit
		e.Actor, e.Digest, e.Contract, e.Until, e.Reason, e.Shown = p.String(), a.Digest, a.Contract, until, a.Reason, shown
		return e
	})
}

// Reject says no to this digest, with a reason.
//
// Crash point: approve.before_commit.
func (l *Ledger) Reject(ctx context.Context, p Principal, id OperationID, digest Digest, reason string) (*Operation, error) {
	if err := Authorize(p, ActionDecideApprovals); err != nil {
		return nil, err
	}
	switch {
	case digest.IsZero():
		return nil, &Error{Code: CodeInvalidRequest, Op: "reject operation", OperationID: id, Message: "digest is needed: the one that was shown", Hint: "read it at GET /v1/operations/{id}/approval"}
	case strings.TrimSpace(reason) == "":
		return nil, &Error{Code: CodeEvidenceRequired, Op: "reject operation", OperationID: id, Message: "a no needs a reason", Hint: "say why it may not happen"}
	}
	op, t, err := l.load(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	if err := mayAnswer(p, op, t.Info()); err != nil {
		return op, err
	}
	shown, err := l.keepShowing(ctx, op, t, p.String())
	if err != nil {
		return op, err
	}
	l.crash("approve.before_commit")
	return l.answer(ctx, p, op, t, func(time.Time) Event {
		return ApprovalRejected{Actor: p.String(), Digest: digest, Reason: reason, Shown: shown}
	})
}

// answer tells the machine a person's answer.
func (l *Ledger) answer(ctx context.Context, p Principal, op *Operation, t Tool, ev func(at time.Time) Event) (*Operation, error) {
	op, err := l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
		if err := mayAnswer(p, now, t.Info()); err != nil {
			return nil, err // somebody else was named meanwhile
		}
		return facts(p.String(), ev(at)), nil
	})
	if err == nil {
		l.Wake()
	}
	return op, err
}

// AssignApproval hands over who has to answer, or until when. Whoever is named
// may answer although the contract's groups do not say so, but must be an
// approver. Nobody else loses the right.
func (l *Ledger) AssignApproval(ctx context.Context, p Principal, id OperationID, to Assignment, reason string) (*Operation, error) {
	if err := Authorize(p, ActionDecideApprovals); err != nil {
		return nil, err
	}
	op, t, err := l.load(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	if op.State != StateAwaitingApproval {
		return op, &Error{Code: CodeStateForbids, Op: "assign approval", OperationID: id, Message: "it is " + op.State.String() + ": nobody has to approve it"}
	}
	return l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if err := mayAnswer(p, now, t.Info()); err != nil {
			return nil, err
		}
		return facts(p.String(), Assigned{Assignment: to, Actor: p.String(), Reason: reason}), nil
	})
}

// mayAnswer refuses, with CodeForbidden, whoever is not among the approvers:
// the role, what the credentials are narrowed to, and the contract's groups,
// unless the question was given to the principal by name or team. Whose own
// request it is, the machine knows.
func mayAnswer(p Principal, op *Operation, info *ToolInfo) error {
	if err := Authorize(p, ActionDecideApprovals); err != nil {
		return err
	}
	if err := p.Permits(op.Tool, op.Effect); err != nil {
		return err
	}
	if len(info.Approvers) == 0 || op.Assigned.Names(p) || slices.ContainsFunc(info.Approvers, p.In) {
		return nil
	}
	return &Error{Code: CodeForbidden, Op: "answer approval", OperationID: op.ID, Message: "only " + strings.Join(info.Approvers, ", ") + " may answer",
		Hint: "ask one of them to answer, or to assign it to you"}
}

// edit renders an edited input. Its key is compared with the key that the
// present input has under the same contract.
func (l *Ledger) edit(op *Operation, t Tool, input []byte) (*ApprovalEdited, error) {
	next, err := render(op, t, input)
	if err != nil {
		return nil, err
	}
	was, err := keyOf(op, t, op.Input)
	if err != nil {
		return nil, err
	}
	is, err := keyOf(op, t, input)
	if err != nil {
		return nil, err
	}
	if is == was {
		is = op.Key // which may be that of an earlier rule, or of a fork
	}
	return &ApprovalEdited{Key: is, Next: *next}, nil
}

// keyOf is the key that an input has by the contract's rule; where the contract
// has none, the operation's own.
func keyOf(op *Operation, t Tool, input []byte) (Key, error) {
	p, err := t.Prepare(&Intent{Principal: Principal{Tenant: op.Tenant}, Tool: op.Tool, Input: input, CallerKey: op.Key}, op.Generation)
	if err != nil {
		return "", err
	}
	return p.Key, nil
}

// render is what the operation would do with an input under a contract.
func render(op *Operation, t Tool, input []byte) (*Rendering, error) {
	p, err := t.Prepare(&Intent{Principal: Principal{Tenant: op.Tenant}, Tool: op.Tool, Input: input, ForkKey: op.Key}, op.Generation)
	if err != nil {
		return nil, err
	}
	policy := t.Info().Policy
	if policy.ApprovalExpiry <= 0 {
		policy.ApprovalExpiry = DefaultApprovalExpiry
	}
	return &Rendering{Contract: t.Info().Version, Policy: policy, Digest: withDocuments(p.Digest, op.Documents), Prints: p.Prints, Input: p.Input,
		Request: p.Request, ProviderKey: p.ProviderKey, SerialKey: p.SerialKey}, nil
}

// messageOf is the sentence of an error, for people.
func messageOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}
