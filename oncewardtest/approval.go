package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutDocument implements onceward.Store.
func (s *FaultyStore) PutDocument(ctx context.Context, d onceward.Document, notes ...onceward.AuditEvent) error {
	if err := s.writable("store document"); err != nil {
		return err
	}
	return s.inner.PutDocument(ctx, d, notes...)
}

// LoadDocument implements onceward.Store.
func (s *FaultyStore) LoadDocument(ctx context.Context, t onceward.Tenant, d onceward.Digest) (*onceward.Document, error) {
	if err := s.readable("load document"); err != nil {
		return nil, err
	}
	return s.inner.LoadDocument(ctx, t, d)
}

// PutEarlyApproval implements onceward.Store.
func (s *FaultyStore) PutEarlyApproval(ctx context.Context, a onceward.EarlyApproval, notes ...onceward.AuditEvent) error {
	if err := s.writable("store early approval"); err != nil {
		return err
	}
	return s.inner.PutEarlyApproval(ctx, a, notes...)
}

// EarlyApprovals implements onceward.Store.
func (s *FaultyStore) EarlyApprovals(ctx context.Context, id onceward.OperationID) ([]onceward.EarlyApproval, error) {
	if err := s.readable("load early approvals"); err != nil {
		return nil, err
	}
	return s.inner.EarlyApprovals(ctx, id)
}

// DropEarlyApprovals implements onceward.Store.
func (s *FaultyStore) DropEarlyApprovals(ctx context.Context, id onceward.OperationID) error {
	if err := s.writable("drop early approvals"); err != nil {
		return err
	}
	return s.inner.DropEarlyApprovals(ctx, id)
}

// NameDocument implements onceward.Store.
func (s *FaultyStore) NameDocument(ctx context.Context, t onceward.Tenant, d onceward.Digest, at time.Time) (bool, error) {
	if err := s.writable("name document"); err != nil {
		return false, err
	}
	return s.inner.NameDocument(ctx, t, d, at)
}

// AgedDocuments implements onceward.Store.
func (s *FaultyStore) AgedDocuments(ctx context.Context, after onceward.DocumentCursor, before time.Time, limit int) ([]onceward.Document, error) {
	if err := s.readable("list old documents"); err != nil {
		return nil, err
	}
	return s.inner.AgedDocuments(ctx, after, before, limit)
}

// DropDocument implements onceward.Store.
func (s *FaultyStore) DropDocument(ctx context.Context, t onceward.Tenant, d onceward.Digest, before time.Time, notes ...onceward.AuditEvent) (bool, error) {
	if err := s.writable("drop document"); err != nil {
		return false, err
	}
	return s.inner.DropDocument(ctx, t, d, before, notes...)
}
