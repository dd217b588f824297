package explore

import (
	"time"

	"github.com/onceward/onceward"
)

// apply wraps a machine's Apply. Before gets a copy that it may change.
func (m *Machine) apply(wrap func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error)) {
	inner := m.Apply
	m.Apply = func(op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		return wrap(inner, op.Clone(), ev, at)
	}
}

type applyFunc = func(onceward.Operation, onceward.Event, time.Time) (onceward.Operation, []onceward.Consequence, error)

// told wraps Apply so that events arrive changed.
func (m *Machine) told(change func(op *onceward.Operation, ev onceward.Event) onceward.Event) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		ev = change(&op, ev)
		return inner(op, ev, at)
	})
}

// late is an instant after everything.
var late = epoch.Add(1000 * Tick)

func hidesEarlierAttempts(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.AttemptNotDone); ok && e.Attempt == op.Attempt() {
			for i := range op.Attempts[:e.Attempt-1] {
				op.Attempts[i].Status = onceward.StatusNotDone
			}
		}
		return ev
	})
}

func expiryIsNotDone(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.LeaseExpired); ok && op.Running() != nil && !epoch.Before(op.Running().LeaseUntil) {
			return onceward.AttemptNotDone{Attempt: e.Attempt, Sent: onceward.Sent{Reach: onceward.ReachNotDialled}, Failure: onceward.Failure{Class: onceward.ClassTimeout, Code: "f", Retryable: true}}
		}
		return ev
	})
}

func trustsEarlyLooks(m *Machine) {
	m.told(func(_ *onceward.Operation, ev onceward.Event) onceward.Event {
		if _, ok := ev.(onceward.ProbeAbsent); ok {
			return onceward.ProbeAbsent{Began: late}
		}
		return ev
	})
}

func forgetsLastByte(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if _, ok := ev.(onceward.AttemptUnknown); ok && err == nil {
			for i := range after.Attempts {
				after.Attempts[i].LastByteAt = time.Time{}
			}
		}
		return after, out, err
	})
}

func checksNoFence(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		switch e := ev.(type) {
		case onceward.AttemptDone:
			e.Attempt = op.Attempt()
			return e
		case onceward.AttemptNotDone:
			e.Attempt = op.Attempt()
			return e
		case onceward.AttemptUnknown:
			e.Attempt = op.Attempt()
			return e
		}
		return ev
	})
}

func lateOverwrites(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.AttemptNotDone); ok && e.Attempt < op.Attempt() {
			op.Attempts = op.Attempts[:e.Attempt] // the holder writes the row as it knew it
		}
		return ev
	})
}

func throwsProofAway(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if e, ok := ev.(onceward.AttemptDone); ok && e.Attempt < op.Attempt() {
			return op, nil, nil
		}
		return inner(op, ev, at)
	})
}

func unknownIsFailed(m *Machine) {
	m.told(func(_ *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.AttemptUnknown); ok {
			return onceward.AttemptNotDone{Attempt: e.Attempt, Sent: e.Sent, Failure: onceward.Failure{Class: e.Failure.Class, Code: "f"}}
		}
		return ev
	})
}

func endsLeasesEarly(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if a := op.Running(); a != nil && ev.Kind() == onceward.KindLeaseExpired {
			a.LeaseUntil = at
		}
		return inner(op, ev, at)
	})
}

func purgesLive(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if ev.Kind() == onceward.KindRetired && op.State == onceward.StateNeedsReview {
			op.Retired, op.Attempts = true, nil
			return op, nil, nil
		}
		return inner(op, ev, at)
	})
}

func reusesOpenKeys(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if ev.Kind() == onceward.KindKeyTakenAnew {
			op.Retired = true
		}
		return ev
	})
}

func checksNoApproval(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if ev.Kind() == onceward.KindAttemptStarted {
			op.ApprovedUntil = late
		}
		return ev
	})
}

func startsTooLate(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if ev.Kind() == onceward.KindAttemptStarted {
			op.IntentAt = epoch
		}
		return ev
	})
}

func sendsTooLate(m *Machine) {
	m.MaySend = func(*onceward.Operation, time.Time) error { return nil }
}

func trustsKeysForEver(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		op.Policy.KeyWindow = onceward.KeyWindowForever
		return ev
	})
}

func leasesOutliveKeys(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if e, ok := ev.(onceward.AttemptStarted); ok && err == nil {
			after.Running().LeaseUntil = e.LeaseUntil
		}
		return after, out, err
	})
}

func resendsAnything(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if k := ev.Kind(); k == onceward.KindResendDue || k == onceward.KindAttemptStarted {
			op.Effect = onceward.EffectConditionalWrite
		}
		return ev
	})
}

func keepsConfirmation(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if op.State == onceward.StateOutcomeUnknown && op.ResendConfirmed && ev.Kind() == onceward.KindResendDue {
			op.State = onceward.StateReady
			return op, nil, nil
		}
		after, out, err := inner(op, ev, at)
		after.ResendConfirmed = after.ResendConfirmed || op.ResendConfirmed
		return after, out, err
	})
}

func ignoresSecond(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		switch e := ev.(type) {
		case onceward.ProbeFound:
			ev = onceward.ProbeFound{Began: e.Began, References: e.References[:1]}
		case onceward.EffectProven:
			if op.Reference != "" && op.Reference != e.Reference {
				return op, nil, nil
			}
		}
		return inner(op, ev, at)
	})
}

func asksNobody(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if after.Broken && after.State == onceward.StateNeedsReview && op.State != onceward.StateNeedsReview {
			after.State, after.ReviewReason, after.CompletedAt = onceward.StateSucceeded, "", at
		}
		return after, out, err
	})
}

func settlesAnother(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if e, ok := ev.(onceward.EffectProven); ok && err == nil {
			for i := range after.Attempts {
				if a := &after.Attempts[i]; a.Status == onceward.StatusOpen {
					a.Status, a.Reference = onceward.StatusDone, e.Reference
				}
			}
		}
		return after, out, err
	})
}

func cancelIsFinal(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if err == nil && ev.Kind() == onceward.KindCancelRequested && after.State == onceward.StateOutcomeUnknown {
			after.State, after.CompletedAt = onceward.StateCancelled, at
		}
		return after, out, err
	})
}

func forgetsCancel(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if k := ev.Kind(); k == onceward.KindResendDue || k == onceward.KindAttemptStarted || k == onceward.KindAttemptNotDone {
			op.CancelRequested = false
		}
		return ev
	})
}

func recoversTheEnded(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if ev.Kind() == onceward.KindLeaseExpired && op.State == onceward.StateSucceeded {
			op.State, op.CompletedAt, op.UnknownSince = onceward.StateOutcomeUnknown, time.Time{}, at
			return op, nil, nil
		}
		return inner(op, ev, at)
	})
}

func revivesTombstones(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if ev.Kind() == onceward.KindReplayRequested {
			op.Retired = false
		}
		return ev
	})
}

func leavesItsCell(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if err == nil && after.State == onceward.StateSucceeded && ev.Kind() == onceward.KindAttemptUnknown {
			return op, nil, &onceward.Error{Code: onceward.CodeInternal, Message: "led from effect_pending to succeeded, which the table does not have"}
		}
		return after, out, err
	})
}

func neverEscalates(m *Machine) { m.never(onceward.StepEscalate) }
func expiryNeverDue(m *Machine) { m.never(onceward.StepExpire) }

func (m *Machine) never(step onceward.Step) {
	inner := m.Next
	m.Next = func(o *onceward.Operation, at time.Time) onceward.Step {
		if s := inner(o, at); s != step {
			return s
		}
		return onceward.StepNone
	}
}

func inventsDone(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if err == nil && ev.Kind() == onceward.KindAttemptUnknown && after.State == onceward.StateOutcomeUnknown {
			after.State, after.CompletedAt = onceward.StateSucceeded, at
		}
		return after, out, err
	})
}

func spendsTooMuch(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		op.Policy.MaxAttempts = 100
		return ev
	})
}

func pausesNothing(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, _, err := inner(op, ev, at)
		return after, nil, err
	})
}

func repeatsRefused(m *Machine) {
	m.told(func(_ *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.AttemptNotDone); ok {
			e.Failure.Retryable = true
			return e
		}
		return ev
	})
}

func numbersAnew(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if n := len(after.Attempts); err == nil && ev.Kind() == onceward.KindAttemptStarted && n > 1 {
			after.Attempts = after.Attempts[n-1:]
			after.Attempts[0].Number = 1
		}
		return after, out, err
	})
}

func expiryFails(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if err == nil && ev.Kind() == onceward.KindLeaseExpired && op.State == onceward.StateEffectPending {
			after.State, after.CompletedAt = onceward.StateFailed, at
		}
		return after, out, err
	})
}

func prolongsTheOver(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if a := op.Running(); a != nil && ev.Kind() == onceward.KindLeaseProlonged && a.LeaseUntil.Before(at) {
			a.LeaseUntil = at
		}
		return inner(op, ev, at)
	})
}

func neverVerifies(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if after.State == onceward.StateSucceeded {
			after.DueAt = time.Time{}
		}
		return after, out, err
	})
}

func refusesAnswers(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if e, ok := ev.(onceward.Resolved); ok && e.Outcome == onceward.ResolvedNotPerformed {
			return op, nil, &onceward.Error{Code: onceward.CodeStateForbids, Message: "no"}
		}
		return inner(op, ev, at)
	})
}

func forgetsCompletion(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if after.State == onceward.StateFailed {
			after.CompletedAt = time.Time{}
		}
		return after, out, err
	})
}
