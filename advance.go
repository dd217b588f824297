package onceward

import (
	"context"
	"errors"
	"time"
)

// Advance does what a due operation needs now: start, probe, re-send, expire,
// escalate or cancel. It is safe to call at any time, from several processes.
// ErrFunctionNotHere: that needs the code of a function that this process has not
// activated, and was put off for a process that has.
// CodeLedgerUnavailable also when the ledger is closed: nothing is done then.
func (l *Ledger) Advance(ctx context.Context, id OperationID) error {
	if err := l.closed("advance operation", id); err != nil {
		return err
	}
	op, err := l.writer.Read(ctx, id)
	if err != nil || op == nil {
		return err
	}
	t, err := l.hydrate(ctx, op)
	if err != nil {
		return err
	}
	at := l.clock.now()
	err = l.advance(ctx, op, t, at)
	if errors.Is(err, ErrFunctionNotHere) {
		return l.leaveToOthers(ctx, op, at, err)
	}
	return err
}

func (l *Ledger) advance(ctx context.Context, op *Operation, t Tool, at time.Time) error {
	switch op.NextStep(at) {
	case StepNone:
		return l.reschedule(ctx, op)
	case StepStart, StepResend:
		if err := notHere(t); err != nil {
			return err
		}
		if !mayStartHere(t, op) {
			return l.awaitCaller(ctx, op, at)
		}
		return l.startAgain(ctx, op, t)
	case StepExpire:
		if l.clock.earliest().Before(op.Running().LeaseUntil) {
			return l.reschedule(ctx, op) // over by our notion of the time, and not surely by the database's
		}
		return l.expire(ctx, op)
	case StepProbe:
		_, _, err := l.probe(ctx, op, t, l.opts.Owner)
		return err
	case StepLapse:
		_, err := l.tell(ctx, op, StepLapse, ResendLapsed{})
		return err
	case StepEscalate:
		_, err := l.tell(ctx, op, StepEscalate, SettleOverdue{})
		return err
	case StepCancel:
		_, err := l.tell(ctx, op, StepCancel, NotAfterPassed{})
		return err
	case StepExpireApproval:
		_, err := l.tell(ctx, op, StepExpireApproval, ApprovalExpired{})
		return err
	case StepRemind:
		return l.remind(ctx, op, t)
	case StepReviewOverdue:
		_, err := l.tell(ctx, op, StepReviewOverdue, ReviewOverdue{})
		return err
	}
	return nil
}

// tell applies one event if the step is still what the newest row needs.
func (l *Ledger) tell(ctx context.Context, op *Operation, s Step, ev Event) (*Operation, error) {
	return l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
		if now.NextStep(at) != s {
			return nil, nil
		}
		if s == StepCancel || s == StepExpireApproval {
			if first := l.inGap(now, at); first != nil {
				return first, nil
			}
		}
		return facts(l.opts.Owner, ev), nil
	})
}

// reschedule gives a due row that came up early its right time back: taking it
// moved its time. A row that waits for nothing is left alone.
func (l *Ledger) reschedule(ctx context.Context, op *Operation) error {
	d := DueFor(op)
	if d == nil || d.At.IsZero() {
		return nil
	}
	if err := l.store.Reschedule(ctx, *d); err != nil {
		return err
	}
	if d.Parked == ParkToolPaused {
		l.switches.park(d.Tenant, d.Tool)
	}
	return nil
}

// startAgain starts an attempt of a stored operation and works on it. It is live
// from before its commit: the answer to that may take longer than the lease.
func (l *Ledger) startAgain(ctx context.Context, op *Operation, t Tool) error {
	op, ok, err := l.approved(ctx, op, t)
	if err != nil || !ok {
		return err
	}
	start := starter{contract: op.Contract}
	mark, _ := l.live.add(op)
	handed := false
	defer func() {
		if !handed {
			l.live.remove(mark)
		}
	}()
	started := false
	stored, err := l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
		started = false
		var fs []fact
		switch now.NextStep(at) {
		case StepResend:
			if now.Policy.RemoteExecutor {
				return facts(l.opts.Owner, ResendDue{}), nil // its caller claims it again
			}
			if fs = l.startFacts(now, at, start); isPark(fs) {
				return unlessParked(now, fs), nil
			}
			started = true
			return append(facts(l.opts.Owner, ResendDue{}), fs...), nil
		case StepStart:
			var err error
			if fs, err = l.serialFacts(ctx, now, l.startFacts(now, at, start), at); err != nil {
				return nil, err
			}
		case StepNone, StepExpire, StepProbe, StepLapse, StepEscalate, StepCancel, StepExpireApproval, StepRemind, StepReviewOverdue:
			return nil, nil
		}
		if isPark(fs) {
			return unlessParked(now, fs), nil
		}
		started = true
		return fs, nil
	})
	if err == nil && !started {
		return l.reschedule(ctx, stored)
	}
	if err != nil || !started || stored.State != StateEffectPending || stored.Running() == nil || stored.Running().Owner != l.opts.Owner {
		return err
	}
	handed = true
	l.dispatch(stored, t, mark)
	return nil
}

// Waits between looks at an operation whose caller's credentials are not held
// here: half of its row's age, within these.
const (
	callerWaitMin = time.Second
	callerWaitMax = time.Minute
)

// awaitCaller looks again later at an operation that could start, and that this
// process cannot send: whoever holds its caller's credentials may, or the caller
// asks again and brings them.
func (l *Ledger) awaitCaller(ctx context.Context, op *Operation, at time.Time) error {
	d := DueFor(op)
	if d == nil {
		return nil
	}
	d.At = at.Add(min(max(at.Sub(op.UpdatedAt)/2, callerWaitMin), callerWaitMax))
	return l.store.Reschedule(ctx, *d)
}

func isPark(fs []fact) bool {
	_, parked := fs[0].event.(StartParked)
	return parked
}

// unlessParked drops a parking that stands already.
func unlessParked(op *Operation, fs []fact) []fact {
	if e := fs[0].event.(StartParked); e.Why == op.Parked && e.Until.IsZero() {
		return nil
	}
	return fs
}

// expire opens an attempt whose holder was silent past its lease. It is refused
// while the database's clock is not to be believed, and for an attempt of our
// own that is being worked on.
func (l *Ledger) expire(ctx context.Context, op *Operation) error {
	if a := op.Running(); a == nil || l.live.has(op.ID) || !l.mayExpire(a.Owner) {
		return nil
	}
	stored, err := l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
		a := now.Running()
		if a == nil || l.clock.earliest().Before(a.LeaseUntil) {
			return nil, nil
		}
		return facts(l.opts.Owner, LeaseExpired{Attempt: a.Number}), nil
	})
	if err == nil && stored.State != StateEffectPending {
		l.live.found(op.ID)
		l.Wake()
	}
	return err
}
