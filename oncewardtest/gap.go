package oncewardtest

import (
	"context"

	"github.com/onceward/onceward"
)

// Gaps implements onceward.Store.
func (s *FaultyStore) Gaps(ctx context.Context) ([]onceward.Gap, error) {
	if err := s.readable("load gaps"); err != nil {
		return nil, err
	}
	return s.inner.Gaps(ctx)
}

// PutGap implements onceward.Store.
func (s *FaultyStore) PutGap(ctx context.Context, g onceward.Gap, notes ...onceward.AuditEvent) error {
	if err := s.readable("store gap"); err != nil {
		return err
	}
	return s.inner.PutGap(ctx, g, notes...)
}
