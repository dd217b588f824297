package onceward

import "strings"

// resolved takes a person's word, which needs a reference or a reason.
//
// Invariant: it says nothing about an attempt that the person did not know of.
func (m *step) resolved(e Resolved) error {
	o := m.op
	e.Reference, e.Reason = strings.TrimSpace(e.Reference), strings.TrimSpace(e.Reason) // a blank is no evidence
	if e.Reference == "" && e.Reason == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "resolve operation", OperationID: o.ID,
			Message: "neither a reference nor a reason is given", Hint: "name the provider's reference, or say how you know"}
	}
	if e.Attempt > 0 && e.Attempt != o.Attempt() {
		return forbidden(o, e, "another attempt was made since the person looked")
	}
	switch e.Outcome {
	case ResolvedSucceeded:
		return m.resolvedSucceeded(e)
	case ResolvedNotPerformed:
		return m.resolvedNotPerformed(e)
	case ResolvedAbandoned:
		if e.Reason == "" {
			return &Error{Code: CodeEvidenceRequired, Op: "resolve operation", OperationID: o.ID,
				Message: "abandoning needs a reason", Hint: "say why nobody has to look any further"}
		}
		if o.State == StateAbandoned {
			return forbidden(o, e, "it is abandoned already")
		}
		o.State = StateAbandoned
		return nil
	}
	return &Error{Code: CodeInvalidRequest, Op: "resolve operation", OperationID: o.ID, Message: "no such resolution"}
}

func (m *step) resolvedSucceeded(e Resolved) error {
	o := m.op
	if o.Effect.Writes() && e.Reference == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "resolve operation", OperationID: o.ID,
			Message: "that it happened needs the provider's reference", Hint: "look the effect up and name it; without any, abandon with a reason"}
	}
	m.settleBy(SettledByPerson, e.Reference)
	for i := range o.Attempts { // the person looked at all of them
		if a := &o.Attempts[i]; a.Status == StatusOpen {
			m.close(a, StatusNotDone, SettledByPerson, Sent{})
		}
	}
	o.Reference, o.RefPending = e.Reference, false
	o.State, o.Failure, o.Broken = StateSucceeded, Failure{}, false
	return nil
}

func (m *step) resolvedNotPerformed(e Resolved) error {
	o := m.op
	switch {
	case m.hasProof():
		return forbidden(o, e, "an effect is proven, reference "+o.Reference)
	case e.Retry && (o.Retired || o.Shredded):
		return forbidden(o, e, o.gone())
	}
	for i := range o.Attempts {
		if a := &o.Attempts[i]; a.Status == StatusOpen {
			m.close(a, StatusNotDone, SettledByPerson, Sent{})
		}
	}
	switch {
	case o.CancelRequested:
		o.State = StateCancelled
	case e.Retry:
		m.grant()
	default:
		o.State = StateFailed
		o.Failure.Retryable = false
		if o.Failure.Code == "" {
			o.Failure.Code, o.Failure.Message = "not_performed", "a person found that it was not performed"
		}
	}
	return nil
}

// grant makes it ready for one attempt more than the budget has left, as of now.
func (m *step) grant() {
	o := m.op
	if !o.BudgetLeft() {
		o.Granted++
	}
	o.State, o.DueAt, o.IntentAt, o.Parked = StateReady, m.at, m.at, NotParked
}
