package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Switches keeps the shared tool switches and contract versions in sight: a pause
// and a newer contract take effect on every replica within a second.
type Switches struct{ ledger *onceward.Ledger }

const switchesEvery = 500 * time.Millisecond

// NewSwitches returns the loop.
func NewSwitches(l *onceward.Ledger) *Switches { return &Switches{ledger: l} }

// Name implements Loop.
func (s *Switches) Name() string { return "switches" }

// Step implements Loop.
func (s *Switches) Step(ctx context.Context) (bool, error) {
	return false, s.ledger.RefreshSwitches(ctx)
}

// Idle implements Loop.
func (s *Switches) Idle() (time.Duration, <-chan struct{}) { return switchesEvery, nil }
