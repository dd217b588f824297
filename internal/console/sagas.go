package console

import "github.com/onceward/onceward"

// sagaForms is what a person may do about a saga on the page of its run.
type sagaForms struct {
	MayCancel bool
	Step      string                   // for which it waits; empty: for none, or somebody else settles it
	Answers   []onceward.SagaStepState // how that may be settled
}

func (p *page) sagaForms(s *onceward.Saga) (f sagaForms) {
	f.MayCancel = p.may(onceward.ActionCancelSagas) && !s.Undoing && !s.State.Final()
	step := s.WaitsFor()
	if step == nil || !p.may(onceward.ActionResolve) {
		return f
	}
	f.Step, f.Answers = step.Name, s.Outcomes()
	return f
}

// sagaID is that of the run that the address names.
func (p *page) sagaID() (onceward.SagaID, error) {
	id, err := onceward.ParseRunID(p.req.PathValue("id"))
	return onceward.SagaID(id), err
}

// cancelSaga is POST /runs/{id}/saga/cancel.
func cancelSaga(p *page) error {
	id, err := p.sagaID()
	if err != nil {
		return err
	}
	if _, err := p.ledger.CancelSaga(p.req.Context(), p.who, id, p.field("reason")); err != nil {
		return err
	}
	return p.done("/runs/"+id.Run().String(), "saga_cancelled")
}

// resolveSaga is POST /runs/{id}/saga/resolve.
func resolveSaga(p *page) error {
	id, err := p.sagaID()
	if err != nil {
		return err
	}
	r := onceward.SagaResolution{Step: p.field("step"), Outcome: onceward.SagaStepState(p.field("answer")), Reason: p.field("reason")}
	if _, err := p.ledger.ResolveSaga(p.req.Context(), p.who, id, r); err != nil {
		return err
	}
	return p.done("/runs/"+id.Run().String(), "resolved")
}
