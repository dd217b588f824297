package main

import (
	"context"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
)

// BenchmarkLibrary is a guarded call of the library beside others, on SQLite,
// against a server that does nothing: what is allocated for each, and how long
// the machine works for it.
func BenchmarkLibrary(b *testing.B) {
	benchmarkBoth(b, func(g *guarded, want onceward.Decision) work { return g.submit(plainTool, "k", want) })
}

// BenchmarkServer is the same over HTTP, client and server in one process.
func BenchmarkServer(b *testing.B) {
	client := httpcall.New(httpcall.Options{IdlePerHost: 512})
	b.Cleanup(client.Close)
	benchmarkBoth(b, func(g *guarded, _ onceward.Decision) work { return overHTTP(client, g.url(), "k", http.StatusOK) })
}

// benchmarkBoth measures first requests and repeats of one.
func benchmarkBoth(b *testing.B, asking func(g *guarded, want onceward.Decision) work) {
	b.Helper()
	for _, phase := range []struct {
		name string
		want onceward.Decision
	}{{"fresh", onceward.DecisionFresh}, {"repeat", onceward.DecisionReplayed}} {
		b.Run(phase.name, func(b *testing.B) {
			g := benchGuarded(b)
			if err := asking(g, onceward.DecisionFresh)(context.Background(), 0); err != nil {
				b.Fatal(err)
			}
			work, keys := asking(g, phase.want), int64(1)
			if phase.want == onceward.DecisionFresh {
				keys = 1 << 62
			}
			var n atomic.Int64
			before := processCPU()
			b.ReportAllocs()
			b.SetParallelism(32) // on two processors, 64 callers
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := work(context.Background(), n.Add(1)%keys); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64((processCPU()-before).Microseconds())/float64(b.N), "CPU-µs/op")
		})
	}
}

func benchGuarded(b *testing.B) *guarded {
	b.Helper()
	srv, _ := newTarget()
	b.Cleanup(srv.Close)
	tools, err := loadTools(srv.URL)
	if err != nil {
		b.Fatal(err)
	}
	store, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	g, err := newGuarded(context.Background(), store, httpcall.New(httpcall.Options{IdlePerHost: 512}), tools)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.stop)
	return g
}
