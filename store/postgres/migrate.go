package postgres

import (
	"context"
	_ "embed"
)

//go:embed migration/0001_ledger.sql
var first string

func (s *Store) ready(ctx context.Context, opts Options) error {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(4711)"); err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRow(ctx, "select to_regclass('meta') is not null").Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := tx.Conn().PgConn().Exec(ctx, first+"; create table meta (name text primary key, value text not null);").ReadAll(); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}
