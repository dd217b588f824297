package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutToken implements onceward.Store.
func (s *FaultyStore) PutToken(ctx context.Context, t onceward.Token, notes ...onceward.AuditEvent) error {
	if err := s.writable("store token"); err != nil {
		return err
	}
	return s.inner.PutToken(ctx, t, notes...)
}

// LoadToken implements onceward.Store.
func (s *FaultyStore) LoadToken(ctx context.Context, id onceward.TokenID) (*onceward.Token, error) {
	if err := s.readable("load token"); err != nil {
		return nil, err
	}
	return s.inner.LoadToken(ctx, id)
}

// ListTokens implements onceward.Store.
func (s *FaultyStore) ListTokens(ctx context.Context, t onceward.Tenant, after onceward.TokenID, limit int) ([]onceward.Token, error) {
	if err := s.readable("list tokens"); err != nil {
		return nil, err
	}
	return s.inner.ListTokens(ctx, t, after, limit)
}

// RevokeToken implements onceward.Store.
func (s *FaultyStore) RevokeToken(ctx context.Context, t onceward.Tenant, id onceward.TokenID, by string, at time.Time, notes ...onceward.AuditEvent) (*onceward.Token, error) {
	if err := s.writable("revoke token"); err != nil {
		return nil, err
	}
	return s.inner.RevokeToken(ctx, t, id, by, at, notes...)
}

// UseToken implements onceward.Store.
func (s *FaultyStore) UseToken(ctx context.Context, id onceward.TokenID, at time.Time) error {
	if err := s.writable("note use of token"); err != nil {
		return err
	}
	return s.inner.UseToken(ctx, id, at)
}

// AnyToken implements onceward.Store.
func (s *FaultyStore) AnyToken(ctx context.Context) (bool, error) {
	if err := s.readable("look for tokens"); err != nil {
		return false, err
	}
	return s.inner.AnyToken(ctx)
}
