package relay

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"

	"github.com/onceward/onceward"
)

var seed = maphash.MakeSeed()

// errLeaseOver: whoever takes the lease next publishes the rest.
var errLeaseOver = errors.New("the lease of the sink is over")

// publish offers events, each key's in order, in as many lanes as there are.
//
// Invariant: an event is not offered before the one before it of its key was
// taken.
func (r *Relay) publish(ctx context.Context, events []*onceward.OutboxEvent) []result {
	out := make([]result, len(events))
	lanes := make([][]int, min(r.opts.Lanes, max(1, len(events))))
	for i, e := range events {
		lane := i % len(lanes)
		if e.Key != "" {
			lane = int(maphash.String(seed, e.Key) % uint64(len(lanes)))
		}
		lanes[lane] = append(lanes[lane], i)
	}
	var all sync.WaitGroup
	for _, lane := range lanes {
		if len(lane) > 0 {
			all.Go(func() { r.lane(ctx, events, lane, out) })
		}
	}
	all.Wait()
	return out
}

// lane offers the events of one lane, one after another. It ends with the first
// one that did not reach the destination.
func (r *Relay) lane(ctx context.Context, events []*onceward.OutboxEvent, lane []int, out []result) {
	var stopped map[string]bool
	for n, i := range lane {
		e := events[i]
		if e.Key != "" && stopped[e.Key] {
			out[i] = result{fate: behind}
			continue
		}
		err := r.offer(ctx, e)
		out[i] = result{classify(err), err}
		switch out[i].fate {
		case delivered, behind:
		case refused:
			if stopped == nil {
				stopped = map[string]bool{}
			}
			stopped[e.Key] = true
		case unreachable:
			for _, rest := range lane[n+1:] {
				out[rest] = result{unreachable, err}
			}
			return
		}
	}
}

// offer publishes one event. Why the look at the lease: a process that stood still
// must not go on beside the one that took over.
func (r *Relay) offer(ctx context.Context, e *onceward.OutboxEvent) error {
	if !r.opts.Clock.Now().Before(r.until) {
		return errLeaseOver
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	return r.opts.Publisher.Publish(bounded, e)
}
