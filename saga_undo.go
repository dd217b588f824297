package onceward

import (
	"context"
	"fmt"
	"time"
)

// backward looks at the last step that may have had an effect, and undoes it.
func (l *Ledger) backward(ctx context.Context, s *Saga) (look, error) {
	undone := false
	for i := len(s.Steps) - 1; i >= 0; i-- {
		step := &s.Steps[i]
		switch step.State {
		case SagaStepPending, SagaStepNotDone:
		case SagaStepUndone, SagaStepKept:
			undone = true
		case SagaStepStarted:
			return l.closeStep(ctx, s, step)
		case SagaStepDone:
			return l.beginUndo(ctx, s, step)
		case SagaStepUndoing:
			return l.followUndo(ctx, s, step)
		}
	}
	switch {
	case undone:
		s.State = SagaCompensated
	case s.Cancelled:
		s.State = SagaCancelled
	default:
		s.State = SagaFailed
	}
	return look{moved: true}, nil
}

// closeStep finds out what became of a step that was noted as started, and sees
// to it that nothing comes of it later.
func (l *Ledger) closeStep(ctx context.Context, s *Saga, step *SagaStep) (look, error) {
	op, err := l.sagaOperation(ctx, step.Operation)
	if err == nil && op == nil {
		op, err = l.forestall(ctx, s, step)
	}
	if err != nil {
		return look{}, err
	}
	if step.Shared = !s.owns(op); step.Shared {
		step.State, step.Why, step.EndedAt = SagaStepNotDone, "its operation was asked for by others, and is left alone", l.clock.now()
		return look{moved: true}, nil
	}
	if !op.State.Terminal() && !op.CancelRequested {
		op, err = l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
			if now.CancelRequested || now.State.Terminal() {
				return nil, nil
			}
			return l.cancelFacts(now, at, s.goesBack()), nil
		})
		if err != nil {
			return look{}, err
		}
		l.Wake()
	}
	switch op.State {
	case StateSucceeded:
		step.State, step.EndedAt = SagaStepDone, l.clock.now()
		return look{moved: true}, nil
	case StateFailed, StateCancelled, StateCompensated:
		step.State, step.Why, step.EndedAt = SagaStepNotDone, op.State.String(), op.CompletedAt
		return look{moved: true}, nil
	case StateAbandoned:
		return look{note: "nobody knows whether the step " + step.Name + " happened; resolve " + op.ID.String(), review: true}, nil
	case StateNeedsReview:
		return look{note: "the outcome of the step " + step.Name + " is unknown; resolve " + op.ID.String(), review: true}, nil
	case StateAwaitingApproval, StateReady, StateEffectPending, StateOutcomeUnknown:
	}
	return look{}, nil
}

// forestall claims the operation of a step as cancelled.
//
// Why: whoever noted the step as started may stand still before its claim, and go
// on later. Then it finds the operation there, and ended.
func (l *Ledger) forestall(ctx context.Context, s *Saga, step *SagaStep) (*Operation, error) {
	r, err := l.stepIntent(ctx, s, step)
	if err != nil {
		if _, hard := (&Saga{}).refused(&SagaStep{}, err); hard != nil {
			return nil, err
		}
		return s.neverAsked(step), nil // nobody can ask for it any more, either
	}
	at := l.clock.now()
	op := NewOperation(r.in, r.p, r.tool.Info(), r.gen, at)
	if err := l.assign(ctx, &op, r.p); err != nil {
		return nil, err
	}
	c, _, err := l.build(&op, l.cancelFacts(&op, at, s.goesBack()), at)
	if err != nil {
		return nil, err
	}
	stored, applied, err := l.write(context.WithoutCancel(ctx), c)
	if err != nil {
		return nil, fmt.Errorf("claim operation %s: %w", op.ID, err)
	}
	if !applied {
		lost, err := l.lostClaim(ctx, &op, stored)
		return lost.op, err
	}
	return stored, nil
}

// goesBack is why a step's operation is cancelled.
func (s *Saga) goesBack() CancelRequested {
	return CancelRequested{Actor: s.By.String(), Reason: s.ID.String() + " goes back"}
}

// neverAsked is the operation of a step that is refused: it is not there, and
// ended.
func (s *Saga) neverAsked(step *SagaStep) *Operation {
	return &Operation{ID: step.Operation, Run: s.ID.Run().String(), State: StateCancelled}
}

// beginUndo notes that a step's compensation starts, with the operation that it
// will be.
func (l *Ledger) beginUndo(ctx context.Context, s *Saga, step *SagaStep) (look, error) {
	keep := func(why string) (look, error) {
		step.State, step.Why, step.UndoneAt = SagaStepKept, why, l.clock.now()
		return look{moved: true}, nil
	}
	if step.Shared {
		return keep("its operation was asked for by others, and is not this saga's to undo")
	}
	op, err := l.sagaOperation(ctx, step.Operation)
	switch {
	case err != nil:
		return look{}, err
	case op == nil:
		return step.gone(), nil
	case op.State == StateCompensated:
		step.State, step.UndoneAt = SagaStepUndone, l.clock.now()
		return look{moved: true}, nil
	case !op.Effect.Writes():
		return keep("it has no effect")
	}
	r, err := l.undoIntent(ctx, s, step, op)
	switch {
	case r == nil && err == nil:
		return look{note: "the step " + step.Name + " is done, and nothing undoes it; undo it by hand or keep it, and resolve the step", review: true}, nil
	case err != nil:
		return undoRefused(step, err)
	}
	step.State, step.Undoing = SagaStepUndoing, NewOperationID(s.Tenant, r.in.Tool, r.p.Key)
	return look{moved: true}, nil
}

// gone waits for a person where the record of what has to be undone was dropped.
func (step *SagaStep) gone() look {
	return look{note: "the operation of the step " + step.Name + " is gone: nobody can tell how to undo it; resolve the step", review: true}
}

// undoRefused waits for a person where a compensation cannot be asked for.
func undoRefused(step *SagaStep, err error) (look, error) {
	if _, hard := (&Saga{}).refused(&SagaStep{}, err); hard != nil {
		return look{}, err
	}
	return look{note: cutWords("the compensation of the step " + step.Name + " is refused: " + messageOf(err) + "; undo it by hand or keep it, and resolve the step"), review: true}, nil
}

// undoIntent is a step's compensation as it would be asked for at this moment; nil if there
// is none. It needs no right of whoever started the saga: that it is undone was
// checked when it started.
func (l *Ledger) undoIntent(ctx context.Context, s *Saga, step *SagaStep, op *Operation) (*admitted, error) {
	var tool ToolName
	var input []byte
	if step.Undo != nil {
		tool = step.Undo.Tool
		var err error
		if input, err = l.renderStep(ctx, s, step.Undo.Input); err != nil {
			return nil, err
		}
	} else {
		own, err := l.tools.Version(ctx, op.Tool, op.Contract)
		if err != nil {
			return nil, err
		}
		u, ok := own.(Undoable)
		if !ok {
			return nil, nil
		}
		if tool, input, ok, err = u.Compensation(op); err != nil || !ok {
			return nil, err
		}
	}
	t, err := l.tools.find(ctx, tool)
	if err != nil {
		return nil, err
	}
	in := s.intent(tool, input, step.Name+"/undo")
	in.joined = true // a compensation is on every branch of its run
	return l.admitUnder(ctx, in, t)
}

// followUndo looks at a step's compensation, and asks for it where it is not there.
//
// Crash point: saga.before_undo, saga.after_undo.
func (l *Ledger) followUndo(ctx context.Context, s *Saga, step *SagaStep) (look, error) {
	undo, err := l.sagaOperation(ctx, step.Undoing)
	if err != nil {
		return look{}, err
	}
	if undo == nil {
		op, err := l.sagaOperation(ctx, step.Operation)
		switch {
		case err != nil:
			return look{}, err
		case op == nil:
			return step.gone(), nil
		}
		r, err := l.undoIntent(ctx, s, step, op)
		if err != nil || r == nil {
			return undoRefused(step, err)
		}
		l.crash("saga.before_undo")
		a, err := l.submit(ctx, r, nil)
		l.count(s.By, r.in.Tool, a, err)
		if err != nil {
			return undoRefused(step, err)
		}
		l.crash("saga.after_undo")
		if undo = a.Operation; undo.ID != step.Undoing {
			step.Undoing = undo.ID
			return look{moved: true}, nil
		}
	}
	return l.judgeUndo(ctx, s, step, undo)
}

// judgeUndo says what the state of a compensation means for the saga.
func (l *Ledger) judgeUndo(ctx context.Context, s *Saga, step *SagaStep, undo *Operation) (look, error) {
	name := "the compensation of the step " + step.Name
	switch undo.State {
	case StateSucceeded:
		if err := l.markUndone(ctx, s, step, undo); err != nil {
			return look{}, err
		}
		step.State, step.UndoneAt = SagaStepUndone, l.clock.now()
		return look{moved: true}, nil
	case StateFailed, StateCancelled, StateCompensated:
		return look{note: cutWords(name + " is " + undo.State.String() + behindColon(undo.Failure.Message) + "; replay " + undo.ID.String() + ", or undo it by hand and resolve the step"), review: true}, nil
	case StateAbandoned, StateNeedsReview:
		return look{note: "the outcome of " + name + " is unknown; resolve " + undo.ID.String(), review: true}, nil
	case StateAwaitingApproval:
		return look{note: name + " waits for an approval of " + undo.ID.String()}, nil
	case StateReady, StateEffectPending, StateOutcomeUnknown:
	}
	return look{}, nil
}

// markUndone tells the operation of a step that it is undone.
func (l *Ledger) markUndone(ctx context.Context, s *Saga, step *SagaStep, undo *Operation) error {
	op, err := l.sagaOperation(ctx, step.Operation)
	if err != nil || op == nil {
		return err
	}
	_, err = l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		if now.State != StateSucceeded || now.Retired {
			return nil, nil // undone already, or slimmed: the saga says it
		}
		return facts(s.By.String(), Compensated{By: undo.ID, Actor: s.By.String(), Reason: s.ID.String() + " went back"}), nil
	})
	return err
}
