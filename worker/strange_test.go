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

// Two processes share a ledger, and one has not activated the function. It keeps no
// row of it from the one that has, not even for a moment.
func TestRowsOfAFunctionThatIsNotHereAreLeftToWhoeverHasIt(t *testing.T) {
	t.Parallel()
	clock, calls := oncewardtest.NewClock(), 0
	f, err := onceward.NewFunction(onceward.Function{Name: "f.book", Policy: onceward.Policy{Effect: onceward.EffectUnsafeWrite},
		Perform: func(context.Context, *onceward.Call) (onceward.Outcome, error) {
			if calls++; calls == 1 {
				return onceward.NotDone(onceward.ClassUnavailable, "closed", "the books are closed", true), nil
			}
			return onceward.Outcome{Reference: "ref_1"}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	first := memory.New(memory.Options{Now: clock.Now})
	process := func(tools ...onceward.Tool) (*onceward.Ledger, *worker.Due) {
		store := first.Again()
		registry := onceward.NewRegistry(store, nil)
		if err := registry.Activate(t.Context(), tools, true); err != nil {
			t.Fatal(err)
		}
		l, err := onceward.New(onceward.Options{Store: store, Tools: registry, Provider: oncewardtest.NewProvider(clock), Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return l, worker.NewDue(l, store, slog.New(slog.DiscardHandler))
	}
	step := func(l *onceward.Ledger, d *worker.Due) bool {
		worked, err := d.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d.Wait()
		l.WaitIdle()
		return worked
	}
	having, due := process(f)
	without, ignorant := process()
	a, err := having.Do(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "f.book", Input: []byte(`{}`), CallerKey: "k"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	having.WaitIdle()
	clock.Advance(time.Minute)
	if !step(without, ignorant) || step(without, ignorant) {
		t.Error("it takes the row not once, and then leaves it")
	}
	step(having, due)
	op, err := having.Get(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, 0)
	if err != nil || op.State != onceward.StateSucceeded || calls != 2 {
		t.Errorf("%s after %d calls, %v", op.State, calls, err)
	}
}
