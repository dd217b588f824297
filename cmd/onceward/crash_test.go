package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/crashpoint"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/testledger"
)

// victim is one write whose server dies.
type victim struct {
	class, system, tool, input, reference string
	probed                                bool // an unknown outcome is looked up first
	unsafe                                bool // nothing sends it again by itself
}

var victims = []victim{
	{class: "probed_write", system: "tickets", tool: "tickets.create", input: `{"source":"crash","event_id":"e","subject":"s"}`, reference: "crash/e", probed: true},
	{class: "keyed_write", system: "payments", tool: "payments.create", input: `{"order_id":"o","amount":100,"currency":"EUR"}`, reference: "o"},
	{class: "conditional_write", system: "contacts", tool: "contacts.upsert", input: `{"external_id":"c","change_id":"1","name":"n"}`, reference: "c/1"},
	{class: "unsafe_write", system: "fax", tool: "fax.send", input: `{"case_id":"f","to":"+49301234567","document":"d"}`, reference: "f", unsafe: true},
}

// ledgers are the kinds of ledgers that a server is killed on; each opens a new one.
var ledgers = map[string]func(*testing.T) string{
	"sqlite":   func(t *testing.T) string { return sqliteLedger(t) },
	"postgres": func(t *testing.T) string { return migrated.Postgres(t) },
}

// migrated are PostgreSQL schemas of an empty ledger.
var migrated = testledger.NewPool()

// atPointsOf runs a situation for each crash point of a family on each kind of
// ledger, side by side.
func atPointsOf(t *testing.T, family string, situation func(t *testing.T, kind, db, point string)) {
	t.Helper()
	proctest.Binary(t)
	for kind, open := range ledgers {
		for _, point := range crashpoint.All {
			if !strings.HasPrefix(point, family+".") {
				continue
			}
			t.Run(kind+"/"+point, func(t *testing.T) {
				t.Parallel()
				situation(t, kind, open(t), point)
			})
		}
	}
}

// TestACrashAtEveryPointLosesAndDoublesNothing really kills the server
// (SIGKILL) at each named point, for each class of write, on each store; it
// starts again, the caller repeats itself, and the provider's own books say how
// often it happened.
func TestACrashAtEveryPointLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	for name, db := range ledgers {
		for _, v := range victims {
			for _, point := range crashpoint.All {
				switch family, _, _ := strings.Cut(point, "."); family {
				case "claim", "dispatch", "record":
				case "probe":
					if !v.probed {
						continue // this class never gets there
					}
				default:
					continue // no call comes there: crash_people_test.go has the others
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, v.class, point), func(t *testing.T) {
					t.Parallel()
					v.crash(t, db(t), point)
				})
			}
		}
	}
}

func (v victim) crash(t *testing.T, db, point string) {
	provider := proctest.NewProvider(t)
	if strings.HasPrefix(point, "probe.") { // only what is unknown is looked up
		if _, err := provider.AddFaults(simprovider.Script{System: v.system, Faults: []simprovider.Fault{{Name: "drop_after_commit"}}}); err != nil {
			t.Fatal(err)
		}
	}
	srv := simServer(t, db, provider)
	srv.Start(point)
	_, err := srv.Call(t.Context(), v.tool, v.input, 20*time.Second)
	t.Logf("the call ended with %v", err) // its answer may be lost with the server
	srv.AwaitDeath(point)
	srv.Start("")
	v.judge(t, point, provider, v.repeat(t, srv))
}

// repeat asks again, with the same key, until the end.
func (v victim) repeat(t *testing.T, srv *proctest.Server) proctest.Operation {
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		a, err := srv.Call(t.Context(), v.tool, v.input, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if a.Operation.Final() {
			return a.Operation
		}
	}
	t.Fatal("it never ends")
	return proctest.Operation{}
}

func (v victim) judge(t *testing.T, point string, provider *proctest.Provider, op proctest.Operation) {
	effects := provider.Effects(v.reference)
	sent := point != "claim.before_commit" && point != "claim.after_commit" && point != "dispatch.before_send"
	want, state := 1, "succeeded"
	if v.unsafe && point != "claim.before_commit" && point != "record.after_commit" {
		state = "needs_review"
		if !sent {
			want = 0
		}
	}
	// The provider may, or may not, have read a request whose sender died.
	loose := v.unsafe && point == "dispatch.after_send"
	if op.State != state || effects.Count > 1 || !loose && effects.Count != want {
		t.Errorf("%s after %d attempts, %d effects of %d requests; want %s with %d", op.State, op.Attempts, effects.Count, effects.Requests, state, want)
	}
}
