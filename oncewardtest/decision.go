package oncewardtest

import (
	"context"

	"github.com/onceward/onceward"
)

// PutDecision implements onceward.Store.
func (s *FaultyStore) PutDecision(ctx context.Context, d onceward.StepDecision, notes ...onceward.AuditEvent) (*onceward.StepDecision, bool, error) {
	if err := s.writable("store decision"); err != nil {
		return nil, false, err
	}
	return s.inner.PutDecision(ctx, d, notes...)
}

// LoadDecision implements onceward.Store.
func (s *FaultyStore) LoadDecision(ctx context.Context, id onceward.DecisionID) (*onceward.StepDecision, error) {
	if err := s.readable("load decision"); err != nil {
		return nil, err
	}
	return s.inner.LoadDecision(ctx, id)
}

// ListDecisions implements onceward.Store.
func (s *FaultyStore) ListDecisions(ctx context.Context, run onceward.RunID, limit int) ([]*onceward.StepDecision, error) {
	if err := s.readable("list decisions"); err != nil {
		return nil, err
	}
	return s.inner.ListDecisions(ctx, run, limit)
}
