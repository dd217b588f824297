package worker

import (
	"context"
	"errors"
	"time"

	"github.com/onceward/onceward"
)

// Monitor counts, by a look-up now and then, the effects of operations that have
// succeeded, and compares a provider's own list with the ledger.
type Monitor struct {
	ledger *onceward.Ledger
	every  time.Duration
}

// NewMonitor returns the loop: one look-up and one listing every so often at most.
func NewMonitor(l *onceward.Ledger, every time.Duration) *Monitor { return &Monitor{l, every} }

// Name implements Loop.
func (m *Monitor) Name() string { return "monitor" }

// Step implements Loop. It never asks to be repeated at once: its rest bounds
// what a provider is asked.
func (m *Monitor) Step(ctx context.Context) (bool, error) {
	_, looked := m.ledger.Monitor(ctx)
	_, listed := m.ledger.CompareListing(ctx)
	return false, errors.Join(looked, listed)
}

// Idle implements Loop.
func (m *Monitor) Idle() (time.Duration, <-chan struct{}) { return m.every, nil }
