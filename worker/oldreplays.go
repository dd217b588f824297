package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// OldReplays walks the bulk replays in small bounded steps, and drops those whose
// time is over.
type OldReplays struct {
	ledger *onceward.Ledger
	keep   time.Duration
	from   onceward.BulkCursor
}

// NewOldReplays returns the loop. keep is how long a bulk replay that ended is
// kept; 0: for ever.
func NewOldReplays(l *onceward.Ledger, keep time.Duration) *OldReplays {
	return &OldReplays{ledger: l, keep: keep}
}

// Name implements Loop.
func (r *OldReplays) Name() string { return "old replays" }

// Step implements Loop: one batch of the walk.
func (r *OldReplays) Step(ctx context.Context) (bool, error) {
	next, _, err := r.ledger.RetireBulkReplaysStep(ctx, r.from, r.keep, RetireBatch)
	if err != nil {
		return false, err
	}
	r.from = next
	return next != onceward.BulkCursor{}, nil
}

// Idle implements Loop.
func (r *OldReplays) Idle() (time.Duration, <-chan struct{}) { return retireRest, nil }
