package console_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/console"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/sqlite"
)

// operations is how large the ledger is over which pages are measured.
var operations = flag.Int("operations", 1_000_000, "operations in the ledger of BenchmarkPage")

// BenchmarkPage measures the server's time for each page over a large ledger in
// SQLite: one in a thousand has failed, one in ten thousand waits for a person.
func BenchmarkPage(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger.db")
	store, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	registry := onceward.NewRegistry(store, nil)
	if err := registry.Activate(b.Context(), tools(), false); err != nil {
		b.Fatal(err)
	}
	group := committer.New(store, committer.Options{})
	ledger, err := onceward.New(onceward.Options{Store: store, Writer: group, Tools: registry, Provider: oncewardtest.NewProvider(oncewardtest.NewClock())})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ledger.Close(b.Context()); group.Close(); _ = store.Close() })
	last := fill(b, store, *operations)
	auditor := &onceward.Auditor{Store: store, Now: store.Now, Actor: "r"}
	for sealed := true; sealed; {
		if sealed, err = auditor.Step(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	who, err := auth.New(auth.Options{Ledger: ledger})
	if err != nil {
		b.Fatal(err)
	}
	con, err := console.New(console.Options{Ledger: ledger, Authenticate: who.Authenticate, Sessions: who, Status: httpapi.Status})
	if err != nil {
		b.Fatal(err)
	}
	h := con.Handler(http.NotFoundHandler())
	pages := map[string]string{
		"overview": "/?span=week", "operations": "/operations", "operations_old": "/operations?to=" + time.Now().Add(-20*time.Hour).UTC().Format("2006-01-02T15:04"),
		"search_key": "/operations?key=k-77", "search_reference": "/operations?reference=none", "search_actor_and_state": "/operations?actor=nobody&state=succeeded",
		"search_failed": "/operations?state=failed&tool=tickets.create", "operation": "/operations/" + last.String(), "reviews": "/reviews", "approvals": "/approvals",
		"review": "/reviews/" + last.String(), "plan": "/operations/" + last.String() + "/replay", "tools": "/tools", "tool": "/tools/tickets.create", "audit": "/audit", "audit_actor": "/audit?actor=nobody",
		"audit_subject": "/audit?subject=" + last.String(), "access": "/access", "runs": "/runs", "replays": "/replays", "reports": "/reports", "search_correlation": "/operations?correlation=c-77", "search_run": "/operations?run=r-77",
	}
	names := make([]string, 0, len(pages))
	for name := range pages {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			size := 0
			for b.Loop() {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequestWithContext(b.Context(), http.MethodGet, pages[name], nil))
				if rec.Code != http.StatusOK {
					b.Fatalf("%s: %d", name, rec.Code)
				}
				size = rec.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/page")
		})
	}
}

// fill stores operations of one day, and returns the newest that needs a review.
func fill(b *testing.B, store onceward.Store, n int) (review onceward.OperationID) {
	b.Helper()
	const batch = 100
	began := time.Now().Add(-24 * time.Hour).UTC().Truncate(time.Millisecond)
	step := 24 * time.Hour / time.Duration(n)
	for at := 0; at < n; at += batch {
		changes := make([]onceward.Change, 0, batch)
		for i := at; i < min(at+batch, n); i++ {
			created := began.Add(time.Duration(i) * step)
			op := onceward.Operation{Tenant: onceward.DefaultTenant, Tool: ticket, Key: onceward.Key(fmt.Sprintf("k-%d", i)), Digest: onceward.Digest{1}, Contract: "v1", Effect: onceward.EffectProbedWrite,
				State: onceward.StateSucceeded, Version: 1, Token: onceward.WriteToken{byte(i), byte(i >> 8), byte(i >> 16), 1}, Actor: "token:agent", CreatedAt: created, UpdatedAt: created, CompletedAt: created,
				IntentAt: created, CorrelationID: fmt.Sprintf("c-%d", i/4), Run: fmt.Sprintf("r-%d", i/20), Reference: fmt.Sprintf("T-%d", i), Input: []byte(`{"id":"k","text":"Parcel did not arrive"}`), Result: &onceward.Result{Status: 201, Body: []byte(`{"id":"T"}`), BodyKept: true},
				Attempts: []onceward.Attempt{{Number: 1, Owner: "r", Status: onceward.StatusDone, Settler: onceward.SettledByAnswer, StartedAt: created, EndedAt: created}}}
			c := onceward.Change{}
			switch {
			case i%10_000 == 9_999:
				op.State, op.CompletedAt, op.Result = onceward.StateNeedsReview, time.Time{}, nil
			case i%1000 == 999:
				op.State, op.Result = onceward.StateFailed, nil
			}
			op.ID = onceward.NewOperationID(op.Tenant, op.Tool, op.Key)
			if op.State == onceward.StateNeedsReview {
				review = op.ID
			}
			if op.State != onceward.StateSucceeded {
				c.Due = onceward.DueFor(&op)
			}
			c.After = op
			changes = append(changes, c)
		}
		if _, err := store.Commit(b.Context(), changes); err != nil {
			b.Fatal(err)
		}
	}
	return review
}
