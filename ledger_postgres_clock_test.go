package onceward_test

import (
	"context"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/postgres"
)

// onMovedPostgres is a real PostgreSQL whose clock is the test's: statements
// find now() and clock_timestamp() in the test's schema before the server's own.
var onMovedPostgres = database{"postgres", func(t testing.TB, now func() time.Time) func() onceward.Store {
	dsn, clock := movedClock(t, now)
	return func() onceward.Store {
		return movedStore{opened(t)(postgres.Open(t.Context(), dsn, postgres.Options{})), clock}
	}
}}

// onEveryStore is onEachStore with a PostgreSQL whose clock is moved: for what
// depends on what the database does with two processes and with the time.
func onEveryStore(t *testing.T, tool *oncewardtest.Tool, situation func(t *testing.T, w *world), opts ...worldOption) {
	t.Helper()
	onEachStore(t, tool, situation, opts...)
	t.Run(onMovedPostgres.name, func(t *testing.T) {
		t.Parallel()
		situation(t, newWorldOn(t, onMovedPostgres, oncewardtest.NewClock(), tool, opts...))
	})
}

// clockInSchema stands in a sequence, which is no table that could make the
// schema look foreign, and which every session sees at once.
const clockInSchema = `create sequence test_clock;
create function now() returns timestamptz stable language sql as
    'select timestamptz ''epoch'' + last_value * interval ''1 microsecond'' from test_clock';
create function clock_timestamp() returns timestamptz volatile language sql as
    'select timestamptz ''epoch'' + last_value * interval ''1 microsecond'' from test_clock'`

// movedClock makes a schema with a clock of its own, and returns the DSN that
// leads to both and what sets the clock.
func movedClock(t testing.TB, now func() time.Time) (string, *schemaClock) {
	t.Helper()
	address, err := url.Parse(testdb.Postgres(t))
	if err != nil {
		t.Fatal("the test's DSN is no URL")
	}
	query := address.Query()
	query.Set("search_path", query.Get("search_path")+",pg_catalog")
	address.RawQuery = query.Encode()
	c := &schemaClock{now: now}
	if c.conn, err = pgx.Connect(t.Context(), address.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.conn.Close(context.Background()) })
	if _, err = c.conn.Exec(t.Context(), clockInSchema); err != nil {
		t.Fatal(err)
	}
	return address.String(), c
}

// schemaClock sets the clock of a schema to the test's.
type schemaClock struct {
	now  func() time.Time
	mu   sync.Mutex
	conn *pgx.Conn
	set  int64 // microseconds since 1970
}

func (c *schemaClock) keepUp(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.now().UnixMicro()
	if at == c.set {
		return nil
	}
	_, err := c.conn.Exec(context.WithoutCancel(ctx), "select setval('test_clock', $1)", at)
	if err == nil {
		c.set = at
	}
	return err
}

// movedStore sets the clock before whatever asks for it.
type movedStore struct {
	onceward.Store
	clock *schemaClock
}

func (s movedStore) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	if err := s.clock.keepUp(ctx); err != nil {
		return onceward.Commit{}, err
	}
	return s.Store.Commit(ctx, batch)
}

func (s movedStore) TakeDue(ctx context.Context, limit int, hold time.Duration, except ...onceward.Workload) ([]onceward.Due, time.Time, error) {
	if err := s.clock.keepUp(ctx); err != nil {
		return nil, time.Time{}, err
	}
	return s.Store.TakeDue(ctx, limit, hold, except...)
}

func (s movedStore) NextDue(ctx context.Context) (time.Time, time.Time, error) {
	if err := s.clock.keepUp(ctx); err != nil {
		return time.Time{}, time.Time{}, err
	}
	return s.Store.NextDue(ctx)
}

func (s movedStore) Unpark(ctx context.Context, t onceward.Tenant, tool onceward.ToolName, why onceward.ParkReason, limit int) (int, error) {
	if err := s.clock.keepUp(ctx); err != nil {
		return 0, err
	}
	return s.Store.Unpark(ctx, t, tool, why, limit)
}

func (s movedStore) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	if err := s.clock.keepUp(ctx); err != nil {
		return nil, time.Time{}, err
	}
	return s.Store.Beat(ctx, r)
}

func (s movedStore) Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*onceward.Operation, error) {
	if err := s.clock.keepUp(ctx); err != nil {
		return nil, err
	}
	return s.Store.Stranded(ctx, replica, from, to, limit)
}

func (s movedStore) Now(ctx context.Context) (time.Time, error) {
	if err := s.clock.keepUp(ctx); err != nil {
		return time.Time{}, err
	}
	return s.Store.Now(ctx)
}
