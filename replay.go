package onceward

import (
	"strings"
	"time"
)

// replayRequested makes a new attempt possible under the same key. An open
// attempt has to be accepted by a person in so many words.
func (m *step) replayRequested(e ReplayRequested) error {
	o := &m.op
	if strings.TrimSpace(e.Reason) == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "replay operation", OperationID: o.ID, Message: "a replay needs a reason", Hint: "say why the same intention is tried again"}
	}
	if o.Retired {
		return forbidden(o, e, tombstone)
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
	o.CancelRequested = false
	m.grant()
	return nil
}

// RetryFrom is when a new request may buy one more attempt of a retryable
// failure: one attempt per backoff.max. Zero when it cannot.
func (o *Operation) RetryFrom() time.Time {
	if o.State != StateFailed || !o.Failure.Retryable || o.CancelRequested || o.Retired {
		return time.Time{}
	}
	return o.CompletedAt.Add(o.Policy.BackoffMax)
}

// retryRequested lets a new request buy one attempt.
func (m *step) retryRequested(e RetryRequested) error {
	from := m.op.RetryFrom()
	if from.IsZero() || m.at.Before(from) {
		return forbidden(&m.op, e, "the failure is permanent, or backoff.max has not passed")
	}
	m.grant()
	return nil
}
