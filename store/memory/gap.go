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
	var values []string
	err := s.read(ctx, "load gaps", func(d *data) error {
		for _, name := range slices.Sorted(maps.Keys(d.gaps)) {
			values = append(values, d.gaps[name])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return store.DecodeGaps(values)
}

// PutGap stores a gap; see [onceward.GapStore].
func (s *Store) PutGap(ctx context.Context, g onceward.Gap, notes ...onceward.AuditEvent) error {
	name, value, err := store.EncodeGap(g)
	if err != nil {
		return err
	}
	return s.write(ctx, "store gap", func(d *data) error {
		if d.gaps == nil {
			d.gaps = map[string]string{}
		}
		d.gaps[name] = value
		d.note(notes)
		return nil
	})
}
