package simprovider

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

const systemContacts = "contacts"

// contact is a CRM record. It is upserted under an ID of the caller's own, so
// that a repeat finds the same record; but the automations behind it run on
// every upsert, also on one that changes nothing.
type contact struct {
	ID          string         `json:"id"`
	ExternalID  string         `json:"external_id"`
	Fields      map[string]any `json:"fields"`
	Version     int            `json:"version"`
	Automations int            `json:"automations"`
	CreatedAt   time.Time      `json:"created_at"`
	UpdatedAt   time.Time      `json:"updated_at"`
}

func (s *Server) upsertContact(r *http.Request, body []byte) (request, *answer) {
	fields, auditReference, bad := contactFields(body)
	if bad != nil {
		return request{}, bad
	}
	onlyNew := false
	switch r.Header.Get("If-None-Match") {
	case "":
	case "*":
		onlyNew = true
	default:
		unsupported := refusal(http.StatusBadRequest, "invalid", "If-None-Match can only be *")
		return request{}, &unsupported
	}
	externalID := r.PathValue("external_id")
	return request{
		subject: subjectOf(systemContacts, "upsert", body, auditReference, externalID, idempotencyKey(r)),
		write:   true,
		carryOut: func(b *books, at time.Time) outcome {
			return upsert(b, at, externalID, fields, onlyNew)
		},
	}, nil
}

func upsert(b *books, at time.Time, externalID string, fields map[string]any, onlyNew bool) outcome {
	c, known := contactByExternalID(b, externalID)
	if known && onlyNew {
		return outcome{answer: refusal(http.StatusPreconditionFailed, "already_exists",
			"a contact with this external ID exists").with("ETag", c.etag())}
	}
	status, effectID := http.StatusOK, ""
	switch {
	case !known:
		c = contact{ID: b.nextID("C"), ExternalID: externalID, Fields: fields, Version: 1, CreatedAt: at, UpdatedAt: at}
		status, effectID = http.StatusCreated, c.ID
	case !sameFields(c.Fields, fields):
		c.Fields, c.UpdatedAt = fields, at
		c.Version++
		effectID = c.ID + "@" + strconv.Itoa(c.Version)
	}
	c.Automations++
	done := made(status, c, effectID, object{ID: c.ID, Lookup: externalID})
	done.automations = 1
	done.answer = done.answer.with("ETag", c.etag())
	return done
}

func (s *Server) getContact(r *http.Request, _ []byte) (request, *answer) {
	externalID := r.PathValue("external_id")
	return request{
		subject: subject{System: systemContacts, Action: "get", Reference: externalID},
		stale:   notFound("contact", externalID),
		carryOut: func(b *books, _ time.Time) outcome {
			c, known := contactByExternalID(b, externalID)
			if !known {
				return outcome{answer: notFound("contact", externalID)}
			}
			return outcome{answer: jsonAnswer(http.StatusOK, c).with("ETag", c.etag())}
		},
	}, nil
}

func contactByExternalID(b *books, externalID string) (contact, bool) {
	states := b.find(systemContacts, externalID)
	if len(states) == 0 {
		return contact{}, false
	}
	var c contact
	return c, decodeExact(states[0], &c) == nil
}

func (c contact) etag() string { return `"` + strconv.Itoa(c.Version) + `"` }

// contactFields reads any JSON object; audit_reference is taken out of it.
func contactFields(body []byte) (fields map[string]any, auditReference string, bad *answer) {
	if !json.Valid(body) || decodeExact(body, &fields) != nil || fields == nil {
		refused := refusal(http.StatusBadRequest, "invalid_json", "the body is not a JSON object")
		return nil, "", &refused
	}
	auditReference, _ = fields["audit_reference"].(string) // another type is no name
	delete(fields, "audit_reference")
	return fields, auditReference, nil
}

// decodeExact keeps numbers as they were written.
func decodeExact(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(v)
}

func sameFields(a, b map[string]any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
