package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Backlog implements onceward.Store.
func (s *FaultyStore) Backlog(ctx context.Context) ([]onceward.Backlog, time.Time, error) {
	if err := s.readable("count what waits"); err != nil {
		return nil, time.Time{}, err
	}
	return s.inner.Backlog(ctx)
}

// Waiting implements onceward.Store.
func (s *FaultyStore) Waiting(ctx context.Context, state onceward.State, limit int) ([]*onceward.Operation, error) {
	if err := s.readable("list what waits"); err != nil {
		return nil, err
	}
	return s.inner.Waiting(ctx, state, limit)
}
