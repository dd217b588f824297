package sealed_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/internal/testledger"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sealed"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/store/storetest"
)

// beneath opens handles on a new database. advance is nil where its clock cannot
// be moved.
type beneath func(t *testing.T) (handle func(t *testing.T) onceward.Store, advance func(d time.Duration))

func TestStore(t *testing.T) {
	t.Parallel()
	ledgers := testledger.PoolOf(t)
	storetest.RunRows(t, func(t *testing.T) storetest.Opened {
		o, _ := opened(t, onMemory)
		return o
	})
	for name, open := range map[string]beneath{"memory": onMemory, "sqlite": onSQLite, "postgres": onPostgres(ledgers)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.RunSealed(t, func(t *testing.T) (storetest.Opened, func(t *testing.T) onceward.Store) { return opened(t, open) })
		})
	}
}

// opened puts encryption in front of a new database.
func opened(t *testing.T, open beneath) (storetest.Opened, func(t *testing.T) onceward.Store) {
	handle, advance := open(t)
	keys, err := sealed.ParseKeyRing(sealed.NewMasterKey())
	if err != nil {
		t.Fatal(err)
	}
	again := func(t *testing.T) onceward.Store {
		s, err := sealed.Open(t.Context(), handle(t), sealed.Options{Keys: keys, Wait: func(context.Context, time.Duration) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return storetest.Opened{Store: again(t), Again: again, Advance: advance}, handle
}

func onMemory(t *testing.T) (func(t *testing.T) onceward.Store, func(d time.Duration)) {
	var offset atomic.Int64
	s := memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
	t.Cleanup(func() { _ = s.Close() })
	return func(*testing.T) onceward.Store { return s.Again() }, func(d time.Duration) { offset.Add(int64(d)) }
}

func onSQLite(t *testing.T) (func(t *testing.T) onceward.Store, func(d time.Duration)) {
	var offset atomic.Int64
	path := filepath.Join(t.TempDir(), "ledger.db")
	return func(t *testing.T) onceward.Store {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
		return closed(t, s, err)
	}, func(d time.Duration) { offset.Add(int64(d)) }
}

func onPostgres(ledgers *testdb.Pool) beneath {
	return func(t *testing.T) (func(t *testing.T) onceward.Store, func(d time.Duration)) {
		dsn := ledgers.Postgres(t)
		return func(t *testing.T) onceward.Store {
			s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
			return closed(t, s, err)
		}, nil
	}
}

// closed closes a store when the test ends.
func closed(t *testing.T, s onceward.Store, err error) onceward.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
