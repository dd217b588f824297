package oncewardtest

import (
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Clock is a clock that moves only by Advance. The zero value is not usable;
// make one with NewClock.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []timer
	set    []chan struct{} // told of the next timer
}

type timer struct {
	at time.Time
	ch chan time.Time
}

// NewClock returns a clock that stands at a fixed instant.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

// Now implements onceward.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After implements onceward.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- c.now
		return ch
	}
	c.timers = append(c.timers, timer{c.now.Add(d), ch})
	for _, told := range c.set {
		close(told)
	}
	c.set = nil
	return ch
}

// Advance moves the clock and fires what has come due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	rest := c.timers[:0]
	for _, t := range c.timers {
		if t.at.After(c.now) {
			rest = append(rest, t)
			continue
		}
		t.ch <- c.now
	}
	c.timers = rest
}

// NextTimer is closed once somebody begins to wait for this clock after the
// call. With it a test moves the clock only when that has a point:
//
//	for next := clock.NextTimer(); ; {
//		select {
//		case <-done:
//			return
//		case <-next:
//			next = clock.NextTimer()
//			clock.Advance(time.Second)
//		}
//	}
func (c *Clock) NextTimer() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := make(chan struct{})
	c.set = append(c.set, told)
	return told
}

// Off is the clock of a machine that shows another time by d. It moves with
// this one.
func (c *Clock) Off(d time.Duration) onceward.Clock { return offClock{c, d} }

type offClock struct {
	*Clock
	by time.Duration
}

// Now implements onceward.Clock.
func (c offClock) Now() time.Time { return c.Clock.Now().Add(c.by) }
