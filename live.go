package onceward

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// liveAttempts are the attempts that this process is working on.
//
// Invariant: a process never expires its own live attempts.
// Invariant: whatever this process claimed and has not recorded is at or after
// the low-water mark, so that its first attempts can be found if it dies.
type liveAttempts struct {
	mu      sync.Mutex
	marks   map[*liveMark]struct{}
	count   map[OperationID]int     // marks per operation
	lost    map[OperationID]loss    // outcomes that could not be recorded
	stalled map[*Operation]ToolName // outcomes whose record failed and is tried again
	told    time.Time               // the newest low-water mark that went into a beat
}

// liveMark is one claim or attempt of this process. Two requests that race for
// one identity have a mark each.
type liveMark struct {
	id      OperationID
	created time.Time // of the operation
}

// loss is an outcome that could not be recorded.
type loss struct {
	created time.Time // of the operation
	tool    ToolName
}

// add marks an operation. overtaken says that a beat has told of a low-water
// mark past its creation: that beat would not lead to it.
func (a *liveAttempts) add(op *Operation) (m *liveMark, overtaken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.marks == nil {
		a.marks, a.count, a.lost = map[*liveMark]struct{}{}, map[OperationID]int{}, map[OperationID]loss{}
	}
	m = &liveMark{op.ID, op.CreatedAt}
	a.marks[m] = struct{}{}
	a.count[op.ID]++
	return m, op.CreatedAt.Before(a.told)
}

func (a *liveAttempts) remove(m *liveMark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.marks, m)
	if a.count[m.id]--; a.count[m.id] == 0 {
		delete(a.count, m.id)
	}
}

// lose keeps the low-water mark for an outcome that could not be recorded.
func (a *liveAttempts) lose(op *Operation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost[op.ID] = loss{op.CreatedAt, op.Tool}
}

// found forgets a lost one: it is settled otherwise now.
func (a *liveAttempts) found(id OperationID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.lost, id)
}

// stall notes that an outcome could not be recorded yet; over takes that back.
func (a *liveAttempts) stall(op *Operation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stalled == nil {
		a.stalled = map[*Operation]ToolName{}
	}
	a.stalled[op] = op.Tool
}

func (a *liveAttempts) over(op *Operation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.stalled, op)
}

// losses lists the lost ones.
func (a *liveAttempts) losses() map[OperationID]loss {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.lost)
}

func (a *liveAttempts) has(id OperationID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count[id] > 0
}

// lowWater is the creation time of the oldest operation that this process has
// not recorded, or now if there is none: what the next beat tells.
func (a *liveAttempts) lowWater(now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	low := now
	for m := range a.marks {
		if m.created.Before(low) {
			low = m.created
		}
	}
	for _, lost := range a.lost {
		if lost.created.Before(low) {
			low = lost.created
		}
	}
	if low.After(a.told) {
		a.told = low
	}
	return low
}

// inflight counts running dispatches. Unlike a sync.WaitGroup it may be waited
// for while new ones start.
type inflight struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n is 0; nil while nobody waits
}

func (f *inflight) add() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
}

func (f *inflight) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func (f *inflight) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n--; f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// wait returns a channel that is closed once nothing is running.
func (f *inflight) wait() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	return f.idle
}

// crew runs functions beside their callers, each at once, on a goroutine of its
// own, which waits for the next one afterwards.
//
// Why not a new goroutine each time: an attempt needs a deep stack, and to grow
// a new one to it takes longer than to hand the work over (docs/performance.md).
type crew struct {
	work    chan func() // taken by whoever waits
	waiting atomic.Int32
}

// crewMax bounds how many goroutines wait for work.
const crewMax = 64

// do runs fn. Whoever waits for work stops with the context.
func (c *crew) do(ctx context.Context, fn func()) {
	select {
	case c.work <- fn:
	default:
		go c.serve(ctx, fn)
	}
}

func (c *crew) serve(ctx context.Context, fn func()) {
	for {
		fn()
		if c.waiting.Add(1) > crewMax {
			c.waiting.Add(-1)
			return
		}
		select {
		case fn = <-c.work:
			c.waiting.Add(-1)
		case <-ctx.Done():
			c.waiting.Add(-1)
			return
		}
	}
}
