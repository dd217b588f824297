package httpapi

import (
	"strings"
	"testing"
)

// oneStep is a saga that only looks.
const oneStep = `{"name":"orders.look","key":"s","steps":[{"name":"look","tool":"contacts.search","input":{"id":"look"}}]}`

func TestSagaIsStartedFollowedCancelledAndListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, code := range map[string]string{
		`{"name":"orders.place","key":"k","steps":[]}`:                                                                          "invalid_request",
		`{"name":"orders.place","key":"","steps":[{"name":"a","tool":"tickets.create","input":{"id":"a"}}]}`:                    "key_invalid",
		`{"name":"orders.place","key":"k","steps":[{"name":"a","tool":"no.tool","input":{}}]}`:                                  "tool_not_found",
		`{"name":"orders.place","key":"k","steps":[{"name":"a","tool":"tickets.create","input":{},"kind":"compensable"}]}`:      "invalid_request",
		`{"name":"orders.place","key":"k","steps":[{"name":"a","tool":"tickets.create","input":{"x":"${steps.b.reference}"}}]}`: "invalid_request",
	} {
		if got := w.post("/v1/sagas", body).text("code"); got != code {
			t.Errorf("%s is refused with %q, want %q", body, got, code)
		}
	}
	const order = `{"name":"orders.place","key":"k","steps":[{"name":"ticket","tool":"tickets.create","input":{"id":"a"},"undo":{"tool":"fax.send","input":{"id":"sorry","of":"${steps.ticket.reference}"}}},
		{"name":"fax","tool":"fax.send","input":{"id":"b"}}]}`
	path := "/v1/sagas/" + w.post("/v1/sagas", order).want(202, "decision", "fresh", "saga.state", "running").text("saga.id")
	w.post("/v1/sagas", order).want(202, "decision", "joined")
	w.post("/v1/sagas", strings.Replace(order, `"b"`, `"c"`, 1)).want(422, "code", "key_reused")
	w.sagas()
	w.get(path).want(202, "saga.steps.0.state", "done", "saga.steps.1.kind", "confirm_first", "saga.steps.1.state", "started")
	w.post(path+"/resolve", `{"step":"fax","outcome":"done","reason":"r"}`).want(409, "code", "state_forbids")
	w.post(path+"/cancel", `{"reason":"the customer called"}`).want(202, "saga.state", "compensating")
	w.sagas()
	w.get(path).want(200, "saga.state", "compensated", "saga.steps.0.state", "undone", "saga.steps.1.state", "not_done")
	w.post("/v1/sagas", order).want(200, "decision", "replayed")
	w.get("/v1/sagas?state=compensated&name=orders.place&limit=1").want(200, "sagas.0.key", "k")
	w.get("/v1/sagas?state=hopeful").want(400)
	w.get("/v1/sagas/saga_00000000000000000000000004").want(404, "code", "saga_not_found")
	w.get("/v1/runs/"+w.get(path).text("saga.run")).want(200, "run.state", "finished", "saga.state", "compensated")
}

// sagas lets the sagas go as far as they come.
func (w *world) sagas() {
	w.Helper()
	for range 20 {
		if _, err := w.ledger.StepSagas(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.ledger.WaitIdle()
	}
}
