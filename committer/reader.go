package committer

import (
	"context"
	"sync"

	"github.com/onceward/onceward"
)

// readersMax is how many batched reads may be under way at once.
const readersMax = 2

// reader batches concurrent reads: while readersMax queries are under way,
// further reads gather and share the next one. A read never joins a query that
// began before it, so it sees at least what was committed when it was asked for.
type reader struct {
	store onceward.Store

	mu      sync.Mutex
	waiting []*readBatch // oldest first; only the last takes more
	running int
}

type readBatch struct {
	ids   []onceward.OperationID
	index map[onceward.OperationID]int
	ops   []*onceward.Operation
	err   error
	done  chan struct{}
}

func newReader(store onceward.Store) *reader { return &reader{store: store} }

func (r *reader) read(ctx context.Context, id onceward.OperationID) (*onceward.Operation, error) {
	r.mu.Lock()
	if n := len(r.waiting); n == 0 || len(r.waiting[n-1].ids) >= batchMax {
		r.waiting = append(r.waiting, &readBatch{index: map[onceward.OperationID]int{}, done: make(chan struct{})})
	}
	b := r.waiting[len(r.waiting)-1]
	at, ok := b.index[id]
	if !ok {
		at = len(b.ids)
		b.index[id] = at
		b.ids = append(b.ids, id)
	}
	if r.running < readersMax {
		r.running++
		go r.run()
	}
	r.mu.Unlock()
	select {
	case <-b.done:
	case <-ctx.Done():
		return nil, &onceward.Error{Code: onceward.CodeCanceled, Op: "read operation", OperationID: id, Message: "the caller stopped waiting", Err: ctx.Err()}
	}
	if b.err != nil || b.ops[at] == nil {
		return nil, b.err
	}
	op := b.ops[at].Clone() // callers of one batch do not share
	return &op, nil
}

func (r *reader) run() {
	for {
		r.mu.Lock()
		if len(r.waiting) == 0 {
			r.running--
			r.mu.Unlock()
			return
		}
		b := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.mu.Unlock()
		b.ops, b.err = r.store.Load(context.Background(), b.ids)
		close(b.done)
	}
}
