package onceward

import (
	"context"
	"fmt"
	"time"
)

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
	t, err := l.tools.known(ctx, op.Tool)
	if err != nil {
		return nil, err
	}
	active, err := l.store.Contract(ctx, op.Tool, t.Info().Version)
	if err != nil {
		return nil, err
	}
	if !active.Active || t.Info().Version == op.Contract || notHere(t) != nil {
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
	case op.Input != nil && first.Info().Policy.KeepInput.Whole():
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
	asked, err := l.outdated(ctx, op, t)
	if err != nil || asked == nil {
		return op, err == nil, err
	}
	op, err = l.void(ctx, op, l.opts.Owner, asked.Next, asked.Reason)
	return op, false, err
}

// outdated is what voids a yes that no attempt has spent, because of what has
// changed since; nil: nothing has, or there is none.
func (l *Ledger) outdated(ctx context.Context, op *Operation, t Tool) (*ApprovalVoided, error) {
	if op.State != StateReady || !op.unspent() {
		return nil, nil
	}
	next, why, err := l.changedSince(ctx, op, t)
	switch {
	case Is(err, CodeStateForbids):
		why = messageOf(err) // it is asked anew as it stands, and can only be rejected
	case err != nil:
		return nil, err
	case why == "":
		return nil, nil
	}
	return &ApprovalVoided{Reason: why, Next: next}, nil
}
