package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// demandStandby makes the server wait for a standby that there is not, or ends
// that.
func demandStandby(tb testing.TB, conn *pgx.Conn, names string) {
	tb.Helper()
	for _, sql := range []string{"alter system set synchronous_standby_names = '" + names + "'", "select pg_reload_conf()"} {
		if _, err := conn.Exec(tb.Context(), sql); err != nil {
			tb.Fatal(err)
		}
	}
	await(tb, "the server to read its settings", func() bool {
		fresh := connect(tb, conn.Config().ConnString())
		defer func() { _ = fresh.Close(tb.Context()) }()
		var got string
		if err := fresh.QueryRow(tb.Context(), "show synchronous_standby_names").Scan(&got); err != nil {
			tb.Fatal(err)
		}
		return got == names
	})
}

// A commit that stops waiting for its synchronous standby is stored here and
// perhaps nowhere else. It must not be called done, and neither must its second
// run, which finds its rows, before the standby has it.
func TestCommitThatStopsWaitingForItsStandbyIsNotDone(t *testing.T) {
	t.Parallel()
	server := testdb.Cluster(t)
	dsn := server.DSN()
	s := open(t, dsn, postgres.Options{})
	admin := connect(t, withOption(t, dsn, "synchronous_commit", "local"))
	first := claimed("first")
	mustCommit(t, s, onceward.Change{After: first})
	demandStandby(t, admin, "nobody")

	batch := []onceward.Change{{Before: 1, After: succeeded(first)}, {After: claimed("second")}}
	type result struct {
		out onceward.Commit
		err error
	}
	run := func() chan result {
		done := make(chan result, 1)
		go func() {
			out, err := s.Commit(t.Context(), batch)
			done <- result{out, err}
		}()
		await(t, "the commit to wait for the standby", func() bool {
			return count(t, admin, "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") > 0
		})
		return done
	}
	interrupt := func(function string) {
		count(t, admin, "select count("+function+"(pid)) from pg_stat_activity where wait_event = 'SyncRep'")
	}

	commit := run()
	interrupt("pg_cancel_backend")
	if r := <-commit; !onceward.Is(r.err, onceward.CodeMayBeRecorded) {
		t.Fatalf("a commit that stopped waiting gives %+v, %v, want may_be_recorded", r.out, r.err)
	}
	commit = run()
	interrupt("pg_terminate_backend")
	if r := <-commit; !onceward.Is(r.err, onceward.CodeMayBeRecorded) {
		t.Fatalf("the second run, cut off, gives %+v, %v, want may_be_recorded", r.out, r.err)
	}
	commit = run()
	select {
	case r := <-commit:
		t.Fatalf("the third run did not wait for the standby: %+v, %v", r.out, r.err)
	default:
	}
	demandStandby(t, admin, "")
	r := <-commit
	if r.err != nil || !r.out.Results[0].Applied || !r.out.Results[1].Applied {
		t.Fatalf("with the standby content the batch gives %+v, %v, want both applied", r.out, r.err)
	}
	if rows := journal(t, dsn); len(rows) != 2 || len(rows[1]) != 2 {
		t.Errorf("the journal is %v, want two rows, of which the second has two entries", rows)
	}
}
