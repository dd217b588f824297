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

// clockDrift is how fast two clocks may part between two exchanges: by one part
// in so many. It is more than any time service slews.
const clockDrift = 1000

// ledgerClock is the database's clock as this process knows it: the database's
// now at the last commit, carried on by our own monotonic clock.
//
// An exchange that takes long says little: the database's clock was read
// somewhere in it. So what is known is a range. now is one instant in it, for
// whatever is written down. Whoever holds a lease takes the range's late end
// (localAt, latest), and whoever ends another's lease or believes an absence
// takes its early end (earliest): a process with a poor notion of the time gives
// up its own lease early, and never another's.
type ledgerClock struct {
	local Clock

	mu        sync.Mutex
	base      time.Time     // database's now ...
	at        time.Time     // ... at this local instant
	known     time.Time     // local instant of the last exchange, at which ...
	behind    time.Duration // ... now may have been so much too early
	ahead     time.Duration // ... or so much too late
	suspended time.Time     // local instant until which expiry and absence are not believed
	suspend   time.Duration
	since     steady
}

// steady is an instant, local and by ledger time, since which the database's
// clock is known not to have jumped.
type steady struct{ local, ledger time.Time }

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
// and absence proofs for as long as an attempt of any contract in force may take
// to show.
func (c *ledgerClock) observe(database, began, ended time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	low, high := database, database.Add(ended.Sub(began))
	if c.base.IsZero() {
		c.base, c.at, c.known, c.behind = low, ended, ended, high.Sub(low)
		c.since = steady{ended, low}
		return
	}
	behind, ahead := c.boundsLocked(ended)
	now := c.nowLocked(ended)
	switch {
	case now.Before(low):
		c.set(low, ended, low.Sub(now))
		now, behind, ahead = low, high.Sub(low), 0
	case now.After(high):
		c.set(high, ended, now.Sub(high))
		now, behind, ahead = high, 0, high.Sub(low)
	}
	c.known, c.behind, c.ahead = ended, min(behind, high.Sub(now)), min(ahead, now.Sub(low))
}

// boundsLocked is how much too early and too late now may be.
func (c *ledgerClock) boundsLocked(local time.Time) (behind, ahead time.Duration) {
	if c.base.IsZero() {
		return 0, 0
	}
	drift := local.Sub(c.known) / clockDrift
	return c.behind + drift, c.ahead + drift
}

// earliest is what the database's clock shows at least.
func (c *ledgerClock) earliest() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	local := c.local.Now()
	_, ahead := c.boundsLocked(local)
	return c.nowLocked(local).Add(-ahead).Truncate(time.Microsecond)
}

// latest is what the database's clock shows at most.
func (c *ledgerClock) latest() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	local := c.local.Now()
	behind, _ := c.boundsLocked(local)
	return c.nowLocked(local).Add(behind + time.Microsecond - 1).Truncate(time.Microsecond)
}

func (c *ledgerClock) set(database, local time.Time, by time.Duration) {
	c.base, c.at = database, local
	if by > clockJump {
		c.suspended = local.Add(c.suspend)
		c.since = steady{local, database}
	}
}

// provesAbsence reports whether a look-up that saw nothing may be believed for
// the operation. Ledger times from before a jump, or from before this process
// knew the clock, say nothing of how long ago that is: such an attempt has to be
// watched for as long as it may take to show.
func (c *ledgerClock) provesAbsence(op *Operation) bool {
	if !c.trusted() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	watched := c.local.Now().Sub(c.since.local)
	for i := range op.Attempts {
		a := &op.Attempts[i]
		if a.Status == StatusOpen && a.StartedAt.Before(c.since.ledger) && watched < op.Policy.showsWithin() {
			return false
		}
	}
	return true
}

// passed reports whether so much time has surely gone by since a ledger time. What
// was written before a jump, or before this process knew the clock, may be of a
// moment ago: it has to be watched for as long.
func (c *ledgerClock) passed(since time.Time, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	local := c.local.Now()
	if since.Before(c.since.ledger) {
		return local.Sub(c.since.local) >= d
	}
	return !c.nowLocked(local).Before(since.Add(d))
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

// localAt is the instant of this process's clock up to which the database's clock
// surely shows less than that: for what has to be over by then.
func (c *ledgerClock) localAt(ledger time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	local := c.local.Now()
	behind, _ := c.boundsLocked(local)
	left := ledger.Sub(c.nowLocked(local)) - behind
	return local.Add(left - max(left, 0)/clockDrift)
}
