package onceward

import (
	"sync"
	"time"
)

// liveAttempts are the attempts that this process is working on.
//
// Invariant: a process never expires its own live attempts.
type liveAttempts struct {
	mu sync.Mutex
	by map[OperationID]liveAttempt
}

type liveAttempt struct {
	number  int
	created time.Time // of the operation: the low-water mark is the oldest
}

func (a *liveAttempts) add(op *Operation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[OperationID]liveAttempt{}
	}
	a.by[op.ID] = liveAttempt{op.Attempt(), op.CreatedAt}
}

func (a *liveAttempts) remove(id OperationID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.by, id)
}

func (a *liveAttempts) has(id OperationID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.by[id]
	return ok
}

// lowWater is the creation time of the oldest operation that is worked on, or
// now if there is none.
func (a *liveAttempts) lowWater(now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	low := now
	for _, l := range a.by {
		if l.created.Before(low) {
			low = l.created
		}
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
