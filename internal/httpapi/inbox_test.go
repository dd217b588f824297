package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

const hookSecret = "hush"

// shopSource signs a time and the body; an event of the kind "paid" makes two
// operations, one of the kind "bad" asks for what no tool takes.
const shopSource = `
apiVersion: onceward/v1
kind: Source
metadata: {name: shop, owner: us}
spec:
  signature: {scheme: hmac, secrets: [S], header: X-Sign, time_in: X-Time, signs: '{timestamp}.{body}'}
  id: event.json.id
  time: event.json.?at
  body_max: 4KiB
  retries: 3d
  mappings:
    - name: paid
      when: event.json.?kind.orValue("") == "paid"
      operations:
        - {tool: ` + probed + `, input: {id: '${event.json.order}'}}
        - {tool: ` + once + `, input: {id: '${event.json.order}'}}
    - name: bad
      when: event.json.?kind.orValue("") == "bad"
      operations: [{tool: no.such, input: {}}]
`

// delivery is what the shop sends at the clock's time.
func (w *world) delivery(body string) *http.Request {
	at := strconv.FormatInt(w.clock.Now().Unix(), 10)
	m := hmac.New(sha256.New, []byte(hookSecret))
	m.Write([]byte(at + "." + body))
	req := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/v1/hooks/shop", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Time", at)
	req.Header.Set("X-Sign", hex.EncodeToString(m.Sum(nil)))
	return req
}

func (w *world) deliver(body string) *reply {
	w.Helper()
	return w.send(w.delivery(body))
}

// handle lets what is due of the inbox be handled.
func (w *world) handle() {
	w.Helper()
	for {
		worked, err := w.ledger.StepInbox(w.Context())
		w.must(err)
		if !worked {
			return
		}
	}
}

const paid = `{"id":"e-1","kind":"paid","order":"o-1"}`

func TestEventDeliveredAgainAndAgainHasItsEffectsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.deliver(paid).want(200, "events.0.decision", "fresh").text("events.0.id")
	w.deliver(paid).want(200, "events.0.decision", "replayed", "events.0.id", id)
	w.handle()
	w.quiet()
	w.pass(75 * time.Hour) // another time is signed, and the same event
	w.deliver(paid).want(200, "events.0.decision", "replayed", "events.0.id", id)
	w.handle()
	w.quiet()
	w.get("/v1/events/"+id).want(200, "event.state", "handled", "event.tries", 1.0, "event.body.order", "o-1")
	if n := len(w.get("/v1/operations").want(200).at("operations").([]any)); n != 2 {
		t.Errorf("there are %d operations, want 2", n)
	}
	if n := w.provider.Effects(); n != 2 {
		t.Errorf("there are %d effects, want 2", n)
	}
}

// TestSameBusinessEventByEventAndByRequestIsOneOperation: the tool's own key
// makes them one.
func TestSameBusinessEventByEventAndByRequestIsOneOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.submit(probed, `{"id":"o-1"}`).want(200, "decision", "fresh").text("operation.id")
	id := w.deliver(paid).want(200).text("events.0.id")
	w.handle()
	w.quiet()
	w.get("/v1/events/"+id).want(200, "event.state", "handled", "event.operations.0", op)
	w.submit(once, `{"id":"o-1"}`).want(200, "decision", "replayed", "operation.actor", "source:shop", "operation.correlation_id", id)
}

func TestDeliveryThatIsRefusedLeavesNothingButACount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world, r *http.Request) *http.Request
		status int
		code   string
	}{
		"another secret": {func(_ *world, r *http.Request) *http.Request {
			r.Header.Set("X-Sign", strings.Repeat("00", 32))
			return r
		}, 401, "signature_invalid"},
		"no signature": {func(_ *world, r *http.Request) *http.Request { r.Header.Del("X-Sign"); return r }, 401, "signature_invalid"},
		"an old time":  {func(w *world, r *http.Request) *http.Request { w.clock.Advance(time.Hour); return r }, 401, "signature_invalid"},
		"a form": {func(_ *world, r *http.Request) *http.Request {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			return r
		}, 415, "unsupported_media"},
		"too long a body": {func(w *world, _ *http.Request) *http.Request {
			return w.delivery(`{"id":"` + strings.Repeat("x", 4<<10) + `"}`)
		}, 413, "too_large"},
		"no length is given": {func(w *world, _ *http.Request) *http.Request {
			r := w.delivery(`{"id":"` + strings.Repeat("x", 4<<10) + `"}`)
			r.ContentLength = -1
			return r
		}, 413, "too_large"},
		"no event ID":       {func(w *world, _ *http.Request) *http.Request { return w.delivery(`{"kind":"paid"}`) }, 400, "key_invalid"},
		"an empty event ID": {func(w *world, _ *http.Request) *http.Request { return w.delivery(`{"id":""}`) }, 400, "key_invalid"},
		"no JSON":           {func(w *world, _ *http.Request) *http.Request { return w.delivery(`{"id":`) }, 400, "invalid_input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.send(c.change(w, w.delivery(paid))).want(c.status, "code", c.code)
			w.handle()
			w.get("/v1/events").want(200, "events", []any{})
			w.get("/v1/report").want(200, "report.sources.0.source", "shop", "report.sources.0.answered.blocked", 1.0, "report.total.blocked", 0.0, "report.sources.0.answered.fresh", 0.0)
		})
	}
}

func TestUnknownSourceAndUnreachableLedgerAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post("/v1/hooks/no.such", paid).want(404, "code", "source_not_found")
	w.post("/v1/hooks/shop", paid).want(401, "code", "signature_invalid")
	if got := w.post("/v1/hooks/shop", paid).header.Get("WWW-Authenticate"); got == "Bearer" {
		t.Error("the sender is asked for a token")
	}
}

func TestWhatCannotBeHandledWaitsForAPersonWhoDrivesItAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failed := w.deliver(`{"id":"e-1","kind":"bad"}`).want(200).text("events.0.id")
	unmapped := w.deliver(`{"id":"e-2","kind":"unheard of"}`).want(200).text("events.0.id")
	late := w.deliver(`{"id":"e-3","kind":"paid","order":"o-1","at":` + strconv.FormatInt(w.clock.Now().Add(-50*24*time.Hour).Unix(), 10) + `}`).want(200).text("events.0.id")
	w.handle()
	w.get("/v1/events/"+failed).want(200, "event.state", "failed", "event.code", "tool_not_found")
	w.get("/v1/events/"+unmapped).want(200, "event.state", "unmapped")
	w.get("/v1/events/"+late).want(200, "event.state", "late")
	review := w.get("/v1/reviews").want(200)
	if n := len(review.at("events").([]any)); n != 3 {
		t.Errorf("%d events wait in the review queue, want 3", n)
	}
	w.get("/v1/reviews?overdue=true").want(200, "events", []any{})
	w.post("/v1/events/"+late+"/redrive", `{"reason":" "}`).want(400, "code", "evidence_required")
	w.post("/v1/events/"+late+"/redrive", `{"reason":"it was not handled"}`).want(200, "event.state", "received", "event.actor", "local:operator")
	w.post("/v1/events/"+failed+"/redrive", `{"reason":"the contract is loaded"}`).want(200, "event.state", "received")
	w.post("/v1/events/"+unmapped+"/dismiss", `{"reason":"it is nothing"}`).want(200, "event.state", "dismissed")
	w.handle()
	w.quiet()
	w.get("/v1/events/"+late).want(200, "event.state", "handled")
	w.get("/v1/events/"+failed).want(200, "event.state", "failed")
	w.post("/v1/events/"+unmapped+"/dismiss", `{"reason":"it is nothing"}`).want(409, "code", "state_forbids")
	w.get("/v1/events?waiting=true").want(200, "events.0.id", failed)
	if n := w.provider.Effects(); n != 2 {
		t.Errorf("there are %d effects, want 2", n)
	}
	// Driven again though it was handled: the keys are the same.
	w.post("/v1/events/"+late+"/redrive", `{"reason":"to be sure"}`).want(200)
	w.handle()
	w.quiet()
	if n := w.provider.Effects(); n != 2 {
		t.Errorf("after it was driven again there are %d effects, want 2", n)
	}
}

func TestEventsAreListedInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.deliver(fmt.Sprintf(`{"id":"e-%d","kind":"unheard of"}`, i)).want(200)
		w.pass(time.Second)
	}
	var keys []string
	target := "/v1/events?limit=2"
	for next := target; next != ""; {
		page := w.get(next).want(200)
		for _, e := range page.at("events").([]any) {
			keys = append(keys, e.(map[string]any)["key"].(string))
			if _, shown := e.(map[string]any)["body"]; shown {
				t.Error("the list shows a body")
			}
		}
		after, more := page.find("next")
		next = ""
		if more {
			next = target + "&after=" + after.(string)
		}
	}
	if got := strings.Join(keys, " "); got != `["e-4"] ["e-3"] ["e-2"] ["e-1"] ["e-0"]` {
		t.Errorf("the pages hold %s", got)
	}
	w.get("/v1/events?source=other").want(200, "events", []any{})
	w.get("/v1/events?state=nonsense").want(400, "code", "invalid_request")
}

func TestEventIsForgottenOnceItsWindowIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.deliver(paid).want(200).text("events.0.id")
	w.handle()
	w.quiet()
	w.pass(46 * 24 * time.Hour)
	if worked, err := w.ledger.StepInboxDrop(t.Context()); err != nil || !worked {
		t.Fatalf("nothing was dropped: %v", err)
	}
	w.get("/v1/events/"+id).want(404, "code", "event_not_found")
	// Parked that long and delivered again: the operations know it.
	w.deliver(paid).want(200, "events.0.decision", "fresh")
	w.handle()
	w.quiet()
	if n := w.provider.Effects(); n != 2 {
		t.Errorf("there are %d effects, want 2", n)
	}
}
