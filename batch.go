package onceward

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// BatchAnswer is the answer to one intent of a batch: exactly one field is set.
type BatchAnswer struct {
	Answer *Answer
	Err    error
}

// SubmitBatch submits intents side by side; each is answered alone, as Submit
// answers it, and in order. Of intents that name one identity the first in
// order claims it, so that which of them is fresh, and which is refused for
// another input, does not depend on chance; all that are answered with one
// operation are answered with the same row of it.
func (l *Ledger) SubmitBatch(ctx context.Context, ins []Intent) []BatchAnswer {
	out := make([]BatchAnswer, len(ins))
	first := make(map[OperationID]chan struct{}, len(ins))
	var all sync.WaitGroup
	var crash panicked
	for i := range ins {
		r, err := l.admit(ctx, &ins[i])
		if err != nil {
			out[i].Err = err
			continue
		}
		id := NewOperationID(r.in.Principal.Tenant, r.in.Tool, r.p.Key)
		before, ours := first[id], make(chan struct{})
		first[id] = ours
		all.Go(func() {
			claimed := sync.OnceFunc(func() { close(ours) })
			defer claimed() // also when the turn before us panicked
			defer crash.keep()
			if before != nil {
				<-before
			}
			out[i].Answer, out[i].Err = l.submit(ctx, r, claimed)
		})
	}
	all.Wait()
	crash.again()
	for i := range out {
		l.count(ins[i].Principal, ins[i].Tool, out[i].Answer, out[i].Err)
	}
	l.levelAnswers(out)
	return out
}

// levelAnswers gives every answer about one operation the newest row that any
// of them saw: some stopped waiting a moment earlier than others. A key that was
// retired and taken anew meanwhile is another operation.
func (l *Ledger) levelAnswers(out []BatchAnswer) {
	type use struct {
		id         OperationID
		generation Generation
	}
	of := func(op *Operation) use { return use{op.ID, op.Generation} }
	newest := make(map[use]*Operation, len(out))
	for i := range out {
		if a := out[i].Answer; a != nil {
			if op := newest[of(a.Operation)]; op == nil || op.Version < a.Operation.Version {
				newest[of(a.Operation)] = a.Operation
			}
		}
	}
	for i := range out {
		if a := out[i].Answer; a != nil && a.Operation != newest[of(a.Operation)] {
			a.Operation = newest[of(a.Operation)]
			a.RetryAfter = l.retryAfter(a.Operation)
		}
	}
}

// panicked carries the first panic of a group of goroutines to the one that
// waits for them: a defect met by one request must not end the process.
type panicked struct {
	mu    sync.Mutex
	value any
}

func (p *panicked) keep() {
	if v := recover(); v != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.value == nil {
			p.value = fmt.Sprintf("%v\n\n%s", v, debug.Stack()) // the stack is this goroutine's only now
		}
	}
}

func (p *panicked) again() {
	if p.value != nil {
		panic(p.value)
	}
}
