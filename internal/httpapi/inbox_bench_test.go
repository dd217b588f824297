package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/worker"
)

// BenchmarkIntake is a signed delivery until its 2xx, durable commit included,
// from 64 senders at once, without the network; alone, and with the inbox loop
// that makes two operations of each event beside it.
func BenchmarkIntake(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) (onceward.Store, error){
		"sqlite": func(b *testing.B) (onceward.Store, error) {
			return sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
		},
		"postgres": func(b *testing.B) (onceward.Store, error) {
			return postgres.Open(b.Context(), testdb.Postgres(b), postgres.Options{})
		},
	} {
		for _, handled := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/handled=%v", name, handled), func(b *testing.B) {
				store, err := open(b)
				if err != nil {
					b.Fatal(err)
				}
				benchmarkIntake(b, store, handled)
			})
		}
	}
}

// intakeAPI is an API over a store with a real clock, and what ends it.
func intakeAPI(b *testing.B, store onceward.Store, handled bool) *API {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	registry := onceward.NewRegistry(store, nil)
	must(registry.Activate(b.Context(), fixtureTools(), false))
	shop, err := contract.SourceCompiler(contract.Options{Secrets: func(string) (string, error) { return hookSecret, nil }})("shop", []byte(shopSource))
	must(err)
	must(registry.ActivateEventSources(b.Context(), []onceward.EventSource{shop}, false))
	group := committer.New(store, committer.Options{})
	ledger, err := onceward.New(onceward.Options{Store: store, Writer: group, Inbox: committer.NewInbox(store), Tools: registry, Provider: oncewardtest.NewProvider(onceward.SystemClock{})})
	must(err)
	must(ledger.Start(b.Context()))
	loops, stop := context.WithCancel(context.Background())
	wait := func() {}
	if handled {
		wait = worker.Start(loops, onceward.SystemClock{}, slog.New(slog.DiscardHandler), worker.NewInbox(ledger))
	}
	b.Cleanup(func() {
		stop()
		wait()
		_ = ledger.Close(context.Background())
		group.Close()
		_ = store.Close()
	})
	api, err := New(Options{Ledger: ledger})
	must(err)
	return api
}

func benchmarkIntake(b *testing.B, store onceward.Store, handled bool) {
	api := intakeAPI(b, store, handled)
	var next atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var mine []time.Duration
		for pb.Next() {
			n := strconv.FormatInt(next.Add(1), 10)
			body, at := `{"id":"e-`+n+`","kind":"paid","order":"o-`+n+`"}`, strconv.FormatInt(time.Now().Unix(), 10)
			m := hmac.New(sha256.New, []byte(hookSecret))
			m.Write([]byte(at + "." + body))
			req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/v1/hooks/shop", strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header = http.Header{"Content-Type": {"application/json"}, "X-Time": {at}, "X-Sign": {hex.EncodeToString(m.Sum(nil))}}
			s := sink{header: http.Header{}}
			began := time.Now()
			api.ServeHTTP(&s, req)
			mine = append(mine, time.Since(began))
			if s.status != http.StatusOK {
				b.Errorf("status %d", s.status)
				return
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, mine...)
	})
	b.StopTimer()
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}
