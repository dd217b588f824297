package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Switches returns every tool switch; see [onceward.Store].
func (s *Store) Switches(ctx context.Context) ([]onceward.ToolSwitch, error) {
	var all []onceward.ToolSwitch
	err := s.read(ctx, "load switches", func(d *data) error {
		all = slices.SortedFunc(maps.Values(d.switches), func(a, b onceward.ToolSwitch) int {
			return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Tool, b.Tool))
		})
		return nil
	})
	return all, err
}

// SetSwitch writes a tool switch; see [onceward.Store].
func (s *Store) SetSwitch(ctx context.Context, sw onceward.ToolSwitch, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "set switch", func(d *data) error {
		d.setSwitch(sw)
		d.note(notes)
		return nil
	})
}

func (d *data) setSwitch(sw onceward.ToolSwitch) {
	sw.At = store.Stored(sw.At)
	d.switches[switchKey{sw.Tenant, sw.Tool}] = sw
}
