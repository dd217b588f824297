package onceward

import (
	"context"
	"sync"
	"time"
)

// waiters wakes requests of this process that wait for an operation to move.
type waiters struct {
	mu sync.Mutex
	by map[OperationID][]chan struct{}
}

func (w *waiters) register(id OperationID) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[OperationID][]chan struct{}{}
	}
	w.by[id] = append(w.by[id], ch)
	return ch, func() { w.remove(id, ch) }
}

func (w *waiters) remove(id OperationID, ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.by[id]
	for i, c := range list {
		if c == ch {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(w.by, id)
	} else {
		w.by[id] = list
	}
}

func (w *waiters) notify(id OperationID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.by[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Poll intervals of a waiter whose operation is held by another process.
const (
	pollFirst = 20 * time.Millisecond
	pollMax   = 500 * time.Millisecond
)

// settled reports whether waiting any longer for the operation is pointless
// for a caller: it ended, or a person has to act.
func settled(op *Operation) bool {
	switch op.State {
	case StateReady:
		return op.Parked == ParkToolPaused
	case StateEffectPending, StateOutcomeUnknown:
		return false
	case StateAwaitingApproval, StateNeedsReview, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated:
		return true
	}
	return true
}

// await waits until the operation is settled or the time is over, and returns
// the newest row that it saw. The caller's hanging up ends only the waiting.
func (l *Ledger) await(ctx context.Context, op *Operation, wait time.Duration) (*Operation, error) {
	return l.awaitUntil(ctx, op, wait, settled)
}

// awaitUntil is await with another idea of what is enough.
func (l *Ledger) awaitUntil(ctx context.Context, op *Operation, wait time.Duration, enough func(*Operation) bool) (*Operation, error) {
	if enough(op) || wait <= 0 {
		return op, nil
	}
	moved, done := l.waiters.register(op.ID)
	defer done()
	over := l.opts.Clock.After(wait)
	poll := pollFirst
	for {
		newest, err := l.writer.Read(ctx, op.ID)
		if err != nil {
			return op, err
		}
		if newest != nil && newest.Generation != op.Generation {
			return op, nil // its key was retired and used anew: that is another intention, maybe with another input
		}
		if newest != nil {
			if _, err := l.hydrate(ctx, newest); err != nil {
				return op, err
			}
			op = newest
		}
		if enough(op) {
			return op, nil
		}
		if l.live.has(op.ID) {
			poll = pollMax // our own attempt wakes us
		}
		if ctx.Err() == nil { // select draws lots: a caller who is gone would sometimes be waited for
			select {
			case <-moved:
			case <-l.opts.Clock.After(poll):
				poll = min(poll*2, pollMax)
			case <-over:
				return op, nil
			case <-ctx.Done():
			case <-l.draining:
				return op, nil
			}
		}
		if ctx.Err() != nil {
			return op, &Error{Code: CodeCanceled, Op: "wait for operation", OperationID: op.ID, Message: "the caller stopped waiting",
				Hint: "ask again with the same key", Err: ctx.Err()}
		}
	}
}

// awaitOurs is await for a request that has changed the ledger, or may have: a
// claim whose commit was lost, and whose row somebody changed before it was run
// again, looks like a duplicate. A ledger that cannot be read meanwhile ends the
// waiting with what is known.
//
// Why no error: it would say that the request left nothing behind.
func (l *Ledger) awaitOurs(ctx context.Context, op *Operation, wait time.Duration) (*Operation, error) {
	newest, err := l.await(ctx, op, wait)
	if err != nil && !Is(err, CodeCanceled) {
		l.log.Warn("stopped waiting for an operation", about(op, "error", err)...)
		return newest, nil
	}
	return newest, err
}
