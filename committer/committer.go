package committer

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Options bound a Committer. Zero fields take the defaults.
type Options struct {
	QueueMax int            // changes that may wait; default DefaultQueueMax
	Clock    onceward.Clock // nil: the system's
	Meter    onceward.Meter // nil: nobody is told
}

// DefaultQueueMax is how many changes may wait unless the options say.
const DefaultQueueMax = 4096

const (
	// batchMax is how many changes or reads go together. Above about 256 a batch
	// gains no throughput and costs latency (docs/performance.md).
	batchMax = 256
	// retryFor is how long a batch whose commit was lost is run again before its
	// callers are told CodeMayBeRecorded.
	retryFor = 5 * time.Second
)

// Committer implements onceward.Writer. Close it before the store.
type Committer struct {
	store onceward.Store
	opts  Options
	reads *reader

	entries sync.Pool // of *entry, which nobody waits for any more

	mu     sync.Mutex
	queue  []*entry
	busy   bool // a batch is being committed, by the loop or by a lone caller
	closed bool
	ready  chan struct{} // holds one token while the queue waits for the loop
	done   chan struct{}

	changes []onceward.Change // of the batch that is being committed; whoever set busy has it
}

// entry is one queued change and its caller.
type entry struct {
	change *onceward.Change
	out    onceward.Committed
	err    error
	ready  chan struct{} // gets one token when the caller may read out and err
}

// enter takes an entry for a change.
func (c *Committer) enter(change *onceward.Change) *entry {
	e, ok := c.entries.Get().(*entry)
	if !ok {
		e = &entry{ready: make(chan struct{}, 1)}
	}
	e.change = change
	return e
}

// leave gives an entry back. One whose caller stopped waiting is not given back:
// its commit still writes to it.
func (c *Committer) leave(e *entry) {
	*e = entry{ready: e.ready}
	c.entries.Put(e)
}

// New starts a committer over a store.
func New(store onceward.Store, opts Options) *Committer {
	if opts.QueueMax <= 0 {
		opts.QueueMax = DefaultQueueMax
	}
	if opts.Clock == nil {
		opts.Clock = onceward.SystemClock{}
	}
	if opts.Meter == nil {
		opts.Meter = onceward.NoMeter{}
	}
	c := &Committer{store: store, opts: opts, reads: newReader(store), ready: make(chan struct{}, 1), done: make(chan struct{})}
	go c.run()
	return c
}

// Write implements onceward.Writer: it queues the change and waits for the
// commit that carries it. A context that ends does not take a queued change
// back: the caller is answered CodeMayBeRecorded and has to ask again.
func (c *Committer) Write(ctx context.Context, change *onceward.Change) (onceward.Committed, error) {
	e := c.enter(change)
	alone, err := c.push(e, ctx.Done() == nil)
	if err != nil {
		c.leave(e)
		return onceward.Committed{}, err
	}
	if alone {
		c.commitAlone(e)
	}
	select {
	case <-e.ready:
		defer c.leave(e)
		if e.err != nil {
			return onceward.Committed{}, e.err
		}
		return e.out, e.out.Err
	case <-ctx.Done():
		return onceward.Committed{}, &onceward.Error{Code: onceward.CodeMayBeRecorded, Op: "commit operation", OperationID: change.After.ID,
			Message: "stopped waiting for the commit", Hint: "ask again with the same key", Err: ctx.Err()}
	}
}

// Read implements onceward.Writer: concurrent reads share one query.
func (c *Committer) Read(ctx context.Context, id onceward.OperationID) (*onceward.Operation, error) {
	return c.reads.read(ctx, id)
}

// Depth is how many changes wait now.
func (c *Committer) Depth() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// Gauges tells a meter how many changes wait.
func (c *Committer) Gauges(m onceward.Meter) {
	m.Set(onceward.MetricQueue, []onceward.Sample{{Value: float64(c.Depth())}})
}

// Close commits what is queued and stops. Later writes get CodeLedgerUnavailable.
func (c *Committer) Close() {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	c.mu.Unlock()
	if !already {
		c.signal()
	}
	<-c.done
}

// push queues an entry. If nobody commits and nobody waits, a patient caller,
// one that no context calls away, is to commit the entry itself and then call
// free: alone is true, and the two hand-overs to the loop and back are saved.
func (c *Committer) push(e *entry, patient bool) (alone bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return false, &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: "commit operation", Message: "the ledger is closing", Hint: "ask another replica, or again later"}
	case len(c.queue) >= c.opts.QueueMax:
		return false, &onceward.Error{Code: onceward.CodeOverloaded, Op: "commit operation", Message: "too many changes wait for the disk; nothing was recorded", Hint: "ask again in a second with the same key"}
	}
	if patient && !c.busy && len(c.queue) == 0 {
		c.busy = true
		return true, nil
	}
	c.queue = append(c.queue, e)
	if !c.busy {
		c.signal()
	}
	return false, nil
}

func (c *Committer) commitAlone(e *entry) {
	defer c.free() // whatever becomes of the caller, the others go on
	c.commit([]*entry{e})
}

// free ends a commit, and lets the loop have what gathered behind it.
func (c *Committer) free() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	if len(c.queue) > 0 || c.closed {
		c.signal()
	}
}

func (c *Committer) signal() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

func (c *Committer) run() {
	defer close(c.done)
	for range c.ready {
		for {
			letOthersQueue()
			batch, closed := c.take()
			if len(batch) == 0 {
				if closed {
					return
				}
				break
			}
			c.commit(batch)
			c.free()
		}
	}
}

// letOthersQueue lets whoever can run now queue up as well before a batch is
// taken, above all those whom the last one woke. It costs nothing where nobody
// can, and a turn of the scheduler where the process has more to do than
// processors.
func letOthersQueue() { runtime.Gosched() }

// take removes at most batchMax entries from the queue, oldest first, and at
// most one per operation: two changes of one row in one statement would lose
// one of them silently, so the second waits for the next batch.
//
// While a lone caller commits it takes nothing and does not call it the end.
func (c *Committer) take() (batch []*entry, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return nil, false
	}
	c.busy = len(c.queue) > 0
	if len(c.queue) <= 1 {
		batch, c.queue = c.queue, nil
		return batch, c.closed
	}
	rows := make(map[onceward.OperationID]struct{}, min(len(c.queue), batchMax))
	rest := c.queue[:0:0]
	for i, e := range c.queue {
		if len(batch) == batchMax {
			rest = append(rest, c.queue[i:]...)
			break
		}
		if clash(rows, e.change) {
			rest = append(rest, e)
			continue
		}
		batch = append(batch, e)
	}
	c.queue = rest
	return batch, c.closed
}

// clash notes the rows that a change touches, unless one is taken already.
func clash(rows map[onceward.OperationID]struct{}, ch *onceward.Change) bool {
	if _, taken := rows[ch.After.ID]; taken {
		return true
	}
	for _, id := range ch.Aliases {
		if _, taken := rows[id]; taken {
			return true
		}
	}
	rows[ch.After.ID] = struct{}{}
	for _, id := range ch.Aliases {
		rows[id] = struct{}{}
	}
	return false
}
