package sqlite_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opened {
		var offset atomic.Int64
		opts := sqlite.Options{Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }}
		path := filepath.Join(t.TempDir(), "ledger.db")
		s := open(t, path, opts)
		return storetest.Opened{
			Store:      s,
			Again:      func(t *testing.T) onceward.Store { return open(t, path, opts) },
			Advance:    func(d time.Duration) { offset.Add(int64(d)) },
			SideBodies: func(t *testing.T) int { return sqlite.SideBodies(t, s) },
			Journal:    func(t *testing.T) [][]store.Entry { return sqlite.Journal(t, s) },
			Begin:      func(t testing.TB) (onceward.Join, func() error, func() error) { return begin(t, path) },
			OneWriter:  true,
		}
	})
}

// open opens a ledger and closes it when the test ends.
func open(t testing.TB, path string, opts sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close %s: %v", path, err)
		}
	})
	return s
}
