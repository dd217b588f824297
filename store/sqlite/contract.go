package sqlite

import (
	"context"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Activate puts a contract version in force; see [onceward.Store].
func (s *Store) Activate(ctx context.Context, v onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "activate contract", func(c *conn) error {
		var known, active, proposed bool
		var serial int64
		var inForce string
		err := c.query(`SELECT version, serial, active, proposed FROM contracts WHERE tool = ?`,
			func(b *binder) { b.text(string(v.Tool)) },
			func(r *rower) error {
				version, number, on, waits := r.text(), r.int(), r.bool(), r.bool()
				if serial = max(serial, number); on {
					inForce = version
				}
				if version == v.Version {
					known, active, proposed = true, on, waits
				}
				return nil
			})
		switch {
		case err != nil || active:
			return err
		case known && !force && !proposed:
			return store.Superseded(&v)
		case v.Replaces != nil && inForce != *v.Replaces:
			return store.Outrun(&v, inForce)
		}
		err = c.exec(`UPDATE contracts SET active = 0, proposed = 0 WHERE tool = ? AND (active = 1 OR proposed = 1)`, func(b *binder) { b.text(string(v.Tool)) })
		if err != nil {
			return err
		}
		err = c.exec(`INSERT INTO contracts (tool, version, source, serial, active, created_at) VALUES (?, ?, ?, ?, 1, ?)
			ON CONFLICT (tool, version) DO UPDATE SET serial = excluded.serial, active = 1`, func(b *binder) {
			b.text(string(v.Tool))
			b.text(v.Version)
			b.blob(append([]byte{}, v.Source...))
			b.int(serial + 1)
			b.time(v.CreatedAt)
		})
		if err != nil {
			return err
		}
		return s.note(c, notes)
	})
}

// Contract reads a contract version; see [onceward.Store].
func (s *Store) Contract(ctx context.Context, tool onceward.ToolName, version string) (onceward.ContractVersion, error) {
	found := onceward.ContractVersion{Tool: tool, Version: version}
	known := false
	err := s.readRaw(ctx, "load contract", func(c *conn) error {
		return c.query(`SELECT source, serial, active, proposed, created_at FROM contracts WHERE tool = ? AND version = ?`, func(b *binder) {
			b.text(string(tool))
			b.text(version)
		}, func(r *rower) error {
			known = true
			found.Source, found.Serial, found.Active, found.Proposed, found.CreatedAt = r.blob(), r.int(), r.bool(), r.bool(), r.time()
			return nil
		})
	})
	if err == nil && !known {
		err = store.NoContract(tool, version)
	}
	if err != nil {
		return onceward.ContractVersion{}, err
	}
	return found, nil
}

// ActiveContracts lists the versions in force; see [onceward.Store].
func (s *Store) ActiveContracts(ctx context.Context) ([]onceward.ContractVersion, error) {
	var active []onceward.ContractVersion
	err := s.readRaw(ctx, "list contracts", func(c *conn) error {
		return c.query(`SELECT tool, version, serial, created_at FROM contracts WHERE active = 1 ORDER BY tool`, nil, func(r *rower) error {
			active = append(active, onceward.ContractVersion{Tool: onceward.ToolName(r.text()), Version: r.text(), Serial: r.int(), Active: true, CreatedAt: r.time()})
			return nil
		})
	})
	return active, err
}
