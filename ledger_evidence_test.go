package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func (r *replica) prove(op *onceward.Operation, reference string) {
	r.t.Helper()
	if _, err := r.ledger.Prove(r.t.Context(), onceward.LocalPrincipal(), op.ID, reference, "delivery report"); err != nil {
		r.t.Fatal(err)
	}
}

// The provider's own event proves the effect while the attempt still runs. It is
// kept, and decides when the attempt ends, however that ends.
func TestProofThatComesWhileTheAttemptRunsDecidesWhenItEnds(t *testing.T) {
	t.Parallel()
	for _, effect := range []onceward.EffectClass{onceward.EffectKeyedWrite, onceward.EffectProbedWrite, onceward.EffectUnsafeWrite} {
		for name, fault := range map[string]oncewardtest.Fault{"AnswerLost": oncewardtest.FaultAnswerLost, "Error": oncewardtest.FaultErrorAfter} {
			t.Run(effect.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				onEachStore(t, oncewardtest.NewTool("t.write", effect), func(t *testing.T, w *world) {
					w.provider.Script(fault)
					a, slow := w.sending(`{"id":"a"}`)
					w.prove(a.Operation, "eff_1")
					if op := w.get(a.Operation.ID); op.State != onceward.StateEffectPending || op.Reference != "eff_1" {
						t.Fatalf("while it runs it is %s with reference %q", op.State, op.Reference)
					}
					slow.Release()
					w.ledger.WaitIdle()
					w.want(a.Operation, onceward.StateSucceeded, 1)
					w.wantWrites(1)
					if w.provider.Probes() != 0 {
						t.Fatal("proof in hand was looked up")
					}
				})
			})
		}
	}
}

func TestProofSettlesWhatIsUnknownReviewedOrCalledFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		effect onceward.EffectClass
		fault  oncewardtest.Fault
		before onceward.State
		after  onceward.State
	}{
		{"Unknown", onceward.EffectKeyedWrite, oncewardtest.FaultAnswerLost, onceward.StateOutcomeUnknown, onceward.StateSucceeded},
		{"InReview", onceward.EffectUnsafeWrite, oncewardtest.FaultAnswerLost, onceward.StateNeedsReview, onceward.StateNeedsReview}, // a person decides, with this evidence
		{"Failed", onceward.EffectUnsafeWrite, oncewardtest.FaultInvalid, onceward.StateFailed, onceward.StateSucceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", c.effect), func(t *testing.T, w *world) {
				w.provider.Script(c.fault)
				a := w.ask(`{"id":"a"}`)
				if c.before == onceward.StateNeedsReview {
					w.pass(time.Second)
				}
				if op := w.get(a.Operation.ID); op.State != c.before {
					t.Fatalf("before the proof it is %s, want %s", op.State, c.before)
				}
				w.prove(a.Operation, "eff_1")
				op := w.get(a.Operation.ID)
				if op.State != c.after || op.Reference != "eff_1" {
					t.Fatalf("it is %s with reference %q, want %s", op.State, op.Reference, c.after)
				}
				w.pass(time.Hour)
				w.wantWrites(1)
			})
		})
	}
}

func TestProofOfAnotherEffectAlarmsAndPauses(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		a := w.ask(`{"id":"a"}`)
		w.prove(a.Operation, a.Operation.Reference) // the known one: nothing new
		w.want(a.Operation, onceward.StateSucceeded, 1)
		w.prove(a.Operation, "eff_other")
		w.want(a.Operation, onceward.StateNeedsReview, 1)
		if _, paused := w.ledger.Paused(onceward.DefaultTenant, "t.write"); !paused || len(w.alarms) != 1 || w.alarms[0] != "effect_multiplied" {
			t.Fatalf("paused %v, alarms %q", paused, w.alarms)
		}
	})
}

// An attempt that a person accepted as open may still show as a second effect,
// which must be seen even though the operation has succeeded by then.
func TestASecondEffectIsSeenAfterSuccess(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, slowToSettle), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultLate)
		a := w.ask(`{"id":"a"}`)
		plan, err := w.ledger.PlanReplay(t.Context(), onceward.LocalPrincipal(), a.Operation.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.ledger.Replay(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, "cannot wait", plan.Sentence); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		w.provider.Commit() // the first write shows after all
		w.passSlowly(3*time.Minute, 10*time.Second)
		w.want(a.Operation, onceward.StateNeedsReview, 2)
		if len(w.alarms) != 1 {
			t.Fatalf("alarms %q", w.alarms)
		}
	})
}
