package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward"
)

func storeAt(tb testing.TB, dsn string) *Store {
	tb.Helper()
	s, err := newStore(dsn, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestEverySQLSTATEHasACodeASentenceAndAnAdvice(t *testing.T) {
	t.Parallel()
	known := map[onceward.Code]bool{}
	for _, code := range onceward.AllCodes {
		known[code] = true
	}
	for _, table := range []map[string]reason{reasons, classes} {
		for state, r := range table {
			if !known[r.code] || r.message == "" || r.hint == "" {
				t.Errorf("%s leads to %+v", state, r)
			}
		}
	}
	for state, want := range map[string]onceward.Code{
		"22021": onceward.CodeInvalidInput, "23505": onceward.CodeInvalidInput, "54000": onceward.CodeTooLarge,
		"57P05": onceward.CodeLedgerUnavailable, "XX001": onceward.CodeLedgerCorrupt, "42601": onceward.CodeInternal, "": onceward.CodeInternal,
	} {
		if got := reasonOf(state).code; got != want {
			t.Errorf("%s leads to %s, want %s", state, got, want)
		}
	}
}

func TestErrorShowsNeitherTheConnectionStringNorTheData(t *testing.T) {
	t.Parallel()
	s := storeAt(t, "postgres://me:s3cret@db.example:5432/ledger")
	for _, err := range []error{
		&pgconn.PgError{Severity: "ERROR", Code: "22021", Message: "invalid byte sequence: s3cret", Detail: "s3cret", Where: "s3cret"},
		&commitError{aborted, &pgconn.PgError{Code: "23505", Message: "s3cret"}},
		&commitError{lost, fmt.Errorf("read postgres://me:s3cret@db.example: %w", errors.New("reset"))},
		errors.New("dial s3cret"),
	} {
		got := s.failed(context.Background(), "commit batch", err)
		if strings.Contains(got.Error(), "s3cret") {
			t.Errorf("the error shows what it must not: %v", got)
		}
		var pg *pgconn.PgError
		if errors.As(err, &pg) && !errors.As(got, &pg) {
			t.Errorf("the cause of %v is lost", got)
		}
	}
}

func TestFateOfABatchDecidesWhetherItMayBeRecorded(t *testing.T) {
	t.Parallel()
	s := storeAt(t, "postgres://me@db.example/ledger")
	deadlock, full := &pgconn.PgError{Code: "40P01"}, &pgconn.PgError{Code: "53100"}
	for _, c := range []struct {
		err   *commitError
		code  onceward.Code
		again bool
	}{
		{&commitError{unsent, errors.New("refused")}, onceward.CodeLedgerUnavailable, false},
		{&commitError{stale, errors.New("closed")}, onceward.CodeLedgerUnavailable, true},
		{&commitError{aborted, deadlock}, onceward.CodeLedgerUnavailable, true},
		{&commitError{aborted, full}, onceward.CodeLedgerUnavailable, false},
		{&commitError{vanished, errVanished}, onceward.CodeMayBeRecorded, true},
		{&commitError{lost, deadlock}, onceward.CodeMayBeRecorded, false},
		{&commitError{lost, errors.New("reset")}, onceward.CodeMayBeRecorded, false},
	} {
		if got := onceward.CodeOf(s.failed(context.Background(), "commit batch", c.err)); got != c.code {
			t.Errorf("%v (fate %d) gives %s, want %s", c.err, c.err.fate, got, c.code)
		}
		if got := again(c.err); got != c.again {
			t.Errorf("%v (fate %d) is run again: %t, want %t", c.err, c.err.fate, got, c.again)
		}
	}
}
