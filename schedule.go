package onceward

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// samekey reports whether every attempt of the operation names the same effect
// at the provider: one chosen ID, or one key that it has known all the time. An
// attempt that a person wanted past the key's window may be an effect of its own.
func (o *Operation) samekey() bool {
	if o.Effect != EffectKeyedWrite || o.Policy.KeyWindow == KeyWindowForever {
		return o.Effect != EffectProbedWrite && o.Effect != EffectUnsafeWrite
	}
	first := o.firstPossibleSend()
	for i := range o.Attempts {
		a := &o.Attempts[i]
		if a.maybeSent() && a.StartedAt.After(first) && !a.StartedAt.Before(o.windowEnd()) {
			return false
		}
	}
	return true
}

// resendAllowed reports whether the class allows a re-send at this time
// although an earlier attempt is open (section 2, rule 6).
func (o *Operation) resendAllowed(at time.Time) bool {
	switch o.Effect {
	case EffectRead, EffectCompute, EffectConditionalWrite:
		return true
	case EffectKeyedWrite:
		w := o.Policy.KeyWindow
		if w == KeyWindowForever {
			return true
		}
		return w > 0 && at.Before(o.windowEnd())
	case EffectProbedWrite, EffectUnsafeWrite:
		return false
	}
	return false
}

// resendWanted reports whether a re-send is allowed and there is a point in it.
func (o *Operation) resendWanted(at time.Time) bool {
	return o.Followed() == nil && o.resendAllowed(at) && o.BudgetLeft() && !o.CancelRequested && !o.pastNotAfter(at) &&
		(o.Failure.Retryable || o.Failure.Class == ClassAuth)
}

// Followed is the newest open attempt at whose handle the provider works on; nil:
// there is none. While there is one, nothing is sent again and no look-up is
// made: the end of the work says what became of the attempt.
func (o *Operation) Followed() *Attempt {
	for i := len(o.Attempts) - 1; i >= 0; i-- {
		if a := &o.Attempts[i]; a.Status == StatusOpen && a.Handle != "" {
			return a
		}
	}
	return nil
}

// pastNotAfter reports whether the intent is too old to be started.
func (o *Operation) pastNotAfter(at time.Time) bool {
	from := o.tooOldFrom()
	return !from.IsZero() && !at.Before(from)
}

// tooOldFrom is the first instant past not_after, to the microsecond that ledger
// time has; zero: never.
func (o *Operation) tooOldFrom() time.Time {
	if o.Policy.NotAfter <= 0 {
		return time.Time{}
	}
	return o.IntentAt.Add(o.Policy.NotAfter + time.Microsecond)
}

// ApprovalEnds is when the question expires that nobody answers; zero: never.
func (o *Operation) ApprovalEnds() time.Time {
	if o.Policy.ApprovalExpiry <= 0 {
		return time.Time{}
	}
	return o.IntentAt.Add(o.Policy.ApprovalExpiry)
}

// MaySend is what the operation itself says, at the moment of writing, about the
// write of its running attempt: nil, or why it must not leave any more (rule 6).
// Lease and switches are the sender's to check; what a provider's window allows
// is in the lease (leaseEnd).
func (o *Operation) MaySend(at time.Time) error {
	switch {
	case o.Running() == nil:
		return &Error{Code: CodeFenceLost, Op: "send attempt", OperationID: o.ID, Message: "no attempt holds the lease"}
	case o.OpenAttempts() == 0 && o.pastNotAfter(at):
		return &Error{Code: CodeStateForbids, Op: "send attempt", OperationID: o.ID, Message: "the intent is older than not_after"}
	}
	return nil
}

// leaseEnd is how long an attempt that starts now may hold its lease. The lease
// of a re-send ends with the provider's window: no byte may leave after it
// (rule 6), and the lease is what every performer is held to at the moment of
// writing. A re-send that a person confirmed in spite of the window is not
// bounded by it.
func (o *Operation) leaseEnd(started, until time.Time, resend bool) time.Time {
	if !resend || !o.resendAllowed(started) || o.Effect != EffectKeyedWrite || o.Policy.KeyWindow == KeyWindowForever {
		return until
	}
	if end := o.windowEnd(); end.Before(until) {
		return end
	}
	return until
}

// windowEnd is until when the provider's key may be trusted.
func (o *Operation) windowEnd() time.Time {
	return o.firstPossibleSend().Add(o.Policy.ResendWithin())
}

// overdue reports whether nothing automatic can settle an unknown outcome any more.
func (o *Operation) overdue(at time.Time) bool {
	if o.resendWanted(at) {
		return false
	}
	if o.Followed() == nil && (!o.Policy.HasProbe || !o.Effect.Writes()) {
		return !at.Before(o.evidenceUntil())
	}
	return o.Probes >= looksMin && o.UpdatedAt.After(o.lookUntil())
}

// looksMin is how many look-ups are made at least before a person is asked.
const looksMin = 3

// lookUntil is the instant from which on one more look-up in vain is enough: the
// recovery window is over, and a look-up would have proved absence.
//
// Why the row's last write is held against it, and not the clock: whoever comes
// back after a long time, be it that the window of a provider's key went before
// it or that nobody was there, has to look before a person is asked.
func (o *Operation) lookUntil() time.Time {
	until := o.UnknownSince.Add(o.Policy.RecoveryWindow)
	if p := o.provableAt(); p.After(until) {
		return p
	}
	return until
}

// evidenceUntil is until when a write's outcome that nothing can look up waits
// for an event of a sender that proves it; in review nothing but a person settles.
func (o *Operation) evidenceUntil() time.Time {
	if !o.Effect.Writes() {
		return o.UnknownSince
	}
	return o.UnknownSince.Add(o.Policy.EvidenceWithin)
}

// overdueReason says in words why a person is asked.
func (o *Operation) overdueReason() string {
	switch {
	case o.Followed() != nil:
		return "the provider's work did not end within the recovery window"
	case o.Policy.HasProbe:
		return "the look-up could not settle it within the recovery window"
	case o.Effect == EffectUnsafeWrite:
		return "the provider offers no look-up: only a person can find out"
	case !o.BudgetLeft():
		return "the budget of attempts is spent and an attempt is still open"
	case o.CancelRequested:
		return "a cancel was requested while an attempt is open, and there is no look-up"
	case !o.Failure.Retryable:
		return "the provider's refusal is not one that sending again could mend, an attempt is still open, and there is no look-up"
	default:
		return "sending again is not safe any more, and there is no look-up"
	}
}

// nextLook is when an unknown outcome has to be looked at again.
//
// Why probe before settle has passed: a found effect is proof at any time, so
// an early look-up answers the caller soon; only absence has to wait.
func (o *Operation) nextLook(at time.Time, retryAfter time.Duration) time.Time {
	if o.resendWanted(at) {
		return at.Add(max(retryAfter, o.backoff(o.spent())))
	}
	if !o.Policy.HasProbe && o.Followed() == nil {
		if until := o.evidenceUntil(); at.Before(until) {
			return until
		}
		return at // nothing to wait for: a person is asked
	}
	if o.Probes >= looksMin && at.After(o.lookUntil()) {
		return at
	}
	due := at.Add(max(retryAfter, o.backoff(o.Probes)))
	if o.Probes == 0 {
		due = at.Add(retryAfter)
	}
	if p := o.provableAt(); at.Before(p) && due.After(p) {
		due = p.Add(time.Millisecond)
	}
	return due
}

// backoff is the wait after n tries: initial doubled n-1 times up to max, of
// which the second half is jitter. The jitter comes from the operation's ID, so
// that the machine needs no randomness and neighbours still spread.
func (o *Operation) backoff(n int) time.Duration {
	d := o.Policy.BackoffInitial
	for i := 1; i < n && d < o.Policy.BackoffMax; i++ {
		d *= 2
	}
	if o.Policy.BackoffMax > 0 {
		d = min(d, o.Policy.BackoffMax)
	}
	if d <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write(o.ID[:])
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	half := d / 2
	return half + time.Duration(h.Sum64()%uint64(d-half+1))
}

// Step is what a worker has to do for an operation now.
type Step uint8

// The steps.
const (
	StepNone           Step = iota
	StepStart               // start an attempt
	StepExpire              // the lease is over: LeaseExpired
	StepProbe               // look the effect up
	StepResend              // ResendDue, then start
	StepLapse               // ResendLapsed
	StepEscalate            // SettleOverdue
	StepCancel              // NotAfterPassed
	StepExpireApproval      // ApprovalExpired
	StepRemind              // submit a reminder, then ApprovalReminded
	StepReviewOverdue       // ReviewOverdue
)

// NextStep says what a worker has to do at this time, StepNone if nothing.
func (o *Operation) NextStep(at time.Time) Step {
	switch o.State {
	case StateAwaitingApproval:
		if o.pastNotAfter(at) {
			return StepCancel
		}
		if o.approvalLapsed(at) {
			return StepExpireApproval
		}
		if o.reminderDue(at) >= 0 {
			return StepRemind
		}
	case StateReady:
		return o.nextStart(at)
	case StateEffectPending:
		if a := o.Running(); a != nil && !at.Before(a.LeaseUntil) {
			return StepExpire
		}
	case StateOutcomeUnknown:
		switch {
		case o.waits(at):
		case o.overdue(at):
			return StepEscalate
		case o.resendWanted(at):
			return StepResend
		default:
			return StepProbe
		}
	case StateSucceeded:
		if !o.DueAt.IsZero() && !at.Before(o.DueAt) {
			return StepProbe // are open attempts a second effect?
		}
	case StateNeedsReview:
		if !o.DueAt.IsZero() && !at.Before(o.DueAt) {
			return StepReviewOverdue
		}
	case StateFailed, StateAbandoned, StateCancelled, StateCompensated:
	}
	return StepNone
}

// lapseAt is when an operation that waits to be started has to be looked at
// although nobody released it: its intent gets too old, or its provider key
// does, or its approval. Zero: never.
func (o *Operation) lapseAt() time.Time {
	at := o.tooOldFrom()
	if w := o.Policy.KeyWindow; o.OpenAttempts() > 0 && o.Effect == EffectKeyedWrite && w > 0 && w != KeyWindowForever {
		if end := o.windowEnd(); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	if end := o.ApprovedUntil.Add(time.Microsecond); o.unspent() && (at.IsZero() || end.Before(at)) {
		at = end
	}
	return at
}

// waits reports whether its own time has not come. What was parked may be
// released before it.
func (o *Operation) waits(at time.Time) bool {
	return at.Before(o.DueAt) && o.Parked != ParkToolPaused && o.Parked != ParkSerialize
}

// startFrom is when a remote attempt may be claimed again after a failure.
func (o *Operation) startFrom() time.Time {
	if o.Attempt() == 0 {
		return time.Time{}
	}
	return o.DueAt
}

func (o *Operation) nextStart(at time.Time) Step {
	open := o.OpenAttempts() > 0
	switch {
	case open && !o.ResendConfirmed && !o.resendWanted(at):
		return StepLapse
	case !open && o.pastNotAfter(at):
		return StepCancel
	case o.approvalLapsed(at):
		return StepExpireApproval
	case o.Policy.RemoteExecutor, o.waits(at):
		return StepNone
	default:
		return StepStart
	}
}

// DueFor derives the due row of an operation: nil if it is on the happy path.
func DueFor(o *Operation) *Due {
	var kind DueKind
	at := o.DueAt
	switch o.State {
	case StateAwaitingApproval:
		kind = DueApproval
	case StateReady:
		kind = DueStart
		if o.Policy.RemoteExecutor {
			at = o.lapseAt() // its caller claims it; nobody here starts it
		}
	case StateEffectPending:
		if o.DueAt.IsZero() {
			return nil // a first attempt: found by its owner
		}
		kind = DueLease
	case StateOutcomeUnknown:
		kind = DueSettle
	case StateNeedsReview:
		kind = DueReview
	case StateSucceeded:
		if o.DueAt.IsZero() {
			return nil
		}
		kind = DueSettle
	case StateFailed, StateAbandoned, StateCancelled:
		kind = DueEnded // a tombstone's, too: it is listed by its state as long as its row is there
	case StateCompensated:
		return nil
	}
	return &Due{ID: o.ID, Tenant: o.Tenant, Tool: o.Tool, State: o.State, Kind: kind, Parked: o.Parked, At: at, Since: o.UpdatedAt}
}
