package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// metered is a world whose measures are remembered.
func metered(t *testing.T, effect onceward.EffectClass) (*world, *oncewardtest.Meter) {
	t.Helper()
	m := new(oncewardtest.Meter)
	return newWorld(t, oncewardtest.NewTool("t.write", effect), func(o *onceward.Options) { o.Meter = m }), m
}

func wantMetric(t *testing.T, m *oncewardtest.Meter, want float64, k onceward.Metric, labels ...string) {
	t.Helper()
	if got := m.Value(k, labels...); got != want {
		t.Errorf("%s%q is %v, want %v", k.Info().Name, labels, got, want)
	}
}

func TestRequestsAreCountedByHowTheyWereAnswered(t *testing.T) {
	t.Parallel()
	w, m := metered(t, onceward.EffectUnsafeWrite)
	w.ask(`{"id":"a","amount":1}`)
	w.ask(`{"id":"a","amount":1}`)
	if _, err := w.submit(`{"id":"a","amount":2}`); !onceward.Is(err, onceward.CodeKeyReused) {
		t.Fatalf("another input is answered %v", err)
	}
	wantMetric(t, m, 1, onceward.MetricRequests, "t.write", "fresh")
	wantMetric(t, m, 1, onceward.MetricRequests, "t.write", "replayed")
	wantMetric(t, m, 1, onceward.MetricRequests, "t.write", "blocked", "key_reused")
	wantMetric(t, m, 1, onceward.MetricAttemptsStarted, "t.write", "first")
	wantMetric(t, m, 1, onceward.MetricAttempts, "t.write", "done")
	wantMetric(t, m, 1, onceward.MetricOperations, "t.write", "succeeded")
	wantMetric(t, m, 1, onceward.MetricSettle, "t.write", "succeeded")
	wantMetric(t, m, 1, onceward.MetricDispatch, "t.write", "done")
}

func TestAToolThatNobodyKnowsMakesNoSeries(t *testing.T) {
	t.Parallel()
	w, m := metered(t, onceward.EffectUnsafeWrite)
	_, err := w.submit(`{}`, func(in *onceward.Intent) { in.Tool = "a.stranger" })
	if !onceward.Is(err, onceward.CodeToolNotFound) {
		t.Fatal(err)
	}
	wantMetric(t, m, 0, onceward.MetricRequests, "a.stranger", "blocked", "tool_not_found")
	wantMetric(t, m, 1, onceward.MetricRequests, "", "blocked", "tool_not_found")
}

func TestALookUpThatSettlesIsMeasured(t *testing.T) {
	t.Parallel()
	w, m := metered(t, onceward.EffectProbedWrite)
	w.provider.Script(oncewardtest.FaultAnswerLost)
	a := w.ask(`{"id":"a"}`)
	w.pass(time.Minute)
	w.want(a.Operation, onceward.StateSucceeded, 1)
	wantMetric(t, m, 1, onceward.MetricProbes, "t.write", "found")
	wantMetric(t, m, 1, onceward.MetricUnknownTime, "t.write")
	wantMetric(t, m, 1, onceward.MetricAttempts, "t.write", "unknown")
}

func TestUnsafeRetriesAreCountedWhetherRefusedOrConfirmed(t *testing.T) {
	t.Parallel()
	w, m := metered(t, onceward.EffectUnsafeWrite)
	w.provider.Script(oncewardtest.FaultAnswerLost)
	a := w.ask(`{"id":"a"}`)
	w.pass(time.Second)
	if err := w.replay(a.Operation, ""); !onceward.Is(err, onceward.CodeConfirmationNeeded) {
		t.Fatalf("the replay is answered %v", err)
	}
	wantMetric(t, m, 1, onceward.MetricUnsafeRetries, "t.write", "refused")
	wantMetric(t, m, 0, onceward.MetricUnsafeRetries, "t.write", "confirmed")
	if err := w.replay(a.Operation, w.plan(a.Operation).Sentence); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	wantMetric(t, m, 1, onceward.MetricUnsafeRetries, "t.write", "confirmed")
	wantMetric(t, m, 1, onceward.MetricAttemptsStarted, "t.write", "resend")
	wantMetric(t, m, 1, onceward.MetricRepeated, "t.write")
}

func TestAnOutcomeThatCannotBeRecordedIsStuckUntilItIs(t *testing.T) {
	t.Parallel()
	w, m := metered(t, onceward.EffectUnsafeWrite)
	if err := w.ledger.LookAtBacklog(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.ledger.Gauges(m)
	wantMetric(t, m, 1, onceward.MetricLedgerUp)
	a := w.withoutLedger(t, `{"id":"a"}`)
	if err := w.ledger.LookAtBacklog(t.Context()); err == nil {
		t.Fatal("the ledger that is away was counted")
	}
	w.ledger.Gauges(m)
	wantMetric(t, m, 1, onceward.MetricStuck, "t.write", "outcome")
	wantMetric(t, m, 0, onceward.MetricLedgerUp)
	w.store.ComeBack()
	w.clock.Advance(time.Second)
	w.ledger.WaitIdle()
	w.want(a, onceward.StateSucceeded, 1)
	w.ledger.Gauges(m)
	wantMetric(t, m, 0, onceward.MetricStuck, "t.write", "outcome")
}

// Nobody takes the due rows, and the ledger goes away after it was counted: what
// is late is told from what was seen.
func TestDueRowsThatNobodyTakesAreStuckAlsoWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	w, m := metered(t, onceward.EffectProbedWrite)
	w.provider.Script(oncewardtest.FaultRequestLost, oncewardtest.FaultRequestLost)
	for _, input := range []string{`{"id":"a"}`, `{"id":"b"}`} {
		if _, err := w.submit(input); err != nil {
			t.Fatal(err)
		}
	}
	w.ledger.WaitIdle()
	if err := w.ledger.LookAtBacklog(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.ledger.Gauges(m)
	wantMetric(t, m, 2, onceward.MetricWaiting, "t.write", "outcome_unknown", "under_1h")
	wantMetric(t, m, 0, onceward.MetricStuck, "t.write", "due")
	w.store.GoAway()
	w.clock.Advance(time.Minute)
	w.ledger.Gauges(m)
	wantMetric(t, m, 2, onceward.MetricStuck, "t.write", "due")
	wantMetric(t, m, 0, onceward.MetricOverdue, "t.write")
	w.store.ComeBack()
	w.clock.Advance(48 * time.Hour)
	if err := w.ledger.LookAtBacklog(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.ledger.Gauges(m)
	wantMetric(t, m, 2, onceward.MetricOverdue, "t.write")
	wantMetric(t, m, 2, onceward.MetricWaiting, "t.write", "outcome_unknown", "under_7d")
}
