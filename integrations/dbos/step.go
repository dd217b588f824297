package dbos

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/onceward/onceward"
)

// Done is what a step knows of its effect.
type Done[R any] struct {
	Operation string // its ID
	Reference string // the other system's name of the effect; may be empty
	Result    *R     // nil: it was lost with its answer, and the effect was found by a look-up
}

// Unsettled is the error of a step whose operation is not final yet: DBOS repeats
// the step, and with it the question. Give the step retries that last as long as
// its operation may take ([dbos.WithStepMaxRetries]).
type Unsettled struct {
	Operation  string
	State      onceward.State
	RetryAfter time.Duration
}

// Error says which operation is not settled.
func (e *Unsettled) Error() string {
	return fmt.Sprintf("operation %s is %s: ask again", e.Operation, e.State)
}

// Ended is the error of a step whose operation ended without its effect, or of
// which nobody looks any further.
type Ended struct {
	Operation string
	State     onceward.State
	Message   string
}

// Error says how the operation ended.
func (e *Ended) Error() string {
	return fmt.Sprintf("operation %s is %s: %s", e.Operation, e.State, e.Message)
}

// Perform makes the effect, and returns the other system's name of it and its
// result, which is kept as JSON. An error is unknown, never failed.
type Perform[R any] func(ctx context.Context, c *onceward.Call) (reference string, result R, err error)

// Step runs a step whose effect is the operation that the intent names. Its tool
// is a [onceward.Function]. The step waits for the outcome as long as the intent
// says; zero: as long as can be. The errors besides the ledger's are *Unsettled and
// *Ended.
func Step[R any](ctx dbos.Context, l *onceward.Ledger, in onceward.Intent, perform Perform[R], opts ...dbos.StepOption) (Done[R], error) {
	return dbos.RunAsStep(ctx, func(ctx context.Context) (Done[R], error) {
		in.Wait = cmp.Or(in.Wait, onceward.MaxWait)
		a, err := l.Do(ctx, in, func(ctx context.Context, c *onceward.Call) (onceward.Outcome, error) {
			reference, result, err := perform(ctx, c)
			if err != nil {
				return onceward.Outcome{}, err
			}
			body, err := json.Marshal(result)
			return onceward.Outcome{Verdict: onceward.VerdictDone, Reference: reference, Result: body}, err
		})
		if err != nil {
			return Done[R]{}, err
		}
		return done[R](a)
	}, opts...)
}

func done[R any](a *onceward.Answer) (Done[R], error) {
	op := a.Operation
	d := Done[R]{Operation: op.ID.String(), Reference: op.Reference}
	switch {
	case !op.State.Terminal():
		return d, &Unsettled{Operation: d.Operation, State: op.State, RetryAfter: a.RetryAfter}
	case op.State != onceward.StateSucceeded && op.State != onceward.StateCompensated:
		return d, &Ended{Operation: d.Operation, State: op.State, Message: op.Failure.Message}
	}
	if op.Result != nil && op.Result.BodyKept {
		d.Result = new(R)
		if err := json.Unmarshal(op.Result.Body, d.Result); err != nil {
			return d, fmt.Errorf("read result of operation %s: %w", d.Operation, err)
		}
	}
	return d, nil
}
