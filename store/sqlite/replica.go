package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Beat records a heartbeat; see [onceward.Store].
func (s *Store) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	var all []onceward.Replica
	var now time.Time
	err := s.write(ctx, "record heartbeat", func(c *conn) error {
		now = s.now()
		err := c.exec(`INSERT INTO replicas (id, started_at, beat_at, low_water) VALUES (?1, ?2, ?2, ?3)
			ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, low_water = excluded.low_water`, func(b *binder) {
			b.text(r.ID)
			b.time(now)
			b.time(r.LowWater)
		})
		if err != nil {
			return err
		}
		return c.query(`SELECT id, started_at, beat_at, low_water FROM replicas ORDER BY id`, nil, func(r *rower) error {
			all = append(all, onceward.Replica{ID: r.text(), StartedAt: r.time(), BeatAt: r.time(), LowWater: r.time()})
			return nil
		})
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return all, now, nil
}

// Forget removes a dead replica; see [onceward.Store].
func (s *Store) Forget(ctx context.Context, replica string) error {
	return s.write(ctx, "forget replica", func(c *conn) error {
		return c.exec(`DELETE FROM replicas WHERE id = ?`, func(b *binder) { b.text(replica) })
	})
}
