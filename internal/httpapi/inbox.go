package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// HookAnswer says that the events of a delivery are recorded.
type HookAnswer struct {
	Events    []HookEvent `json:"events" doc:"In the order of the delivery; empty for a challenge."`
	Challenge string      `json:"challenge,omitempty" doc:"What the sender asked to read back."`
}

// HookEvent is one event of a delivery.
type HookEvent struct {
	ID       string `json:"id"`
	Decision string `json:"decision" enum:"decisions" doc:"fresh, or replayed: it was there already."`
}

// InboxEvent is one event that a sender delivered.
type InboxEvent struct {
	ID          string            `json:"id"`
	Source      string            `json:"source"`
	Version     string            `json:"version" doc:"Of the source's document under which it is handled."`
	Key         string            `json:"key" doc:"What names it in every delivery."`
	State       string            `json:"state" enum:"inbox_states" doc:"unmapped, failed and late wait for a person."`
	Code        string            `json:"code,omitempty" enum:"codes" doc:"Why it waits, or is tried again."`
	Message     string            `json:"message,omitempty" doc:"The same in words, or what is to be known of how it was handled."`
	Run         string            `json:"run,omitempty"`
	Operations  []string          `json:"operations" doc:"That it made, joined or settled."`
	Tries       int               `json:"tries" doc:"How often it was handled since it was received or driven again."`
	Actor       string            `json:"actor,omitempty" doc:"Who drove it again or dismissed it."`
	Reason      string            `json:"reason,omitempty" doc:"As given by that person."`
	SentAt      time.Time         `json:"sent_at,omitzero" doc:"When it happened, by its own word."`
	ReceivedAt  time.Time         `json:"received_at"`
	HandledAt   time.Time         `json:"handled_at,omitzero"`
	DueAt       time.Time         `json:"due_at,omitzero" doc:"When it is handled."`
	ContentType string            `json:"content_type,omitempty"`
	Headers     map[string]string `json:"headers,omitempty" doc:"Those that its source keeps."`
	Body        json.RawMessage   `json:"body,omitempty" doc:"A JSON value as it came; else the text in a string. Only where one event is read."`
}

// InboxEventAnswer is one event.
type InboxEventAnswer struct {
	Event InboxEvent `json:"event"`
}

// InboxEventPage is a page of events.
type InboxEventPage struct {
	Events []InboxEvent `json:"events"`
	Next   string       `json:"next,omitempty" doc:"The cursor of the next page; absent on the last."`
}

// EventDecision is a person's word about an event.
type EventDecision struct {
	Reason string `json:"reason" max:"reason" doc:"Why, for whoever reads it later."`
}

var inboxRoutes = []route{
	{
		Method: http.MethodPost, Path: "/v1/hooks/{source}", Name: "deliverEvents", handle: deliver, Action: onceward.ActionDeliver, Signed: true,
		Summary: "Deliver events, as their sender does. They are durable before the answer; delivered again, they change nothing.",
		Body:    rawBytes{}, BodyOptional: true,
		Answers: []answer{{http.StatusOK, HookAnswer{}, "They are recorded."}, {http.StatusNoContent, nil, "They are recorded, and the sender takes no body."}},
		Refusals: []onceward.Code{onceward.CodeSourceNotFound, onceward.CodeSignatureInvalid, onceward.CodeUnsupportedMedia, onceward.CodeTooLarge, onceward.CodeInvalidInput,
			onceward.CodeKeyInvalid, onceward.CodeOverloaded, onceward.CodeMayBeRecorded},
	},
	{
		Method: http.MethodGet, Path: "/v1/events", Name: "listEvents", handle: listEvents, Action: onceward.ActionReadEvents,
		Summary: "List events that senders delivered, newest first, without their payloads.",
		Query: []param{
			{Name: "source", Schema: textSchema(), Doc: "Of this source."},
			{Name: "state", Schema: enumSchema("inbox_states"), Doc: "In this state."},
			{Name: "waiting", Schema: boolSchema(), Doc: "true: only what waits for a person."},
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitParam,
		},
		Answers: []answer{{http.StatusOK, InboxEventPage{}, "A page. A last page may be empty."}}, Refusals: []onceward.Code{onceward.CodeCursorInvalid},
	},
	{
		Method: http.MethodGet, Path: "/v1/events/{id}", Name: "getEvent", handle: getEvent, Action: onceward.ActionReadEvents,
		Summary: "Read one event with its payload.", Answers: []answer{{http.StatusOK, InboxEventAnswer{}, "The event."}}, Refusals: []onceward.Code{onceward.CodeEventNotFound},
	},
	{
		Method: http.MethodPost, Path: "/v1/events/{id}/redrive", Name: "redriveEvent", handle: redriveEvent, Action: onceward.ActionHandleEvents,
		Summary: "Handle an event anew, under the document of its source that is in force. What it had already is not done again.",
		Body:    EventDecision{}, Answers: []answer{{http.StatusOK, InboxEventAnswer{}, "It is handled from now on."}},
		Refusals: []onceward.Code{onceward.CodeEventNotFound, onceward.CodeSourceNotFound, onceward.CodeStateForbids, onceward.CodeEvidenceRequired},
	},
	{
		Method: http.MethodPost, Path: "/v1/events/{id}/dismiss", Name: "dismissEvent", handle: dismissEvent, Action: onceward.ActionHandleEvents,
		Summary: "Say that nothing is to be done for an event that waits for a person.",
		Body:    EventDecision{}, Answers: []answer{{http.StatusOK, InboxEventAnswer{}, "It waits no more."}},
		Refusals: []onceward.Code{onceward.CodeEventNotFound, onceward.CodeStateForbids, onceward.CodeEvidenceRequired},
	},
}

// deliver is POST /v1/hooks/{source}.
func deliver(c *call) error {
	src, err := c.ledger.EventSource(c.req.PathValue("source"))
	if err != nil {
		return err
	}
	buf := bodies.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= pooledBytesMax {
			buf.Reset()
			bodies.Put(buf)
		}
	}()
	info := src.Info()
	if err := c.readDelivery(buf, info.BodyBytesMax); err != nil {
		c.ledger.RefusedDelivery(info)
		return err
	}
	taken, err := c.ledger.TakeDelivery(c.req.Context(), src, &onceward.Delivery{Method: c.req.Method, Target: c.req.URL.RequestURI(), Header: c.req.Header, Body: buf.Bytes()})
	switch {
	case onceward.Is(err, onceward.CodeSignatureInvalid):
		c.w.Header().Set("WWW-Authenticate", "Signature") // no token would help
		return err
	case err != nil:
		return err
	case info.Quiet:
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	out := HookAnswer{Events: make([]HookEvent, len(taken.Events)), Challenge: string(taken.Challenge)}
	for i, e := range taken.Events {
		out.Events[i] = HookEvent{e.ID.String(), string(e.Decision)}
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &out)
	return nil
}

// readDelivery reads a body as it is: its signature is over the bytes.
func (c *call) readDelivery(buf *bytes.Buffer, limit int64) error {
	if c.req.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	if _, err := buf.ReadFrom(http.MaxBytesReader(c.w, c.req.Body, limit)); err != nil {
		return bodyError(err, limit)
	}
	return nil
}

func wireEvent(e *onceward.InboxEvent) InboxEvent {
	out := InboxEvent{ID: e.ID.String(), Source: e.Source, Version: e.Version, Key: string(e.Key), State: string(e.State), Code: string(e.Code), Message: e.Message,
		Operations: make([]string, len(e.Operations)), Tries: e.Tries, Actor: e.By, Reason: e.Why, SentAt: e.SentAt.UTC(), ReceivedAt: e.ReceivedAt.UTC(),
		HandledAt: e.HandledAt.UTC(), DueAt: e.NextAt.UTC(), ContentType: e.ContentType}
	if !e.Run.IsZero() {
		out.Run = e.Run.String()
	}
	for i, id := range e.Operations {
		out.Operations[i] = id.String()
	}
	if e.Body != nil {
		if out.Body = e.Body; !json.Valid(e.Body) {
			out.Body, _ = json.Marshal(string(e.Body)) // a string always marshals
		}
	}
	for _, f := range e.Header {
		if out.Headers == nil {
			out.Headers = map[string]string{}
		}
		out.Headers[f.Name] = f.Value
	}
	return out
}

// listEvents is GET /v1/events.
func listEvents(c *call) error {
	var f onceward.InboxFilter
	var err error
	if s, given := c.param("source"); given {
		if f.Source, err = onceward.ParseWorkflowName(s); err != nil {
			return onceward.Errorf(onceward.CodeInvalidRequest, "source is not the name of one")
		}
	}
	if s, given := c.param("state"); given {
		if f.State, err = onceward.ParseInboxState(s); err != nil {
			return err
		}
	}
	if f.Waiting, err = c.flag("waiting"); err != nil {
		return err
	}
	limit, after, err := c.page(onceward.MaxPage)
	if err != nil {
		return err
	}
	f.Limit, f.After = limit, onceward.InboxCursor{ReceivedAt: after.CreatedAt, ID: onceward.InboxID(after.ID)}
	events, err := c.ledger.InboxEvents(c.req.Context(), c.who, f)
	if err != nil {
		return err
	}
	page := InboxEventPage{Events: wireEvents(events), Next: next(events, f.Limit, func(e *onceward.InboxEvent) onceward.Cursor {
		return onceward.Cursor{CreatedAt: e.ReceivedAt, ID: onceward.OperationID(e.ID)}
	})}
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

func wireEvents(events []*onceward.InboxEvent) []InboxEvent {
	out := make([]InboxEvent, len(events))
	for i, e := range events {
		out[i] = wireEvent(e)
	}
	return out
}

// getEvent is GET /v1/events/{id}.
func getEvent(c *call) error {
	id, err := onceward.ParseInboxID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	return c.event(c.ledger.InboxEvent(c.req.Context(), c.who, id))
}

func (c *call) event(e *onceward.InboxEvent, err error) error {
	if err == nil {
		writeJSON(c.w, http.StatusOK, mediaJSON, &InboxEventAnswer{wireEvent(e)})
	}
	return err
}

// eventDecision reads what a person says about an event.
func (c *call) eventDecision() (id onceward.InboxID, reason string, err error) {
	if id, err = onceward.ParseInboxID(c.req.PathValue("id")); err != nil {
		return id, "", err
	}
	var in EventDecision
	err = c.read(&in, true)
	return id, in.Reason, err
}

// redriveEvent is POST /v1/events/{id}/redrive.
func redriveEvent(c *call) error {
	id, reason, err := c.eventDecision()
	if err != nil {
		return err
	}
	return c.event(c.ledger.RedriveEvent(c.req.Context(), c.who, id, reason))
}

// dismissEvent is POST /v1/events/{id}/dismiss.
func dismissEvent(c *call) error {
	id, reason, err := c.eventDecision()
	if err != nil {
		return err
	}
	return c.event(c.ledger.DismissEvent(c.req.Context(), c.who, id, reason))
}
