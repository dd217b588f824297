package httpapi

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// deadEvents stores events of one key, which the sink "billing" does not take: the
// first is dead, the others wait behind it.
func (w *world) deadEvents(ids ...string) {
	w.Helper()
	ctx := w.Context()
	var events []onceward.OutboxEvent
	for _, id := range ids {
		e, err := onceward.NewOutboxEvent(onceward.OutboxEvent{ID: id, Type: "invoice.paid", Key: "i-1", At: w.clock.Now(), Data: []byte(`{"secret":1}`)})
		w.must(err)
		events = append(events, e)
	}
	w.must(w.store.AddEvents(ctx, events))
	sink, err := w.store.HoldSink(ctx, "billing", "relay", time.Hour)
	w.must(err)
	stored, err := w.store.ReadOutbox(ctx, onceward.OutboxPlace{}, len(ids))
	w.must(err)
	step := onceward.SinkStep{Sink: "billing", Owner: "relay", Lease: time.Hour, From: sink.Place}
	for i, e := range stored {
		a := onceward.SetAside{Event: e}
		if i == 0 {
			a.Dead, a.Tries, a.Message = true, 12, "refused: 410"
		}
		step.Aside, step.To = append(step.Aside, a), e.Place
	}
	if _, err := w.store.StepSink(ctx, step); err != nil {
		w.Fatal(err)
	}
}

func TestDeadEventIsListedAndOfferedAgainByAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deadEvents("e/1", "e/2", "e/3")
	w.get("/v1/outbox/sinks").want(200, "sinks.0.sink", "billing", "sinks.0.dead_events", 1.0, "sinks.0.waiting_events", 2.0, "sinks.0.behind_events", 0.0)
	w.get("/v1/outbox/events?dead=true&sink=billing").want(200, "events.0.event", "e/1", "events.0.tries", 12.0, "events.0.message", "refused: 410").lacks("events.1")
	w.get("/v1/outbox/events?sink=shop").want(200).lacks("events.0")
	first := w.get("/v1/outbox/events?limit=2").want(200, "events.0.event", "e/1", "events.1.event", "e/2").lacks("events.2", "events.0.data")
	w.get("/v1/outbox/events?limit=2&after="+first.text("next")).want(200, "events.0.event", "e/3").lacks("events.1", "next")
	w.get("/v1/outbox/events?after=x").want(400, "code", "cursor_invalid")

	w.post("/v1/outbox/redrive", `{"sink":"billing","event":"e/1","reason":" "}`).want(400, "code", "evidence_required")
	w.post("/v1/outbox/redrive", `{"sink":"billing","event":"e/2","reason":"repaired"}`).want(404, "code", "event_not_found")
	w.post("/v1/outbox/redrive", `{"sink":"billing","event":"e/1","reason":"repaired"}`).want(200, "dropped", false)
	w.get("/v1/outbox/events?dead=true").want(200).lacks("events.0")
	if due, err := w.store.DueAside(t.Context(), "billing", 10); err != nil || len(due) != 1 || due[0].Event.ID != "e/1" {
		t.Errorf("what is due is %+v, %v", due, err)
	}
	w.post("/v1/outbox/redrive", `{"sink":"billing","event":"e/1","reason":"repaired"}`).want(404, "code", "event_not_found")
	w.trailHas("outbox_redriven", "e/1", "repaired")
}

func TestDeadEventThatIsGivenUpLetsThoseBehindItGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deadEvents("e-1", "e-2")
	w.post("/v1/outbox/drop", `{"sink":"billing","event":"e-1","reason":"the invoice was void"}`).want(200, "dropped", true)
	w.get("/v1/outbox/events").want(200, "events.0.event", "e-2", "events.0.dead", false).lacks("events.1")
	if due, err := w.store.DueAside(t.Context(), "billing", 10); err != nil || len(due) != 1 || due[0].Event.ID != "e-2" {
		t.Errorf("what is due is %+v, %v", due, err)
	}
	w.trailHas("outbox_dropped", "e-1", "the invoice was void")
}

// trailHas wants one such line, of the local principal, in the audit trail.
func (w *world) trailHas(action, subject, reason string) {
	w.Helper()
	found := 0
	for _, line := range w.get("/v1/audit").want(200).at("events").([]any) {
		if m := line.(map[string]any); m["action"] == action {
			found++
			if m["subject"] != subject || m["reason"] != reason || m["detail"] != "billing" || m["actor"] != "local:operator" {
				w.Errorf("the trail has %v", m)
			}
		}
	}
	if found != 1 {
		w.Errorf("the trail has %d lines of %s", found, action)
	}
}
