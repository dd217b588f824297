package onceward

import (
	"strings"
	"time"
)

// replayRequested makes a new attempt possible under the same key. An open
// attempt has to be accepted by a person in so many words.
func (m *step) replayRequested(e ReplayRequested) error {
	o := m.op
	if strings.TrimSpace(e.Reason) == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "replay operation", OperationID: o.ID, Message: "a replay needs a reason", Hint: "say why the same intention is tried again"}
	}
	if o.Retired || o.Shredded {
		return forbidden(o, e, o.gone())
	}
	if m.hasProof() {
		return forbidden(o, e, "an effect is proven, reference "+o.Reference)
	}
	if o.OpenAttempts() > 0 && !o.resendAllowed(m.at) {
		if !e.Confirmed {
			return &Error{Code: CodeConfirmationNeeded, Op: "replay operation", OperationID: o.ID,
				Message: "an attempt is open: a new one may make a second effect", Hint: "read the plan and confirm its sentence"}
		}
		o.ResendConfirmed = true
	}
	if o.Forked && !e.Confirmed {
		return &Error{Code: CodeConfirmationNeeded, Op: "replay operation", OperationID: o.ID,
			Message: "a fork was made of it: both may have their effect", Hint: "read the plan and confirm its sentence"}
	}
	o.CancelRequested = false
	m.grant()
	return nil
}

// RetryFrom is when a new request may buy one more attempt of a retryable
// failure: one attempt per backoff.max. Zero when it cannot: the failure is
// permanent, the intent will be too old by then, or a fork took its place.
func (o *Operation) RetryFrom() time.Time {
	if o.State != StateFailed || !o.Failure.Retryable || o.CancelRequested || o.Retired || o.Shredded || o.Forked {
		return time.Time{}
	}
	from := o.CompletedAt.Add(o.Policy.BackoffMax)
	if o.Policy.CallerCredentials && o.Failure.Class == ClassAuth {
		from = o.CompletedAt // the next request may bring other credentials
	}
	if !o.pastNotAfter(from) {
		return from
	}
	return time.Time{}
}

// retryDue reports whether a repeated request buys an attempt at this time.
func (o *Operation) retryDue(at time.Time) bool {
	from := o.RetryFrom()
	return !from.IsZero() && !at.Before(from) && !o.pastNotAfter(at)
}

// retryRequested lets a new request buy one attempt. Whoever repeats a request
// wants what was wanted: the intent is as old as it was.
func (m *step) retryRequested(e RetryRequested) error {
	if !m.op.retryDue(m.at) {
		return forbidden(m.op, e, "the failure is permanent, the intent is too old, or backoff.max has not passed")
	}
	intent := m.op.IntentAt
	m.grant()
	m.op.IntentAt = intent
	return nil
}
