package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutHold stores a hold; see [onceward.HoldStore].
func (s *Store) PutHold(ctx context.Context, h onceward.Hold, notes ...onceward.AuditEvent) error {
	if err := store.CheckHold(&h); err != nil {
		return err
	}
	return s.write(ctx, "store hold", func(d *data) error {
		if _, stands := d.holds[h.ID]; stands {
			return nil
		}
		h.From, h.Until, h.At = store.Stored(h.From), store.Stored(h.Until), store.Stored(h.At)
		d.holds[h.ID] = h
		d.note(notes)
		return nil
	})
}

// Holds returns all holds; see [onceward.HoldStore].
func (s *Store) Holds(ctx context.Context) (all []onceward.Hold, err error) {
	err = s.read(ctx, "list holds", func(d *data) error {
		for _, h := range d.holds {
			all = append(all, h)
		}
		slices.SortFunc(all, func(a, b onceward.Hold) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
		return nil
	})
	return all, err
}

// LiftHold removes a hold; see [onceward.HoldStore].
func (s *Store) LiftHold(ctx context.Context, t onceward.Tenant, id onceward.HoldID, notes ...onceward.AuditEvent) (lifted bool, err error) {
	err = s.write(ctx, "lift hold", func(d *data) error {
		if h, ok := d.holds[id]; ok && h.Tenant == t {
			delete(d.holds, id)
			d.note(notes)
			lifted = true
		}
		return nil
	})
	return lifted, err
}
