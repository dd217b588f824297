package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// Switches returns every tool switch; see [onceward.Store].
func (s *Store) Switches(ctx context.Context) ([]onceward.ToolSwitch, error) {
	var all []onceward.ToolSwitch
	err := s.do(ctx, "read tool switches", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select tenant, tool, paused, reason, by, at from switches order by tenant, tool")
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (sw onceward.ToolSwitch, err error) {
			var at *time.Time
			err = row.Scan((*string)(&sw.Tenant), (*string)(&sw.Tool), &sw.Paused, &sw.Reason, &sw.By, &at)
			sw.At = timeOf(at)
			return sw, err
		})
		return err
	})
	return all, err
}

// SetSwitch writes one; see [onceward.Store].
func (s *Store) SetSwitch(ctx context.Context, sw onceward.ToolSwitch, notes ...onceward.AuditEvent) error {
	return s.do(ctx, "set tool switch", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `insert into switches (tenant, tool, paused, reason, by, at) values ($1, $2, $3, $4, $5, $6::timestamptz)
on conflict (tenant, tool) do update set paused = excluded.paused, reason = excluded.reason, by = excluded.by, at = excluded.at`,
				string(sw.Tenant), string(sw.Tool), sw.Paused, sw.Reason, sw.By, optionalTime(sw.At))
			if err != nil {
				return err
			}
			return note(ctx, tx, notes)
		})
	})
}
