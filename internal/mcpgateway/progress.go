package mcpgateway

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// progressQueue is how much of what a provider says waits for a slow caller.
const progressQueue = 16

// teller tells one caller, under its own token, how its operation goes on: what
// the provider says, and now and then that it is under way.
//
// Invariant: the values rise, as the protocol demands, though those of the
// provider and ours are on different scales.
type teller struct {
	report func(ctx context.Context, p onceward.Progress) error
	said   chan onceward.Progress
	last   float64
	base   float64 // what the provider's values are added to
	total  float64
	heard  bool // the provider said something
}

// reportProgress tells a caller that asked for it that the operation goes on:
// each that joined hears under its own token. listen hears the provider; stop
// returns once nothing more is said.
func (c *call) reportProgress(ctx context.Context) (listen func(onceward.Progress), stop func()) {
	if c.report == nil {
		return nil, func() {}
	}
	t := &teller{report: c.report, said: make(chan onceward.Progress, progressQueue)}
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { t.run(ctx, c.opts.ProgressEvery, over) })
	listen = func(p onceward.Progress) {
		select {
		case t.said <- p:
		default: // the caller is slow: it hears the next
		}
	}
	return listen, func() { close(over); done.Wait() }
}

func (t *teller) run(ctx context.Context, every time.Duration, over <-chan struct{}) {
	began := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var next onceward.Progress
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case p := <-t.said:
			next = t.theirs(p)
		case now := <-tick.C:
			next = t.ours(now.Sub(began))
		}
		if next.Done <= t.last {
			continue
		}
		t.last = next.Done
		if t.report(ctx, next) != nil {
			return
		}
	}
}

// theirs is what the provider says, behind what was said before it.
func (t *teller) theirs(p onceward.Progress) onceward.Progress {
	if !t.heard {
		t.heard, t.base = true, t.last
	}
	p.Done += t.base
	if t.total = 0; p.Total > 0 {
		p.Total += t.base
		t.total = p.Total
	}
	return p
}

// ours says that the operation is under way. Before the provider says anything,
// it counts seconds; there is no total, for nobody knows the end.
func (t *teller) ours(since time.Duration) onceward.Progress {
	p := onceward.Progress{Done: since.Seconds(), Message: "the operation is under way"}
	if t.heard {
		p.Done, p.Total = math.Nextafter(t.last, math.Inf(1)), t.total
	}
	return p
}
