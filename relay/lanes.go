package relay

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/onceward/onceward"
)

// errLeaseOver: whoever takes the lease next publishes the rest.
var errLeaseOver = errors.New("the lease of the sink is over")

// round is one offer of events, each key's in order, of many keys side by side.
//
// Invariant: an event is not offered before the one before it of its key was
// taken. Why not several of one key on their way: the destination may take the
// second and lose the first, and those who read would see them in that order.
type round struct {
	relay  *Relay
	events []*onceward.OutboxEvent
	heads  []int // the first event of each key, and each event without one
	next   []int // the event after that one of its key; 0: there is none
	out    []result

	begun atomic.Int64          // of heads
	away  atomic.Pointer[error] // why the destination is out of reach; nil: it is not
}

// publish offers events, and says what became of each.
func (r *Relay) publish(ctx context.Context, events []*onceward.OutboxEvent) []result {
	o := &round{relay: r, events: events, next: make([]int, len(events)), out: make([]result, len(events))}
	last := make(map[string]int, len(events))
	for i, e := range events {
		if before, found := last[e.Key]; found && e.Key != "" {
			o.next[before] = i
		} else {
			o.heads = append(o.heads, i)
		}
		last[e.Key] = i
	}
	if b, together := r.opts.Publisher.(Batcher); together {
		o.batches(ctx, b)
		return o.out
	}
	var all sync.WaitGroup
	for range min(r.opts.Lanes, len(o.heads)) {
		all.Go(func() { o.lane(ctx) })
	}
	all.Wait()
	return o.out
}

// lane offers the events of one key after another's.
func (o *round) lane(ctx context.Context) {
	for {
		n := int(o.begun.Add(1)) - 1
		if n >= len(o.heads) {
			return
		}
		for i, more := o.heads[n], true; more; i = o.next[i] {
			more = o.note(i, o.offer(ctx, o.events[i]))
		}
	}
}

// batches offers what may be under way together at once, then what may after that.
func (o *round) batches(ctx context.Context, to Batcher) {
	for waiting := o.heads; len(waiting) > 0; {
		now := waiting[:min(len(waiting), o.relay.opts.Lanes)]
		waiting = waiting[len(now):]
		events := make([]*onceward.OutboxEvent, len(now))
		for n, i := range now {
			events[n] = o.events[i]
		}
		for n, err := range o.offerAll(ctx, to, events) {
			if o.note(now[n], err) {
				waiting = append(waiting, o.next[now[n]])
			}
		}
	}
}

// note keeps what became of an event. more: the one behind it of its key is there,
// and may be offered now. Once one did not reach the destination, nothing more is.
func (o *round) note(i int, err error) (more bool) {
	o.out[i] = result{classify(err), err}
	rest := result{fate: behind}
	switch out := &o.out[i]; out.fate {
	case delivered:
		return o.next[i] != 0
	case unreachable:
		o.away.CompareAndSwap(nil, &out.err)
		rest = *out
	case refused, behind:
	}
	for i = o.next[i]; i != 0; i = o.next[i] {
		o.out[i] = rest
	}
	return false
}

// offerable says why nothing may be offered now. Why the look at the lease: a
// process that stood still must not go on beside the one that took over.
func (o *round) offerable(ctx context.Context) error {
	if away := o.away.Load(); away != nil {
		return *away
	}
	if !o.relay.opts.Clock.Now().Before(o.relay.until) {
		return errLeaseOver
	}
	return ctx.Err()
}

// offer publishes one event.
func (o *round) offer(ctx context.Context, e *onceward.OutboxEvent) error {
	if err := o.offerable(ctx); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, o.relay.opts.Timeout)
	defer cancel()
	return o.relay.opts.Publisher.Publish(bounded, e)
}

// offerAll publishes events of different keys.
func (o *round) offerAll(ctx context.Context, to Batcher, events []*onceward.OutboxEvent) []error {
	if err := o.offerable(ctx); err != nil {
		return slices.Repeat([]error{err}, len(events))
	}
	bounded, cancel := context.WithTimeout(ctx, o.relay.opts.Timeout)
	defer cancel()
	return to.PublishBatch(bounded, events)
}
