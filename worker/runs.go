package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Runs walks the runs in small bounded steps, and drops those whose time is over.
type Runs struct {
	ledger *onceward.Ledger
	keep   time.Duration
	from   onceward.RunCursor
}

// NewRuns returns the loop. keep is how long a finished run is kept; 0: for ever.
func NewRuns(l *onceward.Ledger, keep time.Duration) *Runs { return &Runs{ledger: l, keep: keep} }

// Name implements Loop.
func (r *Runs) Name() string { return "runs" }

// Step implements Loop: one batch of the walk.
func (r *Runs) Step(ctx context.Context) (bool, error) {
	next, _, err := r.ledger.RetireRunsStep(ctx, r.from, r.keep, RetireBatch)
	if err != nil {
		return false, err
	}
	r.from = next
	return next != onceward.RunCursor{}, nil
}

// Idle implements Loop.
func (r *Runs) Idle() (time.Duration, <-chan struct{}) { return retireRest, nil }
