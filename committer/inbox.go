package committer

import (
	"context"
	"sync"

	"github.com/onceward/onceward"
)

// Inbox implements onceward.InboxWriter: deliveries that come together are
// recorded in one transaction. It needs no closing: what was accepted is being
// written by whoever waits for it.
type Inbox struct {
	store onceward.InboxStore

	mu      sync.Mutex
	queue   []*arrival
	waiting int  // events in the queue
	busy    bool // a batch is being written
}

// arrival is one delivery's events and its caller.
type arrival struct {
	events   []onceward.InboxEvent
	recorded []bool
	err      error
	ready    chan struct{}
}

// NewInbox returns an inbox over a store.
func NewInbox(store onceward.InboxStore) *Inbox { return &Inbox{store: store} }

// RecordEvents implements onceward.InboxWriter. A lone caller writes at once; who
// comes while a batch is being written goes with the next. A context that ends
// does not take a queued delivery back: CodeMayBeRecorded.
func (i *Inbox) RecordEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	a := &arrival{events: events, ready: make(chan struct{})}
	first, err := i.push(a)
	if err != nil {
		return nil, err
	}
	if first {
		i.write([]*arrival{a})
		go i.drain()
	}
	select {
	case <-a.ready:
		return a.recorded, a.err
	case <-ctx.Done():
		return nil, &onceward.Error{Code: onceward.CodeMayBeRecorded, Op: "record events", Message: "stopped waiting for the commit", Hint: "deliver it again", Err: ctx.Err()}
	}
}

// Waiting is how many events wait for the next batch.
func (i *Inbox) Waiting() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.waiting
}

// push queues a delivery, or says that its caller is the first and writes it.
func (i *Inbox) push(a *arrival) (first bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.busy {
		i.busy = true
		return true, nil
	}
	if i.waiting+len(a.events) > DefaultQueueMax {
		return false, &onceward.Error{Code: onceward.CodeOverloaded, Op: "record events", Message: "too many events wait for the disk; nothing was recorded", Hint: "deliver it again in a second"}
	}
	i.queue, i.waiting = append(i.queue, a), i.waiting+len(a.events)
	return false, nil
}

// drain writes what gathered meanwhile, until nothing is left.
func (i *Inbox) drain() {
	for batch := i.take(); batch != nil; batch = i.take() {
		i.write(batch)
	}
}

// take removes what goes together, oldest first: about batchMax events, and none
// of them twice. Nil: nothing is left.
func (i *Inbox) take() []*arrival {
	i.mu.Lock()
	defer i.mu.Unlock()
	var batch, rest []*arrival
	seen := map[onceward.InboxID]bool{}
	n := 0
	for at, a := range i.queue {
		if n > 0 && n+len(a.events) > batchMax {
			rest = append(rest, i.queue[at:]...)
			break
		}
		if seenAny(seen, a.events) {
			rest = append(rest, a)
			continue
		}
		batch, n = append(batch, a), n+len(a.events)
	}
	i.queue, i.waiting, i.busy = rest, i.waiting-n, batch != nil
	return batch
}

// seenAny notes the events of a delivery, unless one of them was noted before.
func seenAny(seen map[onceward.InboxID]bool, events []onceward.InboxEvent) bool {
	for i := range events {
		if seen[events[i].ID] {
			return true
		}
	}
	for i := range events {
		seen[events[i].ID] = true
	}
	return false
}

// rerunsMax is how often a batch is written again whose commit was lost: its
// tokens make that harmless.
const rerunsMax = 3

// write records a batch and answers everybody in it.
func (i *Inbox) write(batch []*arrival) {
	var events []onceward.InboxEvent
	for _, a := range batch {
		events = append(events, a.events...)
	}
	var recorded []bool
	var err error
	for range rerunsMax {
		if recorded, err = i.store.PutEvents(context.Background(), events); !onceward.Is(err, onceward.CodeMayBeRecorded) {
			break
		}
	}
	if onceward.Poisoned(err) && len(batch) > 1 { // one bad event must not fail its neighbours
		i.write(batch[:len(batch)/2])
		i.write(batch[len(batch)/2:])
		return
	}
	for _, a := range batch {
		if a.err = err; err == nil {
			a.recorded, recorded = recorded[:len(a.events)], recorded[len(a.events):]
		}
		close(a.ready)
	}
}
