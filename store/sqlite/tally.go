package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// AddTallies counts on; see [onceward.TallyStore].
func (s *Store) AddTallies(ctx context.Context, add []onceward.Tally) error {
	return s.write(ctx, "store tallies", func(c *conn) error {
		for i := range add {
			t := &add[i]
			err := c.exec(`INSERT INTO tallies (tenant, hour, tool, decision, count) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (tenant, hour, tool, decision) DO UPDATE SET count = count + excluded.count`, func(b *binder) {
				b.text(string(t.Tenant))
				b.int(store.Micros(t.Hour))
				b.text(string(t.Tool))
				b.text(string(t.Decision))
				b.int(t.Count)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Tallies reads tallies; see [onceward.TallyStore].
func (s *Store) Tallies(ctx context.Context, tenant onceward.Tenant, from, to time.Time) (all []onceward.Tally, err error) {
	err = s.readRaw(ctx, "load tallies", func(c *conn) error {
		return c.query(`SELECT hour, tool, decision, count FROM tallies WHERE tenant = ? AND hour >= ? AND hour < ? ORDER BY hour, tool, decision`, func(b *binder) {
			b.text(string(tenant))
			b.int(store.Micros(from))
			b.int(store.Micros(to))
		}, func(r *rower) error {
			all = append(all, onceward.Tally{Tenant: tenant, Hour: r.time(), Tool: onceward.ToolName(r.text()), Decision: onceward.Decision(r.text()), Count: r.int()})
			return nil
		})
	})
	return all, err
}
