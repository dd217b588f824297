package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutRun implements onceward.Store.
func (s *FaultyStore) PutRun(ctx context.Context, r onceward.Run, notes ...onceward.AuditEvent) (*onceward.Run, bool, error) {
	if err := s.writable("store run"); err != nil {
		return nil, false, err
	}
	return s.inner.PutRun(ctx, r, notes...)
}

// LoadRun implements onceward.Store.
func (s *FaultyStore) LoadRun(ctx context.Context, id onceward.RunID) (*onceward.Run, error) {
	if err := s.readable("load run"); err != nil {
		return nil, err
	}
	return s.inner.LoadRun(ctx, id)
}

// ListRuns implements onceward.Store.
func (s *FaultyStore) ListRuns(ctx context.Context, f onceward.RunFilter) ([]*onceward.Run, error) {
	if err := s.readable("list runs"); err != nil {
		return nil, err
	}
	return s.inner.ListRuns(ctx, f)
}

// AgedRuns implements onceward.Store.
func (s *FaultyStore) AgedRuns(ctx context.Context, after onceward.RunCursor, before time.Time, limit int) ([]*onceward.Run, error) {
	if err := s.readable("list old runs"); err != nil {
		return nil, err
	}
	return s.inner.AgedRuns(ctx, after, before, limit)
}

// DropRun implements onceward.Store.
func (s *FaultyStore) DropRun(ctx context.Context, r *onceward.Run, notes ...onceward.AuditEvent) (bool, error) {
	if err := s.writable("drop run"); err != nil {
		return false, err
	}
	return s.inner.DropRun(ctx, r, notes...)
}
