package simprovider

import (
	"net/http"
	"time"
)

const systemFax = "fax"

// fax is a page on somebody's machine. The system gives no ID, honours no key
// and can be asked nothing afterwards; only this package's auditor knows.
type fax struct {
	To       string    `json:"to"`
	Document string    `json:"document"` // its digest; the pages are gone
	SentAt   time.Time `json:"sent_at"`
}

func (s *Server) sendFax(r *http.Request, body []byte) (request, *answer) {
	var in struct {
		To             string `json:"to"`
		Document       string `json:"document"`
		Reference      string `json:"reference"`
		AuditReference string `json:"audit_reference"`
	}
	if bad := decode(body, &in); bad != nil {
		return request{}, bad
	}
	if in.To == "" || in.Document == "" {
		return request{}, invalid("to and document are required")
	}
	document := digest([]byte(in.Document))
	return request{
		subject: subjectOf(systemFax, "send", body,
			in.AuditReference, in.Reference, in.To+" "+document, idempotencyKey(r)),
		write: true,
		carryOut: func(b *books, at time.Time) outcome {
			id := b.nextID("F")
			done := made(http.StatusOK, fax{To: in.To, Document: document, SentAt: at}, id, object{ID: id})
			done.answer = jsonAnswer(http.StatusOK, map[string]bool{"accepted": true})
			return done
		},
	}, nil
}
