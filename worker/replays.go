package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Replays carries out replays of many operations, one operation at a time.
type Replays struct{ ledger *onceward.Ledger }

// replaysEvery is how long a bulk replay may wait for its next operation besides
// its own rate.
const replaysEvery = 500 * time.Millisecond

// NewReplays returns the loop.
func NewReplays(l *onceward.Ledger) *Replays { return &Replays{ledger: l} }

// Name implements Loop.
func (r *Replays) Name() string { return "replays" }

// Step implements Loop.
func (r *Replays) Step(ctx context.Context) (bool, error) { return r.ledger.StepBulkReplays(ctx) }

// Idle implements Loop.
func (r *Replays) Idle() (time.Duration, <-chan struct{}) { return replaysEvery, nil }
