package simprovider

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// BodyBytesMax is the largest request body that is read.
const BodyBytesMax = 1 << 20

// understand turns a request into something that can be carried out. It may
// look at nothing but the request. A malformed one is refused by the answer.
type understand func(r *http.Request, body []byte) (request, *answer)

// request is one call of a business system, understood but not carried out.
type request struct {
	subject
	// write is true when the call can have an effect.
	write bool
	// key and fingerprint are set where the system honours idempotency keys.
	key, fingerprint string
	// carryOut does the work at the given moment, with the Server's mutex
	// held. It changes nothing itself: what changes is the returned outcome's.
	carryOut func(b *books, at time.Time) outcome
	// stale is what a lookup says while its index lags behind.
	stale answer
}

// outcome is the result of carrying a request out.
type outcome struct {
	answer answer
	// committed is true when object, effectID and automations are to be
	// written into the books.
	committed   bool
	effectID    string
	automations int
	object      *object
}

// system is the life of one call of a business system: read it, count it,
// check the credential, choose a fault, claim its key, and deliver.
func (s *Server) system(understand understand) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, BodyBytesMax))
		if err != nil {
			s.refuse(w, r, refuseBody(err))
			return
		}
		req, malformed := understand(r, body)
		if malformed != nil {
			s.refuse(w, r, *malformed)
			return
		}
		fault, bad := s.arrive(r, req)
		if bad != nil {
			s.refuse(w, r, *bad)
			return
		}
		s.mu.Lock()
		held := s.holdKey(req)
		s.mu.Unlock()
		d := &delivery{s: s, w: w, r: r, req: req, fault: fault, hold: held}
		defer d.end()
		deliver(d)
	}
}

// arrive counts the request and decides what will go wrong with it. A request
// with a wrong credential is counted and refused, and uses up no fault.
func (s *Server) arrive(r *http.Request, req request) (Fault, *answer) {
	fromHeader, err := faultFromHeader(r.Header)
	if err != nil {
		bad := refusal(http.StatusBadRequest, "bad_fault", err.Error())
		return Fault{}, &bad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	authorized := s.authorized(r)
	nth := s.books.reads[[2]string{req.System, req.Reference}] + 1
	if req.write {
		nth = s.books.row(req.subject).Requests + 1
	}
	var fault Fault
	switch {
	case !authorized:
	case fromHeader.Name != "":
		fault = fromHeader
	default:
		fault = s.scripts.choose(req, nth)
	}
	if err := s.countArrival(req, fault); err != nil {
		broken := refusal(http.StatusInternalServerError, "storage_failed", err.Error())
		return Fault{}, &broken
	}
	if !authorized {
		denied := unauthorized()
		return Fault{}, &denied
	}
	return fault, nil
}

func (s *Server) countArrival(req request, fault Fault) error {
	if !req.write {
		s.books.reads[[2]string{req.System, req.Reference}]++
		return nil
	}
	rec := record{Type: typeRequest, At: s.clock.Now().UTC(), subject: req.subject, Fault: fault.Name}
	if err := s.journal.append(rec); err != nil {
		return err
	}
	s.books.apply(rec)
	return nil
}

// perform carries the request out once and settles its key. Invariant: the
// effect is on the disk before it is in the books, and in the books before
// anyone is answered.
func (s *Server) perform(req request, h *hold, fault string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.clock.Now().UTC()
	done := req.carryOut(s.books, at)
	if done.committed {
		rec := record{Type: typeEffect, At: at, subject: req.subject, Fault: fault,
			EffectID: done.effectID, Automations: done.automations, Object: done.object}
		if h.entry != nil {
			rec.Key = &keyRecord{Key: req.key, Fingerprint: h.entry.fingerprint, FirstAt: h.entry.firstAt,
				Status: done.answer.status, Header: done.answer.header, Body: string(done.answer.body)}
		}
		if err := s.journal.append(rec); err != nil {
			return refusal(http.StatusInternalServerError, "storage_failed", err.Error())
		}
		s.books.apply(rec)
	}
	h.settleKey(done.answer)
	return done.answer
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, ans answer) {
	ans.send(w)
	s.log.line(s.clock.Now(), r, request{}, Fault{}, fmt.Sprintf("%d refused", ans.status))
}

func refuseBody(err error) answer {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return refusal(http.StatusRequestEntityTooLarge, "body_too_large",
			fmt.Sprintf("at most %d bytes are read", BodyBytesMax))
	}
	return refusal(http.StatusBadRequest, "body_unreadable", "the body ended early")
}

func (s *Server) authorized(r *http.Request) bool {
	if s.token == "" {
		return true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

func unauthorized() answer {
	return refusal(http.StatusUnauthorized, "unauthorized", "the bearer token is missing or wrong").
		with("WWW-Authenticate", "Bearer")
}

// decode reads a JSON body into v. Members that v does not know are ignored,
// as most providers do.
func decode(body []byte, v any) *answer {
	err := json.Unmarshal(body, v)
	if err == nil {
		return nil
	}
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return invalid(fmt.Sprintf("%s must be of type %s", wrongType.Field, wrongType.Type))
	}
	bad := refusal(http.StatusBadRequest, "invalid_json", "the body is not a JSON object")
	return &bad
}

func invalid(message string) *answer {
	ans := refusal(http.StatusUnprocessableEntity, "invalid", message)
	return &ans
}

func notFound(what, id string) answer {
	return refusal(http.StatusNotFound, "not_found", fmt.Sprintf("no %s %q", what, id))
}

// subjectOf names a write for the auditor: the first name that is not empty is
// its reference, the others are aliases, and a write that names itself nowhere
// is known by its bytes.
func subjectOf(system, action string, body []byte, names ...string) subject {
	sub := subject{System: system, Action: action}
	for _, name := range names {
		switch {
		case name == "" || name == sub.Reference:
		case sub.Reference == "":
			sub.Reference = name
		default:
			sub.Aliases = append(sub.Aliases, name)
		}
	}
	if sub.Reference == "" {
		sub.Reference = "sha256:" + digest(body)
	}
	return sub
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}
