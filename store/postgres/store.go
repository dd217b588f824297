package postgres

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Options configure a store. The zero value is ready to use.
type Options struct {
	// ReadConns is how many connections at most serve everything but Commit,
	// which has one of its own. 0: pool_max_conns of the connection string, else
	// 4, or one a processor if there are more.
	ReadConns int32
	// ExecMode is how statements are run. 0: default_query_exec_mode of the
	// connection string, else prepared statements. Use pgx.QueryExecModeExec
	// behind PgBouncer in transaction mode.
	ExecMode pgx.QueryExecMode
	// NoMigrate leaves the schema as it is: Open fails if it is not the one that
	// this version writes.
	NoMigrate bool
	// Timeout bounds each answer of the database, so that a network that
	// swallows everything holds nobody for ever. 0: DefaultTimeout.
	Timeout time.Duration
}

// Limits.
const (
	// DefaultTimeout bounds how long the database may take to answer.
	DefaultTimeout = 15 * time.Second
	// connectTimeout bounds a connection attempt, if the connection string does
	// not say.
	connectTimeout = 5 * time.Second
)

// Store keeps operations in PostgreSQL, 14 or newer. It is safe for concurrent
// use. Make one with Open.
type Store struct {
	config  *pgxpool.Config
	pool    *pgxpool.Pool
	session *session
	timeout time.Duration
	closed  atomic.Bool
	servers servers

	statements sync.Map // shape → statement
}

var (
	_ onceward.Store         = (*Store)(nil)
	_ onceward.ServerWatcher = (*Store)(nil)
)

// named reports whether statements may be prepared under a name: not behind a
// pooler that hands each transaction to another server process.
func (s *Store) named() bool {
	return s.config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
}

// address is where the database is, without accounts and secrets.
func (s *Store) address() string {
	c := s.config.ConnConfig
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

// statement is the commit statement of a shape, made once.
func (s *Store) statement(sh shape) statement {
	if st, ok := s.statements.Load(sh); ok {
		return st.(statement)
	}
	st := commitStatement(sh)
	s.statements.Store(sh, st)
	return st
}

// open refuses what is done on a closed store or under an ended context.
func (s *Store) open(ctx context.Context, op string) error {
	if s.closed.Load() {
		return store.Closed(op)
	}
	if err := ctx.Err(); err != nil {
		return store.Canceled(op, err)
	}
	return nil
}

// tries is how often the work of do is run.
const tries = 3

// do runs work that can be repeated on a connection of the pool. It is run
// again where others were in the way, and after a connection broke: that one
// may have been dead for long.
func (s *Store) do(ctx context.Context, op string, work func(ctx context.Context, conn *pgx.Conn) error) error {
	if err := s.open(ctx, op); err != nil {
		return err
	}
	for try := 1; ; try++ {
		bounded, cancel := context.WithTimeout(ctx, s.timeout)
		err := s.pool.AcquireFunc(bounded, func(c *pgxpool.Conn) error {
			err := work(bounded, c.Conn())
			if outdated(err) {
				_ = c.Conn().Close(bounded) // it knows statements that do not fit any more
			}
			return err
		})
		cancel()
		if err == nil {
			return nil
		}
		s.moved(err)
		if try == tries || ctx.Err() != nil || !repeatable(err) {
			return s.failed(ctx, op, err)
		}
	}
}

// moved gives all connections up after the database turned out to be a standby:
// new ones may find the primary.
func (s *Store) moved(err error) {
	if sqlState(err) == stateReadOnly {
		s.pool.Reset()
	}
}

// repeatable reports whether another try may end better at once.
func repeatable(err error) bool {
	var ours *onceward.Error
	var connecting *pgconn.ConnectError
	if errors.As(err, &ours) || errors.As(err, &connecting) || pgconn.Timeout(err) {
		return false
	}
	state := sqlState(err)
	return state == "" || contended(err) || outdated(err) || state[:2] == "57" && state != "57014" || state[:2] == "08"
}

// Now is the database's clock.
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.do(ctx, "read clock", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "select clock_timestamp()").Scan(&now)
	})
	return now.UTC(), err
}

// Check writes, so that it sees a read-only database, a full disk and a missing
// right.
func (s *Store) Check(ctx context.Context) error {
	return s.do(ctx, "check ledger", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `insert into meta (name, value) values ('checked_at', clock_timestamp()::text)
on conflict (name) do update set value = excluded.value`)
		return err
	})
}

// Close ends all connections. Nothing may be in flight.
func (s *Store) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	s.session.close()
	s.pool.Close()
	return nil
}
