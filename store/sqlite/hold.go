package sqlite

import (
	"context"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutHold stores a hold; see [onceward.HoldStore].
func (s *Store) PutHold(ctx context.Context, h onceward.Hold, notes ...onceward.AuditEvent) error {
	if err := store.CheckHold(&h); err != nil {
		return err
	}
	return s.write(ctx, "store hold", func(c *conn) error {
		n, err := c.changed(`INSERT INTO holds (id, tenant, operation, subject, tool, from_at, until_at, reason, by, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, func(b *binder) {
			b.text(string(h.ID))
			b.text(string(h.Tenant))
			if h.Operation.IsZero() {
				b.null()
			} else {
				b.id(h.Operation)
			}
			b.text(string(h.Subject))
			b.text(string(h.Tool))
			b.time(h.From)
			b.time(h.Until)
			b.text(h.Reason)
			b.text(h.By)
			b.time(h.At)
		})
		if err != nil || n == 0 {
			return err
		}
		return s.note(c, notes)
	})
}

// Holds returns all holds; see [onceward.HoldStore].
func (s *Store) Holds(ctx context.Context) (all []onceward.Hold, err error) {
	err = s.readRaw(ctx, "list holds", func(c *conn) error {
		return c.query(`SELECT id, tenant, operation, subject, tool, from_at, until_at, reason, by, at FROM holds ORDER BY at, id`, func(*binder) {}, func(r *rower) error {
			h := onceward.Hold{ID: onceward.HoldID(r.text()), Tenant: onceward.Tenant(r.text())}
			copy(h.Operation[:], r.blob())
			h.Subject, h.Tool, h.From, h.Until, h.Reason, h.By, h.At = onceward.SubjectID(r.text()), onceward.ToolName(r.text()), r.time(), r.time(), r.text(), r.text(), r.time()
			all = append(all, h)
			return nil
		})
	})
	return all, err
}

// LiftHold removes a hold; see [onceward.HoldStore].
func (s *Store) LiftHold(ctx context.Context, t onceward.Tenant, id onceward.HoldID, notes ...onceward.AuditEvent) (lifted bool, err error) {
	err = s.write(ctx, "lift hold", func(c *conn) error {
		n, err := c.changed(`DELETE FROM holds WHERE id = ? AND tenant = ?`, func(b *binder) {
			b.text(string(id))
			b.text(string(t))
		})
		if lifted = n == 1; err != nil || !lifted {
			return err
		}
		return s.note(c, notes)
	})
	return lifted, err
}
