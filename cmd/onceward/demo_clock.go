package main

import (
	"context"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// pastClock is the system's clock some time ago. It goes on as that one does, and
// faster when it is told to pass some time, until it is as late.
type pastClock struct {
	mu     sync.Mutex
	behind time.Duration
}

func (c *pastClock) lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behind
}

// Now implements onceward.Clock.
func (c *pastClock) Now() time.Time { return time.Now().Add(-c.lag()) }

// After implements onceward.Clock. Time that passes at once wakes nobody: whoever
// has it pass steps the loops by hand.
func (c *pastClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// pass moves the clock on; it never overtakes the system's.
func (c *pastClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = max(0, c.behind-d)
}

// pastProvider has what another provider sends happen at a clock's time: it puts
// the same bytes on the wire, and its evidence has the clock's times.
type pastProvider struct {
	onceward.Provider
	clock *pastClock
}

// Send implements onceward.Provider.
func (p pastProvider) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	behind := p.clock.lag()
	if !opts.NotAfter.IsZero() {
		opts.NotAfter = opts.NotAfter.Add(behind)
	}
	ev := p.Provider.Send(ctx, req, opts)
	for _, at := range []*time.Time{&ev.StartedAt, &ev.EndedAt, &ev.LastByteAt} {
		if !at.IsZero() {
			*at = at.Add(-behind)
		}
	}
	return ev
}
