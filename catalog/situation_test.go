package catalog

import (
	"log/slog"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/worker"
)

// bench is a ledger in memory with one contract of the catalog, its double, and a
// clock that moves when told.
type bench struct {
	t      *testing.T
	tool   *contract.Tool
	clock  *oncewardtest.Clock
	double *double
	store  onceward.Store
	ledger *onceward.Ledger
	due    *worker.Due
}

func newBench(t *testing.T, tool *contract.Tool, s sample, script ...fault) *bench {
	t.Helper()
	clock := oncewardtest.NewClock()
	b := &bench{t: t, tool: tool, clock: clock, double: newDouble(tool, s, clock), store: memory.New(memory.Options{Now: clock.Now})}
	b.double.script = script
	registry := onceward.NewRegistry(b.store, nil)
	if err := registry.Activate(t.Context(), []onceward.Tool{tool}, false); err != nil {
		t.Fatal(err)
	}
	group := committer.New(b.store, committer.Options{Clock: clock})
	l, err := onceward.New(onceward.Options{Store: b.store, Writer: group, Tools: registry, Provider: b.double, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Close(t.Context())
		group.Close()
		_ = b.store.Close()
	})
	b.ledger, b.due = l, worker.NewDue(l, b.store, slog.New(slog.DiscardHandler))
	return b
}

// ask submits the sample's input and waits for its first attempt alone.
func (b *bench) ask() *onceward.Answer {
	b.t.Helper()
	a, err := b.ledger.Submit(b.t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: b.tool.Info().Name, Input: []byte(b.double.sample.input)})
	if err != nil {
		b.t.Fatal(err)
	}
	b.ledger.WaitIdle()
	return a
}

// settled lets time pass until nothing is left to do by itself.
func (b *bench) settled(id onceward.OperationID) *onceward.Operation {
	b.t.Helper()
	for range 500 {
		worked, err := b.due.Step(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		b.due.Wait()
		b.ledger.WaitIdle()
		op, err := b.ledger.Get(b.t.Context(), onceward.LocalPrincipal(), id, 0)
		if err != nil {
			b.t.Fatal(err)
		}
		if open := op.OpenAttempts(); op.State.Terminal() && open == 0 || op.State == onceward.StateNeedsReview {
			b.rest()
			return op
		}
		if !worked {
			b.clock.Advance(b.wait())
		}
	}
	op, _ := b.ledger.Get(b.t.Context(), onceward.LocalPrincipal(), id, 0)
	if op.State == onceward.StateSucceeded { // what is still looked up is whether there is a second effect
		b.rest()
		return op
	}
	b.t.Fatalf("it is never settled: %s", op.State)
	return nil
}

// rest lets arrive what is still on its way.
func (b *bench) rest() {
	b.double.mu.Lock()
	defer b.double.mu.Unlock()
	b.double.arrive(b.clock.Now().Add(30 * 24 * time.Hour))
}

// wait is the time until something is due.
func (b *bench) wait() time.Duration {
	b.t.Helper()
	next, now, err := b.store.NextDue(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if next.IsZero() || !next.After(now) {
		return time.Second
	}
	return next.Sub(now)
}

// want holds the end to the number of effects that is right.
func (b *bench) want(what string, op *onceward.Operation, effects int, states ...onceward.State) {
	b.t.Helper()
	got, writes := b.double.count()
	ok := false
	for _, s := range states {
		ok = ok || op.State == s
	}
	if got != effects || !ok {
		b.t.Errorf("%s: %s with %d effects after %d writes, want %d effects and one of %v (%s; %s)", what, op.State, got, writes, effects, states, op.Failure.Code, op.ReviewReason)
	}
}

// TestEffectsAreRightWhateverGoesWrong plays for every contract what can go wrong
// with a provider that is no better than the contract's facts.
func TestEffectsAreRightWhateverGoesWrong(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		s, ok := samples[name]
		if !ok {
			t.Errorf("%s: no sample of its answers", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := Source(name)
			if err != nil {
				t.Fatal(err)
			}
			tools, err := contract.Load(source, name, testOptions())
			if err != nil {
				t.Fatal(err)
			}
			situations(t, tools[0], s)
		})
	}
}

func situations(t *testing.T, tool *contract.Tool, s sample) {
	policy := tool.Info().Policy
	person := policy.Effect == onceward.EffectUnsafeWrite
	settled := []onceward.State{onceward.StateSucceeded}
	if person {
		settled = []onceward.State{onceward.StateNeedsReview}
	}

	b := newBench(t, tool, s)
	first := b.settled(b.ask().Operation.ID)
	b.want("the first time", first, 1, onceward.StateSucceeded)
	if first.Reference == "" {
		t.Error("the first time: no reference was read")
	}
	if again := b.ask(); again.Decision != onceward.DecisionReplayed {
		t.Errorf("a duplicate: %s", again.Decision)
	}
	b.want("a duplicate", first, 1, onceward.StateSucceeded)

	b = newBench(t, tool, s, faultAnswerLost)
	b.want("the answer is lost", b.settled(b.ask().Operation.ID), 1, settled...)

	b = newBench(t, tool, s, faultRequestLost)
	effects := 1
	if person {
		effects = 0
	}
	b.want("the request is lost", b.settled(b.ask().Operation.ID), effects, settled...)

	b = newBench(t, tool, s, faultErrorAfter)
	after := settled
	if b.double.set["provider_key.on_repeat"] == "replay_errors_too" { // the key gives the stored 500, so the look-up decides
		after = []onceward.State{onceward.StateSucceeded, onceward.StateNeedsReview}
	}
	b.want("an error after the effect", b.settled(b.ask().Operation.ID), 1, after...)

	late := faultLate
	if policy.Effect == onceward.EffectKeyedWrite {
		late = faultLateInWindow // sent again long before settle is over: the key meets itself
	}
	b = newBench(t, tool, s, late)
	b.want("late, inside settle", b.settled(b.ask().Operation.ID), 1, settled...)

	if policy.Effect != onceward.EffectKeyedWrite {
		return
	}
	b = newBench(t, tool, s, faultAnswerLost)
	id := b.ask().Operation.ID
	b.clock.Advance(policy.KeyWindow + time.Hour) // nobody was there to send again
	over := b.settled(id)
	if policy.HasProbe {
		b.want("the window is over", over, 1, onceward.StateSucceeded)
	} else {
		b.want("the window is over", over, 1, onceward.StateNeedsReview)
	}
	if _, writes := b.double.count(); writes != 1 {
		t.Errorf("the window is over: %d writes", writes)
	}
}
