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

// ApprovalQuery selects open questions.
type ApprovalQuery struct {
	Tool  ToolName // empty: every tool
	Mine  bool     // only those that the principal may answer, and has not
	Named bool     // only those that were given to the principal by name or team
	Limit int      // 1 to MaxPage
}

// ApprovalsScanMax is how many open questions of a tenant are looked at.
const ApprovalsScanMax = 10 * MaxPage

// Approvals lists the open questions of the tenant, oldest first.
func (l *Ledger) Approvals(ctx context.Context, p Principal, q ApprovalQuery) ([]*Operation, error) {
	if err := Authorize(p, ActionReadApprovals); err != nil {
		return nil, err
	}
	var open []*Operation
	f := Filter{Tenant: p.Tenant, Tool: q.Tool, States: []State{StateAwaitingApproval}, Limit: MaxPage}
	for seen := 0; seen < ApprovalsScanMax; seen += MaxPage {
		page, err := l.List(ctx, p, f)
		if err != nil {
			return nil, err
		}
		for _, op := range page {
			if l.asks(ctx, p, op, q) {
				open = append(open, op)
			}
		}
		if len(page) < MaxPage {
			break
		}
		last := page[len(page)-1]
		f.After = Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	slices.SortStableFunc(open, func(a, b *Operation) int { return a.IntentAt.Compare(b.IntentAt) })
	if q.Limit > 0 && len(open) > q.Limit {
		open = open[:q.Limit]
	}
	return open, nil
}

// asks reports whether the question is one that the query is for.
func (l *Ledger) asks(ctx context.Context, p Principal, op *Operation, q ApprovalQuery) bool {
	if p.Permits(op.Tool, op.Effect) != nil || q.Named && !op.Assigned.Names(p) {
		return false
	}
	if !q.Mine {
		return true
	}
	t, err := l.tools.Version(ctx, op.Tool, op.Contract)
	return err == nil && op.mayGrant(p.String(), l.clock.now()) == nil && mayAnswer(p, op, t.Info()) == nil
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

// open checks, before a yes, that what was asked is still what would be sent. If
// it is not, it is asked anew, and the yes is refused.
func (l *Ledger) open(ctx context.Context, p Principal, op *Operation, t Tool) (*Operation, error) {
	if err := mayAnswer(p, op, t.Info()); err != nil {
		return op, err
	}
	if op.State != StateAwaitingApproval {
		return op, nil // the machine says who was first
	}
	next, why, err := l.changedSince(ctx, op, t)
	if err != nil || why == "" {
		return op, err
	}
	if next != nil || len(op.Approval.Yeses) > 0 {
		if op, err = l.void(ctx, op, p.String(), next, why); err != nil {
			return op, err
		}
	}
	return op, &Error{Code: CodeStateForbids, Op: "approve operation", OperationID: op.ID, Message: why, Hint: "read what is asked now: GET /v1/operations/{id}/approval"}
}

// void asks anew, if nothing has moved since.
func (l *Ledger) void(ctx context.Context, op *Operation, actor string, next *Rendering, why string) (*Operation, error) {
	seen := op.Version
	return l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Version != seen {
			return nil, nil
		}
		return facts(actor, ApprovalVoided{Reason: why, Next: next}), nil
	})
}

// changedSince says in words what has changed since it was asked, so that no yes
// to it holds; empty: nothing. Where another contract version is in force, next
// is what has to be asked under it.
func (l *Ledger) changedSince(ctx context.Context, op *Operation, t Tool) (next *Rendering, why string, err error) {
	if next, why, err = l.contractChanged(ctx, op); err != nil || why != "" {
		return next, why, err
	}
	why, err = l.changedDocument(ctx, op, t)
	return nil, why, err
}

// contractChanged is changedSince for the contract. What is in force is asked of
// the ledger: this process may be behind.
func (l *Ledger) contractChanged(ctx context.Context, op *Operation) (next *Rendering, why string, err error) {
	t, err := l.inForce(ctx, op)
	if err != nil || t == nil {
		return nil, "", err
	}
	why = fmt.Sprintf("contract version %s is in force, and it was asked under %s", t.Info().Version, op.Contract)
	if next, err = render(op, t, op.Input); err != nil {
		return nil, "", &Error{Code: CodeStateForbids, Op: "render operation", OperationID: op.ID, Message: why + ", and what was asked does not fit it", Hint: "reject it", Err: err}
	}
	return next, why, nil
}

// inForce returns the contract in force if it is another version than the
// operation's; nil if the operation's is in force. CodeContractSuperseded: this
// process does not have the version that is.
func (l *Ledger) inForce(ctx context.Context, op *Operation) (Tool, error) {
	ours, err := l.store.Contract(ctx, op.Tool, op.Contract)
	if err != nil || ours.Active {
		return nil, err
	}
	t, err := l.tools.Active(op.Tool)
	if err != nil {
		return nil, err
	}
	active, err := l.store.Contract(ctx, op.Tool, t.Info().Version)
	if err != nil {
		return nil, err
	}
	if !active.Active || t.Info().Version == op.Contract {
		return nil, &Error{Code: CodeContractSuperseded, Op: "find contract in force", OperationID: op.ID, Message: "this process does not serve the version of the contract that is in force",
			Hint: "roll the contract out to every process"}
	}
	return t, nil
}

// askAgain is what a further request does for an operation that waits for a yes,
// or waited in vain: it is asked anew under the contract in force, and yeses
// that came early count.
func (l *Ledger) askAgain(ctx context.Context, in *Intent, op *Operation) (*Operation, error) {
	switch {
	case op.AskedInVain():
		input, err := l.inputOf(ctx, in, op)
		if err != nil || input == nil {
			return op, err
		}
		t, err := l.inForce(ctx, op)
		if err == nil && t == nil {
			t, err = l.tools.Version(ctx, op.Tool, op.Contract)
		}
		if err != nil {
			return op, err
		}
		next, err := render(op, t, input)
		if err != nil {
			return op, err
		}
		if op, err = l.void(ctx, op, in.Principal.String(), next, "asked anew: nobody had answered in time"); err != nil {
			return op, err
		}
	case op.State == StateAwaitingApproval:
		next, why, err := l.contractChanged(ctx, op)
		switch {
		case err != nil && !Is(err, CodeStateForbids):
			return op, err
		case why != "":
			if op, err = l.void(ctx, op, in.Principal.String(), next, why); err != nil {
				return op, err
			}
		}
	}
	return l.applyEarly(ctx, op)
}

// inputOf is what an ended operation would send: what the row keeps, else what
// the request brings, if that is the same; nil: neither.
func (l *Ledger) inputOf(ctx context.Context, in *Intent, op *Operation) ([]byte, error) {
	first, err := l.tools.Version(ctx, op.Tool, op.Contract)
	switch {
	case err != nil:
		return nil, err
	case op.Input != nil && first.Info().Policy.KeepInput == KeepFull:
		return op.Input, nil
	case in.Input == nil:
		return nil, nil
	}
	digest, _, err := first.MaterialDigest(in.Input, op.ID)
	if err != nil || withDocuments(digest, op.Documents) != op.Digest {
		return nil, err
	}
	return in.Input, nil
}

// wasEdited reports whether a request brings an input that an approver's edit
// replaced: it is the same intention.
func (l *Ledger) wasEdited(ctx context.Context, in *Intent, input []byte, op *Operation) (bool, error) {
	for _, old := range op.Supersedes {
		t, err := l.tools.Version(ctx, op.Tool, old.Contract)
		if err != nil {
			return false, err
		}
		digest, _, err := t.MaterialDigest(input, op.ID)
		if err != nil {
			return false, err
		}
		if withDocuments(digest, in.Documents) == old.Digest {
			return true, nil
		}
	}
	return false, nil
}

// approved checks, before the first attempt of what needed a yes, that nothing
// has changed since, and returns the contract version that is in force. ok is
// false where it was asked anew.
func (l *Ledger) approved(ctx context.Context, op *Operation, t Tool) (now *Operation, ok bool, err error) {
	if op.State != StateReady || !op.unspent() {
		return op, true, nil
	}
	next, why, err := l.changedSince(ctx, op, t)
	switch {
	case Is(err, CodeStateForbids):
		why = messageOf(err) // it is asked anew as it stands, and can only be rejected
	case err != nil:
		return op, false, err
	case why == "":
		return op, true, nil
	}
	op, err = l.void(ctx, op, l.opts.Owner, next, why)
	return op, false, err
}

// messageOf is the sentence of an error, for people.
func messageOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}
