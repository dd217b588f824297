package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// OutboxSink is how far events are handed on to one destination.
type OutboxSink struct {
	Sink          string  `json:"sink"`
	BehindEvents  int64   `json:"behind_events" doc:"That it has still to be given, counted up to 100000."`
	LagSeconds    float64 `json:"lag_seconds" doc:"Age of the oldest of them; 0 if there is none."`
	WaitingEvents int     `json:"waiting_events" doc:"That are set aside, and offered again by themselves."`
	DeadEvents    int     `json:"dead_events" doc:"That are set aside until a person drives them again."`
	Owner         string  `json:"owner" doc:"The process that holds it, or held it last."`
}

// OutboxSinkList is every sink.
type OutboxSinkList struct {
	Sinks []OutboxSink `json:"sinks"`
}

// OutboxEvent is an event that a sink did not take, or that waits behind such a
// one of its key.
type OutboxEvent struct {
	Sink          string    `json:"sink"`
	Event         string    `json:"event" doc:"Its ID: the message ID of every delivery."`
	Type          string    `json:"type"`
	Key           string    `json:"key" doc:"Those of one key are handed on in order; empty: in none."`
	CorrelationID string    `json:"correlation_id,omitempty"`
	Tries         int       `json:"tries" doc:"How often it was offered; 0 behind another one."`
	Dead          bool      `json:"dead" doc:"It is not offered again by itself."`
	DueAt         time.Time `json:"due_at,omitzero" doc:"When it is offered again; absent if it is dead, or behind another one of its key."`
	Since         time.Time `json:"since" doc:"When it was set aside."`
	Message       string    `json:"message,omitempty" doc:"Why it was not taken."`
}

// OutboxEventPage is a page of events that are set aside.
type OutboxEventPage struct {
	Events []OutboxEvent `json:"events"`
	Next   string        `json:"next,omitempty" doc:"The cursor of the next page; absent on the last."`
}

// OutboxDecision is a person's word about a dead event.
type OutboxDecision struct {
	Sink   string `json:"sink" max:"label" doc:"The destination that did not take it."`
	Event  string `json:"event" max:"event" doc:"Its ID."`
	Reason string `json:"reason" max:"reason" doc:"Why, for whoever reads it later."`
}

// OutboxDecided says what became of a dead event.
type OutboxDecided struct {
	Sink    string `json:"sink"`
	Event   string `json:"event"`
	Dropped bool   `json:"dropped" doc:"It is given up; else it is offered again."`
}

var outboxRefusals = []onceward.Code{onceward.CodeEventNotFound, onceward.CodeEvidenceRequired, onceward.CodeMayBeRecorded}

var outboxRoutes = []route{
	{
		Method: http.MethodGet, Path: "/v1/outbox/sinks", Name: "listSinks", handle: listSinks, Action: onceward.ActionReadMetrics,
		Summary: "List the destinations of events, and how far each is, over all tenants: for principals of the server's own tenant.",
		Answers: []answer{{http.StatusOK, OutboxSinkList{}, "Every destination that was ever configured and not forgotten."}},
	},
	{
		Method: http.MethodGet, Path: "/v1/outbox/events", Name: "listOutboxEvents", handle: listOutboxEvents, Action: onceward.ActionReadEvents,
		Summary: "List the events that a destination did not take, and those that wait behind them, in the order in which they were added, without their data.",
		Query: []param{
			{Name: "sink", Schema: textSchema(), Doc: "At this destination."},
			{Name: "dead", Schema: boolSchema(), Doc: "true: only what is not offered again by itself."},
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitParam,
		},
		Answers: []answer{{http.StatusOK, OutboxEventPage{}, "A page. A last page may be empty."}}, Refusals: []onceward.Code{onceward.CodeCursorInvalid},
	},
	{
		Method: http.MethodPost, Path: "/v1/outbox/redrive", Name: "redriveOutboxEvent", handle: redriveOutboxEvent, Action: onceward.ActionHandleEvents,
		Summary: "Offer a dead event to its destination again, as often as a new one.",
		Body:    OutboxDecision{}, Answers: []answer{{http.StatusOK, OutboxDecided{}, "It is offered again at once."}}, Refusals: outboxRefusals,
	},
	{
		Method: http.MethodPost, Path: "/v1/outbox/drop", Name: "dropOutboxEvent", handle: dropOutboxEvent, Action: onceward.ActionHandleEvents,
		Summary: "Give up a dead event at its destination: it is never handed on there, and those of its key behind it go on.",
		Body:    OutboxDecision{}, Answers: []answer{{http.StatusOK, OutboxDecided{}, "It is given up."}}, Refusals: outboxRefusals,
	},
}

// listSinks is GET /v1/outbox/sinks.
func listSinks(c *call) error {
	all, now, err := c.ledger.OutboxSinks(c.req.Context(), c.who)
	if err != nil {
		return err
	}
	out := OutboxSinkList{Sinks: make([]OutboxSink, len(all))}
	for i := range all {
		s := &all[i]
		out.Sinks[i] = OutboxSink{s.Name, s.Behind, s.Lag(now).Seconds(), s.Aside - s.Dead, s.Dead, s.Owner}
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &out)
	return nil
}

// listOutboxEvents is GET /v1/outbox/events.
func listOutboxEvents(c *call) (err error) {
	var f onceward.AsideFilter
	f.Sink, _ = c.param("sink")
	if f.Dead, err = c.flag("dead"); err != nil {
		return err
	}
	if f.Limit, err = c.limit(onceward.MaxPage); err != nil {
		return err
	}
	if s, given := c.param("after"); given {
		if f.After, err = decodeAsideCursor(s); err != nil {
			return err
		}
	}
	all, err := c.ledger.OutboxAside(c.req.Context(), c.who, f)
	if err != nil {
		return err
	}
	page := OutboxEventPage{Events: make([]OutboxEvent, len(all))}
	for i := range all {
		a := &all[i]
		page.Events[i] = OutboxEvent{a.Sink, a.Event.ID, a.Event.Type, a.Event.Key, a.Event.CorrelationID, a.Tries, a.Dead, a.DueAt.UTC(), a.Since.UTC(), a.Message}
	}
	if n := len(all); n == f.Limit {
		page.Next = encodeAsideCursor(all[n-1].Cursor())
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

// redriveOutboxEvent is POST /v1/outbox/redrive.
func redriveOutboxEvent(c *call) error {
	var in OutboxDecision
	if err := c.read(&in, true); err != nil {
		return err
	}
	return c.outboxDecided(&in, false, c.ledger.RedriveOutbox(c.req.Context(), c.who, in.Sink, in.Event, in.Reason))
}

// dropOutboxEvent is POST /v1/outbox/drop.
func dropOutboxEvent(c *call) error {
	var in OutboxDecision
	if err := c.read(&in, true); err != nil {
		return err
	}
	return c.outboxDecided(&in, true, c.ledger.DropOutbox(c.req.Context(), c.who, in.Sink, in.Event, in.Reason))
}

func (c *call) outboxDecided(in *OutboxDecision, dropped bool, err error) error {
	if err == nil {
		writeJSON(c.w, http.StatusOK, mediaJSON, &OutboxDecided{in.Sink, in.Event, dropped})
	}
	return err
}
