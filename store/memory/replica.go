package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Beat records a heartbeat; see [onceward.Store].
func (s *Store) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	var all []onceward.Replica
	var now time.Time
	err := s.write(ctx, "record heartbeat", func(d *data) error {
		now = d.now()
		r.StartedAt, r.BeatAt, r.LowWater = now, now, store.Stored(r.LowWater)
		if old, ok := d.replicas[r.ID]; ok {
			r.StartedAt = old.StartedAt
		}
		d.replicas[r.ID] = r
		all = slices.SortedFunc(maps.Values(d.replicas), func(a, b onceward.Replica) int { return strings.Compare(a.ID, b.ID) })
		return nil
	})
	return all, now, err
}

// Forget removes a dead replica; see [onceward.Store].
func (s *Store) Forget(ctx context.Context, replica string) error {
	return s.write(ctx, "forget replica", func(d *data) error {
		delete(d.replicas, replica)
		return nil
	})
}
