package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutDataKey implements onceward.Store.
func (s *FaultyStore) PutDataKey(ctx context.Context, k onceward.DataKey) (onceward.DataKey, error) {
	if err := s.writable("store data key"); err != nil {
		return onceward.DataKey{}, err
	}
	return s.inner.PutDataKey(ctx, k)
}

// DataKeyInUse implements onceward.Store.
func (s *FaultyStore) DataKeyInUse(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID) (*onceward.DataKey, error) {
	if err := s.readable("load data key"); err != nil {
		return nil, err
	}
	return s.inner.DataKeyInUse(ctx, t, subject)
}

// DataKeys implements onceward.Store.
func (s *FaultyStore) DataKeys(ctx context.Context, ids []onceward.DataKeyID) ([]onceward.DataKey, error) {
	if err := s.readable("list data keys"); err != nil {
		return nil, err
	}
	return s.inner.DataKeys(ctx, ids)
}

// ListDataKeys implements onceward.Store.
func (s *FaultyStore) ListDataKeys(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID, after onceward.DataKeyID, limit int) ([]onceward.DataKey, error) {
	if err := s.readable("list data keys"); err != nil {
		return nil, err
	}
	return s.inner.ListDataKeys(ctx, t, subject, after, limit)
}

// MasterUses implements onceward.Store.
func (s *FaultyStore) MasterUses(ctx context.Context) ([]onceward.MasterUse, error) {
	if err := s.readable("count data keys"); err != nil {
		return nil, err
	}
	return s.inner.MasterUses(ctx)
}

// KeysNotWrappedBy implements onceward.Store.
func (s *FaultyStore) KeysNotWrappedBy(ctx context.Context, master string, limit int) ([]onceward.DataKey, error) {
	if err := s.readable("list data keys"); err != nil {
		return nil, err
	}
	return s.inner.KeysNotWrappedBy(ctx, master, limit)
}

// RewrapDataKey implements onceward.Store.
func (s *FaultyStore) RewrapDataKey(ctx context.Context, id onceward.DataKeyID, was []byte, master string, wrapped []byte) (bool, error) {
	if err := s.writable("wrap data key"); err != nil {
		return false, err
	}
	return s.inner.RewrapDataKey(ctx, id, was, master, wrapped)
}

// CloseDataKeys implements onceward.Store.
func (s *FaultyStore) CloseDataKeys(ctx context.Context, t onceward.Tenant, subject onceward.SubjectID, at time.Time) error {
	if err := s.writable("close data keys"); err != nil {
		return err
	}
	return s.inner.CloseDataKeys(ctx, t, subject, at)
}

// ShredDataKeys implements onceward.Store.
func (s *FaultyStore) ShredDataKeys(ctx context.Context, ids []onceward.DataKeyID, at time.Time, notes ...onceward.AuditEvent) (int, error) {
	if err := s.writable("shred data keys"); err != nil {
		return 0, err
	}
	return s.inner.ShredDataKeys(ctx, ids, at, notes...)
}
