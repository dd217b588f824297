package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/onceward/onceward"
)

// Transact returns a function that runs work in a transaction of the caller's
// own, joined, and commits it unless work fails. See [InTx] for how the handle
// has to be opened.
func Transact(db *sql.DB) func(ctx context.Context, work func(ctx context.Context, tx *sql.Tx, j onceward.Join) error) error {
	return func(ctx context.Context, work func(ctx context.Context, tx *sql.Tx, j onceward.Join) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return joinFailure(ctx, "begin", err)
		}
		if err := work(ctx, tx, InTx(tx)); err != nil {
			return errors.Join(err, joinFailure(ctx, "undo", ended(tx.Rollback())))
		}
		return joinFailure(ctx, "commit", tx.Commit())
	}
}

// ended is the error of a rollback, unless the driver has rolled back already.
func ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
