package postgres_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// proxied is a proxy before the database, and the DSN that leads through it.
func proxied(tb testing.TB, dsn string) (*faultproxy.Proxy, string) {
	tb.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	proxy, err := faultproxy.Start(parsed.Host)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = proxy.Close() })
	parsed.Host = proxy.Addr()
	return proxy, withOption(tb, parsed.String(), "sslmode", "disable")
}

// lossy is a batch that writes into every table, and what it starts from.
func lossy(round string) (before onceward.Operation, batch []onceward.Change) {
	before = claimed("known " + round)
	end := succeeded(before)
	fresh := onceward.Change{After: claimed("fresh " + round)}
	fresh.Aliases = []onceward.OperationID{claimed("earlier " + round).ID}
	fresh.Records = []onceward.Record{{Version: 1, Event: "claimed"}}
	fresh.Due = &onceward.Due{Tenant: "acme", Tool: "tickets.create", State: fresh.After.State, Kind: onceward.DueLease}
	return before, []onceward.Change{{Before: 1, After: end}, fresh}
}

// The connection of the commit is cut after ever more bytes, in both
// directions: while it is made, while the batch travels, while the answer does.
// Whatever the caller is told must be true, and the same batch run again must
// end it, once.
func TestConnectionCutAnywhereIsToldTruthfully(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]pgx.QueryExecMode{"prepared": 0, "exec": pgx.QueryExecModeExec} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testdb.Postgres(t)
			proxy, through := proxied(t, dsn)
			opts := postgres.Options{ExecMode: mode}
			direct := open(t, dsn, opts)
			for _, on := range []faultproxy.Direction{faultproxy.ToServer, faultproxy.ToClient} {
				whole := bytesOfACommit(t, proxy, direct, open(t, through, opts), on)
				seen := map[onceward.Code]int{}
				const cuts = 40
				for cut := range int64(cuts + 1) {
					after := whole * cut / cuts
					round := fmt.Sprintf("%d %d %s", on, after, name)
					s := open(t, through, opts)
					seen[cutOnce(t, proxy, direct, s, faultproxy.Fault{Kind: faultproxy.Reset, On: on, After: after}, round)]++
					_ = s.Close()
				}
				if seen[onceward.CodeMayBeRecorded] == 0 || seen[onceward.CodeLedgerUnavailable] == 0 {
					t.Errorf("%v cuts gave %v: the sweep did not meet both a lost commit and a refused connection", on, seen)
				}
			}
			for _, row := range journal(t, dsn) {
				if len(row) == 0 {
					t.Error("the journal has an empty row")
				}
			}
			entries := map[string]int{}
			for _, row := range journal(t, dsn) {
				for _, e := range row {
					entries[fmt.Sprintf("%s.%d", e.ID, e.Version)]++
				}
			}
			for entry, times := range entries {
				if times != 1 {
					t.Errorf("the journal tells of %s %d times", entry, times)
				}
			}
		})
	}
}

// bytesOfACommit is how much a first commit of a store moves in a direction,
// its connection included.
func bytesOfACommit(t *testing.T, proxy *faultproxy.Proxy, direct, s *postgres.Store, on faultproxy.Direction) int64 {
	t.Helper()
	before, batch := lossy(fmt.Sprintf("measured %d", on))
	mustCommit(t, direct, onceward.Change{After: before})
	start := proxy.Bytes(on)
	mustCommit(t, s, batch...)
	return proxy.Bytes(on) - start
}

// cutOnce runs a batch over a connection with a fault, then again over a sound
// one, and gives the code of the first run.
func cutOnce(t *testing.T, proxy *faultproxy.Proxy, direct, s *postgres.Store, fault faultproxy.Fault, round string) onceward.Code {
	t.Helper()
	before, batch := lossy(round)
	mustCommit(t, direct, onceward.Change{After: before})
	proxy.Next(fault)
	out, err := s.Commit(t.Context(), batch)
	stored, lerr := direct.Load(t.Context(), []onceward.OperationID{batch[1].After.ID})
	if lerr != nil {
		t.Fatal(lerr)
	}
	code := onceward.CodeOf(err)
	switch {
	case err == nil && (!out.Results[0].Applied || !out.Results[1].Applied || stored[0] == nil):
		t.Fatalf("%s: acknowledged %+v, stored %v", round, out.Results, stored[0])
	case code == onceward.CodeLedgerUnavailable && stored[0] != nil:
		t.Fatalf("%s: called unavailable and is stored", round)
	case err != nil && code != onceward.CodeLedgerUnavailable && code != onceward.CodeMayBeRecorded:
		t.Fatalf("%s: %v", round, err)
	}
	await(t, "a sound connection", func() bool {
		out, err = s.Commit(t.Context(), batch)
		return err == nil || !onceward.Is(err, onceward.CodeLedgerUnavailable) && !onceward.Is(err, onceward.CodeMayBeRecorded)
	})
	if err != nil || !out.Results[0].Applied || !out.Results[1].Applied {
		t.Fatalf("%s: run again: %+v, %v, want both applied", round, out.Results, err)
	}
	if d, err := direct.LoadDetail(t.Context(), batch[1].After.ID); err != nil || len(d.Records) != 1 {
		t.Fatalf("%s: the timeline is %+v (%v), want one record", round, d.Records, err)
	}
	return code
}

func TestSwallowedAnswerEndsWithTheTimeout(t *testing.T) {
	t.Parallel()
	proxy, through := proxied(t, testdb.Postgres(t))
	s := open(t, through, postgres.Options{Timeout: 2 * time.Second})
	op := claimed("k")
	mustCommit(t, s, onceward.Change{After: op})
	end := succeeded(op)
	mustCommit(t, s, onceward.Change{Before: 1, After: end}) // prepares the statement
	proxy.Partition()
	_, err := s.Commit(t.Context(), []onceward.Change{{Before: 2, After: succeeded(end)}})
	if !onceward.Is(err, onceward.CodeMayBeRecorded) {
		t.Errorf("a commit into nothing gives %v, want may_be_recorded", err)
	}
	_, err = s.Load(t.Context(), []onceward.OperationID{op.ID})
	if !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("a load from nothing gives %v, want ledger_unavailable", err)
	}
	if _, err = s.Commit(t.Context(), []onceward.Change{{Before: 2, After: succeeded(end)}}); !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("a commit that cannot even connect gives %v, want ledger_unavailable", err)
	}
	proxy.Heal()
}

func TestStoreOutlivesItsServer(t *testing.T) {
	t.Parallel()
	server := testdb.Cluster(t)
	s := open(t, server.DSN(), postgres.Options{})
	op := claimed("k")
	mustCommit(t, s, onceward.Change{After: op})
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	batch := []onceward.Change{{Before: 1, After: succeeded(op)}}
	_, err := s.Commit(t.Context(), batch)
	if !onceward.Is(err, onceward.CodeMayBeRecorded) && !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("a commit on a dead server gives %v", err)
	}
	_, err = s.Commit(t.Context(), batch)
	if !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("the next one gives %v, want ledger_unavailable", err)
	}
	if _, err = s.Load(t.Context(), []onceward.OperationID{op.ID}); !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("a load from a dead server gives %v, want ledger_unavailable", err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ops, err := s.Load(t.Context(), []onceward.OperationID{op.ID})
	if err != nil || ops[0] == nil || ops[0].Version != 1 {
		t.Fatalf("after the restart the claim is %+v (%v)", ops, err)
	}
	await(t, "the committer to connect again", func() bool {
		_, err = s.Commit(t.Context(), batch)
		return !onceward.Is(err, onceward.CodeLedgerUnavailable)
	})
	if err != nil {
		t.Errorf("a commit after the restart: %v", err)
	}
}
