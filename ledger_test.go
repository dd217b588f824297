package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func TestOneIntentionOneEffect(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a","n":1}`)
		if first.Decision != onceward.DecisionFresh || first.Operation.State != onceward.StateSucceeded {
			t.Fatalf("first answer is %s, %s", first.Decision, first.Operation.State)
		}
		again := w.ask(`{"n":1.0,"id":"a"}`)
		if again.Decision != onceward.DecisionReplayed || again.Operation.Reference != first.Operation.Reference {
			t.Fatalf("second answer is %s with reference %q", again.Decision, again.Operation.Reference)
		}
		w.want(first.Operation, onceward.StateSucceeded, 1)
	})
}

func TestAnswerLostAfterCommitIsUnknownAndSettledByProbe(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultAnswerLost)
		a := w.ask(`{"id":"a"}`)
		w.want(a.Operation, onceward.StateOutcomeUnknown, 1)
		again := w.ask(`{"id":"a"}`)
		if again.Decision != onceward.DecisionEscalated || w.provider.Writes() != 1 || w.provider.Probes() != 0 {
			t.Fatalf("the repeat is %s, after %d writes and %d probes", again.Decision, w.provider.Writes(), w.provider.Probes())
		}
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

func TestProbeBeforeSettleProvesNoAbsence(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.Settle = 120 * time.Second }), func(t *testing.T, w *world) {
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
	})
}

func TestProvenAbsenceRunsTheKeyAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRequestLost)
		a := w.ask(`{"id":"a"}`)
		w.pass(3 * time.Second)
		w.pass(3 * time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		if w.provider.Writes() != 2 {
			t.Fatalf("%d writes, want 2", w.provider.Writes())
		}
	})
}

func TestUnsafeWriteIsNeverRepeatedAutomatically(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
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
	})
}

func TestKeyedWriteIsSentAgainInsideTheWindow(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultErrorAfter)
		a := w.ask(`{"id":"a"}`)
		w.pass(3 * time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		if w.provider.Writes() != 2 {
			t.Fatalf("%d writes, want 2", w.provider.Writes())
		}
	})
}

func TestKeyedWritePastTheWindowIsReviewedNotSent(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultErrorAfter)
		a := w.ask(`{"id":"a"}`)
		w.pass(24 * time.Hour)
		w.want(a.Operation, onceward.StateNeedsReview, 1)
		if w.provider.Writes() != 1 {
			t.Fatalf("%d writes, want 1", w.provider.Writes())
		}
	})
}

func TestKeyedLaterRefusalDoesNotHideTheOpenAttempt(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultErrorAfter, oncewardtest.FaultInvalid)
		a := w.ask(`{"id":"a"}`)
		w.pass(3 * time.Second)
		w.pass(time.Hour)
		w.want(a.Operation, onceward.StateNeedsReview, 1)
	})
}

func TestRefusedCredentialPausesTheToolAndEverythingGoesOnAfterResume(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 }), func(t *testing.T, w *world) {
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
	})
}

func TestTwoEffectsFoundAlarmPauseAndReview(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultTwice)
		a := w.ask(`{"id":"a"}`)
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateNeedsReview, 2)
		if _, paused := w.ledger.Paused(onceward.DefaultTenant, "t.write"); !paused || len(w.alarms) != 1 {
			t.Fatalf("paused %v, alarms %v", paused, w.alarms)
		}
	})
}

func TestCancelDuringSendIsUnknownUntilSettled(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
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
	})
}

func TestOldIntentOfAPausedToolEndsCancelled(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.NotAfter = 72 * time.Hour }), func(t *testing.T, w *world) {
		if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "maintenance"); err != nil {
			t.Fatal(err)
		}
		a := w.ask(`{"id":"a"}`)
		w.want(a.Operation, onceward.StateReady, 0)
		w.pass(21 * 24 * time.Hour)
		w.want(a.Operation, onceward.StateCancelled, 0)
	})
}
