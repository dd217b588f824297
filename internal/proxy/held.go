package proxy

import (
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// How long and how much is held.
const (
	// HeldFor is how long what a caller sent along is held after its last request
	// for the operation: further attempts are made with it.
	HeldFor = 15 * time.Minute
	// HeldMax is how many operations' callers are held at once; beyond it, the
	// ones that asked longest ago are forgotten.
	HeldMax = 10_000
)

// Held keeps, in memory only, what the callers of operations sent along and who
// of them waits. It implements contract.Held. The zero value is ready for use.
type Held struct {
	mu     sync.Mutex
	by     map[onceward.OperationID]*entry
	sweepN int // entries after the last sweep; the next comes when there are twice as many
}

// entry is what is held of one operation.
type entry struct {
	fields []onceward.HeaderField
	asked  time.Time
	taps   []*sink
}

// put holds the fields of a request for an operation, under each of its IDs, and
// registers who waits for the answer. The returned func ends the waiting.
func (h *Held) put(ids []onceward.OperationID, fields []onceward.HeaderField, s *sink) (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[onceward.OperationID]*entry{}
	}
	now := time.Now()
	h.sweep(now)
	for _, id := range ids {
		e := h.by[id]
		if e == nil {
			e = &entry{}
			h.by[id] = e
		}
		e.fields, e.asked = fields, now
		e.taps = append(e.taps, s)
	}
	return func() { h.leave(ids, s) }
}

func (h *Held) leave(ids []onceward.OperationID, s *sink) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if e := h.by[id]; e != nil {
			for i, other := range e.taps {
				if other == s {
					e.taps = append(e.taps[:i:i], e.taps[i+1:]...)
					break
				}
			}
		}
	}
}

// forget drops what is held of an operation that needs no further attempt.
func (h *Held) forget(ids []onceward.OperationID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if e := h.by[id]; e != nil && len(e.taps) == 0 {
			delete(h.by, id)
		}
	}
}

// sweep drops what is too old, once there is twice as much as after the last
// time, and what is too much.
func (h *Held) sweep(now time.Time) {
	if len(h.by) < 2*h.sweepN && len(h.by) < HeldMax || len(h.by) == 0 {
		return
	}
	oldest := now.Add(-HeldFor)
	for ; ; oldest = oldest.Add(now.Sub(oldest) / 2) {
		for id, e := range h.by {
			if e.asked.Before(oldest) && len(e.taps) == 0 {
				delete(h.by, id)
			}
		}
		if len(h.by) < HeldMax || now.Sub(oldest) < time.Second {
			break
		}
	}
	h.sweepN = max(len(h.by), 64)
}

// Headers is contract.Held's.
func (h *Held) Headers(id onceward.OperationID) ([]onceward.HeaderField, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.by[id]
	if e == nil || len(e.taps) == 0 && time.Since(e.asked) > HeldFor {
		return nil, false
	}
	return e.fields, true
}

// Tap is contract.Held's: whoever waited first hears the answer.
func (h *Held) Tap(id onceward.OperationID) onceward.AnswerTap {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.by[id]; e != nil && len(e.taps) > 0 {
		return e.taps[0]
	}
	return nil
}
