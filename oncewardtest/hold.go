package oncewardtest

import (
	"context"

	"github.com/onceward/onceward"
)

// PutHold implements onceward.Store.
func (s *FaultyStore) PutHold(ctx context.Context, h onceward.Hold, notes ...onceward.AuditEvent) error {
	if err := s.writable("store hold"); err != nil {
		return err
	}
	return s.inner.PutHold(ctx, h, notes...)
}

// Holds implements onceward.Store.
func (s *FaultyStore) Holds(ctx context.Context) ([]onceward.Hold, error) {
	if err := s.readable("list holds"); err != nil {
		return nil, err
	}
	return s.inner.Holds(ctx)
}

// LiftHold implements onceward.Store.
func (s *FaultyStore) LiftHold(ctx context.Context, t onceward.Tenant, id onceward.HoldID, notes ...onceward.AuditEvent) (bool, error) {
	if err := s.writable("lift hold"); err != nil {
		return false, err
	}
	return s.inner.LiftHold(ctx, t, id, notes...)
}
