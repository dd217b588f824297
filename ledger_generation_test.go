package onceward_test

import (
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// A process stands still with its attempt while the outcome is settled without
// it, the record is retired and its key taken anew. What it reports then belongs
// to the first generation: the attempt with the same number in the next one is
// not its own.
func TestAResultOfAnEarlierGenerationTouchesNoAttemptOfTheNext(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) {
		i.Policy.MaxAttempts, i.Policy.KeyReusable, i.KeepRecord = 1, true, time.Hour
	})
	onEachStore(t, tool, func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultInvalid)
		first := w.provider.HoldAnswer()
		a, err := w.submit(`{"id":"a"}`)
		if err != nil {
			t.Fatal(err)
		}
		held(t, first)
		other := w.another()
		other.passSlowly(time.Minute, overdue) // its lease ends, its absence is proven
		other.want(a.Operation, onceward.StateFailed, 0)
		w.clock.Advance(2 * time.Hour)
		if _, n, err := other.ledger.RetireStep(t.Context(), onceward.Cursor{}, 10); err != nil || n != 1 {
			t.Fatalf("%d records were retired, %v", n, err)
		}
		second := w.provider.HoldAnswer()
		if _, err := other.submit(`{"id":"a"}`); err != nil {
			t.Fatal(err)
		}
		held(t, second)
		first.Release()
		w.ledger.WaitIdle()
		if op := other.get(a.Operation.ID); op.Generation != 1 || op.State != onceward.StateEffectPending {
			t.Fatalf("the late refusal of generation 0 made generation %d %s", op.Generation, op.State)
		}
		second.Release()
		other.quiet()
		other.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

// The provider still has the first use's object, under the key or the ID that it
// was given. Whatever becomes of the second use's answer, what it finds, looks up
// or is told exists already is an effect of its own.
func TestTheObjectOfARetiredUseIsNotTakenForTheNextOnes(t *testing.T) {
	t.Parallel()
	for _, effect := range []onceward.EffectClass{onceward.EffectKeyedWrite, onceward.EffectConditionalWrite, onceward.EffectProbedWrite} {
		for name, fault := range map[string]oncewardtest.Fault{
			"Answered": oncewardtest.FaultNone, "AnswerLost": oncewardtest.FaultAnswerLost, "RequestLost": oncewardtest.FaultRequestLost, "AnswerCut": oncewardtest.FaultAnswerCut,
		} {
			t.Run(effect.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				onEachStore(t, oncewardtest.NewTool("t.write", effect, reusable, withProbe), func(t *testing.T, w *world) {
					w.provider.HonoursKeys = effect != onceward.EffectProbedWrite
					first := w.ask(`{"id":"a"}`)
					w.want(first.Operation, onceward.StateSucceeded, 1)
					w.clock.Advance(2 * kept)
					w.retire()
					w.provider.Script(fault)
					second := w.ask(`{"id":"a"}`)
					w.passSlowly(20*time.Second, 2*time.Second)
					w.want(second.Operation, onceward.StateSucceeded, 2)
					if op := w.get(second.Operation.ID); op.Generation != 1 || op.Reference == "" || op.Reference == first.Operation.Reference {
						t.Fatalf("generation %d has the reference %q, and the first had %q", op.Generation, op.Reference, first.Operation.Reference)
					}
				})
			})
		}
	}
}

// A process looks an effect up, and stands still before it writes down what it
// saw. Meanwhile the operation is settled without it, its record is retired and
// its key taken anew: what was seen is the first use's object.
func TestALookUpOfAnEarlierGenerationSettlesNothingOfTheNext(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, reusable), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultAnswerLost, oncewardtest.FaultRequestLost)
		a := w.ask(`{"id":"a"}`)
		slow := w.provider.HoldLook()
		var looked sync.WaitGroup
		looked.Go(func() {
			if _, err := w.ledger.Reconcile(t.Context(), onceward.LocalPrincipal(), a.Operation.ID); err != nil {
				t.Error(err)
			}
		})
		held(t, slow)
		other := w.another()
		other.pass(time.Second)
		other.want(a.Operation, onceward.StateSucceeded, 1)
		w.clock.Advance(2 * kept)
		other.retire()
		second := other.ask(`{"id":"a"}`)
		slow.Release()
		looked.Wait()
		if op := other.get(second.Operation.ID); op.Generation != 1 || op.State != onceward.StateOutcomeUnknown || op.Reference != "" {
			t.Fatalf("what the look-up of generation 0 saw made generation %d %s, reference %q", op.Generation, op.State, op.Reference)
		}
		other.passSlowly(20*time.Second, 2*time.Second)
		other.want(second.Operation, onceward.StateSucceeded, 2)
	})
}
