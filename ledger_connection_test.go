package onceward_test

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/postgres"
)

// behindProxy is a PostgreSQL behind a network that breaks, and that network
// once a world was opened on it.
func behindProxy(network **faultproxy.Proxy) database {
	return database{"postgres", func(t testing.TB, _ func() time.Time) func() onceward.Store {
		address, err := url.Parse(testdb.Postgres(t))
		if err != nil {
			t.Fatal("the test's DSN is no URL")
		}
		proxy, err := faultproxy.Start(address.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = proxy.Close() })
		*network = proxy
		query := address.Query()
		query.Set("sslmode", "disable")
		address.Host, address.RawQuery = proxy.Addr(), query.Encode()
		return func() onceward.Store {
			return opened(t)(postgres.Open(t.Context(), address.String(), postgres.Options{}))
		}
	}}
}

// Each connection to a real database dies after another number of bytes, on the
// way there or back: while batches of claims and of outcomes travel, while their
// answers do. Every caller is told the truth, or to ask again; an unsafe write,
// which nothing repeats, is made once for each of them.
func TestConnectionsThatDieInsideBatchesDoubleAndLoseNothing(t *testing.T) {
	t.Parallel()
	const callers, each, faults = 16, 6, 24
	for name, way := range map[string]struct {
		on   faultproxy.Direction
		step int64 // bytes that a connection lives longer than the one before
	}{"Requests": {faultproxy.ToServer, 601}, "Answers": {faultproxy.ToClient, 101}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var network *faultproxy.Proxy
			w := newWorldOn(t, behindProxy(&network), nil, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite))
			for i := range int64(faults) {
				network.Next(faultproxy.Fault{Kind: faultproxy.Reset, On: way.on, After: 400 + way.step*i})
			}
			network.ResetAll()
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					for j := range each {
						w.insist(t, fmt.Sprintf(`{"id":"k%d.%d"}`, i, j))
					}
				})
			}
			all.Wait()
			if n := network.Struck(); n < faults/3 {
				t.Errorf("only %d connections died: that is no trap", n)
			}
			if w.provider.Writes() != callers*each || w.provider.Effects() != callers*each {
				t.Errorf("%d writes and %d effects, want %d of each", w.provider.Writes(), w.provider.Effects(), callers*each)
			}
		})
	}
}

// insist asks until it gets an answer that is none of the ledger's troubles.
func (w *world) insist(t *testing.T, input string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		a, err := w.submit(input, waiting(time.Minute))
		switch {
		case onceward.Is(err, onceward.CodeLedgerUnavailable), onceward.Is(err, onceward.CodeMayBeRecorded):
		case err != nil || a.Operation.State != onceward.StateSucceeded:
			t.Errorf("%s: %+v, %v", input, a, err)
			return
		default:
			return
		}
	}
	t.Errorf("%s: never answered", input)
}
