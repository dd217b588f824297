package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Gaps returns all gaps; see [onceward.GapStore].
func (s *Store) Gaps(ctx context.Context) ([]onceward.Gap, error) {
	return store.Gaps(func(values *[]string) error {
		return s.read(ctx, "load gaps", func(d *data) error {
			for _, name := range slices.Sorted(maps.Keys(d.gaps)) {
				*values = append(*values, d.gaps[name])
			}
			return nil
		})
	})
}

// PutGap stores a gap; see [onceward.GapStore].
func (s *Store) PutGap(ctx context.Context, g onceward.Gap, notes ...onceward.AuditEvent) error {
	return store.PutGap(g, func(name, value string) error {
		return s.write(ctx, "store gap", func(d *data) error {
			d.gaps[name] = value
			d.note(notes)
			return nil
		})
	})
}
