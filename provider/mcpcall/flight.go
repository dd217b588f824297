package mcpcall

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// flightKey is the flight in the context of a call of the SDK's.
type flightKey struct{}

// flight follows one request of the SDK's to the wire and back.
//
// Invariant: it goes on the wire at most once, whatever the SDK does.
type flight struct {
	method string
	opts   onceward.SendOptions
	asTask bool   // the call asks for a task (2025-11-25)
	token  string // under which the server tells of progress; empty: nobody asked

	mu   sync.Mutex
	sent bool
	done chan struct{} // of a request over HTTP: closed once its evidence is whole; nil: it never started
	ev   onceward.Evidence
	raw  json.RawMessage // the result, as it came
}

// errAgain stops whoever would send a request a second time.
var errAgain = errors.New("mcpcall: this attempt was sent already")

// flightOf returns the flight that a request of the method belongs to, nil if
// it is some other message.
func flightOf(ctx context.Context, method string) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	if f == nil || f.method != method {
		return nil
	}
	return f
}

// start takes the one chance to be sent.
func (f *flight) start() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sent {
		return errAgain
	}
	f.sent = true
	return nil
}

// begun reports whether anything tried to send it.
func (f *flight) begun() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent
}

// reached records progress, in order and once each.
func (f *flight) reached(r onceward.Reach) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r <= f.ev.Reach {
		return
	}
	f.ev.Reach = r
	if r >= onceward.ReachHeadersWritten && r <= onceward.ReachBodyWritten {
		f.ev.LastByteAt = time.Now()
	}
	if f.opts.OnReach != nil {
		f.opts.OnReach(r)
	}
}

// answer keeps what the server answered.
func (f *flight) answer(result json.RawMessage, refusal error) {
	f.reached(onceward.ReachFirstByte)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raw = result
	f.ev.Status = 200
	f.ev.Body = body(result, refusal)
	f.ev.EndedAt = time.Now()
}

// body is a result, or a refusal of the protocol as {"error": …}.
func body(result json.RawMessage, refusal error) []byte {
	if refusal == nil {
		return result
	}
	raw, err := json.Marshal(map[string]any{"error": refusal})
	if err != nil {
		return []byte(`{"error":{}}`)
	}
	return raw
}

// landed is the evidence once the SDK has returned.
func (f *flight) landed(err error) onceward.Evidence {
	f.mu.Lock()
	done := f.done
	f.mu.Unlock()
	if done != nil {
		<-done // bounded by the request's own deadline
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ev := f.ev
	if ev.EndedAt.IsZero() {
		ev.EndedAt = time.Now()
	}
	if ev.Status != 0 || ev.ErrorClass != onceward.ClassNone {
		return ev
	}
	switch {
	case ev.Reach.NothingSent():
		ev.ErrorClass, ev.ErrorCode, ev.ErrorText = onceward.ClassConnection, "not_sent", "the call did not reach the server"
	case errors.Is(err, context.DeadlineExceeded):
		ev.ErrorClass, ev.ErrorCode, ev.ErrorText = onceward.ClassTimeout, "deadline", "the server did not answer in time"
	default:
		ev.ErrorClass, ev.ErrorCode, ev.ErrorText = onceward.ClassConnection, "connection_lost", "the connection to the server ended before its answer"
	}
	return ev
}
