package river

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/onceward/onceward"
)

// Middleware makes each job that Intent names an operation of a
// [onceward.Function]: the worker is its effect, and is called only in its
// attempts. Any other job is worked as it is.
//
// A worker that returns an error leaves the outcome unknown: the function's probe
// looks it up, or its class says whether it may be worked again. A worker returns
// a [NotDone] for what surely did not happen.
type Middleware struct {
	river.MiddlewareDefaults
	// Ledger is where the operations are.
	Ledger *onceward.Ledger
	// Intent names the operation that a job is: tool, input, principal, and the
	// caller's key where the function derives none. ok is false for a job that is
	// none. Its Wait is how long a worker waits for the outcome before the job is
	// snoozed; zero: as long as can be.
	Intent func(job *rivertype.JobRow) (in onceward.Intent, ok bool, err error)
}

var _ rivertype.WorkerMiddleware = (*Middleware)(nil)

// NotDone is an error of a worker that surely had no effect.
type NotDone struct{ Outcome onceward.Outcome }

// Error says what was not done.
func (e NotDone) Error() string { return e.Outcome.Failure.Message }

// Work implements rivertype.WorkerMiddleware. A job whose operation has succeeded
// is done; one whose operation is not settled is snoozed; one whose operation has
// ended otherwise is cancelled, with why.
func (m *Middleware) Work(ctx context.Context, job *rivertype.JobRow, work func(ctx context.Context) error) error {
	in, ok, err := m.Intent(job)
	if err != nil || !ok {
		if err != nil {
			return river.JobCancel(err)
		}
		return work(ctx)
	}
	in.Wait = cmp.Or(in.Wait, onceward.MaxWait)
	a, err := m.Ledger.Do(ctx, in, func(within context.Context, c *onceward.Call) (onceward.Outcome, error) {
		err := work(both{context.WithValue(within, callKey{}, c), ctx})
		var none NotDone
		if errors.As(err, &none) {
			return none.Outcome, nil
		}
		return onceward.Outcome{}, err
	})
	if err != nil {
		return err // nothing was done that is not recorded: River tries again
	}
	op := a.Operation
	switch {
	case op.State == onceward.StateSucceeded || op.State == onceward.StateCompensated:
		return nil
	case op.State.Terminal():
		return river.JobCancel(fmt.Errorf("operation %s is %s: %s", op.ID, op.State, op.Failure.Message))
	}
	return river.JobSnooze(max(a.RetryAfter, time.Second))
}

type callKey struct{}

// CallOf is the attempt that a worker is called in: its ProviderKey is for whoever
// takes a key, and its Check says whether the effect may still be made. nil: the
// job is no operation.
func CallOf(ctx context.Context) *onceward.Call {
	c, _ := ctx.Value(callKey{}).(*onceward.Call)
	return c
}

// both ends with the attempt, and has the values of the job.
type both struct {
	context.Context
	values context.Context
}

// Value is the job's, else the attempt's.
func (b both) Value(key any) any {
	if v := b.values.Value(key); v != nil {
		return v
	}
	return b.Context.Value(key)
}
