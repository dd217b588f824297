package postgres_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/postgres"
)

// begin opens a transaction of a caller's own and joins it.
func begin(tb testing.TB, dsn string) (j onceward.Join, commit, rollback func() error) {
	tb.Helper()
	tx, err := connect(tb, dsn).Begin(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return postgres.InTx(tx), func() error { return tx.Commit(tb.Context()) }, func() error { return tx.Rollback(tb.Context()) }
}

// beginSQL is begin through database/sql.
func beginSQL(tb testing.TB, dsn string) (j onceward.Join, commit, rollback func() error) {
	tb.Helper()
	tx := callersTx(tb, callersDB(tb, dsn))
	return postgres.InSQL(tx), tx.Commit, tx.Rollback
}

// callersDB is a program's own pool.
func callersDB(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func callersTx(tb testing.TB, db *sql.DB) *sql.Tx {
	tb.Helper()
	tx, err := db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tx.Rollback() })
	return tx
}
