package onceward_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func (r *replica) cancel(op *onceward.Operation) *onceward.Operation {
	r.t.Helper()
	op, err := r.ledger.Cancel(r.t.Context(), onceward.LocalPrincipal(), op.ID, "changed my mind")
	if err != nil {
		r.t.Fatal(err)
	}
	return op
}

// A cancel while bytes may be on their way is a wish: what comes of it is told
// once it is known, and no later attempt is made.
func TestACancelDuringASendIsSettledFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		effect  onceward.EffectClass
		fault   oncewardtest.Fault
		state   onceward.State
		effects int
	}{
		{"ItHappened", onceward.EffectProbedWrite, oncewardtest.FaultNone, onceward.StateSucceeded, 1},
		{"AnswerLost", onceward.EffectProbedWrite, oncewardtest.FaultAnswerLost, onceward.StateSucceeded, 1},
		{"RequestLost", onceward.EffectProbedWrite, oncewardtest.FaultRequestLost, onceward.StateCancelled, 0},
		{"Refused", onceward.EffectProbedWrite, oncewardtest.FaultRateLimited, onceward.StateCancelled, 0},
		{"Unauthorized", onceward.EffectProbedWrite, oncewardtest.FaultUnauthorized, onceward.StateCancelled, 0},
		{"KeyedUnknown", onceward.EffectKeyedWrite, oncewardtest.FaultErrorAfter, onceward.StateNeedsReview, 1},
		{"UnsafeUnknown", onceward.EffectUnsafeWrite, oncewardtest.FaultRequestLost, onceward.StateNeedsReview, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", c.effect), func(t *testing.T, w *world) {
				w.provider.Script(c.fault)
				a, slow := w.sending(`{"id":"a"}`)
				if op := w.cancel(a.Operation); op.State != onceward.StateEffectPending || !op.CancelRequested || !op.Advice().SideEffectPossible {
					t.Fatalf("while it is sent, a cancel makes it %s, requested %v", op.State, op.CancelRequested)
				}
				slow.Release()
				w.ledger.WaitIdle()
				w.passSlowly(time.Minute, 3*time.Second)
				w.want(a.Operation, c.state, c.effects)
				w.wantWrites(1)
			})
		})
	}
}

func TestACancelInBackOffEndsItAndTheAnswerSaysSo(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRateLimited)
		a := w.ask(`{"id":"a"}`)
		w.want(a.Operation, onceward.StateReady, 0)
		w.cancel(a.Operation)
		w.pass(time.Hour)
		again := w.ask(`{"id":"a"}`)
		op := again.Operation
		if again.Decision != onceward.DecisionReplayed || op.State != onceward.StateCancelled || op.Failure.Code != "cancel_requested" || again.RetryAfter != 0 {
			t.Fatalf("the repeat is %s, %s, %+v", again.Decision, op.State, op.Failure)
		}
		w.wantWrites(1)
	})
}

// A cancel and the next attempt race for the same row.
func TestACancelThatBeatsTheNextAttemptLeavesNothingToSend(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRateLimited)
		a := w.ask(`{"id":"a"}`)
		other := w.another()
		other.store.BeforeCommit(func([]onceward.Change) {
			other.store.BeforeCommit(nil)
			w.cancel(a.Operation)
		})
		other.pass(2 * time.Second)
		w.want(a.Operation, onceward.StateCancelled, 0)
		w.wantWrites(1)
	})
}

// It stood still between its claim and its first byte.
func TestAnIntentThatGetsTooOldBeforeItsFirstByteIsNotSent(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.NotAfter = time.Second })
	clock := oncewardtest.NewClock()
	w := newWorldOn(t, onMemory, clock, tool, func(o *onceward.Options) {
		o.CrashPoint = func(name string) {
			if name == "dispatch.before_send" {
				clock.Advance(2 * time.Second)
			}
		}
	})
	op := w.ask(`{"id":"a"}`).Operation
	w.work()
	w.want(op, onceward.StateCancelled, 0)
	w.wantWrites(0)
}

func TestOldIntentsOfAPausedToolAreListedAsCancelledAndNeverSent(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.NotAfter = 72 * time.Hour })
	onEachStore(t, tool, func(t *testing.T, w *world) {
		if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "credential lost"); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			w.ask(fmt.Sprintf(`{"id":"mail%d"}`, i))
		}
		w.passSlowly(21*24*time.Hour, 12*time.Hour)
		young := w.ask(`{"id":"young"}`)
		if _, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.want(young.Operation, onceward.StateSucceeded, 1)
		w.wantWrites(1)
		ended, err := w.ledger.List(t.Context(), onceward.LocalPrincipal(), onceward.Filter{States: []onceward.State{onceward.StateCancelled}, Limit: 100})
		if err != nil || len(ended) != 10 || ended[0].Failure.Code != "not_after_passed" {
			t.Fatalf("%d are listed as cancelled, %v", len(ended), err)
		}
	})
}
