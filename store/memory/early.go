package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutEarlyApproval stores an early approval; see [onceward.EarlyApprovalStore].
func (s *Store) PutEarlyApproval(ctx context.Context, a onceward.EarlyApproval, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store early approval", func(d *data) error {
		for id, all := range d.early {
			d.early[id] = slices.DeleteFunc(all, func(old onceward.EarlyApproval) bool {
				return old.Until.Before(a.At) || id == a.Operation && old.Actor == a.Actor
			})
		}
		a.At, a.Until = store.Stored(a.At), store.Stored(a.Until)
		d.early[a.Operation] = append(d.early[a.Operation], a)
		d.note(notes)
		return nil
	})
}

// EarlyApprovals lists early approvals; see [onceward.EarlyApprovalStore].
func (s *Store) EarlyApprovals(ctx context.Context, id onceward.OperationID) ([]onceward.EarlyApproval, error) {
	var all []onceward.EarlyApproval
	err := s.read(ctx, "load early approvals", func(d *data) error {
		all = slices.SortedFunc(slices.Values(d.early[id]), func(a, b onceward.EarlyApproval) int {
			return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Actor, b.Actor))
		})
		return nil
	})
	return all, err
}

// DropEarlyApprovals removes early approvals; see [onceward.EarlyApprovalStore].
func (s *Store) DropEarlyApprovals(ctx context.Context, id onceward.OperationID) error {
	return s.write(ctx, "drop early approvals", func(d *data) error {
		delete(d.early, id)
		return nil
	})
}
