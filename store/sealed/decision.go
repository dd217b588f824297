package sealed

import (
	"context"
	"slices"
	"strconv"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

func decisionRow(d *onceward.StepDecision) *row {
	r := &row{tenant: d.Tenant, how: &d.Concealed, noun: "decision", id: d.ID.String(),
		take: func() []byte { return store.TakeDecisionSecrets(d) }, put: func(b []byte) error { return store.PutDecisionSecrets(d, b) }}
	for i := range d.Versions {
		r.digests = append(r.digests, hidden{&d.Versions[i].InputDigest, strconv.Itoa(d.Versions[i].Number)})
	}
	return r
}

// PutDecision implements onceward.Store.
func (s *Store) PutDecision(ctx context.Context, d onceward.StepDecision, notes ...onceward.AuditEvent) (*onceward.StepDecision, bool, error) {
	d.Versions = slices.Clone(d.Versions)
	if err := s.conceal(ctx, decisionRow(&d)); err != nil {
		return nil, false, err
	}
	out, applied, err := s.Store.PutDecision(ctx, d, notes...)
	out, err = stored(ctx, s, out, err, decisionRow)
	return out, applied && err == nil, err
}

// LoadDecision implements onceward.Store.
func (s *Store) LoadDecision(ctx context.Context, id onceward.DecisionID) (*onceward.StepDecision, error) {
	d, err := s.Store.LoadDecision(ctx, id)
	return stored(ctx, s, d, err, decisionRow)
}

// ListDecisions implements onceward.Store.
func (s *Store) ListDecisions(ctx context.Context, run onceward.RunID, limit int) ([]*onceward.StepDecision, error) {
	all, err := s.Store.ListDecisions(ctx, run, limit)
	return page(ctx, s, all, err, decisionRow)
}
