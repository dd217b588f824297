package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opened {
		var offset atomic.Int64
		s := memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
		t.Cleanup(func() { _ = s.Close() })
		return storetest.Opened{
			Store:      s,
			Again:      func(*testing.T) onceward.Store { return s.Again() },
			Advance:    func(d time.Duration) { offset.Add(int64(d)) },
			SideBodies: func(*testing.T) int { return s.SideBodies() },
			Journal:    func(*testing.T) [][]store.Entry { return s.Journal() },
		}
	})
}
