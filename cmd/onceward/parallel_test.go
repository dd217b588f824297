package main

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
)

// onBothStores runs a situation of several processes on one SQLite file and on
// one PostgreSQL.
func onBothStores(t *testing.T, situation func(t *testing.T, db string)) {
	t.Helper()
	for name, db := range map[string]func(*testing.T) func(int) string{"sqlite": sqliteFile, "postgres": onePostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			situation(t, db(t)(0))
		})
	}
}

// started starts so many processes on one ledger, with one environment.
func started(t *testing.T, n int, db, contracts string, env ...string) []*proctest.Server {
	t.Helper()
	servers := make([]*proctest.Server, n)
	for i := range servers {
		servers[i] = proctest.NewServer(t, db, []string{contracts}, env...)
		servers[i].Start("")
	}
	return servers
}

func exampleContracts(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../examples/sim")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Two hundred ask three processes for one intention at once, under a class that
// nothing sends twice: one write leaves, and all get its end.
func TestTwoHundredFirstRequestsAtThreeProcessesMakeOneDispatch(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	onBothStores(t, func(t *testing.T, db string) {
		provider := proctest.NewProvider(t)
		if _, err := provider.AddFaults(simprovider.Script{System: "fax", Faults: []simprovider.Fault{{Name: "slow", Delay: simprovider.Duration(500 * time.Millisecond)}}}); err != nil {
			t.Fatal(err)
		}
		servers := started(t, 3, db, exampleContracts(t), "SIM_URL="+provider.URL)
		answers := make([]proctest.Answer, 200)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				var err error
				answers[i], err = servers[i%3].Call(t.Context(), "fax.send", `{"case_id":"c","to":"+49301234567","document":"d"}`, time.Minute)
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		decisions := map[string]int{}
		for _, a := range answers {
			if a.Status != 200 || a.Operation != answers[0].Operation || a.Operation.State != "succeeded" || a.Operation.Attempts != 1 {
				t.Fatalf("an answer is %+v, and the first %+v", a, answers[0])
			}
			decisions[a.Decision]++
		}
		if effects := provider.Effects("c"); effects.Requests != 1 || effects.Count != 1 || decisions["fresh"] != 1 || decisions["joined"]+decisions["replayed"] != 199 {
			t.Errorf("%d writes made %d effects; the answers are %v", effects.Requests, effects.Count, decisions)
		}
	})
}
