package onceward_test

import (
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// The holder of a resource had failed, and a waiter is about to take the
// resource over. Between its look and its write a person replays the holder,
// which starts again: the waiter has to see that and wait.
func TestAHolderThatComesBackIsNotRobbedOfItsResource(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
	tool.SerializeBy = "account"
	onEachStore(t, tool, func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultInvalid)
		first := w.ask(`{"id":"a","account":"x"}`)
		w.want(first.Operation, onceward.StateFailed, 0)
		other := w.another()
		var once sync.Once
		var again *oncewardtest.Held
		other.store.BeforeCommit(func(batch []onceward.Change) {
			for i := range batch {
				if batch[i].Before > 0 && batch[i].After.Reference != "" && batch[i].After.Tool != "t.write" {
					once.Do(func() {
						again = w.provider.HoldAnswer()
						if _, err := w.ledger.Replay(t.Context(), onceward.LocalPrincipal(), first.Operation.ID, "fixed", ""); err != nil {
							t.Error(err)
						}
						w.step(1)
						held(t, again)
					})
				}
			}
		})
		second, err := other.submit(`{"id":"b","account":"x"}`)
		if err != nil {
			t.Fatal(err)
		}
		if again == nil {
			t.Fatal("the waiter never tried to take the resource over")
		}
		if op := other.get(second.Operation.ID); op.State != onceward.StateReady || op.Parked != onceward.ParkSerialize {
			t.Fatalf("the waiter is %s, parked %q, while the holder works", op.State, op.Parked)
		}
		again.Release()
		w.quiet()
		w.want(first.Operation, onceward.StateSucceeded, 1)
	})
}
