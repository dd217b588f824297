package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Stranded beats for this replica, and settles first attempts that a dead
// replica left behind. They have no due row (the happy path writes none); they
// are found by their owner's low-water mark and the index on creation time.
type Stranded struct {
	ledger *onceward.Ledger
	store  onceward.Store
	every  time.Duration
}

// Limits of the stranded loop.
const (
	beatEvery     = 2 * time.Second
	deadAfter     = 5 * beatEvery // a replica that was silent for so long is dead
	strandedBatch = 200
)

// NewStranded returns the loop.
func NewStranded(l *onceward.Ledger, s onceward.Store) *Stranded {
	return &Stranded{ledger: l, store: s, every: beatEvery}
}

// Name implements Loop.
func (s *Stranded) Name() string { return "stranded" }

// Step implements Loop.
func (s *Stranded) Step(ctx context.Context) (bool, error) {
	all, now, err := s.ledger.Beat(ctx)
	if err != nil {
		return false, err
	}
	worked := false
	for _, r := range all {
		if r.ID == s.ledger.Owner() {
			continue
		}
		n, err := s.ledger.ExpireStranded(ctx, r.ID, r.LowWater, now, strandedBatch)
		if err != nil {
			return worked, err
		}
		worked = worked || n == strandedBatch
		if n == 0 && now.Sub(r.BeatAt) > deadAfter {
			if err := s.forget(ctx, r, now); err != nil {
				return worked, err
			}
		}
	}
	return worked, nil
}

// forget removes a dead replica once no lease of it can run any more.
func (s *Stranded) forget(ctx context.Context, r onceward.Replica, now time.Time) error {
	if now.Sub(r.BeatAt) <= s.ledger.LongestLease()+deadAfter {
		return nil
	}
	return s.store.Forget(ctx, r.ID)
}

// Idle implements Loop.
func (s *Stranded) Idle() (time.Duration, <-chan struct{}) { return s.every, nil }
