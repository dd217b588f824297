package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutBulkReplay implements onceward.Store.
func (s *FaultyStore) PutBulkReplay(ctx context.Context, b onceward.BulkReplay, notes ...onceward.AuditEvent) (*onceward.BulkReplay, bool, error) {
	if err := s.writable("store bulk replay"); err != nil {
		return nil, false, err
	}
	return s.inner.PutBulkReplay(ctx, b, notes...)
}

// ListBulkReplays implements onceward.Store.
func (s *FaultyStore) ListBulkReplays(ctx context.Context, t onceward.Tenant, after onceward.BulkCursor, limit int) ([]*onceward.BulkReplay, error) {
	if err := s.readable("list bulk replays"); err != nil {
		return nil, err
	}
	return s.inner.ListBulkReplays(ctx, t, after, limit)
}

// LoadBulkReplay implements onceward.Store.
func (s *FaultyStore) LoadBulkReplay(ctx context.Context, id onceward.BulkReplayID) (*onceward.BulkReplay, error) {
	if err := s.readable("load bulk replay"); err != nil {
		return nil, err
	}
	return s.inner.LoadBulkReplay(ctx, id)
}

// RunningBulkReplays implements onceward.Store.
func (s *FaultyStore) RunningBulkReplays(ctx context.Context, limit int) ([]*onceward.BulkReplay, error) {
	if err := s.readable("list bulk replays"); err != nil {
		return nil, err
	}
	return s.inner.RunningBulkReplays(ctx, limit)
}

// AgedBulkReplays implements onceward.Store.
func (s *FaultyStore) AgedBulkReplays(ctx context.Context, after onceward.BulkCursor, before time.Time, limit int) ([]*onceward.BulkReplay, error) {
	if err := s.readable("list old bulk replays"); err != nil {
		return nil, err
	}
	return s.inner.AgedBulkReplays(ctx, after, before, limit)
}

// DropBulkReplay implements onceward.Store.
func (s *FaultyStore) DropBulkReplay(ctx context.Context, b *onceward.BulkReplay, notes ...onceward.AuditEvent) (bool, error) {
	if err := s.writable("drop bulk replay"); err != nil {
		return false, err
	}
	return s.inner.DropBulkReplay(ctx, b, notes...)
}
