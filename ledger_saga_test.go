package onceward_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/worker"
)

// sagaWorld is a world with the tools of an order: stock, card, parcel and mail, each
// with books of its own, and the two that undo.
type sagaWorld struct {
	*world
	t     *testing.T
	books map[onceward.ToolName]*books
	log   []string // what happened, in order
	mu    sync.Mutex
	loop  *worker.Sagas
}

func newSagaWorld(t *testing.T, w *world, refund onceward.EffectClass) *sagaWorld {
	t.Helper()
	s := &sagaWorld{world: w, t: t, books: map[onceward.ToolName]*books{}}
	tools := []struct {
		name, undo onceward.ToolName
		effect     onceward.EffectClass
	}{
		{"stock.reserve", "stock.release", onceward.EffectProbedWrite}, {"stock.release", "", onceward.EffectProbedWrite},
		{"card.charge", "card.refund", onceward.EffectProbedWrite}, {"card.refund", "", refund},
		{"parcel.send", "", onceward.EffectProbedWrite}, {"mail.send", "", onceward.EffectProbedWrite},
	}
	for _, tool := range tools {
		b := &books{effects: map[string][]string{}}
		s.books[tool.name] = b
		f := onceward.Function{Name: tool.name, Policy: onceward.Policy{Effect: tool.effect, Deadline: time.Second, Settle: 2 * time.Second, MaxAttempts: 2},
			Key: func(input []byte) ([]string, error) { return []string{textOf(input, "id")}, nil }, KeyRule: "id", Probe: b.look,
			Perform: func(ctx context.Context, c *onceward.Call) (onceward.Outcome, error) {
				before, _ := b.count()
				out, err := b.perform(ctx, c)
				if after, _ := b.count(); after > before {
					s.mu.Lock()
					s.log = append(s.log, string(tool.name))
					s.mu.Unlock()
				}
				return out, err
			}}
		if tool.effect == onceward.EffectUnsafeWrite {
			f.Probe = nil
		}
		if tool.undo != "" {
			f.UndoneBy, f.Undo = tool.undo, func(c *onceward.Call) ([]byte, error) {
				return fmt.Appendf(nil, `{"id":"%s","of":"%s"}`, textOf(c.Input, "id"), c.Reference), nil
			}
		}
		made, err := onceward.NewFunction(f)
		if err != nil {
			t.Fatal(err)
		}
		w.beside = append(w.beside, made)
	}
	s.reopen()
	return s
}

// reopen goes on with a new process.
func (s *sagaWorld) reopen() {
	s.restart()
	s.loop = worker.NewSagas(s.ledger)
}

func inSagaWorld(t *testing.T, situation func(t *testing.T, s *sagaWorld)) {
	t.Helper()
	withRefund(t, onceward.EffectProbedWrite, situation)
}

// withRefund is inSagaWorld with another effect class of what undoes a charge.
func withRefund(t *testing.T, refund onceward.EffectClass, situation func(t *testing.T, s *sagaWorld)) {
	t.Helper()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) { situation(t, newSagaWorld(t, w, refund)) })
}

// sagaOrder is the saga of the tests: reserve, charge, send.
func sagaOrder(steps ...onceward.SagaStep) onceward.SagaRequest {
	if steps == nil {
		steps = []onceward.SagaStep{
			{Name: "reserve", Tool: "stock.reserve", Input: []byte(`{"id":"o-1"}`)},
			{Name: "charge", Tool: "card.charge", Input: []byte(`{"id":"o-1","reservation":"${steps.reserve.reference}"}`)},
			{Name: "send", Tool: "parcel.send", Input: []byte(`{"id":"o-1","booked":"${steps.charge.result.booked}"}`), Kind: onceward.SagaRetryable},
		}
	}
	return onceward.SagaRequest{Principal: onceward.LocalPrincipal(), Name: "orders.place", Key: "o-1", Steps: steps, CorrelationID: "c-1"}
}

func (s *sagaWorld) start(r onceward.SagaRequest) *onceward.Saga {
	s.t.Helper()
	a, err := s.ledger.StartSaga(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.Saga
}

// turnOver lets the sagas and their operations go as far as they come now.
func (s *sagaWorld) turnOver() {
	s.t.Helper()
	for range 200 {
		worked, err := s.loop.Step(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		s.work()
		select {
		case <-s.ledger.SagasMoved():
			worked = true
		default:
		}
		if !worked {
			return
		}
	}
	s.t.Fatal("the saga never comes to rest")
}

// later lets time pass in steps.
func (s *sagaWorld) later(d, step time.Duration) {
	s.t.Helper()
	for ; d > 0; d -= step {
		s.clock.Advance(min(d, step))
		s.turnOver()
	}
}

func (s *sagaWorld) saga(id onceward.SagaID) *onceward.Saga {
	s.t.Helper()
	got, err := s.ledger.Saga(s.t.Context(), onceward.LocalPrincipal(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *sagaWorld) wantSaga(id onceward.SagaID, state onceward.SagaState, happened ...string) *onceward.Saga {
	s.t.Helper()
	got := s.saga(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if got.State != state || !slices.Equal(s.log, happened) {
		s.t.Fatalf("the saga is %s after %v, want %s after %v\n%s", got.State, s.log, state, happened, got.Words())
	}
	return got
}

// wantOperation checks the operation of a step, or its compensation.
func (s *sagaWorld) wantOperation(id onceward.OperationID, state onceward.State) *onceward.Operation {
	s.t.Helper()
	op := s.get(id)
	if op.State != state {
		s.t.Fatalf("%s is %s, want %s\n%s", op.Tool, op.State, state, s.timeline(op))
	}
	return op
}

var declinedNow = func(*books, *onceward.Call) (onceward.Outcome, error) {
	return onceward.NotDone(onceward.ClassValidation, "declined", "the card was declined", false), nil
}

func TestSagaDoesEachOfItsStepsOnceHoweverOftenItIsStarted(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		var starts sync.WaitGroup
		for range 20 {
			starts.Go(func() {
				if _, err := s.ledger.StartSaga(t.Context(), sagaOrder()); err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
		s.turnOver()
		id := onceward.NewSagaID(onceward.LocalPrincipal().Tenant, "orders.place", "o-1")
		got := s.wantSaga(id, onceward.SagaSucceeded, "stock.reserve", "card.charge", "parcel.send")
		charge := s.wantOperation(got.Step("charge").Operation, onceward.StateSucceeded)
		if string(charge.Input) != `{"id":"o-1","reservation":"ref_1"}` || charge.CorrelationID != "c-1" {
			t.Errorf("the charge was asked for with %s of %q", charge.Input, charge.CorrelationID)
		}
		if send := s.get(got.Step("send").Operation); string(send.Input) != `{"booked":"ref_1","id":"o-1"}` {
			t.Errorf("the parcel was asked for with %s", send.Input)
		}
		again, err := s.ledger.StartSaga(t.Context(), sagaOrder())
		if err != nil || again.Decision != onceward.DecisionReplayed || again.Saga.ID != id {
			t.Errorf("started again it is %+v, %v", again, err)
		}
		other := sagaOrder()
		other.Steps[0].Input = []byte(`{"id":"o-2"}`)
		_, err = s.ledger.StartSaga(t.Context(), other)
		wantCode(t, err, onceward.CodeKeyReused)
		s.later(10*time.Minute, time.Minute)
		s.wantSaga(id, onceward.SagaSucceeded, "stock.reserve", "card.charge", "parcel.send")
		view, err := s.ledger.Run(t.Context(), onceward.LocalPrincipal(), id.Run())
		if err != nil || view.Run.State != onceward.RunFinished || view.Run.Outcome != onceward.RunSucceeded || len(view.Operations) != 3 || view.Saga == nil || view.Saga.State != onceward.SagaSucceeded {
			t.Fatalf("its run is %+v, %v", view, err)
		}
		lines := 0
		for _, line := range view.Timeline {
			if line.Kind == onceward.RunEventSaga {
				lines++
			}
		}
		if lines != 6 { // each step started and done
			t.Errorf("%d lines of its run's timeline are of the saga: %+v", lines, view.Timeline)
		}
	})
}

func TestStepThatFailsUndoesTheOthersOnceEachInReverse(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		s.books["parcel.send"].next(declinedNow)
		r := sagaOrder()
		r.Steps[2].Kind = onceward.SagaConfirmFirst
		id := s.start(r).ID
		s.turnOver()
		got := s.wantSaga(id, onceward.SagaRunning, "stock.reserve", "card.charge")
		if !strings.Contains(got.Note, "waits for an approval") {
			t.Fatalf("what cannot be undone did not ask first: %q", got.Note)
		}
		op := s.wantOperation(got.Step("send").Operation, onceward.StateAwaitingApproval)
		if _, err := s.ledger.Approve(t.Context(), onceward.LocalPrincipal(), op.ID, onceward.ApprovalAnswer{Digest: op.Digest, Contract: op.Contract}); err != nil {
			t.Fatal(err)
		}
		s.turnOver()
		got = s.wantSaga(id, onceward.SagaCompensated, "stock.reserve", "card.charge", "card.refund", "stock.release")
		for _, name := range []string{"reserve", "charge"} {
			s.wantOperation(got.Step(name).Operation, onceward.StateCompensated)
			s.wantOperation(got.Step(name).Undoing, onceward.StateSucceeded)
		}
		s.wantOperation(got.Step("send").Operation, onceward.StateFailed)
		s.later(time.Hour, 5*time.Minute)
		got = s.wantSaga(id, onceward.SagaCompensated, "stock.reserve", "card.charge", "card.refund", "stock.release")
		if !strings.Contains(got.Cause, "the card was declined") {
			t.Errorf("it went back because %q", got.Cause)
		}
		view, err := s.ledger.Run(t.Context(), onceward.LocalPrincipal(), id.Run())
		if err != nil || view.Run.Outcome != onceward.RunFailed || len(view.Operations) != 5 {
			t.Errorf("its run is %+v, %v", view, err)
		}
	})
}

func TestRejectedStepUndoesWhatIsDone(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		r := sagaOrder()
		r.Steps[2].Kind = onceward.SagaConfirmFirst
		id := s.start(r).ID
		s.turnOver()
		op := s.wantOperation(s.saga(id).Step("send").Operation, onceward.StateAwaitingApproval)
		if _, err := s.ledger.Reject(t.Context(), onceward.LocalPrincipal(), op.ID, op.Digest, "not today"); err != nil {
			t.Fatal(err)
		}
		s.turnOver()
		s.wantSaga(id, onceward.SagaCompensated, "stock.reserve", "card.charge", "card.refund", "stock.release")
	})
}

func TestAnswerIsNoticedSoonByAnotherProcessThanTheOneThatSteppedTheSaga(t *testing.T) {
	t.Parallel()
	reject := func(t *testing.T, r *replica, op *onceward.Operation) {
		t.Helper()
		if _, err := r.ledger.Reject(t.Context(), onceward.LocalPrincipal(), op.ID, op.Digest, "not today"); err != nil {
			t.Fatal(err)
		}
	}
	for name, answer := range map[string]func(t *testing.T, s *sagaWorld, other *replica, loop *worker.Sagas, op *onceward.Operation){
		"it died, and is started again": func(t *testing.T, s *sagaWorld, _ *replica, _ *worker.Sagas, op *onceward.Operation) {
			reject(t, s.replica, op)
			s.reopen()
		},
		"it died, and another one goes on": func(t *testing.T, s *sagaWorld, other *replica, loop *worker.Sagas, op *onceward.Operation) {
			reject(t, s.replica, op)
			s.replica, s.loop = other, loop
		},
		"another one takes the answer": func(t *testing.T, s *sagaWorld, other *replica, loop *worker.Sagas, op *onceward.Operation) {
			reject(t, other, op)
			if _, err := loop.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
				other := s.another()
				loop := worker.NewSagas(other.ledger)
				if _, err := loop.Step(t.Context()); err != nil { // it has looked at what there was
					t.Fatal(err)
				}
				r := sagaOrder()
				r.Steps[2].Kind = onceward.SagaConfirmFirst
				id := s.start(r).ID
				s.turnOver()
				s.later(10*time.Minute, 5*time.Minute) // it is looked at seldom by now
				answer(t, s, other, loop, s.wantOperation(s.saga(id).Step("send").Operation, onceward.StateAwaitingApproval))
				s.later(30*time.Second, 2*time.Second)
				s.wantSaga(id, onceward.SagaCompensated, "stock.reserve", "card.charge", "card.refund", "stock.release")
			})
		})
	}
}

func TestSagasThatMovedWhileTheLedgerTookNoWritesGoOnAtOnceOnceItDoes(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		var ids []onceward.SagaID
		for _, key := range []onceward.Key{"o-1", "o-2", "o-3", "o-4"} {
			r := sagaOrder(onceward.SagaStep{Name: "mail", Tool: "mail.send", Kind: onceward.SagaRetryable, Input: fmt.Appendf(nil, `{"id":"%s"}`, key)})
			r.Key = key
			ids = append(ids, s.start(r).ID)
		}
		if _, err := s.loop.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.work()
		s.store.GoReadOnly()
		if _, err := s.loop.Step(t.Context()); err == nil {
			t.Fatal("what cannot be written is not told")
		}
		s.store.ComeBack()
		s.turnOver()
		for _, id := range ids {
			if got := s.saga(id); got.State != onceward.SagaSucceeded {
				t.Errorf("%s is %s", got.Key, got.State)
			}
		}
	})
}

func TestUnknownStepStopsTheLineUntilItIsSettled(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		s.books["card.charge"].blind = true
		s.books["card.charge"].next(effectThenError)
		r := sagaOrder()
		r.Steps[2].Input = []byte(`{"id":"o-1","booked":"${steps.charge.reference}"}`) // its answer, and with it its result, is lost
		id := s.start(r).ID
		s.turnOver()
		s.later(time.Minute, 10*time.Second)
		got := s.wantSaga(id, onceward.SagaRunning, "stock.reserve", "card.charge")
		s.wantOperation(got.Step("charge").Operation, onceward.StateOutcomeUnknown)
		s.books["card.charge"].mu.Lock()
		s.books["card.charge"].blind = false
		s.books["card.charge"].mu.Unlock()
		s.books["parcel.send"].next(func(*books, *onceward.Call) (onceward.Outcome, error) {
			return onceward.Outcome{Verdict: onceward.VerdictNotDone, Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: "busy", Retryable: true}}, nil
		})
		s.later(5*time.Minute, 10*time.Second)
		s.wantSaga(id, onceward.SagaSucceeded, "stock.reserve", "card.charge", "parcel.send") // without a reference, found by the probe
	})
}

func TestRetryableStepIsTriedUntilItIsDone(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		busy := func(*books, *onceward.Call) (onceward.Outcome, error) {
			return onceward.NotDone(onceward.ClassUnavailable, "busy", "no driver is free", true), nil
		}
		s.books["parcel.send"].next(busy, busy, busy, busy, busy) // more often than the budget of one request
		id := s.start(sagaOrder()).ID
		s.later(time.Hour, 30*time.Second)
		s.wantSaga(id, onceward.SagaSucceeded, "stock.reserve", "card.charge", "parcel.send")
	})
}

func TestCompensationThatIsUnknownOrFailsWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(*books, *onceward.Call) (onceward.Outcome, error){"unknown": effectThenError, "failed": declinedNow} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withRefund(t, onceward.EffectUnsafeWrite, func(t *testing.T, s *sagaWorld) {
				s.books["card.refund"].next(ends)
				s.books["mail.send"].next(declinedNow)
				r := sagaOrder()
				r.Steps[2] = onceward.SagaStep{Name: "mail", Tool: "mail.send", Input: []byte(`{"id":"o-1"}`), Kind: onceward.SagaCompensable, Undo: &onceward.SagaUndo{Tool: "mail.send", Input: []byte(`{"id":"sorry ${no}"}`)}}
				id := s.start(r).ID
				s.turnOver()
				happened := []string{"stock.reserve", "card.charge"}
				if name == "unknown" {
					happened = append(happened, "card.refund")
				}
				got := s.wantSaga(id, onceward.SagaNeedsReview, happened...)
				for _, words := range []string{"charge", "reserve is done", "because the step mail is failed", "the card was declined"} {
					if !strings.Contains(got.Words(), words) {
						t.Errorf("its words do not say %q: %s", words, got.Words())
					}
				}
				s.later(24*time.Hour, time.Hour)
				s.wantSaga(id, onceward.SagaNeedsReview, happened...)
				s.wantOpen(1, 24*time.Hour)
				s.settleUndo(got, name)
				s.turnOver()
				s.wantSaga(id, onceward.SagaCompensated, append(happened, "stock.release")...)
				s.wantOpen(0, 0)
			})
		})
	}
}

// wantOpen asks the gauges how many sagas wait for a person, and for how long.
func (s *sagaWorld) wantOpen(n float64, atLeast time.Duration) {
	s.t.Helper()
	if err := s.ledger.LookAtBacklog(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	m := new(oncewardtest.Meter)
	s.ledger.Gauges(m)
	wantMetric(s.t, m, n, onceward.MetricSagas, "needs_review")
	wantMetric(s.t, m, 0, onceward.MetricSagas, "running")
	if age := m.Value(onceward.MetricSagasAge, "needs_review"); age < atLeast.Seconds() {
		s.t.Errorf("the oldest is %vs old", age)
	}
}

// settleUndo is the person: an unknown compensation is resolved where it waits,
// and of a failed one the effect is left as it is.
func (s *sagaWorld) settleUndo(saga *onceward.Saga, name string) {
	s.t.Helper()
	who := onceward.LocalPrincipal()
	var err error
	if name == "unknown" {
		_, err = s.ledger.Resolve(s.t.Context(), who, saga.Step("charge").Undoing, onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Reference: "ref_1", Reason: "seen at the bank"})
	} else {
		_, err = s.ledger.ResolveSaga(s.t.Context(), who, saga.ID, onceward.SagaResolution{Step: "reserve", Outcome: onceward.SagaStepKept, Reason: "no"})
		wantCode(s.t, err, onceward.CodeStateForbids) // it does not wait for that step
		_, err = s.ledger.ResolveSaga(s.t.Context(), who, saga.ID, onceward.SagaResolution{Step: "charge", Outcome: onceward.SagaStepKept})
		wantCode(s.t, err, onceward.CodeEvidenceRequired)
		_, err = s.ledger.ResolveSaga(s.t.Context(), who, saga.ID, onceward.SagaResolution{Step: "charge", Outcome: onceward.SagaStepKept, Reason: "settled by a voucher"})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestCancelledSagaUndoesAlsoWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		started, goOn := make(chan struct{}), make(chan struct{})
		s.books["card.charge"].next(func(b *books, c *onceward.Call) (onceward.Outcome, error) {
			close(started)
			<-goOn
			return onceward.Outcome{Reference: b.book(c.ProviderKey)}, nil
		})
		id := s.start(sagaOrder()).ID
		for range 3 {
			if _, err := s.loop.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s.saga(id).Step("charge").State == onceward.SagaStepPending {
				s.work()
			}
		}
		await(t, started, "the charge")
		if _, err := s.ledger.CancelSaga(t.Context(), onceward.LocalPrincipal(), id, "the customer called"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.loop.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wantSaga(id, onceward.SagaCompensating, "stock.reserve")
		close(goOn)
		s.quiet()
		s.turnOver()
		got := s.wantSaga(id, onceward.SagaCompensated, "stock.reserve", "card.charge", "card.refund", "stock.release")
		if _, err := s.ledger.CancelSaga(t.Context(), onceward.LocalPrincipal(), id, "again"); err != nil || !strings.Contains(got.Cause, "the customer called") {
			t.Errorf("cancelled again: %v; it went back because %q", err, got.Cause)
		}
	})
}

// Whoever noted a step as started stands still before its claim. Meanwhile the
// saga is cancelled and goes back. What goes on then finds the step ended.
func TestStepThatIsClaimedAfterTheSagaWentBackHasNoEffect(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		reached, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		slow := s.another(func(o *onceward.Options) {
			o.CrashPoint = func(name string) {
				if name == "saga.before_step" {
					once.Do(func() { close(reached); <-goOn })
				}
			}
		})
		id := s.start(sagaOrder()).ID
		stale := make(chan error)
		go func() {
			_, err := worker.NewSagas(slow.ledger).Step(context.Background())
			stale <- err
		}()
		await(t, reached, "the step")
		if _, err := s.ledger.CancelSaga(t.Context(), onceward.LocalPrincipal(), id, "no"); err != nil {
			t.Fatal(err)
		}
		s.turnOver()
		got := s.wantSaga(id, onceward.SagaCancelled)
		close(goOn)
		if err := await(t, stale, "the slow process"); err != nil {
			t.Fatal(err)
		}
		slow.ledger.WaitIdle()
		s.later(time.Minute, 10*time.Second)
		s.wantSaga(id, onceward.SagaCancelled)
		s.wantOperation(got.Step("reserve").Operation, onceward.StateCancelled)
	})
}

func TestSagaGoesOnWhereAKilledProcessLeftIt(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"saga.before_step", "saga.after_step", "saga.before_commit", "saga.before_undo", "saga.after_undo"} {
		for passing := 1; passing <= 4; passing++ {
			t.Run(fmt.Sprintf("%s:%d", point, passing), func(t *testing.T) {
				t.Parallel()
				inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
					s.books["mail.send"].next(declinedNow)
					r := sagaOrder()
					r.Steps[2] = onceward.SagaStep{Name: "mail", Tool: "mail.send", Input: []byte(`{"id":"o-1"}`), Kind: onceward.SagaCompensable, Undo: &onceward.SagaUndo{Tool: "mail.send", Input: []byte(`{"id":"sorry"}`)}}
					var doomed *replica
					var mu sync.Mutex
					left := passing
					doomed = s.another(func(o *onceward.Options) {
						o.CrashPoint = func(name string) {
							mu.Lock()
							defer mu.Unlock()
							if name == point {
								left--
							}
							if left == 0 {
								doomed.kill()
							}
							if doomed.dead.Load() {
								runtime.Goexit()
							}
						}
					})
					id := s.start(r).ID
					loop := worker.NewSagas(doomed.ledger)
					for range 40 {
						if _, err := loop.Step(t.Context()); err != nil {
							break // it is dead
						}
						doomed.ledger.WaitIdle()
					}
					doomed.ledger.WaitIdle()
					s.reopen()
					s.later(5*time.Minute, 5*time.Second)
					got := s.wantSaga(id, onceward.SagaCompensated, "stock.reserve", "card.charge", "card.refund", "stock.release")
					s.wantOperation(got.Step("charge").Operation, onceward.StateCompensated)
				})
			})
		}
	}
}

func TestSagaLeavesTheOperationOfOthersAlone(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
		if _, err := s.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "stock.reserve", Input: []byte(`{"id":"o-1"}`), Wait: time.Second}); err != nil {
			t.Fatal(err)
		}
		s.quiet()
		s.books["card.charge"].next(declinedNow)
		id := s.start(sagaOrder()).ID
		s.turnOver()
		got := s.wantSaga(id, onceward.SagaCompensated, "stock.reserve")
		if step := got.Step("reserve"); step.State != onceward.SagaStepKept || !step.Shared {
			t.Errorf("the step that others asked for is %+v", step)
		}
	})
}

// What a step would ask for is there already, of another input, or is another step
// of the same saga: it is no proof that the step is done.
func TestStepWhoseKeyIsAnotherInputsIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		foreign, charge string // inputs of somebody else's card.charge; of the saga's second one
		why             string
	}{
		"OfSomebodyElse":          {foreign: `{"id":"o-1","amount":1}`, why: "for another input"},
		"OfAStepWithAnotherInput": {charge: `{"id":"o-1","amount":1}`, why: "one operation cannot be two steps"},
		"OfAStepWithTheSameInput": {charge: `{"id":"o-1"}`, why: "one operation cannot be two steps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inSagaWorld(t, func(t *testing.T, s *sagaWorld) {
				happened := []string{"stock.reserve", "stock.release"}
				r := sagaOrder()
				if c.foreign != "" {
					if _, err := s.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "card.charge", Input: []byte(c.foreign), Wait: time.Second}); err != nil {
						t.Fatal(err)
					}
					s.quiet()
					happened = slices.Insert(happened, 0, "card.charge")
				} else {
					r.Steps = slices.Insert(r.Steps, 2, onceward.SagaStep{Name: "again", Tool: "card.charge", Input: []byte(c.charge)})
					happened = []string{"stock.reserve", "card.charge", "card.refund", "stock.release"}
				}
				id := s.start(r).ID
				s.turnOver()
				if got := s.wantSaga(id, onceward.SagaCompensated, happened...); !strings.Contains(got.Cause, c.why) {
					t.Errorf("it went back because %q", got.Cause)
				}
			})
		})
	}
}

func TestSagaWhoseStarterLostItsRightsGoesBack(t *testing.T) {
	t.Parallel()
	inSagaWorld(t, func(_ *testing.T, s *sagaWorld) {
		r := sagaOrder()
		r.Steps[1].Kind = onceward.SagaConfirmFirst
		r.Principal.Credential.EndsAt = s.clock.Now().Add(time.Hour)
		id := s.start(r).ID
		s.turnOver()
		s.wantSaga(id, onceward.SagaRunning, "stock.reserve")
		s.later(2*time.Hour, time.Minute)
		op := s.get(s.saga(id).Step("charge").Operation)
		if _, err := s.ledger.Approve(s.t.Context(), onceward.LocalPrincipal(), op.ID, onceward.ApprovalAnswer{Digest: op.Digest, Contract: op.Contract}); err != nil {
			s.t.Fatal(err)
		}
		s.turnOver() // the charge was asked for in time; the parcel is not
		s.wantSaga(id, onceward.SagaCompensated, "stock.reserve", "card.charge", "card.refund", "stock.release")
	})
}

func TestManySagasGoForwardAtTwoProcessesSideBySide(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		s := newSagaWorld(t, w, onceward.EffectProbedWrite)
		other := s.another()
		ids := make([]onceward.SagaID, 40)
		for i := range ids {
			r := sagaOrder()
			for j := range r.Steps {
				r.Steps[j].Input = []byte(strings.ReplaceAll(string(r.Steps[j].Input), "o-1", fmt.Sprintf("o-%d", i)))
			}
			r.Key = onceward.Key(fmt.Sprintf("o-%d", i))
			ids[i] = s.start(r).ID
		}
		loops := []*worker.Sagas{s.loop, worker.NewSagas(other.ledger)}
		over := time.Now().Add(30 * time.Second)
		for time.Now().Before(over) {
			var both sync.WaitGroup
			for _, l := range loops {
				both.Go(func() {
					if _, err := l.Step(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			if !slices.ContainsFunc(ids, func(id onceward.SagaID) bool { return s.saga(id).State != onceward.SagaSucceeded }) {
				break
			}
		}
		for name, b := range s.books {
			want := 40
			if name == "stock.release" || name == "card.refund" || name == "mail.send" {
				want = 0
			}
			if effects, _ := b.count(); effects != want {
				t.Errorf("%s has %d effects, want %d", name, effects, want)
			}
		}
	})
}

func TestSagaThatCannotBeCarriedOutIsNotStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	s := newSagaWorld(t, w, onceward.EffectProbedWrite)
	step := func(edit func(*onceward.SagaStep)) onceward.SagaRequest {
		r := sagaOrder()
		edit(&r.Steps[1])
		return r
	}
	for name, r := range map[string]onceward.SagaRequest{
		"no steps":          {Principal: onceward.LocalPrincipal(), Name: "orders.place", Key: "k"},
		"two of one name":   step(func(st *onceward.SagaStep) { st.Name = "reserve" }),
		"a dotted name":     step(func(st *onceward.SagaStep) { st.Name = "a.b" }),
		"nothing undoes it": step(func(st *onceward.SagaStep) { st.Tool, st.Kind = "mail.send", onceward.SagaCompensable }),
		"no such tool":      step(func(st *onceward.SagaStep) { st.Tool = "no.tool" }),
		"no such undo":      step(func(st *onceward.SagaStep) { st.Undo = &onceward.SagaUndo{Tool: "no.tool", Input: []byte(`{}`)} }),
		"a later step":      step(func(st *onceward.SagaStep) { st.Input = []byte(`{"a":"${steps.send.reference}"}`) }),
		"no such word":      step(func(st *onceward.SagaStep) { st.Input = []byte(`{"a":"${steps.reserve.state}"}`) }),
		"no such kind":      step(func(st *onceward.SagaStep) { st.Kind = "hopeful" }),
		"an odd name":       {Principal: onceward.LocalPrincipal(), Name: "Orders!", Key: "k", Steps: sagaOrder().Steps},
	} {
		if _, err := s.ledger.StartSaga(t.Context(), r); err == nil {
			t.Errorf("%s: it was started", name)
		}
	}
	narrow := sagaOrder()
	narrow.Principal.Roles, narrow.Principal.Tools = []onceward.Role{onceward.RoleCaller}, []onceward.ToolName{"stock.reserve"}
	_, err := s.ledger.StartSaga(t.Context(), narrow)
	wantCode(t, err, onceward.CodeForbidden)
	page, err := s.ledger.ListSagas(t.Context(), onceward.LocalPrincipal(), onceward.SagaFilter{Limit: 10})
	if err != nil || len(page) != 0 {
		t.Errorf("there are %v, %v", page, errors.Join(err))
	}
}
