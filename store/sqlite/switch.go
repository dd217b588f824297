package sqlite

import (
	"context"

	"github.com/onceward/onceward"
)

// Switches returns every tool switch; see [onceward.Store].
func (s *Store) Switches(ctx context.Context) ([]onceward.ToolSwitch, error) {
	var all []onceward.ToolSwitch
	err := s.readRaw(ctx, "load switches", func(c *conn) error {
		return c.query(`SELECT tenant, tool, paused, reason, by, at FROM switches ORDER BY tenant, tool`, nil, func(r *rower) error {
			all = append(all, onceward.ToolSwitch{
				Tenant: onceward.Tenant(r.text()), Tool: onceward.ToolName(r.text()), Paused: r.bool(),
				Reason: r.text(), By: r.text(), At: r.time(),
			})
			return nil
		})
	})
	return all, err
}

// SetSwitch writes a tool switch; see [onceward.Store].
func (s *Store) SetSwitch(ctx context.Context, sw onceward.ToolSwitch, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "set switch", func(c *conn) error {
		if err := c.putSwitch(sw); err != nil {
			return err
		}
		return s.note(c, notes)
	})
}

func (c *conn) putSwitch(sw onceward.ToolSwitch) error {
	return c.exec(`INSERT INTO switches (tenant, tool, paused, reason, by, at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, tool) DO UPDATE SET paused = excluded.paused, reason = excluded.reason, by = excluded.by, at = excluded.at`,
		func(b *binder) {
			b.text(string(sw.Tenant))
			b.text(string(sw.Tool))
			b.bool(sw.Paused)
			b.text(sw.Reason)
			b.text(sw.By)
			b.time(sw.At)
		})
}
