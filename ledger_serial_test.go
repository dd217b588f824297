package onceward_test

import (
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
