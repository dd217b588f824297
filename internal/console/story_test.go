package console_test

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// story is a day of a tenant's life: history, an unknown outcome, a review, two
// approvals, a run, a replay and a stopped tool.
type story struct {
	unknown, review, approval, approved, failed onceward.OperationID
	run, order                                  onceward.RunID // order: of a saga that went back
	undone, fork                                onceward.OperationID
	replay                                      onceward.BulkReplayID
}

func (w *world) story() story {
	w.Helper()
	var s story
	start := w.clock.Now().Truncate(time.Hour).Add(40 * time.Minute)
	w.clock.Advance(start.Sub(w.clock.Now()))
	for hour := range 23 {
		for i := range 3 + (hour*7+5)%11 {
			input := fmt.Sprintf(`{"id":"shop/%d-%d","text":"Parcel %d did not arrive"}`, hour, i, 1000+hour*20+i)
			switch {
			case hour%6 == 4 && i == 1:
				w.lost(ticket, input)
				w.pass(5 * time.Second)
			default:
				w.ask(ticket, input)
			}
			for range (hour + i) % 3 {
				w.ask(ticket, input)
			}
		}
		if hour%5 == 2 {
			w.ask(fax, fmt.Sprintf(`{"id":"case-%d","text":"Dunning letter"}`, hour))
		}
		_, _ = w.ledger.Submit(w.Context(), onceward.Intent{Principal: agent, Tool: ticket, Input: []byte(fmt.Sprintf(`{"id":"shop/%d-0","text":"x","other":true}`, hour))})
		w.pass(time.Hour)
	}
	s.run = w.aRun()
	s.failed = w.aFailure()
	s.order, s.undone = w.aSaga()
	s.fork = w.aFork()
	s.review = w.inReview("case-2291")
	w.pass(20 * time.Minute)
	s.approved = w.asked("return-880")
	w.decide(s.approved, true)
	s.approval = w.ask(payout, "{\"id\":\"return-881\",\"to\":\"Anna\u200b Berg\",\"text\":\"Refund for the kettle\",\"amount\":500}")
	w.pass(15 * time.Minute)
	w.provider.BreakProbes(true)
	s.unknown = w.lost(ticket, `{"id":"shop/late-1","text":"Printer on fire"}`)
	w.pass(3 * time.Second)
	w.pass(4 * time.Second)
	s.replay = w.aReplay()
	for range 20 {
		if worked, err := w.seal.Step(w.Context()); err != nil || !worked {
			break
		}
	}
	return s
}

func (w *world) aFailure() onceward.OperationID {
	w.Helper()
	w.provider.Script(oncewardtest.FaultInvalid)
	return w.ask(ticket, `{"id":"shop/bad-1","text":""}`)
}

// decide says yes or no to what is asked.
func (w *world) decide(id onceward.OperationID, yes bool) {
	w.Helper()
	bob := person("bob", onceward.RoleApprover)
	op := w.read(id)
	var err error
	if yes {
		_, err = w.ledger.Approve(w.Context(), bob, id, onceward.ApprovalAnswer{Digest: op.Digest, Contract: op.Contract, Reason: "agreed with the customer"})
	} else {
		_, err = w.ledger.Reject(w.Context(), bob, id, op.Digest, "the kettle was not ours")
	}
	w.must(err)
	w.drain()
}

// aRun is a business event with a decision and an operation.
func (w *world) aRun() onceward.RunID {
	w.Helper()
	ctx := w.Context()
	start := onceward.RunRequest{Principal: agent, Workflow: "complaints.answer", Version: "2", TriggerKey: "mail-4711", Input: []byte(`{"mail":4711}`), CorrelationID: "mail-4711"}
	if w.keys {
		start.Subject = "ann"
	}
	a, err := w.ledger.StartRun(ctx, start)
	w.must(err)
	d, err := w.ledger.PutDecision(ctx, onceward.DecisionRequest{Principal: agent, Run: a.Run.ID, Step: "assess", Input: []byte(`{"text":"The kettle leaks."}`),
		Output: []byte(`{"justified":true,"amount":50}`), Model: "m-1", PromptVersion: "p-7", RuleVersion: "r-3"})
	w.must(err)
	w.ask(ticket, `{"id":"mail/4711","text":"The kettle leaks"}`, func(in *onceward.Intent) {
		in.Run, in.CorrelationID, in.Decision = a.Run.ID.String(), "mail-4711", d.Step.ID
	})
	return a.Run.ID
}

// aSaga is an order that is cancelled on its way: its run, and the operation that
// is undone.
func (w *world) aSaga() (onceward.RunID, onceward.OperationID) {
	w.Helper()
	id := w.anOrder("order-77")
	_, err := w.ledger.CancelSaga(w.Context(), agent, id, "the customer changed her mind")
	w.must(err)
	w.moveSagas()
	s, err := w.ledger.Saga(w.Context(), agent, id)
	w.must(err)
	return s.ID.Run(), s.Steps[0].Operation
}

// aStuckOrder is a saga that goes back, and whose first step is not undone: its
// compensation is refused, and a person has to settle it.
func (w *world) aStuckOrder(key onceward.Key) onceward.RunID {
	w.Helper()
	id := w.anOrder(key)
	w.provider.Script(oncewardtest.FaultInvalid)
	_, err := w.ledger.CancelSaga(w.Context(), agent, id, "she has two kettles")
	w.must(err)
	w.moveSagas()
	return id.Run()
}

// anOrder is a saga of which the first step is done, and the second waits for a yes.
func (w *world) anOrder(key onceward.Key) onceward.SagaID {
	w.Helper()
	a, err := w.ledger.StartSaga(w.Context(), onceward.SagaRequest{Principal: agent, Name: "orders.place", Key: key, CorrelationID: string(key), Steps: []onceward.SagaStep{
		{Name: "pack", Tool: ticket, Input: fmt.Appendf(nil, `{"id":"pack/%s","text":"Pack one kettle"}`, key), Undo: &onceward.SagaUndo{Tool: ticket, Input: fmt.Appendf(nil, `{"id":"unpack/%s","text":"Put it back"}`, key)}},
		{Name: "pay", Tool: payout, Kind: onceward.SagaConfirmFirst, Input: fmt.Appendf(nil, `{"id":"pay/%s","text":"Voucher","amount":5}`, key)},
	}})
	w.must(err)
	w.moveSagas()
	return a.Saga.ID
}

// moveSagas lets the sagas come as far as they do by themselves.
func (w *world) moveSagas() {
	w.Helper()
	for range 2 {
		for worked := true; worked; w.quiet() {
			var err error
			worked, err = w.sagas.Step(w.Context())
			w.must(err)
		}
		w.pass(time.Minute)
	}
}

// aFork is a second ticket for an event, which somebody wanted.
func (w *world) aFork() onceward.OperationID {
	w.Helper()
	first := w.ask(ticket, `{"id":"shop/twice","text":"Parcel 9 did not arrive"}`)
	a, err := w.ledger.Fork(w.Context(), agent, first, "second-parcel:2", "the order was of two parcels", []byte(`{"id":"shop/twice","text":"The other parcel did not arrive"}`), 0)
	w.must(err)
	w.quiet()
	return a.Operation.ID
}

func (w *world) aReplay() onceward.BulkReplayID {
	w.Helper()
	b, err := w.ledger.StartBulkReplay(w.Context(), person("olga", onceward.RoleOperator), onceward.BulkRequest{DryRun: true, Reason: "the line is repaired", Rate: 60})
	w.must(err)
	for range 20 {
		if worked, err := w.replays.Step(w.Context()); err != nil || !worked {
			break
		}
		w.clock.Advance(2 * time.Second)
	}
	return b.ID
}
