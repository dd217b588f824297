package simprovider

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

// keyEntry is what the provider remembers under an idempotency key.
type keyEntry struct {
	fingerprint string    // of the method, path and exact body bytes
	firstAt     time.Time // arrival of the first request; retention counts from here
	inFlight    bool
	answer      answer // stored answer, once not in flight
}

// keyRecord is a settled key as a file line holds it.
type keyRecord struct {
	Key         string            `json:"key"`
	Fingerprint string            `json:"fingerprint"`
	FirstAt     time.Time         `json:"first_at"`
	Status      int               `json:"status"`
	Header      map[string]string `json:"header,omitempty"`
	Body        string            `json:"body"`
}

func (k keyRecord) entry() *keyEntry {
	return &keyEntry{
		fingerprint: k.Fingerprint,
		firstAt:     k.FirstAt,
		answer:      answer{status: k.Status, header: k.Header, body: []byte(k.Body)},
	}
}

// fingerprint tells two requests under one key apart. It looks at the exact
// bytes: a gateway that renders its body anew on a retry is found out here.
func fingerprint(r *http.Request, body []byte) string {
	h := sha256.New()
	h.Write([]byte(r.Method + " " + r.URL.Path + "\n"))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// hold is a request's claim on its idempotency key, or, without a key, nothing.
type hold struct {
	entry   *keyEntry // nil: no key, or the key was settled before this request
	settled *answer   // what the key already decided: a replay or a refusal
}

// holdKey looks the key up and claims it if it is new. The mutex must be held.
func (s *Server) holdKey(req request) *hold {
	if req.key == "" {
		return &hold{}
	}
	now := s.clock.Now().UTC()
	entry := s.keys[req.key]
	if entry != nil && !entry.inFlight && now.Sub(entry.firstAt) >= s.retention {
		entry = nil // forgotten: from here on the key is a new one
	}
	if entry == nil {
		entry = &keyEntry{fingerprint: req.fingerprint, firstAt: now, inFlight: true}
		s.keys[req.key] = entry
		return &hold{entry: entry}
	}
	var settled answer
	switch {
	case entry.fingerprint != req.fingerprint:
		settled = refusal(http.StatusUnprocessableEntity, "idempotency_mismatch",
			"this Idempotency-Key was used with another request")
	case entry.inFlight:
		settled = keyInProgress()
	default:
		settled = entry.answer.with("Idempotent-Replayed", "true")
	}
	return &hold{settled: &settled}
}

func keyInProgress() answer {
	return refusal(http.StatusConflict, "idempotency_in_progress",
		"a request with this Idempotency-Key is still being processed").with("Retry-After", "1")
}

// settleKey stores the answer under the key. The mutex must be held.
func (h *hold) settleKey(ans answer) {
	if h.entry == nil {
		return
	}
	h.entry.inFlight = false
	h.entry.answer = ans
	h.entry = nil
}

// releaseKey forgets a key whose request ended without being carried out; a
// settled one stays. The mutex must be held.
func (s *Server) releaseKey(h *hold, key string) {
	if h.entry == nil {
		return
	}
	if s.keys[key] == h.entry {
		delete(s.keys, key)
	}
	h.entry = nil
}
