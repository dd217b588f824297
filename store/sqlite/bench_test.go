package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

// cycle claims n operations in one commit, and ends them in another.
func cycle(b *testing.B, s *sqlite.Store, prefix string, n int) {
	batch := make([]onceward.Change, n)
	for i := range batch {
		batch[i] = onceward.Change{After: claim(fmt.Sprintf("%s-%d", prefix, i))}
	}
	apply(b, s, batch...)
	for i := range batch {
		batch[i] = onceward.Change{Before: 1, After: done(batch[i].After)}
	}
	apply(b, s, batch...)
}

// BenchmarkClaimAndOutcome measures whole operations: a claim in one durable
// commit, its outcome in another.
func BenchmarkClaimAndOutcome(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
			cycle(b, s, "warm", size)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				cycle(b, s, fmt.Sprint(n), size)
				n++
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "operations/s")
		})
	}
}

// BenchmarkLoad measures what a duplicate costs the ledger.
func BenchmarkLoad(b *testing.B) {
	const stored = 20_000
	s := open(b, filepath.Join(b.TempDir(), "ledger.db"), sqlite.Options{})
	for i := range stored / 500 {
		cycle(b, s, fmt.Sprint(i), 500)
	}
	var ids []onceward.OperationID
	for i := range stored / 500 {
		for k := range 500 {
			ids = append(ids, onceward.NewOperationID("default", "tickets.create", onceward.Key(fmt.Sprintf("%d-%d", i, k))))
		}
	}
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("ids=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			var at atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				want := make([]onceward.OperationID, size)
				for pb.Next() {
					from := at.Add(1) * 7919
					for i := range want {
						want[i] = ids[(from+int64(i)*104729)%stored]
					}
					ops, err := s.Load(b.Context(), want)
					if err != nil || ops[0] == nil {
						b.Errorf("load: %v, %v", ops, err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "operations/s")
		})
	}
}

// BenchmarkOpen measures a start on a ledger of a million operations, made
// before the clock runs (a minute or so).
func BenchmarkOpen(b *testing.B) {
	const stored, size = 1_000_000, 5000
	path := filepath.Join(b.TempDir(), "ledger.db")
	s := open(b, path, sqlite.Options{})
	for i := range stored / size {
		cycle(b, s, fmt.Sprint(i), size)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run(fmt.Sprintf("operations=%d", stored), func(b *testing.B) {
		for b.Loop() {
			s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Load(b.Context(), []onceward.OperationID{claim("0-0").ID}); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	s = open(b, path, sqlite.Options{})
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("claim and outcome among them/batch=%d", size), func(b *testing.B) {
			n := 0
			for b.Loop() {
				cycle(b, s, fmt.Sprintf("more-%d-%d-%d", size, b.N, time.Now().UnixNano()), size)
				n++
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "operations/s")
		})
	}
}
