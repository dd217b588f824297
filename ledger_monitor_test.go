package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// noted counts the lines of the audit trail with this action.
func (w *world) noted(action onceward.AuditAction) (n int) {
	w.t.Helper()
	page, err := w.ledger.Audit(w.t.Context(), onceward.LocalPrincipal(), onceward.AuditFilter{Limit: onceward.MaxPage})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, line := range page.Lines {
		if line.Action == action {
			n++
		}
	}
	return n
}

func (w *world) monitor() bool {
	w.t.Helper()
	looked, err := w.ledger.Monitor(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return looked
}

func TestASecondEffectOfAnOperationThatSucceededIsFoundAndPausesTheTool(t *testing.T) {
	t.Parallel()
	w, m := metered(t, onceward.EffectProbedWrite)
	a := w.ask(`{"id":"a"}`)
	w.want(a.Operation, onceward.StateSucceeded, 1)
	if w.monitor() {
		t.Fatal("it was looked up before settle was over")
	}
	w.clock.Advance(time.Hour)
	if !w.monitor() {
		t.Fatal("nothing was looked up")
	}
	w.want(a.Operation, onceward.StateSucceeded, 1)
	wantMetric(t, m, 1, onceward.MetricMonitor, "t.write", "one")
	w.provider.Make(a.Operation.ProviderKey)
	w.monitor()
	w.want(a.Operation, onceward.StateNeedsReview, 2)
	wantMetric(t, m, 1, onceward.MetricMonitor, "t.write", "many")
	wantMetric(t, m, 1, onceward.MetricAlarms, "t.write", "effect_multiplied")
	if b := w.ask(`{"id":"b"}`); b.Operation.Parked != onceward.ParkToolPaused {
		t.Errorf("the next operation is %s, parked for %q", b.Operation.State, b.Operation.Parked)
	}
	w.wantWrites(1)
}

func TestWhatCannotBeLookedUpIsNotCounted(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, onceward.EffectUnsafeWrite)
	w.ask(`{"id":"a"}`)
	w.clock.Advance(time.Hour)
	if w.monitor() {
		t.Error("an unsafe write was looked up")
	}
}

func TestAnOverdueUnknownOutcomeIsToldOnceHoweverManyReplicasSeeIt(t *testing.T) {
	t.Parallel()
	w, m := metered(t, onceward.EffectProbedWrite)
	w.provider.Script(oncewardtest.FaultRequestLost)
	if _, err := w.submit(`{"id":"a"}`); err != nil {
		t.Fatal(err)
	}
	w.ledger.WaitIdle()
	w.clock.Advance(48 * time.Hour)
	for _, r := range []*replica{w.replica, w.replica, w.another()} {
		if err := r.ledger.LookAtBacklog(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantMetric(t, m, 1, onceward.MetricAlarms, "t.write", "unknown_overdue")
	if n := w.noted(onceward.AuditUnknownOverdue); n != 1 {
		t.Errorf("the trail has it %d times", n)
	}
}

func TestAConfirmedUnsafeRetryStandsInTheTrail(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, onceward.EffectUnsafeWrite)
	w.provider.Script(oncewardtest.FaultAnswerLost)
	a := w.ask(`{"id":"a"}`)
	w.pass(time.Second)
	if err := w.replay(a.Operation, w.plan(a.Operation).Sentence); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	if n := w.noted(onceward.AuditUnsafeRetry); n != 1 {
		t.Errorf("the trail has it %d times", n)
	}
}
