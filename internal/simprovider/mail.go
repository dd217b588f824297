package simprovider

import (
	"net/http"
	"time"
)

const systemMail = "mail"

// message is a mail that was sent and cannot be unsent. The system knows no
// idempotency keys; its log can be searched by message ID.
type message struct {
	ID        string    `json:"id"`
	MessageID string    `json:"message_id"`
	To        string    `json:"to"`
	Subject   string    `json:"subject"`
	Body      string    `json:"body"`
	SentAt    time.Time `json:"sent_at"`
}

func (s *Server) sendMail(r *http.Request, body []byte) (request, *answer) {
	var in struct {
		To             string `json:"to"`
		Subject        string `json:"subject"`
		Body           string `json:"body"`
		MessageID      string `json:"message_id"`
		AuditReference string `json:"audit_reference"`
	}
	if bad := decode(body, &in); bad != nil {
		return request{}, bad
	}
	if in.To == "" || in.Subject == "" {
		return request{}, invalid("to and subject are required")
	}
	return request{
		subject: subjectOf(systemMail, "send", body, in.AuditReference, in.MessageID, idempotencyKey(r)),
		write:   true,
		carryOut: func(b *books, at time.Time) outcome {
			m := message{ID: b.nextID("M"), MessageID: in.MessageID, To: in.To, Subject: in.Subject,
				Body: in.Body, SentAt: at}
			done := made(http.StatusAccepted, m, m.ID, object{ID: m.ID, Lookup: m.MessageID})
			done.answer = jsonAnswer(http.StatusAccepted, map[string]string{"id": m.ID})
			return done
		},
	}, nil
}

func (s *Server) findMail(r *http.Request, _ []byte) (request, *answer) {
	return search(r, systemMail, "message_id")
}
