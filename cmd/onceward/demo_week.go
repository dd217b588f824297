package main

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// orders is how many parcels go astray in an hour: few by night and at weekends.
func (h *history) orders() int {
	at := h.clock.Now().UTC()
	n := 1 + (h.hour*7+3)%2
	if at.Hour() >= 8 && at.Hour() < 18 {
		n = 3 + (h.hour*5+2)%5
	}
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		n = (n + 1) / 2
	}
	return n
}

func (h *history) ticket(i int, edit string) onceward.Intent {
	number := 1000 + 10*h.hour + i
	return onceward.Intent{Tool: "tickets.create", CorrelationID: fmt.Sprintf("parcel-%d", number),
		Input: fmt.Appendf(nil, `{"source":"shop","event_id":"parcel-%d","subject":"Parcel %d did not arrive","body":"The customer waits."%s}`, number, number, edit)}
}

func (h *history) payment(i, amount int) onceward.Intent {
	return onceward.Intent{Tool: "payments.create", CorrelationID: fmt.Sprintf("order-%d", 1000+10*h.hour+i),
		Input: fmt.Appendf(nil, `{"order_id":"order-%d","amount":%d,"currency":"EUR"}`, 1000+10*h.hour+i, amount)}
}

// playHour is one hour: what is asked for, asked again, and settled by people.
func (h *history) playHour(ctx context.Context) error {
	began := h.clock.lag()
	for _, do := range h.take() {
		if err := do(ctx); err != nil {
			return err
		}
	}
	var first, again []onceward.Intent
	for i := range h.orders() {
		first = append(first, h.ticket(i, ""))
		if i%2 == 0 {
			first = append(first, h.payment(i, 1900+100*i))
		}
		for range (h.hour + i) % 3 {
			again = append(again, h.ticket(i, ""))
		}
	}
	if h.hour%4 == 1 { // the same event several times at once: the later ones join the first
		first = append(first, first[0], first[0])
	}
	if h.hour%9 == 4 { // the same order with another amount
		again = append(again, h.payment(0, 9900))
	}
	for _, batch := range [][]onceward.Intent{first, again} {
		if _, err := h.ask(ctx, batch...); err != nil {
			return err
		}
	}
	for _, event := range []struct {
		every, at int
		play      func(context.Context) error
	}{{7, 3, h.answerLost}, {11, 5, h.requestLost}, {17, 6, h.urgent}, {29, 10, h.fax}, {23, 9, h.complaint}, {31, 14, h.refused}, {53, 20, h.outage}, {71, 33, h.undone}, {historyHours, 150, h.plan}} {
		if h.hour%event.every == event.at {
			if err := event.play(ctx); err != nil {
				return err
			}
		}
	}
	return h.pass(ctx, time.Hour-(began-h.clock.lag()))
}

// take is what people have left to do about earlier hours.
func (h *history) take() []func(context.Context) error {
	all := h.late
	h.late = nil
	return all
}

// answerLost: the ticket is opened, and its answer lost; a look-up finds it.
func (h *history) answerLost(ctx context.Context) error {
	in := h.ticket(8, "")
	if err := h.fault(ctx, "tickets", "shop/"+in.CorrelationID, "drop_after_commit"); err != nil {
		return err
	}
	if _, err := h.ask(ctx, in); err != nil {
		return err
	}
	if _, err := h.ask(ctx, in); err != nil { // answered that it is not known yet
		return err
	}
	return h.pass(ctx, 5*time.Second)
}

// requestLost: nothing arrives at the provider; the look-up proves it, and the
// next attempt does it.
func (h *history) requestLost(ctx context.Context) error {
	in := h.ticket(9, "")
	if err := h.fault(ctx, "tickets", "shop/"+in.CorrelationID, "drop_before_commit"); err != nil {
		return err
	}
	if _, err := h.ask(ctx, in); err != nil {
		return err
	}
	for range 3 {
		if err := h.pass(ctx, 7*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// urgent: a person has to say yes, and does a while later; each third time no.
func (h *history) urgent(ctx context.Context) error {
	in := h.ticket(7, `,"priority":"urgent"`)
	answers, err := h.ask(ctx, in)
	if err != nil {
		return err
	}
	if _, err := h.ask(ctx, in); err != nil { // no second question
		return err
	}
	if err := h.pass(ctx, time.Duration(4+h.hour%20)*time.Minute); err != nil {
		return err
	}
	op := answers[0].Operation
	if h.hour%3 == 2 {
		_, err = h.ledger.Reject(ctx, pastApprover, op.ID, op.Digest, "it is on its way, says the carrier")
	} else {
		_, err = h.ledger.Approve(ctx, pastApprover, op.ID, onceward.ApprovalAnswer{Digest: op.Digest, Contract: op.Contract, Reason: "the customer needs it today"})
	}
	if err != nil {
		return err
	}
	return h.settle(ctx)
}

// fax: nobody can look it up, so a person finds out, an hour or two later.
func (h *history) fax(ctx context.Context) error {
	id := fmt.Sprintf("case-%d", 2000+h.hour)
	if err := h.fault(ctx, "fax", id, "drop_after_commit"); err != nil {
		return err
	}
	answers, err := h.ask(ctx, onceward.Intent{Tool: "fax.send", Input: fmt.Appendf(nil, `{"case_id":%q,"to":"+4930123456","document":"Second reminder"}`, id)})
	if err != nil {
		return err
	}
	h.late = append(h.late, func(ctx context.Context) error {
		op := answers[0].Operation.ID
		if _, err := h.ledger.TakeReview(ctx, pastOperator, op); err != nil {
			return err
		}
		if err := h.pass(ctx, 12*time.Minute); err != nil {
			return err
		}
		_, err := h.ledger.Resolve(ctx, pastOperator, op, onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Attempt: 1, Reference: "FAX-" + id, Reason: "the machine's journal has it"})
		return err
	})
	return h.pass(ctx, 10*time.Second)
}

// refused: the provider takes a ticket without a subject for no ticket.
func (h *history) refused(ctx context.Context) error {
	_, err := h.ask(ctx, onceward.Intent{Tool: "tickets.create", Input: fmt.Appendf(nil, `{"source":"form","event_id":"form-%d","subject":""}`, h.hour)})
	return err
}

// outage: the vendor announces one, the tool is paused, and what was asked for
// meanwhile starts when it goes on.
func (h *history) outage(ctx context.Context) error {
	if err := h.ledger.PauseTool(ctx, pastOperator, "tickets.create", "the vendor announced maintenance"); err != nil {
		return err
	}
	in := []onceward.Intent{h.ticket(4, ""), h.ticket(5, ""), h.ticket(6, "")}
	for range 2 {
		if _, err := h.ask(ctx, in...); err != nil {
			return err
		}
	}
	if err := h.pass(ctx, 25*time.Minute); err != nil {
		return err
	}
	if _, err := h.ledger.ResumeTool(ctx, pastOperator, "tickets.create"); err != nil {
		return err
	}
	return h.pass(ctx, time.Minute)
}

// complaint: a run with a decision, whose operation says which one led to it.
func (h *history) complaint(ctx context.Context) error {
	key := fmt.Sprintf("mail-%d", 4000+h.hour)
	run, err := h.ledger.StartRun(ctx, onceward.RunRequest{Principal: pastAgent, Workflow: "complaints.answer", Version: "2", TriggerKey: onceward.Key(key), CorrelationID: key,
		Input: fmt.Appendf(nil, `{"mail":%q,"text":"The kettle leaks."}`, key)})
	if err != nil {
		return err
	}
	sure := 0.91
	d, err := h.ledger.PutDecision(ctx, onceward.DecisionRequest{Principal: pastAgent, Run: run.Run.ID, Step: "assess", Input: []byte(`{"text":"The kettle leaks."}`), Output: []byte(`{"justified":true,"refund":4900}`),
		Model: "model-m", PromptVersion: "7", RuleVersion: "3", Confidence: &sure})
	if err != nil {
		return err
	}
	_, err = h.ask(ctx, onceward.Intent{Tool: "tickets.create", Run: run.Run.ID.String(), CorrelationID: key, Decision: d.Step.ID,
		Input: fmt.Appendf(nil, `{"source":"mail","event_id":%q,"subject":"The kettle leaks","body":"Refund it."}`, key)})
	if err != nil {
		return err
	}
	_, err = h.ledger.FinishRun(ctx, pastAgent, run.Run.ID, onceward.RunSucceeded, "")
	return err
}

// undone: an order is cancelled on its way, and what was done for it is undone.
func (h *history) undone(ctx context.Context) error {
	key := fmt.Sprintf("order-%d", 7000+h.hour)
	a, err := h.ledger.StartSaga(ctx, onceward.SagaRequest{Principal: pastAgent, Name: "orders.place", Key: onceward.Key(key), CorrelationID: key, Steps: []onceward.SagaStep{
		{Name: "pay", Tool: "payments.create", Input: fmt.Appendf(nil, `{"order_id":%q,"amount":8900,"currency":"EUR"}`, key)},
		{Name: "pack", Tool: "tickets.create", Input: fmt.Appendf(nil, `{"source":"stock","event_id":%q,"subject":"Pack one kettle, paid by ${steps.pay.reference}"}`, key)},
		{Name: "tell", Tool: "tickets.create", Input: fmt.Appendf(nil, `{"source":"desk","event_id":%q,"subject":"Tell the customer","priority":"urgent"}`, key)},
	}})
	if err != nil {
		return err
	}
	if err := h.pass(ctx, 2*time.Minute); err != nil {
		return err
	}
	if _, err := h.ledger.CancelSaga(ctx, pastAgent, a.Saga.ID, "the customer changed her mind"); err != nil {
		return err
	}
	return h.pass(ctx, time.Minute)
}

// plan: a dry run over what has failed.
func (h *history) plan(ctx context.Context) error {
	_, err := h.ledger.StartBulkReplay(ctx, pastOperator, onceward.BulkRequest{DryRun: true, Reason: "forms without a subject: can they go again?", Rate: 600,
		Filter: onceward.BulkFilter{States: []onceward.State{onceward.StateFailed}}})
	if err != nil {
		return err
	}
	return h.pass(ctx, time.Minute)
}
