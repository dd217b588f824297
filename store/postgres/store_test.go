package postgres_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testledger"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	ledgers := testledger.PoolOf(t)
	storetest.Run(t, func(t *testing.T) storetest.Opened { return opened(t, postgres.Options{}, ledgers.Postgres(t)) })
}

// A store whose transactions are joined through database/sql.
func TestStoreJoinedThroughDatabaseSQL(t *testing.T) {
	t.Parallel()
	ledgers := testledger.PoolOf(t)
	storetest.RunJoins(t, func(t *testing.T) storetest.Opened {
		dsn := ledgers.Postgres(t)
		o := opened(t, postgres.Options{}, dsn)
		o.Begin = func(tb testing.TB) (onceward.Join, func() error, func() error) { return beginSQL(tb, dsn) }
		return o
	})
}

// opened is a store on a schema of its own.
func opened(t *testing.T, opts postgres.Options, dsn string) storetest.Opened {
	return storetest.Opened{
		Store:   open(t, dsn, opts),
		Again:   func(t *testing.T) onceward.Store { return open(t, dsn, opts) },
		Journal: func(t *testing.T) [][]store.Entry { return journal(t, dsn) },
		Begin:   func(tb testing.TB) (onceward.Join, func() error, func() error) { return begin(tb, dsn) },
	}
}

func open(tb testing.TB, dsn string, opts postgres.Options) *postgres.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), dsn, opts)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

// journal reads the journal as its readers do.
func journal(tb testing.TB, dsn string) [][]store.Entry {
	tb.Helper()
	conn := connect(tb, dsn)
	rows, err := conn.Query(tb.Context(), "select entries from journal order by xid, position")
	if err != nil {
		tb.Fatalf("read journal: %v", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]store.Entry, error) {
		var blob []byte
		if err := row.Scan(&blob); err != nil {
			return nil, err
		}
		return store.DecodeJournal(blob)
	})
	if err != nil {
		tb.Fatalf("read journal: %v", err)
	}
	return all
}

// connect makes a connection of the test's own.
func connect(tb testing.TB, dsn string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// walPosition is how many bytes of log the server has written in its life.
func walPosition(tb testing.TB, conn *pgx.Conn) int64 {
	tb.Helper()
	var at int64
	if err := conn.QueryRow(tb.Context(), "select (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&at); err != nil {
		tb.Fatalf("read the position of the log: %v", err)
	}
	return at
}

// hotShare is how many of a hundred updates of operations stayed on their page
// and touched no index. It closes the store, whose connection then reports.
func hotShare(tb testing.TB, s *postgres.Store, conn *pgx.Conn) float64 {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Fatalf("close: %v", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		var updates, hot float64
		err := conn.QueryRow(tb.Context(), `select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables
where relname = 'operations' and schemaname = current_schema()`).Scan(&updates, &hot)
		if err != nil {
			tb.Fatalf("read statistics: %v", err)
		}
		if updates > 0 {
			return 100 * hot / updates
		}
	}
	tb.Fatal("the server reports no update")
	return 0
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// await polls a condition of the server, which tells nobody when it changes.
func await(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			tb.Fatalf("waited too long for %s", what)
		}
	}
}
