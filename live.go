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
