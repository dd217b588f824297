package onceward_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/worker"
)

// looksAt lets a process without the functions look at a saga that is left alone
// meanwhile. It changes nothing of it.
func (s *sagaWorld) looksAt(id onceward.SagaID) {
	s.t.Helper()
	without, before := s.alone(), s.saga(id)
	defer without.kill()
	loop := worker.NewSagas(without.ledger)
	for range 3 {
		if _, err := loop.Step(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		without.quiet()
		s.clock.Advance(time.Second)
	}
	after := s.saga(id)
	if after.State.Final() || after.State == onceward.SagaNeedsReview || after.Undoing != before.Undoing || !strings.Contains(after.Note, "another process") {
		s.t.Fatalf("it was %s and is %s, %q\n%s", before.State, after.State, after.Note, after.Words())
	}
	for i := range after.Steps {
		if was, is := before.Steps[i].State, after.Steps[i].State; was != is {
			s.t.Fatalf("step %s was %s and is %s", after.Steps[i].Name, was, is)
		}
	}
}

func TestAProcessWithoutTheFunctionsTurnsNoSagaBack(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(_ *testing.T, s *sagaWorld) {
		id := s.start(sagaOrder()).ID
		s.looksAt(id)
		s.later(10*time.Second, time.Second)
		s.wantSaga(id, onceward.SagaSucceeded, "stock.reserve", "card.charge", "parcel.send")
	})
}

// Whoever noted the step as started may stand right before its claim: that nobody can
// ask for it any more is not for a process to say that could not.
func TestAProcessWithoutTheFunctionsClosesNoStepThatMayBeClaimedYet(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		id := s.start(sagaOrder()).ID
		doomed := s.doomed("saga.before_step")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = worker.NewSagas(doomed.ledger).Step(t.Context())
		}()
		await(t, ended, "the crash")
		if _, err := s.ledger.CancelSaga(t.Context(), onceward.LocalPrincipal(), id, "no"); err != nil {
			t.Fatal(err)
		}
		s.looksAt(id)
		s.later(10*time.Second, time.Second)
		s.wantOperation(s.wantSaga(id, onceward.SagaCancelled).Step("reserve").Operation, onceward.StateCancelled)
	})
}

func TestAProcessWithoutTheFunctionsAsksNobodyToUndoByHand(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		r := sagaOrder()
		r.Steps[2].Kind = onceward.SagaConfirmFirst
		id := s.start(r).ID
		s.turnOver()
		if _, err := s.ledger.CancelSaga(t.Context(), onceward.LocalPrincipal(), id, "no"); err != nil {
			t.Fatal(err)
		}
		without := s.alone() // it closes the step that waits, and undoes none
		loop := worker.NewSagas(without.ledger)
		for worked := true; worked; {
			var err error
			if worked, err = loop.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.looksAt(id)
		s.later(10*time.Second, time.Second)
		s.wantSaga(id, onceward.SagaCompensated, "stock.reserve", "card.charge", "card.refund", "stock.release")
	})
}
