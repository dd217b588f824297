package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/internal/testneed"
	"github.com/onceward/onceward/store/postgres"
)

// refused opens a DSN and fails the test unless that is refused with the code,
// with a sentence and an advice of its own, and without the connection string.
func refused(t *testing.T, dsn string, code onceward.Code, sentence string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatal("it was opened")
	}
	var e *onceward.Error
	if !onceward.Is(err, code) || !errors.As(err, &e) {
		t.Fatalf("got %v, want %s", err, code)
	}
	if !strings.Contains(e.Message, sentence) || e.Hint == "" {
		t.Errorf("it says %q with hint %q, want %q and a hint", e.Message, e.Hint, sentence)
	}
	for _, secret := range []string{dsn, "pass:word", "s3cret"} {
		if strings.Contains(err.Error()+e.Hint, secret) {
			t.Errorf("the error shows %q: %v", secret, err)
		}
	}
}

func TestConnectionStringThatCannotBeReadIsNotShown(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://me:s3cret@[host/db", "postgres://me:s3cret@host:port/db", "password=s3cret port=x",
		"postgres://me:s3cret@host/db?sslmode=s3cret", "postgres://me:s3cret@host/db?default_query_exec_mode=s3cret",
	} {
		refused(t, dsn, onceward.CodeConfigInvalid, "cannot be read")
	}
}

func TestUnreachableDatabaseIsNamed(t *testing.T) {
	t.Parallel()
	refused(t, "postgres://me:s3cret@127.0.0.1:1/db", onceward.CodeLedgerUnavailable, "cannot reach PostgreSQL at 127.0.0.1:1")
	refused(t, "postgres://me:s3cret@no-such-host.invalid:5432/db", onceward.CodeLedgerUnavailable, "cannot reach PostgreSQL at no-such-host.invalid:5432")
}

// What a server can have against a connection, each with its own sentence.
func TestServerThatRefusesSaysWhy(t *testing.T) {
	t.Parallel()
	server := testdb.Cluster(t)
	admin := connect(t, server.DSN())
	for _, sql := range []string{
		"create role reader login password 's3cret'",
		"create role crowd login password 's3cret' connection limit 0",
		"create database latin encoding 'LATIN1' locale 'C' template template0",
		"create database closed", "revoke connect on database closed from public",
		"create database other", "create database standby", "alter database standby set default_transaction_read_only = on",
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	other := connect(t, edit(t, server.DSN(), func(u *url.URL) { u.Path = "/other" }))
	if _, err := other.Exec(t.Context(), "create table customers (id int)"); err != nil {
		t.Fatal(err)
	}
	as := func(user, password string) func(*url.URL) {
		return func(u *url.URL) { u.User = url.UserPassword(user, password) }
	}
	to := func(database string) func(*url.URL) { return func(u *url.URL) { u.Path = "/" + database } }
	for name, c := range map[string]struct {
		edit     func(*url.URL)
		code     onceward.Code
		sentence string
	}{
		"wrong password":   {as("reader", "pass:word"), onceward.CodeLedgerUnavailable, "refused the password"},
		"unknown account":  {as("stranger", "pass:word"), onceward.CodeLedgerUnavailable, "refused the password"},
		"missing database": {to("absent"), onceward.CodeLedgerUnavailable, "does not exist"},
		"too many":         {as("crowd", "s3cret"), onceward.CodeLedgerUnavailable, "no connection left"},
		"no right to connect": {func(u *url.URL) {
			as("reader", "s3cret")(u)
			to("closed")(u)
		}, onceward.CodeLedgerUnavailable, "may not do this"},
		"no right to create": {as("reader", "s3cret"), onceward.CodeLedgerUnavailable, "may not do this"},
		"other encoding":     {to("latin"), onceward.CodeConfigInvalid, "LATIN1"},
		"foreign":            {to("other"), onceward.CodeLedgerForeign, "customers"},
		"read-only":          {to("standby"), onceward.CodeLedgerReadOnly, "does not take writes"},
		"missing schema": {func(u *url.URL) {
			u.RawQuery = url.Values{"search_path": {"absent"}}.Encode()
		}, onceward.CodeLedgerUnavailable, "schema does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, edit(t, server.DSN(), c.edit), c.code, c.sentence)
		})
	}
}

func TestTablesOfExtensionsDoNotMakeADatabaseForeign(t *testing.T) {
	t.Parallel()
	server := testdb.Cluster(t)
	conn := connect(t, server.DSN())
	if count(t, conn, "select count(*) from pg_available_extensions where name = 'pg_stat_statements'") == 0 {
		testneed.Missing(t, "PostgreSQL is installed here without pg_stat_statements (Debian: part of the package postgresql)")
	}
	if _, err := conn.Exec(t.Context(), "create extension pg_stat_statements"); err != nil {
		t.Fatal(err)
	}
	open(t, server.DSN(), postgres.Options{})
}

func edit(tb testing.TB, dsn string, change func(*url.URL)) string {
	tb.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	change(parsed)
	return parsed.String()
}

func TestDatabaseOfAnotherReleaseIsNamedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		code onceward.Code
	}{
		"newer":   {"insert into migrations values (9999, 'future', '\\x00', now())", onceward.CodeLedgerTooNew},
		"changed": {"update migrations set sum = '\\x00' where number = 1", onceward.CodeLedgerForeign},
		"renamed": {"update meta set value = 'accounting' where name = 'application'", onceward.CodeLedgerForeign},
		"unnamed": {"delete from meta", onceward.CodeLedgerForeign},
		"unlike":  {"alter table meta rename column name to title", onceward.CodeLedgerForeign},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testdb.Postgres(t)
			open(t, dsn, postgres.Options{})
			if _, err := connect(t, dsn).Exec(t.Context(), c.sql); err != nil {
				t.Fatal(err)
			}
			s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
			if err == nil {
				_ = s.Close()
			}
			if !onceward.Is(err, c.code) {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
}

func TestReplicasThatStartTogetherMigrateOnce(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			defer func() { _ = s.Close() }()
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("check: %v", err)
			}
		})
	}
	wg.Wait()
	if n := count(t, connect(t, dsn), "select count(*) from meta where name = 'ledger'"); n != 1 {
		t.Errorf("the ledger has %d names, want 1", n)
	}
}

func TestSchemaIsLeftAloneWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	_, err := postgres.Open(t.Context(), dsn, postgres.Options{NoMigrate: true})
	if !onceward.Is(err, onceward.CodeLedgerUnavailable) || !strings.Contains(err.Error(), "0001_ledger") {
		t.Errorf("got %v, want that 0001_ledger is missing", err)
	}
	if n := count(t, connect(t, dsn), "select count(*) from pg_class where relnamespace = current_schema()::regnamespace"); n != 0 {
		t.Errorf("%d relations were made", n)
	}
	open(t, dsn, postgres.Options{})
	open(t, dsn, postgres.Options{NoMigrate: true})
}

// The primary becomes a standby under an open store.
func TestDatabaseThatTurnsReadOnlyIsNamedAndRecovers(t *testing.T) {
	t.Parallel()
	server := testdb.Cluster(t)
	s, admin := open(t, server.DSN(), postgres.Options{}), connect(t, server.DSN())
	op := claimed("k")
	mustCommit(t, s, onceward.Change{After: op})
	restrict := func(mode string) {
		for _, sql := range []string{
			"set default_transaction_read_only = off", // for whoever gives the order
			"alter system set default_transaction_read_only = " + mode, "select pg_reload_conf()",
		} {
			if _, err := admin.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	restrict("on")
	batch := []onceward.Change{{Before: 1, After: succeeded(op)}}
	await(t, "the database to refuse writes", func() bool { return s.Check(t.Context()) != nil })
	if err := s.Check(t.Context()); !onceward.Is(err, onceward.CodeLedgerReadOnly) {
		t.Errorf("a check gives %v, want ledger_read_only", err)
	}
	if _, err := s.Commit(t.Context(), batch); !onceward.Is(err, onceward.CodeLedgerReadOnly) {
		t.Errorf("a commit gives %v, want ledger_read_only", err)
	}
	if ops, err := s.Load(t.Context(), []onceward.OperationID{op.ID}); err != nil || ops[0] == nil {
		t.Errorf("a load gives %v, %v", ops, err)
	}
	restrict("off")
	await(t, "the database to take writes", func() bool { return s.Check(t.Context()) == nil })
	mustCommit(t, s, batch...)
}
