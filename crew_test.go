package onceward

import (
	"context"
	"sync"
	"testing"
	"time"
)

func TestWorkThatMeetsABusyCrewStartsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := crew{work: make(chan func())}
	var all sync.WaitGroup
	release := make(chan struct{})
	for range 3 * crewMax {
		all.Add(1)
		started := make(chan struct{})
		c.do(ctx, func() {
			defer all.Done()
			close(started)
			<-release
		})
		<-started
	}
	close(release)
	all.Wait()
	settleCrew(t, &c, func(n int32) bool { return n == crewMax })
}

func TestAGoroutineOfTheCrewIsUsedAgainAndEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := crew{work: make(chan func())}
	for range 200 {
		done := make(chan struct{})
		c.do(ctx, func() { close(done) })
		<-done
		settleCrew(t, &c, func(n int32) bool { return n > 0 })
	}
	if n := c.waiting.Load(); n > crewMax/2 { // one that is about to wait may be missed now and then
		t.Errorf("200 pieces of work, one after the other, left %d goroutines", n)
	}
	cancel()
	settleCrew(t, &c, func(n int32) bool { return n == 0 })
}

// settleCrew waits until as many wait for work as they should.
func settleCrew(t *testing.T, c *crew, right func(waiting int32) bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !right(c.waiting.Load()); {
		if time.Now().After(until) {
			t.Fatalf("%d wait for work", c.waiting.Load())
		}
	}
}
