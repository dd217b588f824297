package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func TestOneOperationIsShownWithAttemptsEventsAndEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed, oncewardtest.FaultAnswerLost)
	w.pass(0) // the look-up finds it
	r := w.get("/v1/operations/"+id).want(200, "operation.state", "succeeded", "operation.attempts", 1,
		"operation.attempt_list.0.id", id+".1", "operation.attempt_list.0.status", "done", "operation.attempt_list.0.settled_by", "probe", "operation.attempt_list.0.reach", "body_written",
		"operation.events.0.event", "claimed", "operation.events.0.actor", "local:operator", "operation.events.1.event", "attempt_started", "operation.events.1.from", "ready",
		"operation.events.2.event", "attempt_unknown", "operation.events.2.evidence.error_code", "reset", "operation.events.2.evidence.error_class", "connection",
		"operation.events.3.event", "probe_found", "operation.events.3.to", "succeeded", "operation.events.3.evidence.status", 200)
	r.lacks("advice", "operation.events.0.from", "operation.events.0.version", "operation.error")
	if got := r.text("operation.events.3.reference"); got != r.text("operation.reference") {
		t.Errorf("the event has reference %q", got)
	}
}

func TestReadingWaitsForTheEndIfAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.provider.Hold()
	t.Cleanup(release)
	id := w.first(probed)
	if r := w.get("/v1/operations/"+id).want(200, "operation.state", "effect_pending"); r.header.Get("Retry-After") != "1" || r.text("advice") == "" {
		t.Errorf("Retry-After is %q, advice %q", r.header.Get("Retry-After"), r.text("advice"))
	}
	got := make(chan *reply, 1)
	go func() { got <- w.get("/v1/operations/" + id + "?wait=60s") }()
	release()
	w.quiet()
	(<-got).want(200, "operation.state", "succeeded")
}

func TestUnknownOperationIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const name = "op_00000000000000000000000004"
	const id = "/v1/operations/" + name
	w.get(id).want(404, "code", "operation_not_found", "operation_id", name)
	w.get(id + "/replay").want(404)
	for action, body := range map[string]string{"cancel": "", "reconcile": "", "resolve": `{"outcome":"abandoned","reason":"r"}`, "fork": `{"key":"f","reason":"r"}`, "replay": `{"reason":"r"}`} {
		w.post(id+"/"+action, body).want(404, "code", "operation_not_found")
	}
}

func TestPagesListEverythingOnceNewestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 7 {
		w.submit(probed, fmt.Sprintf(`{"id":"k%d"}`, i)).want(200)
		if i%2 == 0 {
			w.clock.Advance(time.Second) // some share an instant
		}
	}
	var keys []string
	target := "/v1/operations?limit=2"
	for range 5 {
		r := w.get(target).want(200)
		for _, o := range r.at("operations").([]any) {
			keys = append(keys, o.(map[string]any)["key"].(string))
		}
		next, more := r.find("next")
		if !more {
			break
		}
		target = "/v1/operations?limit=2&after=" + next.(string)
		w.submit(probed, fmt.Sprintf(`{"id":"new%d"}`, len(keys))).want(200) // what comes meanwhile is newer, and on no later page
	}
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k] || strings.HasPrefix(k, "new") {
			t.Errorf("%s is listed twice, or too late: %v", k, keys)
		}
		seen[k] = true
	}
	group := func(key string) int { return int(key[1]-'0'+1) / 2 } // k1 and k2 share an instant, and so on
	if len(keys) != 7 || !slices.IsSortedFunc(keys, func(a, b string) int { return group(b) - group(a) }) {
		t.Errorf("the pages list %v", keys)
	}
}

func TestListIsFilteredByEachParameter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(probed, `{"id":"a"}`, `"run":"r-1"`).want(200)
	w.submit(once, `{"id":"b"}`, `"correlation_id":"c-1"`).want(200)
	w.provider.Script(oncewardtest.FaultInvalid)
	w.submit(probed, `{"id":"c"}`).want(424)
	w.submit(asked, `{"id":"d"}`).want(202)
	for query, want := range map[string]string{
		"": "a b c d", "tool=" + probed: "a c", "state=failed": "c", "state=failed,awaiting_approval": "c d", "state=failed&state=awaiting_approval": "c d",
		"state=succeeded": "a b", "run=r-1": "a", "correlation_id=c-1": "b", "tool=" + probed + "&key=a": "a", "tool=" + once + "&key=a": "", "run=r-2": "",
		"tool=" + probed + "&state=succeeded": "a",
	} {
		r := w.get("/v1/operations?" + query).want(200)
		got := map[string]bool{}
		for _, o := range r.at("operations").([]any) {
			got[o.(map[string]any)["key"].(string)] = true
		}
		keys := strings.Fields(want)
		for _, k := range keys {
			if !got[k] {
				t.Errorf("%q does not list %s:\n%s", query, k, r.raw)
			}
		}
		if len(got) != len(keys) {
			t.Errorf("%q lists %v, want %q", query, got, want)
		}
		r.lacks("operations.0.result", "operations.0.events", "operations.0.attempt_list", "next")
	}
	w.get("/v1/operations?limit=1").want(200, "operations.0.tenant", "default").at("next")
	w.get("/v1/operations?limit=1&key=a&tool="+probed).want(200, "operations.0.key", "a").lacks("next") // a key names one operation
}

func TestCursorOfAnotherMakeIsRefused(t *testing.T) {
	t.Parallel()
	c := onceward.Cursor{CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC), ID: onceward.NewOperationID("t", "x", "k")}
	text := encodeCursor(c)
	if back, err := decodeCursor(text); err != nil || back != c {
		t.Fatalf("%v became %v, %v", c, back, err)
	}
	for i := range text {
		for _, r := range "A_z" {
			if changed := text[:i] + string(r) + text[i+1:]; changed != text {
				if _, err := decodeCursor(changed); !onceward.Is(err, onceward.CodeCursorInvalid) {
					t.Errorf("the cursor with a changed character %d was taken: %v", i, err)
				}
			}
		}
	}
	for _, bad := range []string{"", text[:len(text)-1], text + "A", text + "=", "\n" + text} {
		if _, err := decodeCursor(bad); !onceward.Is(err, onceward.CodeCursorInvalid) {
			t.Errorf("%q was taken: %v", bad, err)
		}
	}
}

func TestCancelOfWhatMayHaveBeenSentIsAWish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.provider.Hold()
	t.Cleanup(release)
	id := w.first(probed)
	w.post("/v1/operations/"+id+"/cancel", `{"reason":"changed my mind"}`).want(202, "operation.state", "effect_pending", "operation.cancel_requested", true)
	w.provider.Script(oncewardtest.FaultRequestLost)
	release()
	w.quiet()
	w.get("/v1/operations/"+id).want(200, "operation.state", "outcome_unknown", "operation.error.side_effect_possible", true)
	for range 5 {
		w.pass(10 * time.Second)
	}
	w.get("/v1/operations/"+id).want(200, "operation.state", "cancelled", "operation.attempts", 1)
	w.post("/v1/operations/"+id+"/cancel", "").want(200, "operation.state", "cancelled") // twice is once
	w.submit(probed, firstInput).want(424, "decision", "replayed", "operation.state", "cancelled")
	if w.provider.Writes() != 1 {
		t.Errorf("the provider saw %d writes, want 1", w.provider.Writes())
	}
}

func TestCancelOfWhatHasHappenedIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	w.post("/v1/operations/"+id+"/cancel", `{}`).want(409, "code", "state_forbids", "operation_id", id)
}

func TestCancelInBackOffEndsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed, oncewardtest.FaultRefused)
	w.post("/v1/operations/"+id+"/cancel", `{"reason":"r"}`).want(200, "operation.state", "cancelled", "operation.error.message", "cancelled on request before anything was sent")
	w.pass(time.Hour)
	w.get("/v1/operations/"+id).want(200, "operation.attempts", 1, "operation.state", "cancelled")
}
