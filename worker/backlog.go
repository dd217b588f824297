package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Backlog counts now and then what waits, for the gauges.
type Backlog struct {
	ledger *onceward.Ledger
	clock  onceward.Clock
	rest   time.Duration
}

// Limits of the counting.
const (
	backlogEvery = 10 * time.Second
	// backlogShare bounds how much of the time is spent counting: a large backlog
	// is counted less often.
	backlogShare = 20
)

// NewBacklog returns the loop.
func NewBacklog(l *onceward.Ledger, c onceward.Clock) *Backlog {
	return &Backlog{ledger: l, clock: c, rest: backlogEvery}
}

// Name implements Loop.
func (b *Backlog) Name() string { return "backlog" }

// Step implements Loop.
func (b *Backlog) Step(ctx context.Context) (bool, error) {
	began := b.clock.Now()
	err := b.ledger.LookAtBacklog(ctx)
	b.rest = max(backlogEvery, backlogShare*b.clock.Now().Sub(began))
	return false, err
}

// Idle implements Loop.
func (b *Backlog) Idle() (time.Duration, <-chan struct{}) { return b.rest, nil }
