package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// withOption adds a server setting to a DSN, as an administrator would give it
// to an account.
func withOption(tb testing.TB, dsn, name, value string) string {
	tb.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	query := parsed.Query()
	query.Set(name, value)
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

// mustCommit commits on the store and fails the test on an error.
func mustCommit(tb testing.TB, s *postgres.Store, batch ...onceward.Change) []onceward.Committed {
	tb.Helper()
	out, err := s.Commit(tb.Context(), batch)
	if err != nil {
		tb.Fatalf("commit: %v", err)
	}
	return out.Results
}

// count runs a query that gives one number.
func count(tb testing.TB, conn *pgx.Conn, sql string, args ...any) int {
	tb.Helper()
	var n int
	if err := conn.QueryRow(tb.Context(), sql, args...).Scan(&n); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	return n
}

func TestJournalHoldsOnlyWhatWasApplied(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	s := open(t, dsn, postgres.Options{})
	held := claimed("held")
	mustCommit(t, s, onceward.Change{After: held})
	first, second, third := claimed("first"), claimed("second"), claimed("third")
	second.State = onceward.StateReady
	with := onceward.Change{After: second, Records: []onceward.Record{{Version: 1, Event: "an event of some length", To: second.State}}}
	mustCommit(t, s, onceward.Change{After: claimed("held")}, onceward.Change{After: third}, with,
		onceward.Change{Before: 1, After: succeeded(succeeded(held))}, onceward.Change{After: first})

	rows := journal(t, dsn)
	if len(rows) != 2 {
		t.Fatalf("the journal has %d rows, want 2", len(rows))
	}
	var got []string
	for _, e := range rows[1] {
		got = append(got, e.ID.String()+" "+e.To.String()+" "+e.Event)
	}
	want := []string{
		third.ID.String() + " effect_pending ", second.ID.String() + " ready an event of some length", first.ID.String() + " effect_pending ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the entries differ (-want +got):\n%s", diff)
	}
}

// A page full of claims has room for their outcomes: they touch no index.
func TestOutcomesStayOnThePagesOfTheirClaims(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	s, conn := open(t, dsn, postgres.Options{}), connect(t, dsn)
	var claims, outcomes []onceward.Change
	for i := range 100 {
		op := claimed(fmt.Sprintf("k%02d", i))
		op.Request = nil // what an outcome takes out makes room, here nothing does
		claims = append(claims, onceward.Change{After: op})
		outcomes = append(outcomes, onceward.Change{Before: 1, After: succeeded(op)})
	}
	pages := func() (places string) {
		err := conn.QueryRow(t.Context(), `select string_agg((ctid::text::point)[0]::text, ' ' order by id) from operations`).Scan(&places)
		if err != nil {
			t.Fatalf("read places: %v", err)
		}
		return places
	}
	mustCommit(t, s, claims...)
	before := pages()
	mustCommit(t, s, outcomes...)
	if diff := cmp.Diff(strings.Fields(before), strings.Fields(pages())); diff != "" {
		t.Errorf("rows went to other pages (-claimed +ended):\n%s", diff)
	}
}

// The server's own compression takes longer over a large batch than its commit.
func TestLargeBatchIsNotCompressedSlowly(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	open(t, dsn, postgres.Options{})
	conn := connect(t, dsn)
	var compression, storage string
	err := conn.QueryRow(t.Context(), `select attcompression::text, attstorage::text from pg_attribute
where attrelid = 'journal'::regclass and attname = 'entries'`).Scan(&compression, &storage)
	if err != nil || compression != "l" && storage != "e" {
		t.Errorf("entries are compressed by %q and stored as %q (%v), want LZ4, or no compression", compression, storage, err)
	}
}

func TestTwoChangesOfOneOperationInABatchAreNeverLostSilently(t *testing.T) {
	t.Parallel()
	s := open(t, testdb.Postgres(t), postgres.Options{})
	op := claimed("k")
	mustCommit(t, s, onceward.Change{After: op})
	end, other := succeeded(op), succeeded(op)
	r := mustCommit(t, s, onceward.Change{Before: 1, After: end}, onceward.Change{Before: 1, After: other}, onceward.Change{After: claimed("k")})
	if !r[0].Applied || r[1].Applied || onceward.CodeOf(r[1].Err) != onceward.CodeInternal || onceward.CodeOf(r[2].Err) != onceward.CodeInternal {
		t.Errorf("the batch gives %+v, want the first applied and the others refused", r)
	}
}

func TestTwoChangesMayPauseOneTool(t *testing.T) {
	t.Parallel()
	s := open(t, testdb.Postgres(t), postgres.Options{})
	a, b := onceward.Change{After: claimed("a")}, onceward.Change{After: claimed("b")}
	a.Tool = &onceward.ToolSwitch{Tenant: "acme", Tool: "tickets.create", Paused: true, Reason: "auth"}
	b.Tool = &onceward.ToolSwitch{Tenant: "acme", Tool: "tickets.create", Paused: true, Reason: "invariant"}
	mustCommit(t, s, a, b)
	all, err := s.Switches(t.Context())
	if err != nil || len(all) != 1 || all[0].Reason != "invariant" {
		t.Errorf("the switches are %+v (%v), want the later one", all, err)
	}
}

func TestPartThatEndsLeavesTheSideTable(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	s, conn := open(t, dsn, postgres.Options{}), connect(t, dsn)
	op := claimed("k")
	op.Input, op.Request.Body = bytes.Repeat([]byte("input"), 1000), bytes.Repeat([]byte("request"), 1000)
	mustCommit(t, s, onceward.Change{After: op})
	if n := count(t, conn, "select count(*) from bodies"); n != 2 {
		t.Fatalf("%d parts are in the side table, want 2", n)
	}
	// The outcome takes the short way: it writes nothing but the row.
	mustCommit(t, s, onceward.Change{Before: 1, After: succeeded(op)})
	if n := count(t, conn, "select count(*) from bodies where part = 0"); n != 1 {
		t.Errorf("%d inputs are in the side table, want 1", n)
	}
	if n := count(t, conn, "select count(*) from bodies"); n != 1 {
		t.Errorf("%d parts are in the side table, want the input alone", n)
	}
}

func TestPartThatStaysIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	s, conn := open(t, dsn, postgres.Options{}), connect(t, dsn)
	op := claimed("k")
	op.Input = bytes.Repeat([]byte("input"), 1000)
	mustCommit(t, s, onceward.Change{After: op})
	place := func() (ctid string) {
		if err := conn.QueryRow(t.Context(), "select ctid::text from bodies").Scan(&ctid); err != nil {
			t.Fatal(err)
		}
		return ctid
	}
	before := place()
	after := op.Clone()
	after.Version, after.Token = 2, token()
	mustCommit(t, s, onceward.Change{Before: 1, After: after})
	if got := place(); got != before {
		t.Errorf("the input was written again: it moved from %s to %s", before, got)
	}
	op, after.Input = after, bytes.Repeat([]byte("other"), 1000)
	after.Version, after.Token = 3, token()
	mustCommit(t, s, onceward.Change{Before: 2, After: after})
	if got := place(); got == before {
		t.Error("another input was not written")
	}
}

func TestClaimThatLosesByAnAliasLeavesNoRow(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	s, conn := open(t, dsn, postgres.Options{}), connect(t, dsn)
	old := claimed("old")
	mustCommit(t, s, onceward.Change{After: old})
	loser, winner := onceward.Change{After: claimed("new")}, onceward.Change{After: claimed("winner")}
	loser.Aliases = []onceward.OperationID{claimed("older").ID, old.ID, claimed("oldest").ID}
	loser.Due = &onceward.Due{Tenant: "acme", Tool: "tickets.create", Kind: onceward.DueStart}
	winner.Aliases = []onceward.OperationID{claimed("earlier").ID}
	r := mustCommit(t, s, loser, winner, onceward.Change{After: claimed("plain")})
	if r[0].Applied || r[0].Stored == nil || r[0].Stored.ID != old.ID || !r[1].Applied || !r[2].Applied {
		t.Fatalf("the batch gives %+v", r)
	}
	if n := count(t, conn, "select count(*) from operations"); n != 4 {
		t.Errorf("%d rows are stored, want the old one, the winner, its alias and the plain one", n)
	}
	if n := count(t, conn, "select count(*) from due"); n != 0 {
		t.Errorf("the loser left a due row")
	}
}

// The hand-made transaction takes the second row, the batch the first; then
// each wants the other's. The transaction looks for deadlocks late, so that it
// is the batch that is thrown out.
func TestDeadlockIsRunAgain(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	s, conn, watch := open(t, dsn, postgres.Options{}), connect(t, dsn), connect(t, dsn)
	a, b := claimed("a"), claimed("b")
	if bytes.Compare(a.ID[:], b.ID[:]) > 0 {
		a, b = b, a
	}
	mustCommit(t, s, onceward.Change{After: a}, onceward.Change{After: b})
	lock := func(tx pgx.Tx, op onceward.Operation) {
		if _, err := tx.Exec(t.Context(), "select from operations where key = $1 for update", string(op.Key)); err != nil {
			t.Fatalf("lock by hand: %v", err)
		}
	}
	if _, err := conn.Exec(t.Context(), "set deadlock_timeout = '10min'"); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	lock(tx, b)
	done := make(chan error)
	go func() {
		out, err := s.Commit(t.Context(), []onceward.Change{{Before: 1, After: succeeded(b)}, {Before: 1, After: succeeded(a)}})
		if err == nil && (!out.Results[0].Applied || !out.Results[1].Applied) {
			t.Errorf("the batch gives %+v, want both applied", out.Results)
		}
		done <- err
	}()
	await(t, "the batch to wait for the second row", func() bool { return waiting(t, watch, "Lock") > 0 })
	lock(tx, a)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the batch that was thrown out of a deadlock failed: %v", err)
	}
}

// Two replicas change rows of their own, wake sagas of both, claim the other's keys, and
// race for rows and keys of both, in opposite orders. The server counts deadlocks, also those that are run again.
func TestReplicasDoNotDeadlock(t *testing.T) {
	t.Parallel()
	server := testdb.Cluster(t)
	dsn := server.DSN()
	replicas := [2]*postgres.Store{open(t, dsn, postgres.Options{}), open(t, dsn, postgres.Options{})}
	const size, rounds = 40, 30
	var rows [2][]onceward.Operation
	for side := range rows {
		for i := range size {
			rows[side] = append(rows[side], claimed(fmt.Sprint(side, "-", i)))
			mustCommit(t, replicas[side], onceward.Change{After: rows[side][i]})
		}
	}
	sagas := make([]onceward.Saga, 8)
	for i := range sagas {
		key := onceward.Key(fmt.Sprint(i))
		sagas[i] = onceward.Saga{ID: onceward.NewSagaID("acme", "orders.place", key), Tenant: "acme", Name: "orders.place", Key: key, State: onceward.SagaRunning, By: onceward.Principal{Tenant: "acme", Issuer: "token", Subject: "shop", Roles: []onceward.Role{onceward.RoleCaller}},
			Steps: make([]onceward.SagaStep, 1), CreatedAt: time.Now(), NextAt: time.Now().Add(time.Hour), Revision: 1, Token: token()}
		if _, _, err := replicas[0].PutSaga(t.Context(), sagas[i]); err != nil {
			t.Fatal(err)
		}
	}
	for round := range rounds {
		var shared []onceward.Change
		for i := range size {
			shared = append(shared, onceward.Change{After: claimed(fmt.Sprint("shared ", round, "-", i))})
		}
		mustCommit(t, replicas[0], shared...)
		var wg sync.WaitGroup
		for side, s := range replicas {
			var early, batch, later []onceward.Change
			for i := range size {
				place := i
				if side == 1 {
					place = size - 1 - i
				}
				after := rows[side][place].Clone()
				after.Version, after.Token = after.Version+1, token()
				rows[side][place] = after
				batch = append(batch, onceward.Change{Before: after.Version - 1, After: after, Saga: sagas[place%len(sagas)].ID},
					onceward.Change{After: claimed(string(rows[1-side][place].Key))},
					onceward.Change{After: claimed(fmt.Sprint("both ", round, "-", place))},
					onceward.Change{Before: 1, After: succeeded(shared[place].After)})
				early = append(early, onceward.Change{After: claimed(fmt.Sprint("early ", round, "-", place))})
				later = append(later, onceward.Change{Before: 2, After: succeeded(succeeded(shared[place].After))})
			}
			wg.Go(func() {
				for _, batch := range [][]onceward.Change{early, batch, later} {
					if _, err := s.Commit(t.Context(), batch); err != nil {
						t.Errorf("replica %d: %v", side, err)
					}
				}
			})
		}
		wg.Wait()
	}
	conn := connect(t, dsn)
	if n := count(t, conn, "select count(*) from sagas where revision = $1 and next_at <= now()", 1+2*rounds); n != len(sagas) {
		t.Errorf("%d sagas were woken by every batch, want %d", n, len(sagas))
	}
	for _, s := range replicas {
		_ = s.Close() // a session reports what it saw when it ends
	}
	await(t, "the sessions to end", func() bool {
		return count(t, conn, "select count(*) from pg_stat_activity where application_name = 'onceward'") == 0
	})
	if n := count(t, conn, "select deadlocks from pg_stat_database where datname = current_database()"); n != 0 {
		t.Errorf("the server saw %d deadlocks", n)
	}
}

// waiting counts the sessions that wait for something of the kind and hold a
// lock on a table of this connection's schema.
func waiting(tb testing.TB, conn *pgx.Conn, event string) int {
	tb.Helper()
	return count(tb, conn, `select count(*) from pg_stat_activity a where a.wait_event_type = $1 and exists (
    select from pg_locks l where l.pid = a.pid and l.relation = 'operations'::regclass)`, event)
}

func TestStricterIsolationOfTheDatabaseDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]pgx.QueryExecMode{"prepared": 0, "exec": pgx.QueryExecModeExec} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := withOption(t, testdb.Postgres(t), "default_transaction_isolation", "serializable")
			s, other := open(t, dsn, postgres.Options{ExecMode: mode}), open(t, dsn, postgres.Options{ExecMode: mode})
			const rounds = 40
			errs := make(chan error, 2)
			for _, store := range []*postgres.Store{s, other} {
				go func() {
					for round := range rounds {
						var batch []onceward.Change
						for _, key := range strings.Fields("a b c d e") {
							batch = append(batch, onceward.Change{After: claimed(key + string(rune('0'+round)))})
						}
						if _, err := store.Commit(t.Context(), batch); err != nil {
							errs <- err
							return
						}
					}
					errs <- nil
				}()
			}
			for range 2 {
				if err := <-errs; err != nil {
					t.Errorf("a racing batch failed: %v", err)
				}
			}
			if n := count(t, connect(t, dsn), "select count(*) from operations"); n != 5*rounds {
				t.Errorf("%d operations are stored, want %d", n, 5*rounds)
			}
		})
	}
}
