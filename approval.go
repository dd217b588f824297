package onceward

// approvalGranted makes it ready. The approval is bound to this digest and this
// contract version by standing in the same row; the first attempt spends it.
func (m *step) approvalGranted(e ApprovalGranted) {
	o := &m.op
	o.State, o.DueAt = StateReady, m.at
	o.ApprovedUntil = e.Until
}

// approvalVoided asks anew. An approval that an attempt has spent covers every
// later attempt under its digest and is never voided.
func (m *step) approvalVoided(e ApprovalVoided) error {
	o := &m.op
	if o.Attempt() > 0 {
		return forbidden(o, e, "an attempt has spent the approval")
	}
	o.State, o.IntentAt = StateAwaitingApproval, m.at
	m.op = withoutApproval(m.op)
	return nil
}

func withoutApproval(o Operation) Operation {
	o.ApprovalNeeded, o.ApprovedUntil = true, o.IntentAt.Add(-1)
	o.DueAt = o.approvalEnds()
	return o
}

// endUnsent cancels what no attempt may have touched.
func (m *step) endUnsent(ev Event) error {
	if m.op.OpenAttempts() > 0 {
		return forbidden(&m.op, ev, "an attempt is open")
	}
	if _, ok := ev.(NotAfterPassed); ok && !m.op.pastNotAfter(m.at) {
		return forbidden(&m.op, ev, "not_after has not passed")
	}
	m.op.State = StateCancelled
	m.op.Failure = Failure{Code: ev.Kind().String(), Message: endReasons[ev.Kind()]}
	return nil
}

var endReasons = map[EventKind]string{
	KindApprovalRejected: "the approver said no",
	KindApprovalExpired:  "nobody approved it in time",
	KindNotAfterPassed:   "the intent is older than the contract's not_after; nothing was sent",
	KindCancelRequested:  "cancelled on request before anything was sent",
}
