package sqlite

import (
	"context"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Gaps returns all gaps; see [onceward.GapStore].
func (s *Store) Gaps(ctx context.Context) ([]onceward.Gap, error) {
	return store.Gaps(func(values *[]string) error {
		return s.readRaw(ctx, "load gaps", func(c *conn) error {
			return c.query(`SELECT value FROM meta WHERE name > ?1 AND name < ?1 || 'x' ORDER BY name`, func(b *binder) { b.text(store.GapPrefix) },
				func(r *rower) error { *values = append(*values, r.text()); return nil })
		})
	})
}

// PutGap stores a gap; see [onceward.GapStore].
func (s *Store) PutGap(ctx context.Context, g onceward.Gap, notes ...onceward.AuditEvent) error {
	return store.PutGap(g, func(name, value string) error {
		return s.write(ctx, "store gap", func(c *conn) error {
			err := c.exec(`INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, func(b *binder) {
				b.text(name)
				b.text(value)
			})
			if err != nil {
				return err
			}
			return s.note(c, notes)
		})
	})
}
