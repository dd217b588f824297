package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// refusedEvents stores events of one key that the sink "billing" does not take: the
// first is dead, the others wait behind it.
func (w *world) refusedEvents(tenant onceward.Tenant, ids ...string) {
	w.Helper()
	ctx := w.Context()
	sink, err := w.store.HoldSink(ctx, "billing", "relay", time.Hour)
	w.must(err)
	var events []onceward.OutboxEvent
	for _, id := range ids {
		e, err := onceward.NewOutboxEvent(onceward.OutboxEvent{ID: id, Tenant: tenant, Type: "invoice.paid", Key: "of " + string(tenant), At: w.clock.Now(), Data: []byte(`{"secret":1}`)})
		w.must(err)
		events = append(events, e)
	}
	w.must(w.store.AddEvents(ctx, events))
	stored, err := w.store.ReadOutbox(ctx, sink.Place, len(ids))
	w.must(err)
	step := onceward.SinkStep{Sink: "billing", Owner: "relay", Lease: time.Hour, From: sink.Place}
	for i, e := range stored {
		a := onceward.SetAside{Event: e}
		if i == 0 {
			a.Dead, a.Tries, a.Message = true, 12, "refused: 410 <b>gone</b>"
		}
		step.Aside, step.To = append(step.Aside, a), e.Place
	}
	_, err = w.store.StepSink(ctx, step)
	w.must(err)
}

func TestDeadEventIsOfferedAgainOrGivenUpOnItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refusedEvents(onceward.DefaultTenant, "e/1", "e/2")
	w.refusedEvents("other", "x/1")
	b := w.visit("olga", onceward.RoleOperator)
	p := b.get("/outbox").want(200, "billing", "e/1", "e/2", "behind another one", "refused: 410 &lt;b&gt;gone", "of "+string(onceward.DefaultTenant))
	if strings.Contains(p.text, "x/1") || strings.Contains(p.text, "secret") {
		t.Error("the page shows another tenant's event, or data")
	}
	p.submit("/outbox/redrive", "reason", " ").want(400, "reason")
	p.submit("/outbox/redrive", "reason", "repaired").want(200, "offered again")
	if due, err := w.store.DueAside(t.Context(), "billing", 10); err != nil || len(due) != 1 || due[0].Event.ID != "e/1" {
		t.Errorf("what is due is %+v, %v", due, err)
	}
	w.refusedEvents(onceward.DefaultTenant, "e/3")
	b.get("/outbox?dead=1&sink=billing").want(200, "e/3").submit("/outbox/drop", "reason", "void").want(200, "given up")
	if p := b.get("/outbox"); strings.Contains(p.text, "e/3") {
		t.Error("what was given up is still there")
	}
}
