package committer

import (
	"context"
	"slices"
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
	ids  []onceward.OperationID // each once
	more []bool                 // of each: several callers asked
	ops  []*onceward.Operation
	errs []error // of each; nil: none of them has one
	done chan struct{}
}

func newReader(store onceward.Store) *reader { return &reader{store: store} }

func (r *reader) read(ctx context.Context, id onceward.OperationID) (*onceward.Operation, error) {
	r.mu.Lock()
	if r.running < readersMax && len(r.waiting) == 0 { // nobody to share with: no hand-over either
		r.running++
		r.mu.Unlock()
		return r.readAlone(ctx, id)
	}
	if n := len(r.waiting); n == 0 || len(r.waiting[n-1].ids) >= batchMax {
		r.waiting = append(r.waiting, &readBatch{done: make(chan struct{})})
	}
	b := r.waiting[len(r.waiting)-1]
	at := slices.Index(b.ids, id)
	if at < 0 {
		at = len(b.ids)
		b.ids, b.more = append(b.ids, id), append(b.more, false)
	} else {
		b.more[at] = true
	}
	r.mu.Unlock()
	select {
	case <-b.done:
	case <-ctx.Done():
		return nil, canceled(id, ctx.Err())
	}
	return b.of(at)
}

// of is what was read under the ID at that place.
func (b *readBatch) of(at int) (*onceward.Operation, error) {
	if b.errs != nil && b.errs[at] != nil {
		return nil, b.errs[at]
	}
	if b.ops[at] == nil || !b.more[at] {
		return b.ops[at], nil
	}
	op := b.ops[at].Clone() // callers of one batch do not share
	return &op, nil
}

func canceled(id onceward.OperationID, cause error) error {
	return &onceward.Error{Code: onceward.CodeCanceled, Op: "read operation", OperationID: id, Message: "the caller stopped waiting", Err: cause}
}

// readAlone reads for one caller, who has the turn of a reader, and then leaves
// the turn to what gathered meanwhile.
func (r *reader) readAlone(ctx context.Context, id onceward.OperationID) (*onceward.Operation, error) {
	defer r.next()
	ops, err := r.store.Load(ctx, []onceward.OperationID{id})
	switch {
	case err == nil:
		return ops[0], nil
	case ctx.Err() != nil:
		return nil, canceled(id, ctx.Err())
	}
	return nil, err
}

// next ends a turn, or gives it to a goroutine that serves whoever waits.
func (r *reader) next() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.running--
		return
	}
	go r.run()
}

func (r *reader) run() {
	for {
		letOthersQueue()
		r.mu.Lock()
		if len(r.waiting) == 0 {
			r.running--
			r.mu.Unlock()
			return
		}
		b := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.mu.Unlock()
		r.load(b)
		close(b.done)
	}
}

// load reads a batch. A row that cannot be read is its own reader's trouble: the
// others are read without it.
func (r *reader) load(b *readBatch) {
	ctx := context.Background()
	ops, err := r.store.Load(ctx, b.ids)
	if err == nil {
		b.ops = ops
		return
	}
	b.ops, b.errs = make([]*onceward.Operation, len(b.ids)), make([]error, len(b.ids))
	alone := len(b.ids) > 1 && (onceward.Is(err, onceward.CodeLedgerTooNew) || onceward.Is(err, onceward.CodeLedgerCorrupt))
	for i, id := range b.ids {
		b.errs[i] = err
		if alone {
			if ops, b.errs[i] = r.store.Load(ctx, []onceward.OperationID{id}); b.errs[i] == nil {
				b.ops[i] = ops[0]
			}
		}
	}
}
