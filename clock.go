package onceward

import (
	"sync"
	"time"
)

// Clock is this process's clock. The machine never reads it.
type Clock interface {
	// Now must carry a monotonic reading, or be one that only moves forward.
	Now() time.Time
	// After returns a channel that receives once d has passed.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the operating system's clock.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// After implements Clock.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// clockJump is how far the database's clock may differ from what our monotonic
// clock expects before leases and absence proofs are not trusted for a while.
const clockJump = time.Second

// ledgerClock is the database's clock as this process knows it: the database's
// now at the last commit, carried on by our own monotonic clock.
type ledgerClock struct {
	local Clock

	mu        sync.Mutex
	base      time.Time // database's now ...
	at        time.Time // ... at this local instant
	suspended time.Time // local instant until which expiry and absence are not believed
	suspend   time.Duration
}

// now returns ledger time, to the microsecond.
func (c *ledgerClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nowLocked(c.local.Now())
}

func (c *ledgerClock) nowLocked(local time.Time) time.Time {
	if c.base.IsZero() {
		return local.UTC().Truncate(time.Microsecond).Round(0)
	}
	return c.base.Add(local.Sub(c.at)).UTC().Truncate(time.Microsecond)
}

// observe takes the database's now from an exchange that began and ended at
// these local instants. The database's clock is, at the end of it, between that
// now and that now plus the exchange's duration; ours is left alone inside of
// these bounds, so that it does not go back for a slow commit. A difference
// beyond clockJump is a jump (failover, stepped clock): it suspends lease expiry
// and absence proofs for the longest lease plus settle in force.
func (c *ledgerClock) observe(database, began, ended time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	low, high := database, database.Add(ended.Sub(began))
	if c.base.IsZero() {
		c.base, c.at = low, ended
		return
	}
	now := c.nowLocked(ended)
	switch {
	case now.Before(low):
		c.jumped(low.Sub(now), ended)
		c.base, c.at = low, ended
	case now.After(high):
		c.jumped(now.Sub(high), ended)
		c.base, c.at = high, ended
	}
}

func (c *ledgerClock) jumped(by time.Duration, local time.Time) {
	if by > clockJump {
		c.suspended = local.Add(c.suspend)
	}
}

// trusted reports whether expiry and absence may be believed now.
func (c *ledgerClock) trusted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.suspended.IsZero() || !c.local.Now().Before(c.suspended)
}

// setSuspend sets how long a jump suspends.
func (c *ledgerClock) setSuspend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspend = max(c.suspend, d)
}

// localAt converts a ledger instant to this process's clock.
func (c *ledgerClock) localAt(ledger time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	local := c.local.Now()
	return local.Add(ledger.Sub(c.nowLocked(local)))
}
