package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/internal/testneed"
)

// The environment between cmd/withpg and the tests.
const (
	// EnvDSN is the postgres:// URL of the server in which Postgres makes its
	// schemas; its account may create and drop them. Empty: there is none.
	EnvDSN = "ONCEWARD_TEST_POSTGRES"
)

// Limits of the work on a schema.
const (
	// schemaWait bounds making or dropping a schema.
	schemaWait = 60 * time.Second
	// leftOpenWait is how long a drop waits for what the test left open: the
	// server sees late that a killed client is gone.
	leftOpenWait = 10 * time.Second
)

// Postgres returns the DSN of a fresh schema, which is the DSN's search_path
// and is dropped when the test ends: close what uses it before that, in a
// Cleanup registered after this call. A transaction that is still open by then
// fails the test. Without a server the test is skipped, or fails, with the
// reason (see testneed).
func Postgres(tb testing.TB) string {
	tb.Helper()
	return freshSchema(tb, around(tb))
}

// around is the DSN of the server around the tests.
func around(tb testing.TB) string {
	tb.Helper()
	dsn := os.Getenv(EnvDSN)
	if dsn == "" {
		testneed.Missing(tb, EnvDSN+" is empty: run make test, which starts a PostgreSQL around the tests, "+
			"or set it to the postgres:// URL of a server in which schemas may be made and dropped")
	}
	return dsn
}

// Cluster starts a server of the test's own, with PostgreSQL settings
// ("name=value") on top of this package's, and closes it when the test ends.
// The log of a failed test's server is quoted. Without PostgreSQL's programs
// the test is skipped, or fails, with the reason (see testneed).
func Cluster(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	return ClusterWith(tb, Options{Settings: settings})
}

// ClusterWith is Cluster with all options.
func ClusterWith(tb testing.TB, options Options) *Server {
	tb.Helper()
	Installed(tb)
	server, err := Open(tb.Context(), options)
	return untilTestEnds(tb, "server", server, err)
}

// untilTestEnds closes an opened server when the test ends, and shows its log if
// that failed.
func untilTestEnds(tb testing.TB, what string, server *Server, err error) *Server {
	tb.Helper()
	if err != nil {
		tb.Fatalf("testdb: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("testdb: the %s of this failed test: %s", what, server.logTail())
		}
		if err := server.Close(); err != nil {
			tb.Errorf("testdb: %v", err)
		}
	})
	return server
}

// Database makes a further database of the name, and returns its address.
func (s *Server) Database(tb testing.TB, name string) string {
	tb.Helper()
	if err := execute(tb.Context(), s.DSN(), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		tb.Fatalf("testdb: make database %s: %v", name, err)
	}
	return s.dsn(name)
}

// Installed skips or fails the test, with the reason, where PostgreSQL's
// programs are missing (see testneed).
func Installed(tb testing.TB) {
	tb.Helper()
	if _, err := findBinaries(os.Getenv(EnvBinaries)); err != nil {
		testneed.Missing(tb, err.Error())
	}
}

// freshSchema makes a schema for one test and returns the DSN that leads to it.
func freshSchema(tb testing.TB, dsn string) string {
	tb.Helper()
	schema := schemaName(tb.Name())
	scoped, err := withSearchPath(dsn, schema)
	if err != nil {
		tb.Fatalf("testdb: %v", err)
	}
	if err := execute(tb.Context(), dsn, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize()); err != nil {
		tb.Fatalf("testdb: create schema %s: %v", schema, err)
	}
	tb.Cleanup(func() {
		if err := dropSchema(dsn, schema, leftOpenWait); err != nil {
			tb.Errorf("testdb: %v", err)
		}
	})
	return scoped
}

// schemaName is new on each call and begins with the test's name, so that a
// look into the server tells whose it is. A name in PostgreSQL has 63 bytes.
func schemaName(test string) string {
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '_'
		}
	}, test)
	return fmt.Sprintf("%.40s_%.12s", readable, strings.ToLower(rand.Text()))
}

// withSearchPath adds the schema to a postgres:// URL. An error names no part
// of the URL, which holds a password.
func withSearchPath(dsn, schema string) (string, error) {
	parsed, err := url.Parse(dsn)
	if err != nil || (parsed.Scheme != "postgres" && parsed.Scheme != "postgresql") {
		return "", errors.New("read " + EnvDSN + ": it is no postgres:// URL")
	}
	query := parsed.Query()
	query.Set("search_path", schema)
	parsed.RawQuery = query.Encode()
	return parsed.String(), nil
}

// dropSchema removes a test's schema. What still holds locks in it after the
// wait is cut off, and reported: the next test must not wait for this one.
func dropSchema(dsn, schema string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), schemaWait)
	defer cancel()
	name := pgx.Identifier{schema}.Sanitize()
	drop := []string{
		lockTimeout(wait),
		"DROP SCHEMA " + name + " CASCADE",
	}
	err := execute(ctx, dsn, drop...)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("drop schema %s: %w", schema, err)
	var failure *pgconn.PgError
	const lockNotAvailable = "55P03"
	if !errors.As(err, &failure) || failure.Code != lockNotAvailable {
		return err
	}
	cut := `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_class ON pg_class.oid = pg_locks.relation
		WHERE relnamespace = '` + name + `'::regnamespace AND pid <> pg_backend_pid()`
	err = fmt.Errorf("%w: the test left a transaction open; it was cut off", err)
	return errors.Join(err, execute(ctx, dsn, append([]string{cut}, drop...)...))
}

// lockTimeout bounds how long the statements that follow wait for a lock.
func lockTimeout(wait time.Duration) string {
	return fmt.Sprintf("SET lock_timeout = %d", wait.Milliseconds())
}

// execute runs statements on a connection of their own.
func execute(ctx context.Context, dsn string, statements ...string) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
