package worker

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Sagas advances sagas.
type Sagas struct {
	ledger *onceward.Ledger
	next   time.Duration // until the earliest comes up, as of the last step
}

// sagasEvery is how often it looks for sagas besides those that this process
// knows of: what a process left that died.
const sagasEvery = 10 * time.Second

// NewSagas returns the loop.
func NewSagas(l *onceward.Ledger) *Sagas { return &Sagas{ledger: l, next: sagasEvery} }

// Name implements Loop.
func (s *Sagas) Name() string { return "sagas" }

// Step implements Loop.
func (s *Sagas) Step(ctx context.Context) (bool, error) {
	worked, err := s.ledger.StepSagas(ctx)
	if err != nil || worked {
		return worked, err
	}
	s.next = sagasEvery
	in, ok, err := s.ledger.NextSaga(ctx)
	if err == nil && ok {
		s.next = min(max(in, duePollMin), sagasEvery)
	}
	return false, err
}

// Idle implements Loop.
func (s *Sagas) Idle() (time.Duration, <-chan struct{}) { return s.next, s.ledger.SagasMoved() }
