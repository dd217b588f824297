package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestPersonsWordSaysNothingAboutAnAttemptMadeSinceTheyLooked(t *testing.T) {
	t.Parallel()
	op := sampleOp(onceward.EffectProbedWrite, onceward.StateReady)
	op = tell(t, op, t0, begin, unknownAt(1, t0))
	word := onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Retry: true, Reason: "looked", Attempt: 1}
	isState(t, tell(t, op, t0, word), onceward.StateReady)

	later := t0.Add(time.Hour)
	begin2 := onceward.AttemptStarted{Owner: "r", LeaseUntil: later.Add(5 * time.Second)}
	op = tell(t, op, later, onceward.ProbeAbsent{Began: later}, begin2, unknownAt(2, later))
	refused(t, op, later, word, onceward.CodeStateForbids)
	word.Attempt = 2
	isState(t, tell(t, op, later, word), onceward.StateReady)
}
