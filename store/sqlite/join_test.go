package sqlite_test

import (
	"database/sql"
	"net/url"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

// begin opens a transaction of a caller's own and joins it.
func begin(tb testing.TB, path string) (j onceward.Join, commit, rollback func() error) {
	tb.Helper()
	tx := callersTx(tb, callersDB(tb, path))
	return sqlite.InTx(tx), tx.Commit, tx.Rollback
}

// callersDB is a program's own handle on the file.
func callersDB(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "synchronous(full)"}}
	db, err := sql.Open("sqlite3", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		tb.Fatal(err)
	}
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
