package temporal

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/onceward/onceward"
)

// Done is what an activity knows of its effect.
type Done[R any] struct {
	Operation string // its ID
	Reference string // the other system's name of the effect; may be empty
	Result    *R     // nil: it was lost with its answer, and the effect was found by a look-up
}

// Types of the activity's application errors.
const (
	TypeUnsettled = "OncewardUnsettled" // the operation is not final: Temporal asks again, after the ledger's own advice
	TypeEnded     = "OncewardEnded"     // it ended without its effect, or nobody looks any further: not retried
	TypeRefused   = "OncewardRefused"   // the ledger refused the request for good: not retried
)

// Perform makes the effect, and returns the other system's name of it and its
// result, which is kept as JSON. An error is unknown, never failed.
type Perform[I, R any] func(ctx context.Context, c *onceward.Call, in I) (reference string, result R, err error)

// Activity makes an activity whose effect is the operation that intent names. Its
// tool is a [onceward.Function]. Wait is at most as long as the activity's
// StartToCloseTimeout should be: an activity that is timed out is asked for again,
// and joins its own attempt.
func Activity[I, R any](l *onceward.Ledger, wait time.Duration, intent func(in I) (onceward.Intent, error), perform Perform[I, R]) func(ctx context.Context, in I) (Done[R], error) {
	return func(ctx context.Context, in I) (Done[R], error) {
		asked, err := intent(in)
		if err != nil {
			return Done[R]{}, temporal.NewNonRetryableApplicationError(err.Error(), TypeRefused, err)
		}
		asked.Wait = min(wait, onceward.MaxWait)
		a, err := l.Do(ctx, asked, func(ctx context.Context, c *onceward.Call) (onceward.Outcome, error) {
			reference, result, err := perform(ctx, c, in)
			if err != nil {
				return onceward.Outcome{}, err
			}
			body, err := json.Marshal(result)
			return onceward.Outcome{Verdict: onceward.VerdictDone, Reference: reference, Result: body}, err
		})
		if err != nil {
			return Done[R]{}, refusal(err)
		}
		return done[R](a)
	}
}

// refusal is an error of the ledger: one that asking again does not mend is not
// tried again.
func refusal(err error) error {
	switch onceward.CodeOf(err) {
	case onceward.CodeKeyReused, onceward.CodeKeyMissing, onceward.CodeKeyInvalid, onceward.CodeKeyRetired, onceward.CodeInvalidInput, onceward.CodeInvalidRequest, onceward.CodeForbidden, onceward.CodeToolNotFound:
		return temporal.NewNonRetryableApplicationError(err.Error(), TypeRefused, err)
	}
	return err
}

func done[R any](a *onceward.Answer) (Done[R], error) {
	op := a.Operation
	d := Done[R]{Operation: op.ID.String(), Reference: op.Reference}
	switch {
	case !op.State.Terminal():
		return d, temporal.NewApplicationErrorWithOptions(fmt.Sprintf("operation %s is %s: ask again", op.ID, op.State), TypeUnsettled,
			temporal.ApplicationErrorOptions{NextRetryDelay: max(a.RetryAfter, time.Second)})
	case op.State != onceward.StateSucceeded && op.State != onceward.StateCompensated:
		return d, temporal.NewNonRetryableApplicationError(fmt.Sprintf("operation %s is %s: %s", op.ID, op.State, op.Failure.Message), TypeEnded, nil)
	}
	if op.Result != nil && op.Result.BodyKept {
		d.Result = new(R)
		if err := json.Unmarshal(op.Result.Body, d.Result); err != nil {
			return d, fmt.Errorf("read result of operation %s: %w", op.ID, err)
		}
	}
	return d, nil
}
