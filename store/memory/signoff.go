package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Propose stores a version that waits; see [onceward.SigningStore].
func (s *Store) Propose(ctx context.Context, c onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "propose contract", func(d *data) error {
		versions := d.contracts[c.Tool]
		i := slices.IndexFunc(versions, func(v onceward.ContractVersion) bool { return v.Version == c.Version })
		switch {
		case i >= 0 && (versions[i].Active || versions[i].Proposed):
			return nil
		case i >= 0 && !force:
			return store.Superseded(&c)
		}
		d.note(notes)
		serial := int64(0)
		for v := range versions {
			serial = max(serial, versions[v].Serial)
			versions[v].Proposed = false
		}
		if i >= 0 {
			versions[i].Proposed, versions[i].Serial = true, serial+1
			return nil
		}
		c.Active, c.Proposed, c.Serial, c.Source, c.CreatedAt = false, true, serial+1, bytes.Clone(c.Source), store.Stored(c.CreatedAt)
		d.contracts[c.Tool] = append(versions, c)
		return nil
	})
}

// PutSigning stores a signing; see [onceward.SigningStore].
func (s *Store) PutSigning(ctx context.Context, g onceward.ContractSigning, notes ...onceward.AuditEvent) (applied bool, err error) {
	err = s.write(ctx, "sign contract", func(d *data) error {
		applied = !slices.ContainsFunc(d.signings, func(o onceward.ContractSigning) bool {
			return o.Tool == g.Tool && o.Version == g.Version && o.Against == g.Against && (o.As == g.As || o.Actor == g.Actor)
		})
		if applied {
			g.At = store.Stored(g.At)
			d.signings = append(d.signings, g)
			d.note(notes)
		}
		return nil
	})
	return applied, err
}

// Signings lists who signed; see [onceward.SigningStore].
func (s *Store) Signings(ctx context.Context, tool onceward.ToolName, version string) (all []onceward.ContractSigning, err error) {
	err = s.read(ctx, "list signings", func(d *data) error {
		for _, g := range d.signings {
			if g.Tool == tool && g.Version == version {
				all = append(all, g)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b onceward.ContractSigning) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.As, b.As), cmp.Compare(a.Against, b.Against))
	})
	return all, err
}

// ContractVersions lists the versions of a tool; see [onceward.SigningStore].
func (s *Store) ContractVersions(ctx context.Context, tool onceward.ToolName, limit int) (all []onceward.ContractVersion, err error) {
	err = s.read(ctx, "list contract versions", func(d *data) error {
		for _, v := range d.contracts[tool] {
			v.Source = nil
			all = append(all, v)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b onceward.ContractVersion) int { return cmp.Compare(b.Serial, a.Serial) })
	return all[:min(len(all), limit)], err
}
