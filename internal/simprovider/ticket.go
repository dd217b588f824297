package simprovider

import (
	"encoding/json"
	"net/http"
	"time"
)

const systemTickets = "tickets"

// ticket is a support ticket. The system knows no idempotency keys: two equal
// requests are two tickets. External IDs can be searched, and need not be unique.
type ticket struct {
	ID         string    `json:"id"`
	ExternalID string    `json:"external_id"`
	Title      string    `json:"title"`
	Text       string    `json:"text"`
	Status     string    `json:"status"` // open, closed
	CreatedAt  time.Time `json:"created_at"`
	ClosedAt   time.Time `json:"closed_at,omitzero"`
}

func (s *Server) createTicket(r *http.Request, body []byte) (request, *answer) {
	var in struct {
		Title          string `json:"title"`
		Text           string `json:"text"`
		ExternalID     string `json:"external_id"`
		AuditReference string `json:"audit_reference"`
	}
	if bad := decode(body, &in); bad != nil {
		return request{}, bad
	}
	if in.Title == "" {
		return request{}, invalid("title is required")
	}
	return request{
		subject: subjectOf(systemTickets, "create", body, in.AuditReference, in.ExternalID, idempotencyKey(r)),
		write:   true,
		carryOut: func(b *books, at time.Time) outcome {
			t := ticket{ID: b.nextID("T"), ExternalID: in.ExternalID, Title: in.Title, Text: in.Text,
				Status: "open", CreatedAt: at}
			return made(http.StatusCreated, t, t.ID, object{ID: t.ID, Lookup: t.ExternalID})
		},
	}, nil
}

// closeTicket can happen once: a closed ticket refuses to be closed again.
func (s *Server) closeTicket(r *http.Request, body []byte) (request, *answer) {
	id := r.PathValue("id")
	return request{
		subject: subjectOf(systemTickets, "close", body, id, idempotencyKey(r)),
		write:   true,
		carryOut: func(b *books, at time.Time) outcome {
			var t ticket
			if !b.get(systemTickets, id, &t) {
				return outcome{answer: notFound("ticket", id)}
			}
			if t.Status == "closed" {
				return outcome{answer: refusal(http.StatusConflict, "already_closed", "the ticket is closed already")}
			}
			t.Status, t.ClosedAt = "closed", at
			return made(http.StatusOK, t, t.ID+"/closed", object{ID: t.ID, Lookup: t.ExternalID})
		},
	}, nil
}

func (s *Server) findTickets(r *http.Request, _ []byte) (request, *answer) {
	return search(r, systemTickets, "external_id")
}

func (s *Server) getTicket(r *http.Request, _ []byte) (request, *answer) {
	return look(systemTickets, "ticket", r.PathValue("id")), nil
}

// made is the outcome of an effect that left state behind.
func made(status int, state any, effectID string, obj object) outcome {
	ans := jsonAnswer(status, state)
	obj.State = json.RawMessage(ans.body[:len(ans.body)-1])
	return outcome{answer: ans, committed: true, effectID: effectID, object: &obj}
}

// search is GET with one query parameter that names the objects looked for.
func search(r *http.Request, system, parameter string) (request, *answer) {
	value := r.URL.Query().Get(parameter)
	if value == "" {
		return request{}, invalid(parameter + "= is required")
	}
	items := func(list []json.RawMessage) answer {
		return jsonAnswer(http.StatusOK, map[string]any{"items": list})
	}
	return request{
		subject: subject{System: system, Action: "find", Reference: value},
		stale:   items([]json.RawMessage{}),
		carryOut: func(b *books, _ time.Time) outcome {
			return outcome{answer: items(b.find(system, value))}
		},
	}, nil
}

// look is GET of one object by its ID.
func look(system, noun, id string) request {
	return request{
		subject: subject{System: system, Action: "get", Reference: id},
		stale:   notFound(noun, id),
		carryOut: func(b *books, _ time.Time) outcome {
			state, ok := b.objects[system][id]
			if !ok {
				return outcome{answer: notFound(noun, id)}
			}
			return outcome{answer: jsonAnswer(http.StatusOK, state)}
		},
	}
}

func idempotencyKey(r *http.Request) string { return r.Header.Get("Idempotency-Key") }
