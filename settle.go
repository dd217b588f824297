package onceward

import "time"

const reviewBroken = "more than one effect is proven: one operation, one effect does not hold"

// found takes proof of one or more effects from a probe or a callback.
func (m *step) found(began time.Time, refs []string, r *Result, by Settler) error {
	o := m.op
	if len(refs) == 0 {
		return &Error{Code: CodeInternal, Op: "apply probe_found", OperationID: o.ID, Message: "found without a reference list"}
	}
	if len(refs) > 1 {
		m.broken()
	}
	if o.State == StateEffectPending {
		m.keepProof(refs[0], r)
		return nil
	}
	if o.State == StateSucceeded && !o.Broken && (o.Reference == "" || o.Reference == refs[0]) {
		o.Reference, o.RefPending = refs[0], refs[0] == ""
		if by == SettledByProbe {
			m.closeProvable(began) // the look-up saw the known effect and no other: what could still appear has not
		}
		if m.verifying() {
			o.DueAt = o.nextLook(m.at, 0)
		}
		return nil
	}
	m.settleBy(by, refs[0])
	return m.done(refs[0], r)
}

// settleBy marks which attempt the proof settles: the newest open one, unless
// the effect is known to be that of an attempt which is done already.
//
// Invariant: proof is per attempt (rule 3): seeing one attempt's effect again
// says nothing about another one that is still open.
func (m *step) settleBy(by Settler, reference string) {
	for i := range m.op.Attempts {
		a := &m.op.Attempts[i]
		if a.Status == StatusDone && (a.Reference == reference || a.Reference == "" || reference == "") {
			if a.Reference == "" {
				a.Reference = reference
			}
			return
		}
	}
	for i := len(m.op.Attempts) - 1; i >= 0; i-- {
		if a := &m.op.Attempts[i]; a.Status == StatusOpen {
			m.close(a, StatusDone, by, Sent{})
			a.Reference = reference
			return
		}
	}
}

// closeProvable closes as not done every open attempt for which a look-up that
// began at this time is proof of absence.
//
// Invariant: absence is proof only if the probe began after the last possible
// byte plus settle (rule 3).
func (m *step) closeProvable(began time.Time) {
	for i := range m.op.Attempts {
		a := &m.op.Attempts[i]
		if a.Status == StatusOpen && began.After(a.LastByteAt.Add(m.op.Policy.Settle)) {
			m.close(a, StatusNotDone, SettledByProbe, Sent{})
		}
	}
}

func (m *step) probeAbsent(e ProbeAbsent) error {
	o := m.op
	if o.State == StateEffectPending || o.State.Terminal() && !m.verifying() {
		return nil // evidence only
	}
	o.Probes++
	m.closeProvable(e.Began)
	if m.verifying() {
		o.DueAt = o.nextLook(m.at, 0)
	}
	if o.State != StateOutcomeUnknown {
		return nil
	}
	switch {
	case o.OpenAttempts() == 0 && m.hasProof():
		return m.done(o.Reference, o.Result)
	case o.OpenAttempts() > 0:
		o.DueAt = o.nextLook(m.at, 0)
	case o.CancelRequested, o.pastNotAfter(m.at):
		o.State = StateCancelled
	case !o.Failure.Retryable, !o.BudgetLeft():
		o.State = StateFailed
	default:
		o.State, o.DueAt = StateReady, m.at
	}
	return nil
}

func (m *step) probeInconclusive(e ProbeInconclusive) {
	o := m.op
	for i := range o.Attempts {
		if a := &o.Attempts[i]; e.Lost != 0 && a.Number == e.Lost && a.Status == StatusOpen {
			a.Handle, a.Failure = "", e.Failure
			if a.Number == o.Attempt() && o.State == StateOutcomeUnknown {
				o.Failure = e.Failure
			}
		}
	}
	if o.State.Terminal() && !m.verifying() || o.State == StateEffectPending {
		return
	}
	o.Probes++
	if o.State == StateOutcomeUnknown || m.verifying() {
		o.DueAt = o.nextLook(m.at, e.RetryAfter)
	}
}

// resendDue makes it ready with the earlier attempt still open.
func (m *step) resendDue(e ResendDue) error {
	o := m.op
	if !o.resendWanted(m.at) {
		return forbidden(o, e, "the class does not allow to send again now")
	}
	o.State, o.DueAt = StateReady, m.at
	return nil
}

// resendLapsed gives up a re-send that waited too long, and settles otherwise.
func (m *step) resendLapsed(e ResendLapsed) error {
	o := m.op
	if o.OpenAttempts() == 0 {
		return forbidden(o, e, "no attempt is open")
	}
	o.State, o.Parked, o.ResendConfirmed = StateOutcomeUnknown, NotParked, false
	if o.UnknownSince.IsZero() {
		o.UnknownSince = m.at
	}
	o.DueAt = o.nextLook(m.at, 0)
	return nil
}

// settleOverdue hands over what nothing automatic can settle.
func (m *step) settleOverdue(e SettleOverdue) error {
	o := m.op
	if !o.overdue(m.at) {
		return forbidden(o, e, "a probe, a re-send or an event can still settle it")
	}
	switch {
	case !o.Effect.Writes(): // nothing was written, so nothing is open
		for i := range o.Attempts {
			if a := &o.Attempts[i]; a.Status == StatusOpen {
				m.close(a, StatusNotDone, SettledByNobody, Sent{})
			}
		}
		o.State = StateFailed
		if o.CancelRequested {
			o.State = StateCancelled
		}
	case o.Policy.OnUnknown == OnUnknownAbandon:
		o.State = StateAbandoned
	default:
		m.review(e.Reason)
	}
	return nil
}

// review asks a person.
func (m *step) review(why string) {
	if why == "" {
		why = m.op.overdueReason()
	}
	m.op.State, m.op.ReviewReason = StateNeedsReview, why
}
