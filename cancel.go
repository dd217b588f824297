package onceward

// cancelRequested notes the wish. Where something may have been sent, it stays
// a wish until the outcome is settled (rule 7).
func (m *step) cancelRequested() {
	o := m.op
	o.CancelRequested = true
	switch o.State {
	case StateAwaitingApproval, StateReady:
		if o.OpenAttempts() == 0 {
			o.State = StateCancelled
			o.Failure = Failure{Code: KindCancelRequested.String(), Message: endReasons[KindCancelRequested]}
			return
		}
		o.State, o.Parked, o.ResendConfirmed = StateOutcomeUnknown, NotParked, false
		o.DueAt = o.nextLook(m.at, 0)
	case StateOutcomeUnknown:
		o.Parked = NotParked
		o.DueAt = o.nextLook(m.at, 0)
	case StateEffectPending, StateNeedsReview, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated:
	}
}
