package onceward

import (
	"fmt"
	"time"
)

// EventKind names a fact that the machine is told.
type EventKind uint8

// The event kinds.
const (
	KindApprovalGranted EventKind = iota + 1
	KindApprovalRejected
	KindApprovalExpired
	KindApprovalVoided
	KindApprovalEdited
	KindApprovalReminded
	KindAssigned
	KindReviewTaken
	KindReviewOverdue
	KindCommented
	KindForked
	KindAttemptStarted
	KindStartParked
	KindAttemptDone
	KindAttemptNotDone
	KindAttemptUnknown
	KindLeaseProlonged
	KindLeaseExpired
	KindProbeFound
	KindProbeAbsent
	KindProbeInconclusive
	KindEffectProven
	KindResendDue
	KindResendLapsed
	KindSettleOverdue
	KindCancelRequested
	KindNotAfterPassed
	KindResolved
	KindReplayRequested
	KindRetryRequested
	KindCompensated
	KindRetired
	KindKeyTakenAnew
)

var eventNames = [...]string{
	KindApprovalGranted: "approval_granted", KindApprovalRejected: "approval_rejected", KindApprovalExpired: "approval_expired",
	KindApprovalVoided: "approval_voided", KindApprovalEdited: "approval_edited", KindApprovalReminded: "approval_reminded",
	KindAssigned: "assigned", KindReviewTaken: "review_taken", KindReviewOverdue: "review_overdue", KindCommented: "commented", KindForked: "fork_made", KindAttemptStarted: "attempt_started", KindStartParked: "start_parked",
	KindAttemptDone: "attempt_done", KindAttemptNotDone: "attempt_not_done", KindAttemptUnknown: "attempt_unknown",
	KindLeaseProlonged: "lease_prolonged", KindLeaseExpired: "lease_expired", KindProbeFound: "probe_found", KindProbeAbsent: "probe_absent",
	KindProbeInconclusive: "probe_inconclusive", KindEffectProven: "effect_proven", KindResendDue: "resend_due",
	KindResendLapsed: "resend_lapsed", KindSettleOverdue: "settle_overdue", KindCancelRequested: "cancel_requested",
	KindNotAfterPassed: "not_after_passed", KindResolved: "resolved", KindReplayRequested: "replay_requested",
	KindRetryRequested: "retry_requested", KindCompensated: "compensated", KindRetired: "retired", KindKeyTakenAnew: "key_taken_anew",
}

// AllEventKinds lists every kind in declaration order.
func AllEventKinds() []EventKind {
	kinds := make([]EventKind, 0, len(eventNames)-1)
	for k := KindApprovalGranted; int(k) < len(eventNames); k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// String returns the name used in records and docs.
func (k EventKind) String() string {
	if int(k) < len(eventNames) && k > 0 {
		return eventNames[k]
	}
	return fmt.Sprintf("event(%d)", uint8(k))
}

// Event is a fact. The concrete types below are all there are.
type Event interface{ Kind() EventKind }

// ApprovalGranted: a person said yes to this digest under this contract version.
type ApprovalGranted struct {
	Actor    string
	Digest   Digest
	Contract string
	Until    time.Time // end of the yes if no attempt spends it
	Reason   string    // as given; may be empty
	Shown    string    // the document that was shown, as [Digest.String]; may be empty
}

// ApprovalRejected: a person said no to this digest.
type ApprovalRejected struct {
	Actor  string
	Digest Digest
	Reason string
	Shown  string
}

// ApprovalExpired: nobody answered in time, or no attempt spent the yes in time.
type ApprovalExpired struct{}

// ApprovalVoided: what was asked or approved changed before any attempt, or a
// request asks anew what nobody had answered in time.
type ApprovalVoided struct {
	Reason string
	Next   *Rendering // what is asked from now on; nil: the same
}

// ApprovalEdited: an approver changed the input that had this digest, before any
// attempt, and says yes to the new one.
type ApprovalEdited struct {
	Actor    string
	Digest   Digest // that the approver was shown
	Contract string
	Key      Key // of the edited input
	Next     Rendering
	Until    time.Time
	Reason   string
	Shown    string
}

// ApprovalReminded: a reminder of the open question was submitted.
type ApprovalReminded struct {
	Number int // in the contract's list, from 0
	Reason string
}

// AttemptStarted: a worker takes the lease. It is committed before any byte is sent.
type AttemptStarted struct {
	Owner      string
	Began      time.Time // when it may have begun, for one that a restore forgot; zero: now
	LeaseUntil time.Time
	Free       bool   // does not count against the budget
	Contract   string // version in force; compared where the first attempt needs an approval
	ClaimToken string // remote attempts only
	SecretHash []byte // remote attempts only
}

// StartParked: the operation could start, but something outside of it says wait.
type StartParked struct {
	Why   ParkReason
	Until time.Time // zero: until released
}

// AttemptDone: the attempt's effect is proven.
type AttemptDone struct {
	Attempt   int
	Sent      Sent
	Reference string // may be empty: then the reference is pending
	Result    *Result
	Settler   Settler
}

// AttemptNotDone: this attempt had no effect, proven. It closes its own attempt only.
type AttemptNotDone struct {
	Attempt    int
	Sent       Sent
	Failure    Failure
	RetryAfter time.Duration
	Free       bool // does not count against the budget: we stopped it ourselves
}

// AttemptUnknown: the attempt ended and may have had its effect.
type AttemptUnknown struct {
	Attempt    int
	Sent       Sent
	Failure    Failure
	RetryAfter time.Duration
	Handle     string // see [Attempt.Handle]
}

// Sent is how far an attempt's bytes went, by its holder's record.
type Sent struct {
	Reach      Reach
	LastByteAt time.Time // zero: nothing was sent
}

// LeaseProlonged: the holder of a remote attempt lives.
type LeaseProlonged struct {
	Attempt int
	Until   time.Time
}

// LeaseExpired: the holder was silent past its lease. How far it got is not knowable.
type LeaseExpired struct{ Attempt int }

// ProbeFound: a look-up saw one or more effects of this operation.
type ProbeFound struct {
	Began      time.Time // ledger time at which the probe began
	References []string  // at least one; "" where the provider names none
	Result     *Result   // the found object as an answer; may be nil
}

// ProbeAbsent: a look-up saw no effect.
type ProbeAbsent struct{ Began time.Time }

// ProbeInconclusive: a look-up could not tell.
type ProbeInconclusive struct {
	Failure    Failure
	RetryAfter time.Duration
	Lost       int // the attempt whose handle leads nowhere any more; 0: none
}

// EffectProven: the provider's own event, or other evidence from outside, names the effect.
type EffectProven struct{ Reference, Source string }

// ResendDue: the class allows to send again now, with the earlier attempt open.
type ResendDue struct{}

// ResendLapsed: an operation that was ready with an open attempt may not be sent any more.
type ResendLapsed struct{}

// SettleOverdue: nothing automatic can settle the outcome.
type SettleOverdue struct{ Reason string }

// CancelRequested: somebody wants it not to happen. A fact, not an outcome.
type CancelRequested struct{ Actor, Reason string }

// NotAfterPassed: the intent is older than its contract allows.
type NotAfterPassed struct{}

// Forked: a second effect was asked for in place of this one, or beside it.
type Forked struct {
	Key           Key // the fork's own
	Actor, Reason string
}

// Resolution is what a person knows.
type Resolution uint8

// The resolutions.
const (
	ResolvedSucceeded    Resolution = iota + 1 // it happened; a reference says which
	ResolvedNotPerformed                       // it did not happen
	ResolvedAbandoned                          // nobody will look any further
)

// String is the name that ParseResolution reads.
func (r Resolution) String() string {
	switch r {
	case ResolvedSucceeded:
		return "succeeded"
	case ResolvedNotPerformed:
		return "not_performed"
	case ResolvedAbandoned:
		return "abandoned"
	}
	return fmt.Sprintf("resolution(%d)", uint8(r))
}

// ParseResolution reads succeeded, not_performed or abandoned; anything else is
// an Error with CodeInvalidRequest.
func ParseResolution(s string) (Resolution, error) {
	switch s {
	case "succeeded":
		return ResolvedSucceeded, nil
	case "not_performed":
		return ResolvedNotPerformed, nil
	case "abandoned":
		return ResolvedAbandoned, nil
	}
	return 0, &Error{Code: CodeInvalidRequest, Message: "outcome is neither succeeded, not_performed nor abandoned", Hint: "say what you found out at the provider"}
}

// Resolved: a person settled it, with a reference or a reason.
type Resolved struct {
	Outcome   Resolution
	Retry     bool // not performed: true makes it ready again, false fails it
	Attempt   int  // the newest attempt that the person knew of; 0: the newest there is
	Reference string
	Reason    string
	Actor     string
}

// ReplayRequested: a person wants a new attempt under the same key.
type ReplayRequested struct {
	Actor, Reason string
	Confirmed     bool // the exact sentence was confirmed: an open attempt is accepted
}

// RetryRequested: a new request buys one more attempt of a retryable failure.
type RetryRequested struct{ Actor string }

// Compensated: the linked operation that undoes this one succeeded.
type Compensated struct {
	By     OperationID
	Actor  string
	Reason string
}

// Retired: the record's time is over; the row is slimmed to its tombstone.
type Retired struct {
	Showings []Digest // of what its approvers were shown: that goes with it
}

// KeyTakenAnew: a retired key that may be reused starts its next generation.
type KeyTakenAnew struct{ Next Operation }

// Kind implements Event.
func (ApprovalGranted) Kind() EventKind  { return KindApprovalGranted }
func (ApprovalRejected) Kind() EventKind { return KindApprovalRejected }
func (ApprovalExpired) Kind() EventKind  { return KindApprovalExpired }
func (ApprovalVoided) Kind() EventKind   { return KindApprovalVoided }
func (ApprovalEdited) Kind() EventKind   { return KindApprovalEdited }

// Kind implements Event.
func (ApprovalReminded) Kind() EventKind { return KindApprovalReminded }

// Kind implements Event.
func (Assigned) Kind() EventKind          { return KindAssigned }
func (ReviewTaken) Kind() EventKind       { return KindReviewTaken }
func (ReviewOverdue) Kind() EventKind     { return KindReviewOverdue }
func (Commented) Kind() EventKind         { return KindCommented }
func (Forked) Kind() EventKind            { return KindForked }
func (AttemptStarted) Kind() EventKind    { return KindAttemptStarted }
func (StartParked) Kind() EventKind       { return KindStartParked }
func (AttemptDone) Kind() EventKind       { return KindAttemptDone }
func (AttemptNotDone) Kind() EventKind    { return KindAttemptNotDone }
func (AttemptUnknown) Kind() EventKind    { return KindAttemptUnknown }
func (LeaseProlonged) Kind() EventKind    { return KindLeaseProlonged }
func (LeaseExpired) Kind() EventKind      { return KindLeaseExpired }
func (ProbeFound) Kind() EventKind        { return KindProbeFound }
func (ProbeAbsent) Kind() EventKind       { return KindProbeAbsent }
func (ProbeInconclusive) Kind() EventKind { return KindProbeInconclusive }
func (EffectProven) Kind() EventKind      { return KindEffectProven }
func (ResendDue) Kind() EventKind         { return KindResendDue }
func (ResendLapsed) Kind() EventKind      { return KindResendLapsed }
func (SettleOverdue) Kind() EventKind     { return KindSettleOverdue }
func (CancelRequested) Kind() EventKind   { return KindCancelRequested }
func (NotAfterPassed) Kind() EventKind    { return KindNotAfterPassed }
func (Resolved) Kind() EventKind          { return KindResolved }
func (ReplayRequested) Kind() EventKind   { return KindReplayRequested }
func (RetryRequested) Kind() EventKind    { return KindRetryRequested }
func (Compensated) Kind() EventKind       { return KindCompensated }
func (Retired) Kind() EventKind           { return KindRetired }
func (KeyTakenAnew) Kind() EventKind      { return KindKeyTakenAnew }

// Consequence is what has to be done besides storing the changed operation.
// Consequences are data; the ledger carries them out with, or after, the commit.
type Consequence struct {
	Kind   ConsequenceKind
	Reason string
}

// ConsequenceKind names a consequence.
type ConsequenceKind uint8

// The consequences.
const (
	PauseTool  ConsequenceKind = iota + 1 // no attempt of this tool may start until a person resumes it
	RaiseAlarm                            // somebody has to know
)
