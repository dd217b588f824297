package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Tally writes what this process counted of how requests were answered.
type Tally struct{ ledger *onceward.Ledger }

// NewTally returns the loop.
func NewTally(l *onceward.Ledger) *Tally { return &Tally{ledger: l} }

// Name implements Loop.
func (t *Tally) Name() string { return "tally" }

// Step implements Loop.
func (t *Tally) Step(ctx context.Context) (bool, error) { return false, t.ledger.FlushTallies(ctx) }

// Idle implements Loop.
func (t *Tally) Idle() (time.Duration, <-chan struct{}) { return onceward.TallyEvery, nil }
