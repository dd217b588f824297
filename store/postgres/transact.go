package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
)

// Transact returns a function that runs work in a transaction of the caller's
// own, joined, and commits it unless work fails.
func Transact(pool *pgxpool.Pool) func(ctx context.Context, work func(ctx context.Context, tx pgx.Tx, j onceward.Join) error) error {
	return func(ctx context.Context, work func(ctx context.Context, tx pgx.Tx, j onceward.Join) error) error {
		var of error // the work's own error, which is returned as it is
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			of = work(ctx, tx, InTx(tx))
			return of
		})
		if of != nil {
			return of
		}
		return joinFailure(ctx, "commit", err)
	}
}

// TransactSQL is [Transact] for database/sql.
func TransactSQL(db *sql.DB) func(ctx context.Context, work func(ctx context.Context, tx *sql.Tx, j onceward.Join) error) error {
	return func(ctx context.Context, work func(ctx context.Context, tx *sql.Tx, j onceward.Join) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return joinFailure(ctx, "begin", err)
		}
		if err := work(ctx, tx, InSQL(tx)); err != nil {
			if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
				err = errors.Join(err, joinFailure(ctx, "undo", undo))
			}
			return err
		}
		return joinFailure(ctx, "commit", tx.Commit())
	}
}
