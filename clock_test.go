package onceward

import (
	"testing"
	"time"
)

// standing is a clock that moves when it is told.
type standing struct{ now time.Time }

func (c *standing) Now() time.Time { return c.now }

func (c *standing) After(time.Duration) <-chan time.Time { return nil }

// A database whose clock is ahead of ours by an hour answers after `slow`, and
// read its clock at the start, in the middle or at the end of that. Whatever it
// was, its true time is within what the process takes for possible, a lease is
// given up before its end, and a quick exchange afterwards makes the range narrow.
func TestWhatASlowExchangeLeavesUnknownIsNeitherLeasedNorExpired(t *testing.T) {
	t.Parallel()
	const slow = 10 * time.Second
	const offset = time.Hour
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, read := range []time.Duration{0, slow / 2, slow} {
		for _, before := range []time.Duration{0, time.Minute} { // of a quick exchange; 0: none
			local := &standing{now: start}
			c := &ledgerClock{local: local}
			if before > 0 {
				c.observe(local.now.Add(offset), local.now, local.now)
				local.now = local.now.Add(before)
			}
			began := local.now
			local.now = began.Add(slow)
			c.observe(began.Add(read).Add(offset), began, local.now)
			truth := local.now.Add(offset)
			if c.earliest().After(truth) || c.latest().Before(truth) {
				t.Fatalf("read after %s: it is %s, and taken for %s to %s", read, truth, c.earliest(), c.latest())
			}
			if wide := c.latest().Sub(c.earliest()); before > 0 && wide > time.Second {
				t.Errorf("read after %s: a slow exchange made a known clock unknown by %s", read, wide)
			}
			lease := c.now().Add(30 * time.Second)
			if end := c.localAt(lease); end.Add(offset).After(lease) {
				t.Errorf("read after %s: its holder has a lease until %s, and trusts it until %s", read, lease, end.Add(offset))
			}
			c.observe(truth, local.now, local.now)
			if c.earliest() != truth || c.latest() != truth {
				t.Errorf("read after %s: after a quick exchange it is taken for %s to %s", read, c.earliest(), c.latest())
			}
			local.now = local.now.Add(time.Hour)
			if c.latest().Sub(c.earliest()) < time.Second {
				t.Error("an hour without an exchange leaves nothing unknown")
			}
		}
	}
}
