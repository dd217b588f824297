package onceward

import (
	"context"
	"fmt"
	"time"
)

// ReplayVerdict is the verdict of a replay plan.
type ReplayVerdict string

// The verdicts.
const (
	ReplaySafe    ReplayVerdict = "safe"
	ReplayConfirm ReplayVerdict = "needs_confirmation"
	ReplayRefuse  ReplayVerdict = "refused"
)

// ReplayPlan says whether a new attempt under the same key is safe, and why.
type ReplayPlan struct {
	Operation *Operation
	Verdict   ReplayVerdict
	Reasons   []string     // in words, the deciding one first
	Sentence  string       // to be confirmed word for word; empty unless needed
	Probe     string       // what the fresh look-up saw: found, absent, inconclusive, none
	Source    *SourceState // how the record that caused the write stands now; nil: the contract does not say
	dangerous bool         // a second effect has to be accepted
}

// PlanReplay looks the effect up afresh where the contract can, and says
// whether a new attempt is safe. What the look-up proves is recorded: it may
// settle the operation by itself.
func (l *Ledger) PlanReplay(ctx context.Context, p Principal, id OperationID) (*ReplayPlan, error) {
	op, t, err := l.loadToAct(ctx, p, id, ActionReplay)
	if err != nil {
		return nil, err
	}
	probe := "none"
	if canReplay(op) && (op.Policy.HasProbe || op.Followed() != nil) && op.Attempt() > 0 && op.Effect.Writes() {
		var j ProbeJudgement
		if op, j, err = l.probe(ctx, op, t, p.String()); err != nil {
			return nil, err
		}
		probe = probeWord(j)
	}
	plan := planFor(op, probe, l.clock.now())
	plan.dangerous = plan.Verdict == ReplayConfirm
	if plan.Verdict != ReplayRefuse {
		plan.askAboutSource(l.source(ctx, op, t))
	}
	return &plan, nil
}

func canReplay(op *Operation) bool {
	switch op.State {
	case StateFailed, StateAbandoned, StateNeedsReview, StateOutcomeUnknown:
		return !op.Retired && !op.Shredded
	case StateAwaitingApproval, StateReady, StateEffectPending, StateSucceeded, StateCancelled, StateCompensated:
	}
	return false
}

func probeWord(j ProbeJudgement) string {
	switch {
	case !j.Conclusive:
		return "inconclusive"
	case len(oursOf(j.Found)) > 0:
		return "found"
	}
	return "absent"
}

// planFor is the pure part: what the row says about a new attempt.
func planFor(op *Operation, probe string, at time.Time) ReplayPlan {
	plan := ReplayPlan{Operation: op, Verdict: ReplayRefuse, Probe: probe}
	because := func(format string, args ...any) { plan.Reasons = append(plan.Reasons, fmt.Sprintf(format, args...)) }
	switch {
	case op.Retired:
		because("the record was retired; a wanted second effect needs its own key")
	case op.Shredded:
		because("its bodies were shredded: what would be sent is not known any more; a wanted second effect is a fork with an input of its own")
	case op.State == StateSucceeded || op.State == StateCompensated:
		because("the effect happened%s; a wanted second effect is a fork", op.underReference())
	case op.State == StateCancelled:
		because("it was cancelled; a new intention is a fork")
	case !canReplay(op):
		because("it is %s and goes on by itself", op.State)
	case op.proven():
		because("an effect is proven%s: resolve it as succeeded", op.underReference())
	case op.OpenAttempts() == 0:
		plan.Verdict = ReplaySafe
		because("every attempt is proven to have had no effect")
	case op.resendAllowed(at):
		plan.Verdict = ReplaySafe
		because("%d attempt(s) may have had their effect, and the provider recognises the key %q still", op.OpenAttempts(), op.ProviderKey)
	case probe == "absent" && op.State != StateNeedsReview:
		plan.Verdict = ReplayConfirm
		because("the look-up saw no effect, but an attempt may still appear until %s", op.provableAt().Format(time.RFC3339))
	default:
		plan.Verdict = ReplayConfirm
		because("%d attempt(s) may have had their effect and nothing can prove otherwise", op.OpenAttempts())
	}
	if op.Forked && plan.Verdict != ReplayRefuse {
		plan.Verdict = ReplayConfirm
		because("a fork was made of it, which may have had the effect in its place: the timeline says under which key")
	}
	if plan.Verdict == ReplayConfirm {
		plan.Sentence = fmt.Sprintf("I accept that %s may happen a second time for %s", op.Tool, op.ID)
	}
	return plan
}

// underReference names the effect where the provider did.
func (o *Operation) underReference() string {
	if o.Reference == "" {
		return ""
	}
	return fmt.Sprintf(", reference %q", o.Reference)
}

// Replay makes a new attempt under the same key, if the plan allows it. A plan
// that needs confirmation wants its sentence back, word for word. Asking twice
// makes one attempt: the second is told CodeReplayRefused.
func (l *Ledger) Replay(ctx context.Context, p Principal, id OperationID, reason, sentence string) (*Operation, error) {
	plan, err := l.PlanReplay(ctx, p, id)
	if err != nil {
		return nil, err
	}
	op := plan.Operation
	switch plan.Verdict {
	case ReplayRefuse:
		l.measureRefused(op, l.clock.now())
		return op, &Error{Code: CodeReplayRefused, Op: "replay operation", OperationID: id, Message: plan.Reasons[0], Hint: "read the plan: GET /v1/operations/{id}/replay"}
	case ReplayConfirm:
		if sentence != plan.Sentence {
			l.measureRefused(op, l.clock.now())
			return op, &Error{Code: CodeConfirmationNeeded, Op: "replay operation", OperationID: id, Message: plan.Reasons[0],
				Hint: fmt.Sprintf("confirm with exactly this sentence: %q", plan.Sentence)}
		}
	case ReplaySafe:
	}
	return l.carryOutPlan(ctx, p, plan, reason)
}

// carryOutPlan replays an operation that has not moved on since its plan.
func (l *Ledger) carryOutPlan(ctx context.Context, p Principal, plan *ReplayPlan, reason string) (*Operation, error) {
	op, id := plan.Operation, plan.Operation.ID
	planned := op.Attempt()
	op, err := l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.Attempt() != planned || !canReplay(now) {
			return nil, &Error{Code: CodeReplayRefused, Op: "replay operation", OperationID: id, Message: "it has moved on since the plan, and is " + now.State.String(), Hint: "plan the replay anew"}
		}
		return facts(p.String(), ReplayRequested{Actor: p.String(), Reason: reason, Confirmed: plan.dangerous}), nil
	})
	if err == nil {
		l.Wake()
	}
	return op, err
}
