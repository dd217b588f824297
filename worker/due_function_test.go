package worker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/worker"
)

// ignorance is two processes on one ledger. Both have the function g.book, and one has
// f.book, too. Each fails at first, and may be tried again soon.
type ignorance struct {
	*testing.T
	clock             *oncewardtest.Clock
	having, without   *onceward.Ledger
	due, ignorant     *worker.Due
	performed, failed int
	first             *memory.Store
}

func newIgnorance(t *testing.T) *ignorance {
	t.Helper()
	i := &ignorance{T: t, clock: oncewardtest.NewClock(), failed: 2}
	i.first = memory.New(memory.Options{Now: i.clock.Now})
	i.having, i.due = i.process("f.book", "g.book")
	i.without, i.ignorant = i.process("g.book")
	return i
}

func (i *ignorance) process(names ...onceward.ToolName) (*onceward.Ledger, *worker.Due) {
	i.Helper()
	var tools []onceward.Tool
	for _, name := range names {
		tools = append(tools, i.function(name))
	}
	store := i.first.Again()
	registry := onceward.NewRegistry(store, nil)
	if err := registry.Activate(i.Context(), tools, true); err != nil {
		i.Fatal(err)
	}
	l, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: oncewardtest.NewProvider(i.clock), Clock: i.clock})
	if err != nil {
		i.Fatal(err)
	}
	if err := l.Start(i.Context()); err != nil {
		i.Fatal(err)
	}
	return l, worker.NewDue(l, store, slog.New(slog.DiscardHandler))
}

func (i *ignorance) function(name onceward.ToolName) onceward.Tool {
	i.Helper()
	f, err := onceward.NewFunction(onceward.Function{Name: name, Policy: onceward.Policy{Effect: onceward.EffectUnsafeWrite, BackoffInitial: 200 * time.Millisecond, BackoffMax: 200 * time.Millisecond},
		Perform: func(context.Context, *onceward.Call) (onceward.Outcome, error) {
			if i.performed++; i.performed <= i.failed {
				return onceward.NotDone(onceward.ClassUnavailable, "closed", "the books are closed", true), nil
			}
			return onceward.Outcome{Reference: "ref_1"}, nil
		}})
	if err != nil {
		i.Fatal(err)
	}
	return f
}

func (i *ignorance) do(l *onceward.Ledger, tool onceward.ToolName) onceward.OperationID {
	i.Helper()
	a, err := l.Do(i.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: tool, Input: []byte(`{}`), CallerKey: "k"}, nil)
	if err != nil {
		i.Fatal(err)
	}
	l.WaitIdle()
	return a.Operation.ID
}

func (i *ignorance) step(l *onceward.Ledger, d *worker.Due) bool {
	i.Helper()
	worked, err := d.Step(i.Context())
	if err != nil {
		i.Fatal(err)
	}
	d.Wait()
	l.WaitIdle()
	return worked
}

func TestRowsOfAFunctionThatIsNotHereAreLeftToWhoeverHasIt(t *testing.T) {
	t.Parallel()
	i := newIgnorance(t)
	op := i.do(i.having, "f.book")
	i.clock.Advance(300 * time.Millisecond)
	if !i.step(i.without, i.ignorant) || i.step(i.without, i.ignorant) {
		t.Error("it takes the row not once, and then leaves it")
	}
	i.clock.Advance(time.Second)
	i.step(i.having, i.due)
	i.clock.Advance(time.Second)
	i.step(i.having, i.due)
	got, err := i.having.Get(t.Context(), onceward.LocalPrincipal(), op, 0)
	if err != nil || got.State != onceward.StateSucceeded || i.performed != 3 {
		t.Errorf("%s after %d calls, %v", got.State, i.performed, err)
	}
}

// Nobody has the function for an hour. Whoever lacks it looks seldom, its own retries
// keep their times, and a process that starts with it goes on at once.
func TestRowsThatNobodyCanGoOnWithHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	i := newIgnorance(t)
	i.do(i.having, "f.book")
	took := 0
	for range 3600 {
		i.clock.Advance(time.Second)
		if i.step(i.without, i.ignorant) {
			took++
		}
	}
	if took < 100 || took > 140 {
		t.Errorf("it took the row %d times in an hour", took)
	}
	i.failed = i.performed + 1
	i.do(i.without, "g.book")
	if i.step(i.without, i.ignorant) {
		t.Error("it took the row once more")
	}
	if wait, _ := i.ignorant.Idle(); wait > 200*time.Millisecond {
		t.Errorf("the next look is in %s", wait)
	}
	before := i.performed
	i.having, i.due = i.process("f.book", "g.book")
	if i.step(i.having, i.due); i.performed != before+1 {
		t.Errorf("a process with the function began %d attempts at once", i.performed-before)
	}
}
