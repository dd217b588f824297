package onceward

import (
	"fmt"
	"slices"
	"time"
)

// Apply tells the machine a fact and returns the changed operation with what
// else has to be done. It is pure: op is not changed, time is an argument, and
// nothing is read or written. op.Policy must be hydrated.
//
// A forbidden (state, event) pair is an Error with CodeStateForbids, a fact of
// an attempt that does not exist or is superseded where only the newest counts
// is CodeFenceLost. An ignored pair returns op unchanged.
func Apply(op Operation, ev Event, at time.Time) (Operation, []Consequence, error) {
	next := op.Clone()
	out, err := next.apply(ev, at)
	if err != nil {
		return op, nil, err
	}
	return next, out, nil
}

// apply is Apply in place. After an error the operation may be half changed.
func (o *Operation) apply(ev Event, at time.Time) ([]Consequence, error) {
	before := o.State
	cell := transitions[ev.Kind()][before]
	if cell.Ignored {
		return nil, nil
	}
	if cell.Forbidden() {
		return nil, forbidden(o, ev, tooLate(o, ev))
	}
	m := step{op: o, at: at, reviewDue: o.DueAt}
	if err := m.handle(ev); err != nil {
		return nil, err
	}
	if !slices.Contains(cell.To, o.State) {
		return nil, &Error{Code: CodeInternal, Op: "apply " + ev.Kind().String(), OperationID: o.ID,
			Message: fmt.Sprintf("%s led from %s to %s, which the table does not have", ev.Kind(), before, o.State)}
	}
	m.finish(before)
	return m.out, nil
}

func forbidden(op *Operation, ev Event, why string) error {
	msg := fmt.Sprintf("%s is not allowed in %s", ev.Kind(), op.State)
	if why != "" {
		msg += ": " + why
	}
	return &Error{Code: CodeStateForbids, Op: "apply " + ev.Kind().String(), OperationID: op.ID, Message: msg,
		Hint: "read the operation again; docs/state-machine.md shows what its state allows"}
}

// tooLate says to whoever answers a question that is not open any more who was
// first.
func tooLate(op *Operation, ev Event) string {
	switch ev.(type) {
	case ApprovalGranted, ApprovalRejected, ApprovalEdited:
		return op.answered()
	case ReviewTaken:
		if op.State != StateNeedsReview {
			return "nobody has to review it"
		}
	}
	return ""
}

// step is one application of one event.
type step struct {
	op  *Operation
	at  time.Time
	out []Consequence

	reviewDue time.Time // of an operation that waits for a review: when it is overdue; zero: never, or told already
}

func (m *step) handle(ev Event) error {
	switch e := ev.(type) {
	case ApprovalGranted:
		return m.approvalGranted(e)
	case ApprovalRejected:
		return m.approvalRejected(e)
	case ApprovalExpired:
		return m.approvalExpired(e)
	case NotAfterPassed:
		return m.endUnsent(ev)
	case ApprovalEdited:
		return m.approvalEdited(e)
	case ApprovalReminded:
		return m.approvalReminded(e)
	case Forked:
		m.op.Forked = true
	case Assigned:
		return m.assigned(e)
	case ReviewTaken:
		return m.reviewTaken(e)
	case ReviewOverdue:
		return m.reviewOverdue(e)
	case Commented:
		return m.commented(e)
	case ApprovalVoided:
		return m.approvalVoided(e)
	case AttemptStarted:
		return m.attemptStarted(e)
	case StartParked:
		if m.op.Parked, m.op.DueAt = e.Why, e.Until; e.Until.IsZero() {
			m.op.DueAt = m.op.lapseAt()
		}
	case AttemptDone:
		return m.attemptDone(e)
	case AttemptNotDone:
		return m.attemptNotDone(e)
	case AttemptUnknown:
		return m.attemptUnknown(e)
	case LeaseProlonged:
		return m.leaseProlonged(e)
	case LeaseExpired:
		return m.leaseExpired(e)
	case ProbeFound:
		return m.found(e.Began, e.References, e.Result, SettledByProbe)
	case EffectProven:
		if len(m.op.Attempts) == 0 { // it is of an earlier use of the key, or nobody's
			return forbidden(m.op, e, "nothing was ever sent")
		}
		return m.found(m.at, []string{e.Reference}, nil, SettledByCallback)
	case ProbeAbsent:
		return m.probeAbsent(e)
	case ProbeInconclusive:
		m.probeInconclusive(e)
	case ResendDue:
		return m.resendDue(e)
	case ResendLapsed:
		return m.resendLapsed(e)
	case SettleOverdue:
		return m.settleOverdue(e)
	case CancelRequested:
		m.cancelRequested()
	case Resolved:
		return m.resolved(e)
	case ReplayRequested:
		return m.replayRequested(e)
	case RetryRequested:
		return m.retryRequested(e)
	case Compensated:
		m.op.State = StateCompensated
	case Retired:
		return m.retired(e)
	case KeyTakenAnew:
		return m.keyTakenAnew(e)
	default:
		return &Error{Code: CodeInternal, Op: "apply", OperationID: m.op.ID, Message: fmt.Sprintf("no handler for event %T", ev)}
	}
	return nil
}

// finish keeps the fields that follow from the state.
func (m *step) finish(before State) {
	o := m.op
	o.UpdatedAt = m.at
	if o.State.Terminal() {
		if !before.Terminal() || o.CompletedAt.IsZero() {
			o.CompletedAt = m.at
		}
		o.Parked = NotParked
		if o.State != StateFailed && o.State != StateAbandoned {
			o.Request = nil // nothing will be sent any more; the others can be replayed, byte-equal
			if !m.verifying() {
				o.Input = o.Policy.KeepInput.apply(o.Input)
			}
		}
		if !m.verifying() {
			o.DueAt = time.Time{}
		}
	} else {
		o.CompletedAt = time.Time{}
	}
	if !o.State.waitsForPeople() || o.State != before {
		o.Assigned = Assignment{}
	}
	if o.State != StateNeedsReview {
		o.ReviewReason = ""
	} else {
		if before != StateNeedsReview {
			o.Assigned = o.firstAssignment(m.at)
			m.reviewDue = o.Assigned.Due
		}
		o.DueAt, o.Parked = m.reviewDue, NotParked
	}
	if o.OpenAttempts() == 0 {
		o.UnknownSince, o.Probes = time.Time{}, 0
	}
}

func (m *step) pause(reason string) { m.also(PauseTool, reason) }

func (m *step) alarm(reason string) { m.also(RaiseAlarm, reason) }

// also asks for a consequence, once however many parts of the event ask for it.
func (m *step) also(kind ConsequenceKind, reason string) {
	if c := (Consequence{Kind: kind, Reason: reason}); !slices.Contains(m.out, c) {
		m.out = append(m.out, c)
	}
}

// attempt returns the attempt of that number in the working copy.
func (m *step) attempt(number int) (*Attempt, error) {
	for i := range m.op.Attempts {
		if m.op.Attempts[i].Number == number {
			return &m.op.Attempts[i], nil
		}
	}
	return nil, &Error{Code: CodeFenceLost, Op: "apply", OperationID: m.op.ID, Message: fmt.Sprintf("attempt %d does not exist", number)}
}
