package console

import (
	"github.com/onceward/onceward"
)

// kin is an operation that another one has to do with.
type kin struct{ Word, ID string }

// stepView is the place of an operation in a saga.
type stepView struct{ Saga, Step, Run string }

// kinOf finds what undid an operation, what it undoes, what it is a fork of and
// what was forked from it, as far as it is there.
func (p *page) kinOf(op *onceward.Operation, records []onceward.Record) (all []kin, step *stepView) {
	add := func(name string, id onceward.OperationID) {
		if _, err := p.ledger.Get(p.req.Context(), p.who, id, 0); err == nil {
			all = append(all, kin{name, id.String()})
		}
	}
	if s, of := p.sagaStep(op); s != nil {
		step = &stepView{Saga: s.Name, Step: of.Name, Run: "/runs/" + s.ID.Run().String()}
		switch {
		case of.Undoing == op.ID:
			add(word("fact.undoes"), of.Operation)
		case !of.Undoing.IsZero():
			add(word("fact.undone_by"), of.Undoing)
		}
	}
	if old, is := onceward.ForkedFrom(op.Key); is {
		add(word("fact.fork_of"), onceward.NewOperationID(op.Tenant, op.Tool, old))
	}
	for i := range records {
		if key, is := onceward.ForkedAs(records[i]); is {
			add(word("fact.forked"), onceward.NewOperationID(op.Tenant, op.Tool, onceward.ForkKey(op.Key, key)))
		}
	}
	return all, step
}

// sagaStep is the saga that an operation belongs to, and the step that it does or
// undoes; nil: it belongs to none that the reader may see.
func (p *page) sagaStep(op *onceward.Operation) (*onceward.Saga, *onceward.SagaStep) {
	run, err := onceward.ParseRunID(op.Run)
	if err != nil || !p.may(onceward.ActionReadSagas) {
		return nil, nil
	}
	s, err := p.ledger.Saga(p.req.Context(), p.who, onceward.SagaID(run))
	if err != nil {
		return nil, nil
	}
	for i := range s.Steps {
		if step := &s.Steps[i]; step.Operation == op.ID || step.Undoing == op.ID {
			return s, step
		}
	}
	return nil, nil
}
