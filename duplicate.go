package onceward

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// duplicate answers a request whose identity is there already. The
// digest is compared first, whatever the state; then on_duplicate; then the
// state decides.
func (l *Ledger) duplicate(ctx context.Context, in *Intent, t Tool, p *Prepared, op *Operation, wait time.Duration) (*Answer, error) {
	if op.Retired {
		return l.retiredDuplicate(ctx, in, t, op, wait)
	}
	if err := l.sameIntention(ctx, in, t, p, op); err != nil {
		return nil, err
	}
	return l.sameAgain(ctx, in, op, wait)
}

// sameAgain answers a request whose intention is known to be the stored one.
func (l *Ledger) sameAgain(ctx context.Context, in *Intent, op *Operation, wait time.Duration) (*Answer, error) {
	if err := refuseDuplicate(in.OnDuplicate, op); err != nil {
		return nil, err
	}
	if op.retryDue(l.clock.now()) {
		return l.buyAttempt(ctx, in, op, wait)
	}
	first := op.State
	if op.State == StateAwaitingApproval || op.AskedInVain() {
		var err error
		// Why no refusal where the ledger cannot be read, or where only other
		// processes have the contract in force: the row may be this very request's
		// (see awaitOurs). The next request asks anew.
		switch op, err = l.askAgain(ctx, in, op); {
		case Is(err, CodeLedgerUnavailable), Is(err, CodeContractSuperseded):
			l.log.Warn("not asked anew", about(op, "error", err)...)
		case err != nil:
			return nil, err
		}
		first = op.State
	}
	op, err := l.awaitOurs(ctx, op, wait)
	if err != nil {
		return nil, err
	}
	return &Answer{Operation: op, Decision: decisionFor(first, op), RetryAfter: l.retryAfter(op)}, nil
}

// decisionFor marks a duplicate's answer.
func decisionFor(first State, op *Operation) Decision {
	if first.Terminal() {
		return DecisionReplayed
	}
	switch op.State {
	case StateOutcomeUnknown, StateNeedsReview, StateAwaitingApproval:
		return DecisionEscalated
	case StateReady, StateEffectPending, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated:
	}
	return DecisionJoined
}

// sameIntention compares digests under the contract version that is stored. A
// request with the input that an approver's edit replaced is the same intention.
func (l *Ledger) sameIntention(ctx context.Context, in *Intent, t Tool, p *Prepared, op *Operation) error {
	digest, prints := p.Digest, p.Prints
	if op.Contract != t.Info().Version || op.Key != p.Key {
		first, err := l.tools.Version(ctx, op.Tool, op.Contract)
		if err != nil {
			return err
		}
		if digest, prints, err = first.MaterialDigest(p.Input, op.ID); err != nil {
			return err
		}
		digest = withDocuments(digest, in.Documents)
	}
	if digest == op.Digest {
		return nil
	}
	if was, err := l.wasEdited(ctx, in, p.Input, op); was || err != nil {
		return err
	}
	fields := DifferingFields(op.Prints, prints)
	if !slices.EqualFunc(op.Documents, in.Documents, sameDocument) {
		fields = append(fields, "documents")
	}
	return reused(op, fields)
}

func reused(op *Operation, fields []string) error {
	msg := "the key was first used at " + op.CreatedAt.Format(time.RFC3339) + " for another input"
	if len(fields) > 0 {
		msg += "; these fields differ: " + strings.Join(fields, ", ")
	}
	return &Error{Code: CodeKeyReused, Op: "claim", OperationID: op.ID, Message: msg,
		Hint: "repeat the first input to get its answer; if a second effect is wanted, fork the operation with a reason"}
}

func refuseDuplicate(d OnDuplicate, op *Operation) error {
	switch d {
	case DuplicateFail:
		return &Error{Code: CodeDuplicate, Op: "claim", OperationID: op.ID,
			Message: "the key was first used at " + op.CreatedAt.Format(time.RFC3339) + " and is " + op.State.String(), Hint: "read the operation, or ask with on_duplicate return"}
	case DuplicateFailIfRunning:
		if !op.State.Terminal() {
			return &Error{Code: CodeStillRunning, Op: "claim", OperationID: op.ID, Message: "the first request is still " + op.State.String(), Hint: "ask again later with the same key"}
		}
	case DuplicateReturn:
	}
	return nil
}

// retiredDuplicate refuses, unless the contract says that the key may be used anew.
func (l *Ledger) retiredDuplicate(ctx context.Context, in *Intent, t Tool, op *Operation, wait time.Duration) (*Answer, error) {
	if err := l.closed("claim operation", op.ID); err != nil {
		return nil, err
	}
	mark, _ := l.live.add(op) // from before the commit, as in startAgain
	handed := false
	defer func() {
		if !handed {
			l.live.remove(mark)
		}
	}()
	op, p, won, err := l.takeAnew(ctx, in, t, op, starter{})
	if Is(err, CodeOperationNotFound) {
		return l.submitUncounted(ctx, *in) // its tombstone was dropped meanwhile
	}
	if err != nil {
		return nil, err
	}
	if !won {
		return l.duplicate(ctx, in, t, p, op, wait)
	}
	var recorded <-chan *Operation
	if op.State == StateEffectPending {
		handed = true
		recorded = l.dispatch(op, t, mark)
	}
	return l.answerFresh(ctx, op, recorded, wait)
}

// takeAnew begins the next use of a retired key, with its first attempt if that
// may start. It is not won if somebody else began it. CodeKeyRetired: the
// contract refuses the key for good.
func (l *Ledger) takeAnew(ctx context.Context, in *Intent, t Tool, op *Operation, s starter) (stored *Operation, p *Prepared, won bool, err error) {
	if !t.Info().Policy.KeyReusable {
		return nil, nil, false, keyRetired(op)
	}
	if err := l.join(ctx, in, op.ID); err != nil {
		return nil, nil, false, err
	}
	last := op.Generation
	if p, err = t.Prepare(in, last+1); err != nil {
		return nil, nil, false, err
	}
	p.Digest = withDocuments(p.Digest, in.Documents)
	op.Policy = t.Info().Policy // the next generation lives under the contract in force
	stored, err = l.change(context.WithoutCancel(ctx), op, func(now *Operation, at time.Time) ([]fact, error) {
		if won = now.Retired && now.Generation == last; !won {
			return nil, nil
		}
		now.Policy = t.Info().Policy
		next := NewOperation(in, p, t.Info(), last+1, at)
		next.ID, next.Key = now.ID, now.Key
		if err := l.assign(ctx, &next, p); err != nil {
			return nil, err
		}
		start, err := l.serialFacts(ctx, &next, l.firstFacts(&next, at, s), at)
		if err != nil {
			return nil, err
		}
		return append(facts(in.Principal.String(), KeyTakenAnew{Next: next}), start...), nil
	})
	return stored, p, won, err
}

func keyRetired(op *Operation) error {
	msg := fmt.Sprintf("the key was used at %s, ended as %s and its record was retired", op.CreatedAt.Format(time.RFC3339), op.State)
	if op.Reference != "" {
		msg += "; the effect's reference is " + op.Reference
	}
	return &Error{Code: CodeKeyRetired, Op: "claim", OperationID: op.ID, Message: msg, Hint: "a wanted second effect needs its own key"}
}

// buyAttempt lets a new request of a retryable failure try once more.
func (l *Ledger) buyAttempt(ctx context.Context, in *Intent, op *Operation, wait time.Duration) (*Answer, error) {
	op, err := l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
		if !now.retryDue(at) {
			return nil, nil
		}
		return facts(in.Principal.String(), RetryRequested{Actor: in.Principal.String()}), nil
	})
	if err != nil {
		return nil, err
	}
	l.Wake()
	if op, err = l.awaitOurs(ctx, op, wait); err != nil {
		return nil, err
	}
	return &Answer{Operation: op, Decision: decisionFor(StateReady, op), RetryAfter: l.retryAfter(op)}, nil
}
