package main

import (
	"path/filepath"
	"testing"

	"github.com/onceward/onceward/internal/proctest"
)

// simContracts is the folder of the example contracts for the bundled provider.
func simContracts(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../examples/sim")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// simServer prepares a server on a ledger, with those contracts.
func simServer(t testing.TB, db string, provider *proctest.Provider, env ...string) *proctest.Server {
	t.Helper()
	return proctest.NewServer(t, db, []string{simContracts(t)}, append(env, "SIM_URL="+provider.URL)...)
}

// sqliteLedger is a new ledger in a file, as --db names it.
func sqliteLedger(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
}
