package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// AddTallies implements onceward.Store.
func (s *FaultyStore) AddTallies(ctx context.Context, add []onceward.Tally) error {
	if err := s.writable("store tallies"); err != nil {
		return err
	}
	return s.inner.AddTallies(ctx, add)
}

// Tallies implements onceward.Store.
func (s *FaultyStore) Tallies(ctx context.Context, t onceward.Tenant, from, to time.Time) ([]onceward.Tally, error) {
	if err := s.readable("load tallies"); err != nil {
		return nil, err
	}
	return s.inner.Tallies(ctx, t, from, to)
}
