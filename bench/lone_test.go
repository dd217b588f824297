package main

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/store/sqlite"
)

// BenchmarkLoneCall calls in turn the bare provider, it through a hand-written
// ledger, and it through the library, so that what the machine does besides
// meets all three alike. The metrics are medians in milliseconds, and what the
// library adds to the two commits of the hand-written one.
func BenchmarkLoneCall(b *testing.B) {
	ctx := context.Background()
	srv, _ := newTarget()
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		b.Fatal(err)
	}
	provider := httpcall.New(httpcall.Options{})
	tools, err := loadTools(srv.URL)
	if err != nil {
		b.Fatal(err)
	}
	call := bare(provider, srv.URL, u.Host)
	hand, done, err := handSQLite(filepath.Join(b.TempDir(), "hand.db"), call)
	if err != nil {
		b.Fatal(err)
	}
	defer done()
	store, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	g, err := newGuarded(ctx, store, provider, tools)
	if err != nil {
		b.Fatal(err)
	}
	defer g.stop()
	ways := []struct {
		name string
		do   work
		took []time.Duration
	}{{"bare", call, nil}, {"hand", hand, nil}, {"library", g.submit(plainTool, "k", onceward.DecisionFresh), nil}}
	b.ReportAllocs()
	for n := int64(0); b.Loop(); n++ {
		for i := range ways {
			start := time.Now()
			if err := ways[i].do(ctx, n); err != nil {
				b.Fatalf("%s: %v", ways[i].name, err)
			}
			ways[i].took = append(ways[i].took, time.Since(start))
		}
	}
	median := map[string]float64{}
	for _, w := range ways {
		slices.Sort(w.took)
		median[w.name] = w.took[len(w.took)/2].Seconds() * 1e3
		b.ReportMetric(median[w.name], w.name+"-ms")
	}
	b.ReportMetric(median["library"]-median["hand"], "added-ms")
}
