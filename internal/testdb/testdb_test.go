package testdb

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// connect opens a connection that ends with the test.
func connect(tb testing.TB, dsn string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) }) // a test may have cut it off
	return conn
}

func do(tb testing.TB, conn *pgx.Conn, statement string) {
	tb.Helper()
	if _, err := conn.Exec(tb.Context(), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

func count(tb testing.TB, conn *pgx.Conn, query string, args ...any) int {
	tb.Helper()
	var n int
	if err := conn.QueryRow(tb.Context(), query, args...).Scan(&n); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestTwoSchemasOfOneTestDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	first, second := connect(t, Postgres(t)), connect(t, Postgres(t))
	do(t, first, "CREATE TABLE note (text text)")
	do(t, first, "INSERT INTO note VALUES ('mine')")
	do(t, second, "CREATE TABLE note (text text)")
	if got := count(t, second, "SELECT count(*) FROM note"); got != 0 {
		t.Errorf("the second schema shows %d rows of the first, want 0", got)
	}
	if got := count(t, first, "SELECT count(*) FROM note"); got != 1 {
		t.Errorf("the first schema has %d rows, want 1", got)
	}
}

func TestSchemaIsGoneWhenItsTestHasEnded(t *testing.T) {
	t.Parallel()
	watcher := connect(t, Postgres(t))
	var schema string
	t.Run("owner", func(t *testing.T) {
		owner := connect(t, Postgres(t))
		do(t, owner, "CREATE TABLE note (text text)")
		if err := owner.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema); err != nil {
			t.Fatal(err)
		}
	})
	if !strings.HasPrefix(schema, "testschemaisgonewhenitstesthasended_owne") {
		t.Errorf("schema %q does not begin with the name of its test", schema)
	}
	if got := count(t, watcher, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema); got != 0 {
		t.Errorf("schema %s is still there", schema)
	}
}

func TestTransactionLeftOpenIsReportedAndCutOff(t *testing.T) {
	t.Parallel()
	dsn := Postgres(t) // only for its server
	const schema = "left_open"
	do(t, connect(t, dsn), "CREATE SCHEMA left_open")
	culprit := connect(t, dsn)
	do(t, culprit, "CREATE TABLE left_open.note (text text)")
	do(t, culprit, "BEGIN")
	do(t, culprit, "INSERT INTO left_open.note VALUES ('open')")

	err := dropSchema(dsn, schema, 500*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "left a transaction open") {
		t.Errorf("dropSchema = %v, want the open transaction named", err)
	}
	if got := count(t, connect(t, dsn), "SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema); got != 0 {
		t.Error("the schema is still there")
	}
	if _, err := culprit.Exec(t.Context(), "COMMIT"); err == nil {
		t.Error("the open transaction could still commit")
	}
}

func TestAddressThatIsNoURLIsRefusedWithoutQuotingIt(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"host=localhost password=hunter2", "mysql://u:hunter2@h/db", "postgres://u:hunter2@h:port/db"} {
		_, err := withSearchPath(dsn, "s")
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("withSearchPath(%q) = %v, want an error that keeps the password", dsn, err)
		}
	}
}

func TestProgramsThatAreNotInstalledAreNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	_, err := findBinaries(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Errorf("findBinaries in an empty folder = %v, want what to install", err)
	}
}

func TestNewestInstalledVersionComesFirst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, version := range []string{"9", "15", "17", "16"} {
		if err := os.MkdirAll(filepath.Join(root, version, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got := newestFirst([]string{filepath.Join(root, "*", "bin")})
	want := []string{"17", "16", "15", "9"}
	for i, version := range want {
		if got[i] != filepath.Join(root, version, "bin") {
			t.Errorf("place %d is %s, want version %s", i, got[i], version)
		}
	}
}

// aPool prepares a table with a row, and one without.
func aPool() (pool *Pool, prepared *int) {
	prepared = new(int)
	return &Pool{Prepare: func(ctx context.Context, dsn string) error {
		*prepared++
		return execute(ctx, dsn, "CREATE TABLE whose (name text)", "INSERT INTO whose VALUES ('ours')",
			"CREATE TABLE note (position bigint GENERATED ALWAYS AS IDENTITY, text text)")
	}}, prepared
}

func TestSchemaOfAPoolIsAsPreparedForEachTest(t *testing.T) {
	t.Parallel()
	pool, prepared := aPool()
	var schema string
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, pool.Postgres(t))
			if err := conn.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema); err != nil {
				t.Fatal(err)
			}
			if got := count(t, conn, "SELECT count(*) FROM whose WHERE name = 'ours'"); got != 1 {
				t.Errorf("%d prepared rows are there, want 1", got)
			}
			do(t, conn, "UPDATE whose SET name = 'theirs'")
			do(t, conn, "INSERT INTO note (text) VALUES ('mine')")
			if got := count(t, conn, "SELECT position FROM note"); got != 1 {
				t.Errorf("the first note has position %d, want 1: others were there before", got)
			}
		})
	}
	if *prepared != 1 {
		t.Errorf("prepared %d times, want once", *prepared)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if got := count(t, connect(t, Postgres(t)), "SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, $1)", schema); got != 0 {
		t.Errorf("%d schemas are left", got)
	}
}

func TestWhatATestLeavesInASchemaOfAPoolIsReportedAndReachesNoOther(t *testing.T) {
	t.Parallel()
	pool, prepared := aPool()
	pool.wait = 100 * time.Millisecond
	for name, leave := range map[string]func(conn *pgx.Conn){
		"a table": func(conn *pgx.Conn) { do(t, conn, "CREATE TABLE mine (text text)") },
		"a transaction": func(conn *pgx.Conn) {
			do(t, conn, "BEGIN")
			do(t, conn, "INSERT INTO note (text) VALUES ('late')")
		},
	} {
		dsn := around(t)
		s, err := pool.take(t.Context(), dsn, t.Name())
		if err != nil {
			t.Fatal(err)
		}
		scoped, err := withSearchPath(dsn, s.schema)
		if err != nil {
			t.Fatal(err)
		}
		leave(connect(t, scoped))
		if err := pool.giveBack(s); err == nil {
			t.Errorf("%s was left, and nobody is told", name)
		}
	}
	if len(pool.idle) != 0 || *prepared != 2 {
		t.Errorf("%d schemas are handed out again", len(pool.idle))
	}
}
