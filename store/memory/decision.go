package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutDecision stores a decision by compare-and-set; see [onceward.DecisionStore].
func (s *Store) PutDecision(ctx context.Context, n onceward.StepDecision, notes ...onceward.AuditEvent) (stored *onceward.StepDecision, applied bool, err error) {
	body, err := store.EncodeDecision(&n)
	if err != nil {
		return nil, false, err
	}
	return put(ctx, s, "store decision", n.ID, &kept{revision: n.Revision, token: n.Token, body: body}, s.data.decisions, (*data).decision, notes)
}

func (d *data) decision(id onceward.DecisionID) (*onceward.StepDecision, error) {
	k := d.decisions[id]
	if k == nil {
		return nil, nil
	}
	return store.DecodeDecision(id, k.revision, k.token, k.body)
}

// LoadDecision reads one decision; see [onceward.DecisionStore].
func (s *Store) LoadDecision(ctx context.Context, id onceward.DecisionID) (found *onceward.StepDecision, err error) {
	return load(ctx, s, "load decision", id, (*data).decision)
}

// ListDecisions returns a run's decisions; see [onceward.DecisionStore].
func (s *Store) ListDecisions(ctx context.Context, run onceward.RunID, limit int) ([]*onceward.StepDecision, error) {
	var found []*onceward.StepDecision
	err := s.read(ctx, "list decisions", func(d *data) error {
		for id := range d.decisions {
			one, err := d.decision(id)
			if err != nil {
				return err
			}
			if one.Run == run {
				found = append(found, one)
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b *onceward.StepDecision) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return found[:min(len(found), limit)], err
}
