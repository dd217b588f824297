package onceward_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/worker"
)

// world is a ledger with its provider, a clock that moves when told, and its
// background loops stepped by hand.
type world struct {
	t        testing.TB
	clock    *oncewardtest.Clock
	provider *oncewardtest.Provider
	store    onceward.Store
	ledger   *onceward.Ledger
	due      *worker.Due
	alarms   []string
}

type worldOption func(*onceward.Options)

// newWorld opens a ledger on a memory store with one tool.
func newWorld(t testing.TB, tool *oncewardtest.Tool, opts ...worldOption) *world {
	t.Helper()
	clock := oncewardtest.NewClock()
	store := memory.New(memory.Options{Now: clock.Now})
	w := &world{t: t, clock: clock, provider: oncewardtest.NewProvider(clock), store: store}
	w.provider.HonoursKeys = tool.Info().Policy.Effect == onceward.EffectKeyedWrite
	w.open(tool, opts...)
	return w
}

// open starts a ledger process over the world's store.
func (w *world) open(tool *oncewardtest.Tool, opts ...worldOption) {
	w.t.Helper()
	registry := onceward.NewRegistry(w.store, func(onceward.ToolName, []byte) (onceward.Tool, error) { return tool, nil })
	if err := registry.Activate(w.t.Context(), []onceward.Tool{tool}, false); err != nil {
		w.t.Fatal(err)
	}
	group := committer.New(w.store, committer.Options{Clock: w.clock})
	o := onceward.Options{Store: w.store, Writer: group, Tools: registry, Provider: w.provider, Clock: w.clock,
		Alarm: func(_ *onceward.Operation, reason string) { w.alarms = append(w.alarms, reason) }}
	for _, opt := range opts {
		opt(&o)
	}
	l, err := onceward.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := l.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.ledger, w.due = l, worker.NewDue(l, w.store, slog.New(slog.DiscardHandler))
	w.t.Cleanup(func() {
		_ = l.Close(context.Background())
		group.Close()
	})
}

// ask submits an input without waiting for more than what is running now.
func (w *world) ask(input string) *onceward.Answer {
	w.t.Helper()
	a, err := w.try(input)
	if err != nil {
		w.t.Fatalf("submit %s: %v", input, err)
	}
	return a
}

func (w *world) try(input string, edit ...func(*onceward.Intent)) (*onceward.Answer, error) {
	in := onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(input)}
	for _, e := range edit {
		e(&in)
	}
	a, err := w.ledger.Submit(w.t.Context(), in)
	if err != nil {
		return nil, err
	}
	w.quiet()
	a.Operation = w.get(a.Operation.ID)
	return a, nil
}

// quiet waits until no attempt of the ledger is running.
func (w *world) quiet() {
	w.due.Wait()
	w.ledger.WaitIdle()
}

func (w *world) get(id onceward.OperationID) *onceward.Operation {
	w.t.Helper()
	op, err := w.ledger.Get(w.t.Context(), onceward.LocalPrincipal(), id, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return op
}

// pass moves the clock on and lets the workers do all that has come due.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.clock.Advance(d)
	for range 100 {
		worked, err := w.due.Step(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		w.quiet()
		if !worked {
			return
		}
	}
	w.t.Fatal("the due loop never comes to rest")
}

func (w *world) want(op *onceward.Operation, s onceward.State, effects int) {
	w.t.Helper()
	op = w.get(op.ID)
	if op.State != s || w.provider.Effects() != effects {
		w.t.Fatalf("operation is %s with %d effects, want %s with %d\n%s", op.State, w.provider.Effects(), s, effects, w.timeline(op))
	}
}

func (w *world) timeline(op *onceward.Operation) string {
	records, err := w.ledger.Timeline(w.t.Context(), onceward.LocalPrincipal(), op.ID)
	if err != nil {
		return err.Error()
	}
	out := ""
	for _, r := range records {
		out += fmt.Sprintf("  v%d %s %s -> %s attempt %d %s %s\n", r.Version, r.Event, r.From, r.To, r.Attempt, r.Reference, r.Reason)
	}
	return out
}

func TestOneIntentionOneEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	first := w.ask(`{"id":"a","n":1}`)
	if first.Decision != onceward.DecisionFresh || first.Operation.State != onceward.StateSucceeded {
		t.Fatalf("first answer is %s, %s", first.Decision, first.Operation.State)
	}
	again := w.ask(`{"n":1.0,"id":"a"}`)
	if again.Decision != onceward.DecisionReplayed || again.Operation.Reference != first.Operation.Reference {
		t.Fatalf("second answer is %s with reference %q", again.Decision, again.Operation.Reference)
	}
	w.want(first.Operation, onceward.StateSucceeded, 1)
}

func TestTwoHundredFirstRequestsMakeOneDispatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite))
	release := w.provider.Hold()
	answers := make([]*onceward.Answer, 200)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			a, err := w.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(`{"id":"a"}`), Wait: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			answers[i] = a
		})
	}
	release()
	wg.Wait()
	fresh := 0
	for _, a := range answers {
		if a == nil || a.Operation.State != onceward.StateSucceeded {
			t.Fatalf("an answer is %+v", a)
		}
		if a.Decision == onceward.DecisionFresh {
			fresh++
		}
	}
	if fresh != 1 || w.provider.Writes() != 1 {
		t.Fatalf("%d fresh answers and %d writes, want 1 and 1", fresh, w.provider.Writes())
	}
}

func TestAnswerLostAfterCommitIsUnknownAndSettledByProbe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	w.provider.Script(oncewardtest.FaultAnswerLost)
	a := w.ask(`{"id":"a"}`)
	w.want(a.Operation, onceward.StateOutcomeUnknown, 1)
	again := w.ask(`{"id":"a"}`)
	if again.Decision != onceward.DecisionEscalated || w.provider.Writes() != 1 || w.provider.Probes() != 0 {
		t.Fatalf("the repeat is %s, after %d writes and %d probes", again.Decision, w.provider.Writes(), w.provider.Probes())
	}
	w.pass(time.Second)
	w.want(a.Operation, onceward.StateSucceeded, 1)
}

func TestProbeBeforeSettleProvesNoAbsence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.Settle = 120 * time.Second }))
	w.provider.Script(oncewardtest.FaultLate)
	a := w.ask(`{"id":"a"}`)
	w.pass(60 * time.Second)
	w.want(a.Operation, onceward.StateOutcomeUnknown, 0)
	if w.provider.Probes() == 0 {
		t.Fatal("no look-up was made before settle had passed")
	}
	w.clock.Advance(30 * time.Second)
	w.provider.Commit() // at 90 s
	w.pass(40 * time.Second)
	w.want(a.Operation, onceward.StateSucceeded, 1)
}

func TestProvenAbsenceRunsTheKeyAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	w.provider.Script(oncewardtest.FaultRequestLost)
	a := w.ask(`{"id":"a"}`)
	w.pass(3 * time.Second)
	w.pass(3 * time.Second)
	w.want(a.Operation, onceward.StateSucceeded, 1)
	if w.provider.Writes() != 2 {
		t.Fatalf("%d writes, want 2", w.provider.Writes())
	}
}

func TestUnsafeWriteIsNeverRepeatedAutomatically(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite))
	w.provider.Script(oncewardtest.FaultRequestLost)
	a := w.ask(`{"id":"a"}`)
	w.pass(time.Hour)
	w.want(a.Operation, onceward.StateNeedsReview, 0)
	if w.provider.Writes() != 1 {
		t.Fatalf("%d writes, want 1", w.provider.Writes())
	}
	if _, err := w.ledger.Resolve(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Retry: true, Reason: "asked the clerk"}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	w.want(a.Operation, onceward.StateSucceeded, 1)
}

func TestKeyedWriteIsSentAgainInsideTheWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite))
	w.provider.Script(oncewardtest.FaultErrorAfter)
	a := w.ask(`{"id":"a"}`)
	w.pass(3 * time.Second)
	w.want(a.Operation, onceward.StateSucceeded, 1)
	if w.provider.Writes() != 2 {
		t.Fatalf("%d writes, want 2", w.provider.Writes())
	}
}

func TestKeyedWritePastTheWindowIsReviewedNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite))
	w.provider.Script(oncewardtest.FaultErrorAfter)
	a := w.ask(`{"id":"a"}`)
	w.pass(24 * time.Hour)
	w.want(a.Operation, onceward.StateNeedsReview, 1)
	if w.provider.Writes() != 1 {
		t.Fatalf("%d writes, want 1", w.provider.Writes())
	}
}

func TestKeyedLaterRefusalDoesNotHideTheOpenAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite))
	w.provider.Script(oncewardtest.FaultErrorAfter, oncewardtest.FaultInvalid)
	a := w.ask(`{"id":"a"}`)
	w.pass(3 * time.Second)
	w.pass(time.Hour)
	w.want(a.Operation, onceward.StateNeedsReview, 1)
}

func TestRefusedCredentialPausesTheToolAndEverythingGoesOnAfterResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 }))
	w.provider.Script(oncewardtest.FaultUnauthorized)
	a := w.ask(`{"id":"a"}`)
	b := w.ask(`{"id":"b"}`)
	w.pass(time.Hour)
	w.want(a.Operation, onceward.StateReady, 0)
	if w.provider.Writes() != 1 {
		t.Fatalf("%d writes while paused, want 1", w.provider.Writes())
	}
	if n, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil || n != 2 {
		t.Fatalf("resume released %d, %v", n, err)
	}
	w.pass(time.Second)
	w.want(a.Operation, onceward.StateSucceeded, 2)
	w.want(b.Operation, onceward.StateSucceeded, 2)
}

func TestTwoEffectsFoundAlarmPauseAndReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	w.provider.Script(oncewardtest.FaultTwice)
	a := w.ask(`{"id":"a"}`)
	w.pass(time.Second)
	w.want(a.Operation, onceward.StateNeedsReview, 2)
	if _, paused := w.ledger.Paused(onceward.DefaultTenant, "t.write"); !paused || len(w.alarms) != 1 {
		t.Fatalf("paused %v, alarms %v", paused, w.alarms)
	}
}

func TestCancelDuringSendIsUnknownUntilSettled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	w.provider.Script(oncewardtest.FaultRequestLost)
	a := w.ask(`{"id":"a"}`)
	op, err := w.ledger.Cancel(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, "changed my mind")
	if err != nil || op.State != onceward.StateOutcomeUnknown {
		t.Fatalf("after cancel it is %v, %v", op.State, err)
	}
	w.pass(3 * time.Second)
	w.pass(3 * time.Second)
	w.want(a.Operation, onceward.StateCancelled, 0)
	if w.provider.Writes() != 1 {
		t.Fatalf("%d writes, want 1", w.provider.Writes())
	}
}

func TestOldIntentOfAPausedToolEndsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.NotAfter = 72 * time.Hour }))
	if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "maintenance"); err != nil {
		t.Fatal(err)
	}
	a := w.ask(`{"id":"a"}`)
	w.want(a.Operation, onceward.StateReady, 0)
	w.pass(21 * 24 * time.Hour)
	w.want(a.Operation, onceward.StateCancelled, 0)
}
