package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Note implements onceward.Store.
func (s *FaultyStore) Note(ctx context.Context, events ...onceward.AuditEvent) error {
	if err := s.writable("note audit event"); err != nil {
		return err
	}
	return s.inner.Note(ctx, events...)
}

// AuditRows implements onceward.Store.
func (s *FaultyStore) AuditRows(ctx context.Context, q onceward.AuditQuery) ([]onceward.AuditRow, error) {
	if err := s.readable("read audit trail"); err != nil {
		return nil, err
	}
	return s.inner.AuditRows(ctx, q)
}

// LastSeal implements onceward.Store.
func (s *FaultyStore) LastSeal(ctx context.Context) (*onceward.Seal, error) {
	if err := s.readable("load seal"); err != nil {
		return nil, err
	}
	return s.inner.LastSeal(ctx)
}

// Seals implements onceward.Store.
func (s *FaultyStore) Seals(ctx context.Context, after int64, limit int) ([]onceward.Seal, error) {
	if err := s.readable("load seals"); err != nil {
		return nil, err
	}
	return s.inner.Seals(ctx, after, limit)
}

// SealBefore implements onceward.Store.
func (s *FaultyStore) SealBefore(ctx context.Context, at time.Time) (*onceward.Seal, error) {
	if err := s.readable("load seal"); err != nil {
		return nil, err
	}
	return s.inner.SealBefore(ctx, at)
}

// AppendSeal implements onceward.Store.
func (s *FaultyStore) AppendSeal(ctx context.Context, seal onceward.Seal) (bool, error) {
	if err := s.writable("store seal"); err != nil {
		return false, err
	}
	return s.inner.AppendSeal(ctx, seal)
}

// PutCheckpoint implements onceward.Store.
func (s *FaultyStore) PutCheckpoint(ctx context.Context, c onceward.Checkpoint) error {
	if err := s.writable("store checkpoint"); err != nil {
		return err
	}
	return s.inner.PutCheckpoint(ctx, c)
}

// Checkpoints implements onceward.Store.
func (s *FaultyStore) Checkpoints(ctx context.Context, after int64, limit int) ([]onceward.Checkpoint, error) {
	if err := s.readable("load checkpoints"); err != nil {
		return nil, err
	}
	return s.inner.Checkpoints(ctx, after, limit)
}

// LastCheckpoint implements onceward.Store.
func (s *FaultyStore) LastCheckpoint(ctx context.Context) (*onceward.Checkpoint, error) {
	if err := s.readable("load checkpoint"); err != nil {
		return nil, err
	}
	return s.inner.LastCheckpoint(ctx)
}

// PruneAudit implements onceward.Store.
func (s *FaultyStore) PruneAudit(ctx context.Context, anchor onceward.Seal, e onceward.AuditEvent) error {
	if err := s.writable("prune audit trail"); err != nil {
		return err
	}
	return s.inner.PruneAudit(ctx, anchor, e)
}

// AuditOperations implements onceward.Store.
func (s *FaultyStore) AuditOperations(ctx context.Context, after onceward.OperationID, limit int) ([]onceward.AuditOperation, error) {
	if err := s.readable("verify operations"); err != nil {
		return nil, err
	}
	return s.inner.AuditOperations(ctx, after, limit)
}
