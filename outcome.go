package onceward

import "time"

// attemptStarted takes the lease.
//
// Invariant: while an earlier attempt is open, a start is allowed only by the
// class's rule at this moment, or once by a person who confirmed it (rule 6).
func (m *step) attemptStarted(e AttemptStarted) error {
	o := m.op
	resend, began := o.OpenAttempts() > 0, m.at
	if !e.Began.IsZero() {
		began = e.Began // it is told now, and was then
	}
	switch {
	case o.CancelRequested:
		return forbidden(o, e, "a cancel was requested")
	case resend && !o.ResendConfirmed && !o.resendAllowed(m.at):
		return forbidden(o, e, "an earlier attempt is open and the class does not allow to send again now")
	case !resend && o.pastNotAfter(began):
		return forbidden(o, e, "the intent is older than not_after")
	case o.unspent() && o.ApprovedUntil.Before(began):
		return forbidden(o, e, "no valid approval")
	case o.unspent() && o.Contract != e.Contract:
		return forbidden(o, e, "the contract has changed since it was approved")
	case !o.BudgetLeft():
		return forbidden(o, e, "the budget of attempts is spent")
	}
	o.Attempts = append(o.Attempts, Attempt{
		Number: o.Attempt() + 1, Owner: e.Owner, Status: StatusRunning, StartedAt: began, LeaseUntil: o.leaseEnd(m.at, e.LeaseUntil, resend),
		Free: e.Free, Resend: resend, ClaimToken: e.ClaimToken, SecretHash: e.SecretHash,
	})
	o.State, o.Parked, o.ResendConfirmed = StateEffectPending, NotParked, false
	o.ApprovalSpent = o.ApprovalNeeded
	o.DueAt = time.Time{}
	if o.Attempt() > 1 || o.Version > 0 || o.Policy.RemoteExecutor {
		// Only an attempt that is claimed with its operation is found by its owner:
		// what was stored before is older than its owner's low-water mark.
		o.DueAt = o.Running().LeaseUntil
	}
	return nil
}

// attemptDone takes proof of done, from the newest attempt or from a late one.
func (m *step) attemptDone(e AttemptDone) error {
	a, err := m.attempt(e.Attempt)
	if err != nil {
		return err
	}
	newest := a.Number == m.op.Attempt()
	m.close(a, StatusDone, e.Settler, e.Sent)
	a.Reference, a.Failure = e.Reference, Failure{}
	m.unguess(a)
	if m.op.State == StateEffectPending && !newest {
		m.keepProof(e.Reference, e.Result) // decides when the newest attempt ends
		return nil
	}
	return m.done(e.Reference, e.Result)
}

// unguess takes back a conclusion. An effect that was found or named from
// outside was taken for the newest open attempt's (settleBy); now another
// attempt's own answer says that it made it. A person who named the one effect
// has seen no other; of a look-up or an event nothing is left for that attempt,
// which is open again.
func (m *step) unguess(a *Attempt) {
	if m.op.samekey() {
		return // one effect of all of them
	}
	for i := range m.op.Attempts {
		other := &m.op.Attempts[i]
		mine := a.Reference == "" || other.Reference == a.Reference
		if other.Number == a.Number || other.Status != StatusDone || !mine {
			continue
		}
		switch other.Settler {
		case SettledByProbe, SettledByCallback:
			other.Status, other.Settler, other.Reference = StatusOpen, SettledByNobody, ""
		case SettledByPerson:
			other.Status, other.Reference = StatusNotDone, ""
		case SettledByNobody, SettledByAnswer, SettledByLater:
		}
	}
}

// attemptNotDone closes one attempt; only if none is open does it say anything
// about the operation (rule 3: proof is per attempt).
func (m *step) attemptNotDone(e AttemptNotDone) error {
	a, err := m.attempt(e.Attempt)
	if err != nil {
		return err
	}
	if a.Status == StatusDone {
		return nil // proven done: a contradiction stays in the records and changes nothing
	}
	newest := a.Number == m.op.Attempt()
	m.close(a, StatusNotDone, SettledByAnswer, e.Sent)
	a.Failure, a.Free = e.Failure, e.Free || e.Failure.Class == ClassAuth
	switch m.op.State {
	case StateEffectPending:
		if !newest {
			return nil
		}
		m.op.Failure = e.Failure
		return m.closedNotDone(e.Failure, e.RetryAfter)
	case StateOutcomeUnknown:
		if newest && a.Handle != "" { // the end of work that was followed
			m.op.Failure = e.Failure
		}
		return m.closedNotDone(m.op.Failure, e.RetryAfter)
	case StateReady, StateNeedsReview, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated, StateAwaitingApproval:
	}
	return nil
}

// closedNotDone goes on after an attempt was closed as not done, unless another
// one has proof.
func (m *step) closedNotDone(f Failure, retryAfter time.Duration) error {
	if m.hasProof() && m.op.OpenAttempts() == 0 {
		return m.done(m.op.Reference, m.op.Result)
	}
	m.afterNotDone(f, retryAfter)
	return nil
}

// attemptUnknown leaves the attempt open.
func (m *step) attemptUnknown(e AttemptUnknown) error {
	a, err := m.attempt(e.Attempt)
	if err != nil {
		return err
	}
	if a.Status == StatusDone || a.Status == StatusNotDone {
		return nil
	}
	newest := a.Number == m.op.Attempt()
	running := a.Status == StatusRunning
	m.close(a, StatusOpen, SettledByNobody, e.Sent)
	a.Failure, a.Handle = e.Failure, e.Handle
	if m.op.State != StateEffectPending || !newest || !running {
		return nil
	}
	return m.unknown(e.Failure, e.RetryAfter)
}

// leaseProlonged moves the end of the lease, never back.
func (m *step) leaseProlonged(e LeaseProlonged) error {
	a := m.op.Running()
	if a == nil || a.Number != e.Attempt || m.at.After(a.LeaseUntil) {
		return &Error{Code: CodeFenceLost, Op: "apply lease_prolonged", OperationID: m.op.ID, Message: "the attempt does not hold the lease any more",
			Hint: "stop writing and report what you know"}
	}
	if until := m.op.leaseEnd(a.StartedAt, e.Until, a.Resend); until.After(a.LeaseUntil) {
		a.LeaseUntil, m.op.DueAt = until, until
	}
	return nil
}

// leaseExpired opens the running attempt: how far a silent holder got is not
// knowable. Bytes written at the very end of the lease may live on in the
// kernel for as long as an exchange may take, and ByteTail beyond.
func (m *step) leaseExpired(e LeaseExpired) error {
	a := m.op.Running()
	if a == nil || a.Number != e.Attempt {
		return &Error{Code: CodeFenceLost, Op: "apply lease_expired", OperationID: m.op.ID, Message: "another attempt holds the lease"}
	}
	if m.at.Before(a.LeaseUntil) {
		return forbidden(m.op, e, "the lease still runs")
	}
	m.close(a, StatusOpen, SettledByNobody, Sent{Reach: ReachUnknown, LastByteAt: m.op.Policy.lastByteAfter(a.LeaseUntil)})
	a.Failure = Failure{Class: ClassTimeout, Code: "lease_expired", Message: "the holder was silent past its lease", Retryable: true}
	return m.unknown(a.Failure, 0)
}

// close ends an attempt. A later settlement keeps the first end and the last possible byte.
func (m *step) close(a *Attempt, s AttemptStatus, by Settler, sent Sent) {
	if a.Status == StatusRunning || a.EndedAt.IsZero() {
		a.EndedAt = m.at
	}
	a.Status, a.Settler = s, by
	if sent.Reach != ReachUnknown {
		a.Reach = sent.Reach
	}
	if !sent.LastByteAt.IsZero() {
		a.LastByteAt = sent.LastByteAt
	}
}

// hasProof reports whether an effect is proven though the state does not say so yet.
func (m *step) hasProof() bool { return m.op.proven() }

// proofNamesNoAttempt reports whether the proof came from outside while an
// attempt ran: it is that attempt's then, as it would be had it come afterwards.
func (m *step) proofNamesNoAttempt() bool {
	for i := range m.op.Attempts {
		if m.op.Attempts[i].Status == StatusDone {
			return false
		}
	}
	return true
}

// keepProof stores proof that may not decide yet.
func (m *step) keepProof(reference string, r *Result) {
	if m.op.Reference == "" {
		m.op.Reference = reference
	} else if reference != "" && reference != m.op.Reference && m.op.Effect.Writes() {
		m.broken() // what only reads may be answered differently each time
	}
	if m.op.Result == nil {
		m.op.Result = r
	}
}

// broken notes a second effect: the invariant one operation, one effect does not hold.
func (m *step) broken() {
	m.op.Broken = true
	m.pause("effect_multiplied")
	m.alarm("effect_multiplied")
}

// done makes a proven effect the operation's outcome.
func (m *step) done(reference string, r *Result) error {
	o := m.op
	was := o.State
	m.keepProof(reference, r)
	switch was {
	case StateNeedsReview, StateCompensated:
		if o.Broken && was == StateNeedsReview {
			o.ReviewReason = reviewBroken
		}
		return nil // a person decides with this evidence; an undone effect stays undone
	case StateCancelled:
		m.alarm("effect_after_cancel")
	case StateAwaitingApproval, StateReady, StateEffectPending, StateOutcomeUnknown, StateSucceeded, StateFailed, StateAbandoned:
	}
	if o.Broken {
		m.review(reviewBroken)
		return nil
	}
	o.State, o.Failure = StateSucceeded, Failure{}
	o.RefPending = o.Reference == ""
	m.coverOpen()
	return nil
}

// coverOpen settles what a proven effect says about other open attempts: under
// one provider key or one chosen ID they are the same effect. Without that, an
// attempt that is still open may be a second effect, and is looked up once its
// time has passed.
func (m *step) coverOpen() {
	o := m.op
	for i := range o.Attempts {
		a := &o.Attempts[i]
		if a.Status == StatusRunning || a.Status == StatusOpen && o.samekey() {
			m.close(a, StatusDone, SettledByLater, Sent{})
		}
	}
	if m.verifying() {
		o.DueAt = o.provableAt()
	}
}

// verifying reports whether a succeeded operation still waits for the look-up
// that shows that its open attempts made no second effect.
func (m *step) verifying() bool {
	return m.op.State == StateSucceeded && m.op.OpenAttempts() > 0 && m.op.Policy.HasProbe
}

// afterNotDone goes on after a proven not-done.
func (m *step) afterNotDone(f Failure, retryAfter time.Duration) {
	o := m.op
	ours := f.Class == ClassAuth && !o.Policy.CallerCredentials
	if ours {
		m.pause("auth")
	}
	switch {
	case o.OpenAttempts() > 0:
		o.State = StateOutcomeUnknown
		o.DueAt = o.nextLook(m.at, retryAfter)
	case o.CancelRequested:
		o.State = StateCancelled
	case ours:
		o.State, o.Parked, o.DueAt = StateReady, ParkToolPaused, o.lapseAt()
	case f.Class == ClassAuth, !f.Retryable:
		o.State = StateFailed
	case o.pastNotAfter(m.at):
		o.State = StateCancelled
	case !o.BudgetLeft():
		o.State = StateFailed
	default:
		o.State = StateReady
		o.DueAt = m.at.Add(max(retryAfter, o.backoff(o.spent())))
	}
}

// unknown enters, or stays in, outcome_unknown.
func (m *step) unknown(f Failure, retryAfter time.Duration) error {
	o := m.op
	o.Failure = f
	if m.hasProof() && (o.samekey() || m.proofNamesNoAttempt()) {
		m.settleBy(SettledByCallback, o.Reference)
		return m.done(o.Reference, o.Result)
	}
	o.State = StateOutcomeUnknown
	if o.UnknownSince.IsZero() {
		o.UnknownSince = m.at
	}
	o.DueAt = o.nextLook(m.at, retryAfter)
	return nil
}
