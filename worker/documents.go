package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// documentsRest is the time between two walks for old documents, each of which
// looks at every operation.
const documentsRest = 6 * time.Hour

// Documents walks the ledger in small bounded steps, and drops documents whose
// time is over and that nothing names any more.
type Documents struct {
	ledger *onceward.Ledger
	keep   time.Duration
	walk   onceward.DocumentWalk
	over   bool
}

// NewDocuments returns the loop. keep is how long a document is kept that nothing
// names; 0: for ever.
func NewDocuments(l *onceward.Ledger, keep time.Duration) *Documents {
	return &Documents{ledger: l, keep: keep, over: true}
}

// Name implements Loop.
func (d *Documents) Name() string { return "documents" }

// Step implements Loop: one step of the walk.
func (d *Documents) Step(ctx context.Context) (bool, error) {
	done, over, err := d.ledger.RetireDocumentsStep(ctx, &d.walk, d.keep, RetireBatch)
	if err != nil {
		return false, err
	}
	d.over = over
	return done > 0 && !over, nil
}

// Idle implements Loop.
func (d *Documents) Idle() (time.Duration, <-chan struct{}) {
	if !d.over {
		return retireWait, nil
	}
	return documentsRest, nil
}
