package onceward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Times of the loop that advances sagas.
const (
	sagaBatch    = 32               // sagas advanced side by side
	sagaHold     = 10 * time.Second // a replica that dies gives its sagas back after this
	sagaAgain    = 5 * time.Second  // the rest after an error
	sagaWaitMin  = time.Second      // between two looks at a saga that waits, besides being told
	sagaWaitMax  = 30 * time.Second // of one whose operation is at work
	sagaHumanMax = 5 * time.Minute  // of one that waits for a person
)

// sagasKnownMax is how many sagas a process is told of.
//
// Why a bound: those that another process takes to their end are never forgotten
// otherwise. One that is forgotten comes up by its own time.
const sagasKnownMax = 100_000

// movedSagas are the sagas that this process has stepped and sees going on, and
// those of them that something moved since. A process without the loop has none.
type movedSagas struct {
	mu     sync.Mutex
	known  map[SagaID]struct{}
	moved  map[SagaID]struct{}
	signal chan struct{}
}

func newMovedSagas() movedSagas {
	return movedSagas{known: map[SagaID]struct{}{}, moved: map[SagaID]struct{}{}, signal: make(chan struct{}, 1)}
}

// wake lets the loop look at what has come up.
func (m *movedSagas) wake() {
	select {
	case m.signal <- struct{}{}:
	default:
	}
}

// poke notes that sagas should be looked at.
func (m *movedSagas) poke(ids ...SagaID) {
	m.mu.Lock()
	for _, id := range ids {
		m.moved[id] = struct{}{}
	}
	m.mu.Unlock()
	m.wake()
}

// tell notes that an operation of a run moved, if a saga of this process waits in it.
func (m *movedSagas) tell(label string) {
	id, ok := sagaOf(label)
	if !ok {
		return
	}
	m.mu.Lock()
	_, ok = m.known[id]
	m.mu.Unlock()
	if ok {
		m.poke(id)
	}
}

// sagaOf is the saga, if it is one, whose operations have the label.
func sagaOf(label string) (SagaID, bool) {
	run, ok := runOf(label)
	return SagaID(run), ok
}

// know notes that a saga goes on, or has ended.
func (m *movedSagas) know(s *Saga) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.State.Final() {
		delete(m.known, s.ID)
		return
	}
	if len(m.known) >= sagasKnownMax {
		clear(m.known)
	}
	m.known[s.ID] = struct{}{}
}

func (m *movedSagas) take() (ids []SagaID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.moved {
		ids = append(ids, id)
	}
	clear(m.moved)
	return ids
}

// SagasMoved is signalled when a saga of this process can go on.
func (l *Ledger) SagasMoved() <-chan struct{} { return l.sagas.signal }

// NextSaga is in how long the earliest saga comes up; ok is false if there is none.
func (l *Ledger) NextSaga(ctx context.Context) (in time.Duration, ok bool, err error) {
	next, now, err := l.store.NextSaga(ctx)
	return max(0, next.Sub(now)), !next.IsZero(), err
}

// StepSagas advances the sagas whose time has come, side by side, so that their
// claims share commits. It says whether there were any.
func (l *Ledger) StepSagas(ctx context.Context) (worked bool, err error) {
	now := l.clock.now()
	moved := l.sagas.take()
	for i, id := range moved {
		if err := l.store.RescheduleSaga(ctx, id, 0, now); err != nil {
			l.sagas.poke(moved[i:]...)
			return false, err
		}
	}
	due, err := l.store.TakeSagas(ctx, sagaBatch, sagaHold)
	if err != nil || len(due) == 0 {
		return false, err
	}
	errs := make([]error, len(due))
	var all sync.WaitGroup
	for i, s := range due {
		all.Go(func() {
			if err := l.advanceSaga(ctx, s); err != nil {
				errs[i] = errors.Join(fmt.Errorf("advance saga %s: %w", s.ID, err), l.store.RescheduleSaga(ctx, s.ID, 0, l.clock.now().Add(sagaAgain)))
			}
		})
	}
	all.Wait()
	return true, errors.Join(errs...)
}

// look is what a look at a saga's step says: that the saga moved, or what it
// waits for. The zero value is: it waits for an operation that is at work.
type look struct {
	moved     bool
	note      string // what a person has to do; empty: nothing
	review    bool   // and that it is not a plain yes
	elsewhere bool   // it is another process, and no person, that has to do it
	after     time.Duration
}

// advanceSaga takes a saga as far as it comes now. Each move is committed before
// the next is begun; whoever is overtaken stops.
//
// Crash point: saga.before_commit.
func (l *Ledger) advanceSaga(ctx context.Context, s *Saga) error {
	for {
		l.sagas.know(s)
		if s.State.Final() {
			return l.endSaga(ctx, s)
		}
		next := s.Clone()
		saw, err := l.move(ctx, &next)
		if errors.Is(err, ErrFunctionNotHere) { // no verdict: a process that has it goes on
			next, saw, err = s.Clone(), look{note: cutWords("another process has to go on: " + messageOf(err)), elsewhere: true}, nil
		}
		if err != nil {
			return err
		}
		now := l.clock.now()
		if !saw.moved {
			next.State, next.Note = s.going(), saw.note
			if saw.review {
				next.State = SagaNeedsReview
			}
			at := now.Add(s.rest(now, saw))
			if next.State == s.State && (next.Note == s.Note || s.Shredded) { // what is shredded keeps no note
				return l.store.RescheduleSaga(ctx, s.ID, s.Revision, at)
			}
			next.NextAt = at
		} else {
			next.Note, next.NextAt = "", now.Add(sagaHold) // for whoever goes on if this process dies
			if next.State.Final() {
				next.FinishedAt = now
			} else {
				next.State = next.going()
			}
		}
		l.crash("saga.before_commit")
		stored, applied, err := l.nextSaga(ctx, &next, sagaNotes(s, &next)...)
		if err != nil || !applied || !saw.moved {
			return err
		}
		s = stored
	}
}

// move looks at the step that a saga is at. One whose inputs were shredded, which a
// restored backup may have under way, goes on by a person's word only.
func (l *Ledger) move(ctx context.Context, s *Saga) (look, error) {
	switch {
	case s.Shredded && s.current() != nil:
		return look{note: s.explained().Note, review: true}, nil
	case s.Undoing:
		return l.backward(ctx, s)
	}
	return l.forward(ctx, s)
}

// going is the state of a saga that waits for nobody.
func (s *Saga) going() SagaState {
	if s.Undoing {
		return SagaCompensating
	}
	return SagaRunning
}

// rest is how long a saga that waits is left alone, besides being told: the longer
// it has waited, the longer.
func (s *Saga) rest(now time.Time, saw look) time.Duration {
	most, since := sagaWaitMax, s.UpdatedAt
	switch {
	case saw.elsewhere && s.Note != saw.note:
		since = now // whoever can go on takes it soon
	case saw.note != "" && !saw.elsewhere:
		most = sagaHumanMax
	}
	return max(saw.after, min(max(now.Sub(since)/2, sagaWaitMin), most))
}

// sagaNotes are the lines of the audit trail that go with a move.
func sagaNotes(before, after *Saga) []AuditEvent {
	e := AuditEvent{Tenant: after.Tenant, Actor: after.By.String(), Subject: after.ID.String()}
	switch {
	case after.State.Final():
		e.Action, e.Detail = AuditSagaEnded, string(after.State)
	case after.Undoing && !before.Undoing:
		e.Action, e.Detail = AuditSagaTurned, after.Name
	default:
		return nil
	}
	return []AuditEvent{e}
}

// forward looks at the step whose turn it is.
func (l *Ledger) forward(ctx context.Context, s *Saga) (look, error) {
	for i := range s.Steps {
		step := &s.Steps[i]
		switch step.State {
		case SagaStepDone:
			continue
		case SagaStepPending:
			return l.begin(ctx, s, step)
		case SagaStepStarted:
			return l.followStep(ctx, s, step)
		case SagaStepNotDone, SagaStepUndoing, SagaStepUndone, SagaStepKept:
			return s.turn(fmt.Sprintf("the step %s is %s", step.Name, step.State)), nil
		}
	}
	s.State = SagaSucceeded
	return look{moved: true}, nil
}

// turn makes a saga go back.
func (s *Saga) turn(cause string) look {
	s.Undoing, s.Cause = true, cutWords(cause)
	return look{moved: true}
}

func cutWords(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), sagaWordsMax)], "")
}

// begin notes that a step starts, with the operation that it will be.
//
// Invariant: a step is noted as started before its operation is claimed. Whoever
// goes back finds every operation that there may ever be (close).
func (l *Ledger) begin(ctx context.Context, s *Saga, step *SagaStep) (look, error) {
	r, err := l.stepIntent(ctx, s, step)
	if err != nil {
		return s.refused(step, err)
	}
	id := NewOperationID(s.Tenant, step.Tool, r.p.Key)
	for i := range s.Steps {
		if other := &s.Steps[i]; other.Operation == id {
			return s.refused(step, Errorf(CodeKeyReused, "its key makes it the operation of the step %s, and one operation cannot be two steps", other.Name))
		}
	}
	switch there, err := l.sagaOperation(ctx, id); {
	case err != nil:
		return look{}, err
	case there != nil: // somebody else has asked for it
		if err := l.sameIntention(ctx, r.in, r.tool, r.p, there); err != nil {
			return s.refused(step, err)
		}
	}
	step.State, step.StartedAt, step.Operation = SagaStepStarted, l.clock.now(), id
	return look{moved: true}, nil
}

// refused ends a step that cannot be asked for; an error that says nothing of it
// is returned.
func (s *Saga) refused(step *SagaStep, err error) (look, error) {
	if tryAgain(err) || Is(err, CodeContractSuperseded) || CodeOf(err) == CodeInternal {
		return look{}, err
	}
	step.State, step.Why = SagaStepNotDone, cutWords(messageOf(err))
	return s.turn("the step " + step.Name + " was refused: " + messageOf(err)), nil
}

// stepIntent is a step's operation as it would be asked for at this moment, on behalf of
// whoever started the saga.
func (l *Ledger) stepIntent(ctx context.Context, s *Saga, step *SagaStep) (*admitted, error) {
	if why, err := l.lostRights(ctx, s.By, ActionSubmit); err != nil || why != "" {
		return nil, cmp.Or(err, error(&Error{Code: CodeForbidden, Op: "submit step", Message: why}))
	}
	t, err := l.sagaTool(ctx, s.By, step.Tool)
	if err != nil {
		return nil, err
	}
	input, err := l.renderStep(ctx, s, step.Input)
	if err != nil {
		return nil, err
	}
	in := s.intent(step.Tool, input, step.Name)
	r, err := l.admitUnder(ctx, in, t)
	if err == nil && step.Kind == SagaConfirmFirst {
		r.p.Approval = true
	}
	return r, err
}

// intent is what a saga asks for. Its key is of the saga and the step, where the
// tool's contract does not derive one.
func (s *Saga) intent(tool ToolName, input []byte, what string) *Intent {
	return &Intent{Principal: s.By, Tool: tool, Input: input, CallerKey: Key(s.ID.String() + "/" + what), Run: s.ID.Run().String(), CorrelationID: s.CorrelationID}
}

// followStep looks at the operation of the step whose turn it is, and asks for it
// where it is not there.
//
// Crash point: saga.before_step, saga.after_step.
func (l *Ledger) followStep(ctx context.Context, s *Saga, step *SagaStep) (look, error) {
	op, err := l.sagaOperation(ctx, step.Operation)
	if err != nil {
		return look{}, err
	}
	switch {
	case op == nil, op.State == StateFailed && step.Kind == SagaRetryable && op.retryDue(l.clock.now()):
		r, err := l.stepIntent(ctx, s, step)
		if err != nil {
			return s.refused(step, err)
		}
		l.crash("saga.before_step")
		a, err := l.submit(ctx, r, nil)
		l.count(s.By, step.Tool, a, err)
		if err != nil {
			return s.refused(step, err)
		}
		l.crash("saga.after_step")
		if op = a.Operation; op.ID != step.Operation { // the contract's key rule changed meanwhile
			step.Operation = op.ID
			return look{moved: true}, nil
		}
	case !s.owns(op): // somebody may have been faster since the step was begun
		r, err := l.stepIntent(ctx, s, step)
		if err == nil {
			err = l.sameIntention(ctx, r.in, r.tool, r.p, op)
		}
		if err != nil {
			return s.refused(step, err)
		}
	}
	return l.judgeStep(s, step, op), nil
}

// sagaOperation reads an operation with its policy; nil if it is not there.
func (l *Ledger) sagaOperation(ctx context.Context, id OperationID) (*Operation, error) {
	op, err := l.writer.Read(ctx, id)
	if err != nil || op == nil {
		return nil, err
	}
	_, err = l.hydrate(ctx, op)
	return op, err
}

// owns reports whether an operation was asked for by the saga first.
func (s *Saga) owns(op *Operation) bool { return op.Run == s.ID.Run().String() }

// judgeStep says what the state of a step's operation means for the saga.
func (l *Ledger) judgeStep(s *Saga, step *SagaStep, op *Operation) look {
	step.Shared = !s.owns(op)
	switch op.State {
	case StateSucceeded:
		step.State, step.EndedAt = SagaStepDone, l.clock.now()
		return look{moved: true}
	case StateFailed:
		if step.Kind != SagaRetryable {
			return s.notDone(step, op)
		}
		if from := op.RetryFrom(); op.Failure.Retryable && !from.IsZero() {
			return look{after: from.Sub(l.clock.now())}
		}
		return look{note: "the step " + step.Name + " has to be done, and failed for good" + behindColon(op.Failure.Message) + "; replay " + op.ID.String() + ", or cancel the saga", review: true}
	case StateCancelled, StateCompensated:
		return s.notDone(step, op)
	case StateAbandoned:
		return look{note: "nobody knows whether the step " + step.Name + " happened; resolve " + op.ID.String(), review: true}
	case StateNeedsReview:
		return look{note: "the outcome of the step " + step.Name + " is unknown; resolve " + op.ID.String(), review: true}
	case StateAwaitingApproval:
		return look{note: "the step " + step.Name + " waits for an approval of " + op.ID.String()}
	case StateReady, StateEffectPending, StateOutcomeUnknown: // unknown stops the line
	}
	return look{}
}

// notDone makes a saga go back because of a step that ended without effect.
func (s *Saga) notDone(step *SagaStep, op *Operation) look {
	why := op.State.String() + behindColon(op.Failure.Message)
	step.State, step.Why, step.EndedAt = SagaStepNotDone, cutWords(why), op.CompletedAt
	return s.turn("the step " + step.Name + " is " + why)
}

// behindColon is a message as the end of a sentence; nothing where there is none.
func behindColon(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// endSaga ends the run of a saga that has ended, after which nothing is left to do
// for it.
func (l *Ledger) endSaga(ctx context.Context, s *Saga) error {
	outcome := RunFailed
	switch {
	case s.State == SagaSucceeded:
		outcome = RunSucceeded
	case s.Cancelled:
		outcome = RunCancelled
	}
	_, err := l.finishRun(ctx, s.By, s.ID.Run(), outcome, string(s.State))
	if err != nil && !Is(err, CodeStateForbids) && !Is(err, CodeRunNotFound) { // else somebody ended it before
		return err
	}
	return l.store.RescheduleSaga(ctx, s.ID, s.Revision, time.Time{})
}
