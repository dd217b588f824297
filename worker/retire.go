package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Retire walks the ledger in small bounded steps, slims old records into
// tombstones and drops the tombstones whose own time is over.
type Retire struct {
	ledger *onceward.Ledger
	from   onceward.Cursor // where the walk goes on; zero: it is over
}

// RetireBatch is how much a step of retention looks at.
const RetireBatch = 500

// Limits of retention.
const (
	retireRest = time.Hour // between two walks
	// retireWait follows a batch in which nothing was over. Why: a walk of millions
	// that are kept must cost nobody a processor, and an hour more or less is
	// nothing to what is kept for days.
	retireWait = time.Second / 2
)

// NewRetire returns the loop.
func NewRetire(l *onceward.Ledger) *Retire { return &Retire{ledger: l} }

// Name implements Loop.
func (r *Retire) Name() string { return "retire" }

// Step implements Loop: one batch of the walk.
func (r *Retire) Step(ctx context.Context) (bool, error) {
	next, done, err := r.ledger.RetireStep(ctx, r.from, RetireBatch)
	if err != nil {
		return false, err
	}
	r.from = next
	return done > 0 && next != onceward.Cursor{}, nil
}

// Idle implements Loop.
func (r *Retire) Idle() (time.Duration, <-chan struct{}) {
	if r.from != (onceward.Cursor{}) {
		return retireWait, nil
	}
	return retireRest, nil
}
