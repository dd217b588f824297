package memory

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Activate puts a contract version in force; see [onceward.Store].
func (s *Store) Activate(ctx context.Context, c onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "activate contract", func(d *data) error {
		versions := d.contracts[c.Tool]
		i := slices.IndexFunc(versions, func(v onceward.ContractVersion) bool { return v.Version == c.Version })
		switch {
		case i >= 0 && versions[i].Active:
			return nil
		case i >= 0 && !force && !versions[i].Proposed:
			return store.Superseded(&c)
		}
		if now := inForce(versions); c.Replaces != nil && now != *c.Replaces {
			return store.Outrun(&c, now)
		}
		c.Replaces = nil
		d.note(notes)
		serial := int64(0)
		for v := range versions {
			serial = max(serial, versions[v].Serial)
			versions[v].Active, versions[v].Proposed = false, false
		}
		if i >= 0 {
			versions[i].Active, versions[i].Serial = true, serial+1
			return nil
		}
		c.Active, c.Proposed, c.Serial, c.Source, c.CreatedAt = true, false, serial+1, bytes.Clone(c.Source), store.Stored(c.CreatedAt)
		d.contracts[c.Tool] = append(versions, c)
		return nil
	})
}

// inForce is the version of a tool that is active; empty: none.
func inForce(versions []onceward.ContractVersion) string {
	for _, v := range versions {
		if v.Active {
			return v.Version
		}
	}
	return ""
}

// Contract reads a contract version; see [onceward.Store].
func (s *Store) Contract(ctx context.Context, tool onceward.ToolName, version string) (onceward.ContractVersion, error) {
	var found onceward.ContractVersion
	err := s.read(ctx, "load contract", func(d *data) error {
		for _, v := range d.contracts[tool] {
			if v.Version == version {
				found = v
				found.Source = bytes.Clone(v.Source)
				return nil
			}
		}
		return store.NoContract(tool, version)
	})
	return found, err
}

// ActiveContracts lists the versions in force; see [onceward.Store].
func (s *Store) ActiveContracts(ctx context.Context) ([]onceward.ContractVersion, error) {
	var active []onceward.ContractVersion
	err := s.read(ctx, "list contracts", func(d *data) error {
		for _, versions := range d.contracts {
			for _, v := range versions {
				if v.Active {
					v.Source = nil
					active = append(active, v)
				}
			}
		}
		return nil
	})
	slices.SortFunc(active, func(a, b onceward.ContractVersion) int { return strings.Compare(string(a.Tool), string(b.Tool)) })
	return active, err
}
