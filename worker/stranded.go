package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Stranded beats for this replica, and settles first attempts that a dead
// replica left behind. They have no due row (the happy path writes none); they
// are found by their owner's low-water mark and the index on creation time.
type Stranded struct{ ledger *onceward.Ledger }

// strandedBatch is how many attempts of each replica one step settles.
const strandedBatch = 200

// NewStranded returns the loop.
func NewStranded(l *onceward.Ledger) *Stranded { return &Stranded{ledger: l} }

// Name implements Loop.
func (s *Stranded) Name() string { return "stranded" }

// Step implements Loop.
func (s *Stranded) Step(ctx context.Context) (bool, error) {
	return s.ledger.Strand(ctx, strandedBatch)
}

// Idle implements Loop.
func (s *Stranded) Idle() (time.Duration, <-chan struct{}) { return onceward.BeatEvery, nil }
