package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Activate puts a contract version in force; see [onceward.Store]. Replicas that
// activate versions of one tool at the same time take turns.
func (s *Store) Activate(ctx context.Context, c onceward.ContractVersion, force bool, notes ...onceward.AuditEvent) error {
	return s.do(ctx, "activate contract", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			return activate(ctx, tx, &c, force, notes)
		})
	})
}

func activate(ctx context.Context, tx pgx.Tx, c *onceward.ContractVersion, force bool, notes []onceward.AuditEvent) error {
	known, active, proposed, err := versionKnown(ctx, tx, c)
	if err != nil || active {
		return err
	}
	if known && !force && !proposed {
		return store.Superseded(c)
	}
	if err := stillReplaces(ctx, tx, c); err != nil {
		return err
	}
	if err := note(ctx, tx, notes); err != nil {
		return err
	}
	if _, err = tx.Exec(ctx, "update contracts set active = false, proposed = false where tool = $1 and (active or proposed)", string(c.Tool)); err != nil {
		return err
	}
	const next = "(select coalesce(max(serial), 0) + 1 from contracts where tool = $1)"
	if known {
		_, err = tx.Exec(ctx, "update contracts set active = true, serial = "+next+" where tool = $1 and version = $2", string(c.Tool), c.Version)
		return err
	}
	_, err = tx.Exec(ctx, "insert into contracts (tool, version, source, serial, active, created_at) values ($1, $2, $3, "+next+", true, $4::timestamptz)",
		string(c.Tool), c.Version, notNil(c.Source), optionalTime(c.CreatedAt))
	return err
}

// stillReplaces refuses a version that was compared with another one than is in
// force by now. The turn of the tool is taken.
func stillReplaces(ctx context.Context, tx pgx.Tx, c *onceward.ContractVersion) error {
	if c.Replaces == nil {
		return nil
	}
	var inForce string
	err := tx.QueryRow(ctx, "select version from contracts where tool = $1 and active", string(c.Tool)).Scan(&inForce)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return err
	case inForce != *c.Replaces:
		return store.Outrun(c, inForce)
	}
	return nil
}

// versionKnown takes the turn of the tool and says how a version stands.
func versionKnown(ctx context.Context, tx pgx.Tx, c *onceward.ContractVersion) (known, active, proposed bool, err error) {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "onceward contract "+string(c.Tool)); err != nil {
		return false, false, false, err
	}
	err = tx.QueryRow(ctx, "select active, proposed from contracts where tool = $1 and version = $2", string(c.Tool), c.Version).Scan(&active, &proposed)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, false, false, nil
	}
	return err == nil, active, proposed, err
}

// Contract reads a contract version; see [onceward.Store].
func (s *Store) Contract(ctx context.Context, tool onceward.ToolName, version string) (onceward.ContractVersion, error) {
	c := onceward.ContractVersion{Tool: tool, Version: version}
	err := s.do(ctx, "load contract", func(ctx context.Context, conn *pgx.Conn) error {
		var created *time.Time
		err := conn.QueryRow(ctx, "select source, serial, active, proposed, created_at from contracts where tool = $1 and version = $2", string(tool), version).
			Scan(&c.Source, &c.Serial, &c.Active, &c.Proposed, &created)
		if errors.Is(err, pgx.ErrNoRows) {
			return store.NoContract(tool, version)
		}
		c.CreatedAt = timeOf(created)
		return err
	})
	if err != nil {
		return onceward.ContractVersion{}, err
	}
	return c, nil
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// ActiveContracts lists the versions in force; see [onceward.Store].
func (s *Store) ActiveContracts(ctx context.Context) ([]onceward.ContractVersion, error) {
	var active []onceward.ContractVersion
	err := s.do(ctx, "list contracts", func(ctx context.Context, conn *pgx.Conn) error {
		active = nil
		rows, err := conn.Query(ctx, `select tool, version, serial, created_at from contracts where active order by tool collate "C"`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			c := onceward.ContractVersion{Active: true}
			var created *time.Time
			if err := rows.Scan(&c.Tool, &c.Version, &c.Serial, &created); err != nil {
				return err
			}
			c.CreatedAt = timeOf(created)
			active = append(active, c)
		}
		return rows.Err()
	})
	return active, err
}
