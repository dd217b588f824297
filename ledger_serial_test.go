package onceward_test

import (
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// TestOneAtATimePerResourceUnknownIncluded holds serialize_by: while the first
// operation on a resource is unknown, the second is not sent, and it is shown
// who is in its way; another resource goes on.
func TestOneAtATimePerResourceUnknownIncluded(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
	tool.SerializeBy = "account"
	w := newWorld(t, tool)
	w.provider.Script(oncewardtest.FaultAnswerLost)
	first := w.ask(`{"id":"a","account":"x"}`)
	w.want(first.Operation, onceward.StateOutcomeUnknown, 1)
	second := w.ask(`{"id":"b","account":"x"}`)
	if second.Operation.State != onceward.StateReady || second.Operation.Parked != onceward.ParkSerialize {
		t.Fatalf("the second is %s, parked %q", second.Operation.State, second.Operation.Parked)
	}
	if by, err := w.ledger.BlockedBy(t.Context(), second.Operation); err != nil || by != first.Operation.ID {
		t.Fatalf("blocked by %s, %v; want %s", by, err, first.Operation.ID)
	}
	other := w.ask(`{"id":"c","account":"y"}`)
	w.want(other.Operation, onceward.StateSucceeded, 2)
	w.pass(time.Second)     // the look-up settles the first, and its end wakes the second
	w.pass(5 * time.Second) // where it looked while the first ended, its own next look is after five seconds
	w.want(first.Operation, onceward.StateSucceeded, 3)
	w.want(second.Operation, onceward.StateSucceeded, 3)
}

// To take the resource may last longer than a lease: the attempt has its whole
// lease from then on, and nothing keeps its first byte back.
func TestTheLeaseIsWholeAfterTheResourceWasTaken(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
	tool.SerializeBy = "account"
	onEachStore(t, tool, func(t *testing.T, w *world) {
		slowed := sync.OnceFunc(func() { w.clock.Advance(6 * time.Second) })
		w.store.BeforeCommit(func(batch []onceward.Change) {
			if batch[0].After.Tool != "t.write" {
				slowed()
			}
		})
		a := w.ask(`{"id":"a","account":"x"}`)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		if n := w.provider.Stopped(); n != 0 || a.Operation.Attempt() != 1 {
			t.Fatalf("%d writes were stopped, attempt %d\n%s", n, a.Operation.Attempt(), w.timeline(a.Operation))
		}
	})
}
