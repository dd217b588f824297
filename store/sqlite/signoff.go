package sqlite

import (
	"context"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Propose stores a version that waits; see [onceward.SigningStore].
func (s *Store) Propose(ctx context.Context, v onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "propose contract", func(c *conn) error {
		var known, stands bool
		var serial int64
		err := c.query(`SELECT version, serial, active OR proposed FROM contracts WHERE tool = ?`,
			func(b *binder) { b.text(string(v.Tool)) },
			func(r *rower) error {
				version, number, on := r.text(), r.int(), r.bool()
				serial = max(serial, number)
				if version == v.Version {
					known, stands = true, on
				}
				return nil
			})
		switch {
		case err != nil || stands:
			return err
		case known && !force:
			return store.Superseded(&v)
		}
		err = c.exec(`UPDATE contracts SET proposed = 0 WHERE tool = ? AND proposed = 1`, func(b *binder) { b.text(string(v.Tool)) })
		if err != nil {
			return err
		}
		err = c.exec(`INSERT INTO contracts (tool, version, source, serial, active, proposed, created_at) VALUES (?, ?, ?, ?, 0, 1, ?)
			ON CONFLICT (tool, version) DO UPDATE SET serial = excluded.serial, proposed = 1`, func(b *binder) {
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

// PutSigning stores a signing; see [onceward.SigningStore].
func (s *Store) PutSigning(ctx context.Context, g onceward.ContractSigning, notes ...onceward.AuditEvent) (applied bool, err error) {
	err = s.write(ctx, "sign contract", func(c *conn) error {
		wrote, err := c.changed(`INSERT INTO signings (tool, version, against, signed_as, actor, reason, at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, func(b *binder) {
			b.text(string(g.Tool))
			b.text(g.Version)
			b.text(g.Against)
			b.text(string(g.As))
			b.text(g.Actor)
			b.text(g.Reason)
			b.time(g.At)
		})
		applied = wrote == 1
		if err != nil || !applied {
			return err
		}
		return s.note(c, notes)
	})
	return applied, err
}

// Signings lists who signed; see [onceward.SigningStore].
func (s *Store) Signings(ctx context.Context, tool onceward.ToolName, version string) (all []onceward.ContractSigning, err error) {
	err = s.readRaw(ctx, "list signings", func(c *conn) error {
		all = nil
		return c.query(`SELECT against, signed_as, actor, reason, at FROM signings WHERE tool = ? AND version = ? ORDER BY at, signed_as, against`, func(b *binder) {
			b.text(string(tool))
			b.text(version)
		}, func(r *rower) error {
			all = append(all, onceward.ContractSigning{Tool: tool, Version: version, Against: r.text(), As: onceward.SignAs(r.text()), Actor: r.text(), Reason: r.text(), At: r.time()})
			return nil
		})
	})
	return all, err
}

// ContractVersions lists the versions of a tool; see [onceward.SigningStore].
func (s *Store) ContractVersions(ctx context.Context, tool onceward.ToolName, limit int) (all []onceward.ContractVersion, err error) {
	err = s.readRaw(ctx, "list contract versions", func(c *conn) error {
		all = nil
		return c.query(`SELECT version, serial, active, proposed, created_at FROM contracts WHERE tool = ? ORDER BY serial DESC LIMIT ?`, func(b *binder) {
			b.text(string(tool))
			b.int(int64(limit))
		}, func(r *rower) error {
			all = append(all, onceward.ContractVersion{Tool: tool, Version: r.text(), Serial: r.int(), Active: r.bool(), Proposed: r.bool(), CreatedAt: r.time()})
			return nil
		})
	})
	return all, err
}
