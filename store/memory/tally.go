package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/onceward/onceward"
)

type tallyKey struct {
	tenant   onceward.Tenant
	hour     time.Time
	tool     onceward.ToolName
	decision onceward.Decision
}

// AddTallies counts on; see [onceward.TallyStore].
func (s *Store) AddTallies(ctx context.Context, add []onceward.Tally) error {
	return s.write(ctx, "store tallies", func(d *data) error {
		for _, t := range add {
			d.tallies[tallyKey{t.Tenant, t.Hour.UTC(), t.Tool, t.Decision}] += t.Count
		}
		return nil
	})
}

// Tallies reads tallies; see [onceward.TallyStore].
func (s *Store) Tallies(ctx context.Context, tenant onceward.Tenant, from, to time.Time) (all []onceward.Tally, err error) {
	err = s.read(ctx, "load tallies", func(d *data) error {
		for k, n := range d.tallies {
			if k.tenant == tenant && !k.hour.Before(from) && k.hour.Before(to) {
				all = append(all, onceward.Tally{Hour: k.hour, Tenant: k.tenant, Tool: k.tool, Decision: k.decision, Count: n})
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b onceward.Tally) int {
		return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Decision, b.Decision))
	})
	return all, err
}
