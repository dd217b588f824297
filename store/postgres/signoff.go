package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Propose stores a version that waits; see [onceward.SigningStore]. It takes
// turns with Activate of the same tool.
func (s *Store) Propose(ctx context.Context, c onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	return s.do(ctx, "propose contract", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			known, active, proposed, err := versionKnown(ctx, tx, &c)
			if err != nil || active || proposed {
				return err
			}
			if known && !force {
				return store.Superseded(&c)
			}
			if err := note(ctx, tx, notes); err != nil {
				return err
			}
			if _, err = tx.Exec(ctx, "update contracts set proposed = false where tool = $1 and proposed", string(c.Tool)); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `insert into contracts (tool, version, source, serial, active, proposed, created_at)
values ($1, $2, $3, (select coalesce(max(serial), 0) + 1 from contracts where tool = $1), false, true, $4::timestamptz)
on conflict (tool, version) do update set serial = excluded.serial, proposed = true`,
				string(c.Tool), c.Version, notNil(c.Source), optionalTime(c.CreatedAt))
			return err
		})
	})
}

// PutSigning stores a signing; see [onceward.SigningStore].
func (s *Store) PutSigning(ctx context.Context, g onceward.ContractSigning, notes ...onceward.AuditEvent) (applied bool, err error) {
	err = s.do(ctx, "sign contract", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `insert into signings (tool, version, against, signed_as, actor, reason, at)
values ($1, $2, $3, $4, $5, $6, $7::timestamptz) on conflict do nothing`,
				string(g.Tool), g.Version, g.Against, string(g.As), g.Actor, g.Reason, optionalTime(g.At))
			applied = tag.RowsAffected() == 1
			if err != nil || !applied {
				return err
			}
			return note(ctx, tx, notes)
		})
	})
	return applied, err
}

// Signings lists who signed; see [onceward.SigningStore].
func (s *Store) Signings(ctx context.Context, tool onceward.ToolName, version string) (all []onceward.ContractSigning, err error) {
	err = s.do(ctx, "list signings", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select against, signed_as, actor, reason, at from signings where tool = $1 and version = $2 order by at, signed_as, against`, string(tool), version)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (onceward.ContractSigning, error) {
			g := onceward.ContractSigning{Tool: tool, Version: version}
			var at *time.Time
			err := row.Scan(&g.Against, (*string)(&g.As), &g.Actor, &g.Reason, &at)
			g.At = timeOf(at)
			return g, err
		})
		return err
	})
	return all, err
}

// ContractVersions lists the versions of a tool; see [onceward.SigningStore].
func (s *Store) ContractVersions(ctx context.Context, tool onceward.ToolName, limit int) (all []onceward.ContractVersion, err error) {
	err = s.do(ctx, "list contract versions", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select version, serial, active, proposed, created_at from contracts where tool = $1 order by serial desc limit $2`, string(tool), limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (onceward.ContractVersion, error) {
			c := onceward.ContractVersion{Tool: tool}
			var created *time.Time
			err := row.Scan(&c.Version, &c.Serial, &c.Active, &c.Proposed, &created)
			c.CreatedAt = timeOf(created)
			return c, err
		})
		return err
	})
	return all, err
}
