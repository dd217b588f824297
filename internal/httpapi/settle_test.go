package httpapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// reviewed brings an operation to a person's desk.
func (w *world) reviewed() string {
	w.Helper()
	id := w.settled(unsafely, oncewardtest.FaultAnswerLost)
	w.pass(time.Second)
	w.get("/v1/operations/"+id).want(200, "operation.state", "needs_review", "operation.review_reason", "the provider offers no look-up: only a person can find out")
	return id
}

func TestResolveNeedsAReferenceOrAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.reviewed()
	for _, body := range []string{`{"outcome":"succeeded"}`, `{"outcome":"succeeded","reason":"I think so"}`, `{"outcome":"not_performed","then":"fail"}`, `{"outcome":"abandoned"}`,
		`{"outcome":"abandoned","reference":"r"}`, `{"outcome":"succeeded","reference":"","reason":""}`} {
		w.post("/v1/operations/"+id+"/resolve", body).want(400, "code", "evidence_required", "operation_id", id)
	}
	w.get("/v1/operations/"+id).want(200, "operation.state", "needs_review")
}

func TestResolveSettlesByAPersonsWord(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		status int
		state  string
	}{
		`{"outcome":"succeeded","reference":"fax-7"}`:                      {200, "succeeded"},
		`{"outcome":"not_performed","then":"fail","reason":"asked them"}`:  {200, "failed"},
		`{"outcome":"not_performed","then":"retry","reason":"asked them"}`: {202, "ready"},
		`{"outcome":"abandoned","reason":"too old"}`:                       {200, "abandoned"},
	} {
		w := newWorld(t)
		id := w.reviewed()
		w.post("/v1/operations/"+id+"/resolve", body).want(want.status, "operation.state", want.state)
		r := w.get("/v1/operations/"+id).want(200, "operation.state", want.state)
		events := r.at("operation.events").([]any)
		if last := events[len(events)-1].(map[string]any); last["event"] != "resolved" || last["actor"] != "local:operator" {
			t.Errorf("%s: the timeline ends with %v", body, last)
		}
	}
}

func TestOfTwoWhoResolveOneWinsAndTheOtherIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.reviewed()
	var all sync.WaitGroup
	got := make([]*reply, 8)
	for i := range got {
		all.Go(func() {
			got[i] = w.post("/v1/operations/"+id+"/resolve", fmt.Sprintf(`{"outcome":"succeeded","reference":"fax-%d"}`, i))
		})
	}
	all.Wait()
	winners := 0
	for _, r := range got {
		if r.status == 200 {
			winners++
		} else {
			r.want(409, "code", "state_forbids")
		}
	}
	if winners != 1 {
		t.Errorf("%d resolutions won", winners)
	}
}

func TestReconcileLooksTheEffectUpNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed, oncewardtest.FaultAnswerLost)
	w.post("/v1/operations/"+id+"/reconcile", "").want(200, "operation.state", "succeeded")
	if w.provider.Probes() != 1 || w.provider.Writes() != 1 {
		t.Errorf("%d look-ups and %d writes", w.provider.Probes(), w.provider.Writes())
	}
	w.post("/v1/operations/"+w.reviewed()+"/reconcile", `{}`).want(409, "code", "state_forbids", "detail", "the contract has no probe")
}

func TestReplayOfADoneOperationIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	plan := w.get("/v1/operations/"+id+"/replay").want(200, "verdict", "refused", "probe", "none").lacks("sentence")
	reason := plan.text("reasons.0")
	if !strings.Contains(reason, "the effect happened") {
		t.Errorf("the reason is %q", reason)
	}
	w.post("/v1/operations/"+id+"/replay", `{"reason":"again please"}`).want(409, "code", "replay_refused", "detail", reason)
	if w.provider.Writes() != 1 {
		t.Errorf("%d writes", w.provider.Writes())
	}
}

func TestReplayOfAnUnknownOperationLooksFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed, oncewardtest.FaultAnswerLost)
	w.get("/v1/operations/"+id+"/replay").want(200, "probe", "found", "verdict", "refused", "operation.state", "succeeded")
}

func TestReplayThatMayDoubleNeedsItsSentenceWordForWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.reviewed()
	plan := w.get("/v1/operations/"+id+"/replay").want(200, "verdict", "needs_confirmation")
	sentence := plan.text("sentence")
	for _, confirm := range []string{"", `,"confirm":"yes"`, fmt.Sprintf(`,"confirm":%q`, strings.ToLower(sentence))} {
		r := w.post("/v1/operations/"+id+"/replay", `{"reason":"r"`+confirm+`}`).want(409, "code", "confirmation_needed")
		if !strings.Contains(r.text("advice"), sentence) {
			t.Errorf("the advice %q does not name the sentence", r.text("advice"))
		}
	}
	w.post("/v1/operations/"+id+"/replay", fmt.Sprintf(`{"reason":"","confirm":%q}`, sentence)).want(400, "code", "evidence_required")
	confirmed := fmt.Sprintf(`{"reason":"the customer asks","confirm":%q}`, sentence)
	w.post("/v1/operations/"+id+"/replay", confirmed).want(202, "operation.state", "ready")
	w.post("/v1/operations/"+id+"/replay", confirmed).want(409, "code", "replay_refused") // clicked twice
	w.pass(0)
	w.get("/v1/operations/"+id).want(200, "operation.state", "succeeded", "operation.attempts", 2)
}

func TestReplayOfAFailedOperationIsANewAttemptUnderTheSameKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed, oncewardtest.FaultInvalid)
	w.get("/v1/operations/"+id+"/replay").want(200, "verdict", "safe", "probe", "absent")
	w.post("/v1/operations/"+id+"/replay", `{"reason":"they fixed it"}`).want(202, "operation.state", "ready")
	w.pass(0)
	w.submit(probed, firstInput).want(200, "operation.id", id, "operation.attempts", 2)
}

func TestForkIsASecondEffectOnceUnderItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	fork := func(body string, headers ...header) *reply {
		return w.post("/v1/operations/"+id+"/fork", body, headers...)
	}
	first := fork(`{"key":"second","reason":"the customer wants two"}`).want(200, "decision", "fresh")
	fork(`{"key":"second","reason":"my answer was lost"}`).want(200, "decision", "replayed", "operation.id", first.text("operation.id"))
	fork(`{"reason":"by header"}`, header{"Idempotency-Key", "second"}).want(200, "decision", "replayed", "operation.id", first.text("operation.id"))
	fork(`{"key":"a","reason":"r"}`, header{"Idempotency-Key", "b"}).want(400, "code", "key_ambiguous", "decision", "blocked")
	if first.text("operation.id") == id || w.provider.Effects() != 2 {
		t.Errorf("%d effects, the fork is %s", w.provider.Effects(), first.text("operation.id"))
	}
	fork(`{"key":"third","reason":"with another amount","input":{"id":"k","amount":7}}`).want(200, "decision", "fresh")
	fork(`{"key":"third","reason":"r","input":{"id":"k","amount":8}}`).want(422, "code", "key_reused")
}

func TestForkWaitsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	t.Cleanup(w.provider.Hold())
	w.post("/v1/operations/"+id+"/fork", `{"key":"second","reason":"r","wait":"0s"}`).want(202, "decision", "fresh", "operation.state", "effect_pending")
	w.post("/v1/operations/"+id+"/fork", `{"key":"third","reason":"r","wait":"2m"}`).want(400, "code", "unsupported_policy")
}

func TestForkOfWhatIsNotSettledIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed, oncewardtest.FaultRequestLost)
	w.post("/v1/operations/"+id+"/fork", `{"key":"second","reason":"r"}`).want(409, "code", "state_forbids", "decision", "blocked")
}

func TestForkNeedsTheInputThatWasNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(digested)
	w.post("/v1/operations/"+id+"/fork", `{"key":"second","reason":"r"}`).want(400, "code", "invalid_request", "detail", "the first input is not kept")
	w.post("/v1/operations/"+id+"/fork", `{"key":"second","reason":"r","input":`+firstInput+`}`).want(200, "decision", "fresh")
}

func TestPausedToolStartsNothingUntilItIsResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post("/v1/tools/"+probed+"/pause", `{"reason":"provider maintenance"}`).want(200, "tool", probed, "paused.reason", "provider maintenance", "paused.by", "local:operator")
	w.get("/v1/tools/"+probed).want(200, "tool.paused.reason", "provider maintenance")
	w.submit(probed, firstInput).want(202, "decision", "fresh", "operation.state", "ready", "operation.parked", "tool_paused", "operation.attempts", 0)
	w.pass(time.Minute)
	if w.provider.Writes() != 0 {
		t.Error("the paused tool wrote")
	}
	w.post("/v1/tools/"+probed+"/resume", "").want(200, "released", 1)
	w.pass(0)
	w.submit(probed, firstInput).want(200, "decision", "replayed", "operation.attempts", 1)
	w.get("/v1/tools/" + probed).want(200).lacks("tool.paused")
}

func TestRefusedCredentialPausesTheToolAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed, oncewardtest.FaultUnauthorized)
	w.get("/v1/tools/"+probed).want(200, "tool.paused.reason", "auth")
	w.get("/v1/operations/"+id).want(200, "operation.state", "ready", "operation.parked", "tool_paused", "operation.error.class", "auth")
}

func TestToolsAreListedByNameWithTheirContract(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.get("/v1/tools").want(200, "tools.0.name", "contacts.search", "tools.0.effect", "read")
	if n := len(r.at("tools").([]any)); n != len(fixtureTools()) {
		t.Errorf("%d tools are listed", n)
	}
	w.get("/v1/tools/"+probed).want(200, "tool.name", probed, "tool.description", "Open a ticket", "tool.effect", "probed_write", "tool.executor", "onceward", "tool.key_from", "contract",
		"tool.has_probe", true, "tool.deadline", "1s", "tool.lease", "5s", "tool.settle", "2s", "tool.max_attempts", 5, "tool.input.type", "object", "tool.version", "v1")
	w.get("/v1/tools/"+remotely).want(200, "tool.executor", "caller", "tool.key_from", "caller")
	w.get("/v1/tools/no.such").want(404, "code", "tool_not_found")
}

func TestToolWhoseContractIsGoneCanStillBeResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.store.SetSwitch(t.Context(), onceward.ToolSwitch{Tenant: onceward.DefaultTenant, Tool: "old.tool", Paused: true, Reason: "auth", By: "r", At: w.clock.Now()}))
	w.must(w.ledger.RefreshSwitches(t.Context()))
	w.post("/v1/tools/old.tool/resume", "").want(200, "released", 0)
	w.post("/v1/tools/old.tool/resume", "").want(404)
}

func TestResolveOfAnAttemptThatIsNotTheNewestIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.reviewed()
	w.post("/v1/operations/"+id+"/resolve", `{"outcome":"succeeded","reference":"fax-7","attempt":0}`).want(400, "code", "invalid_request")
	w.post("/v1/operations/"+id+"/resolve", `{"outcome":"succeeded","reference":"fax-7","attempt":2}`).want(409, "code", "state_forbids", "detail", "resolved is not allowed in needs_review: another attempt was made since the person looked")
	w.get("/v1/operations/"+id).want(200, "operation.state", "needs_review")
	w.post("/v1/operations/"+id+"/resolve", `{"outcome":"succeeded","reference":"fax-7","attempt":1}`).want(200, "operation.state", "succeeded")
}

func TestOperationThatWaitsForAResourceNamesWhoHoldsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.Script(oncewardtest.FaultAnswerLost)
	first := w.submit(serially, `{"id":"a","account":"x"}`, `"wait":"0s"`).text("operation.id")
	w.quiet()
	second := w.submit(serially, `{"id":"b","account":"x"}`, `"wait":"0s"`).want(202, "operation.parked", "serialized", "operation.blocked_by", first).text("operation.id")
	w.get("/v1/operations/"+second).want(200, "operation.blocked_by", first)
	w.get("/v1/operations/" + first).want(200).lacks("operation.blocked_by")
	w.pass(time.Second)
	w.get("/v1/operations/"+second).want(200, "operation.state", "succeeded").lacks("operation.blocked_by")
}
