package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func TestReviewIsTakenHandedOverCommentedAndResolved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(unsafely, oncewardtest.FaultAnswerLost)
	w.pass(0)
	path := "/v1/operations/" + id
	w.get("/v1/reviews").want(200, "reviews.0.operation.id", id, "reviews.0.answers.0.when", "it happened", "reviews.0.has_probe", false)
	w.get("/v1/reviews?mine=true").want(200).lacks("reviews.0")
	w.get("/v1/reviews?mine=yes").want(400, "code", "invalid_request")
	w.get("/v1/reviews?after=abc").want(400, "code", "cursor_invalid")
	w.post(path+"/take", "").want(202, "operation.state", "needs_review")
	w.get("/v1/reviews?mine=true").want(200, "reviews.0.operation.id", id, "reviews.0.owner", "local:operator")
	w.post(path+"/assign", `{"to":"oidc:ann"}`).want(400)
	w.post(path+"/assign", `{"to":"oidc:ann","due":"tomorrow","reason":"r"}`).want(400, "code", "invalid_request")
	w.post(path+"/assign", `{"to":"oidc:ann","team":"leads","due":"2026-01-02T04:00:00Z","reason":"she knows the clerk"}`).want(202)
	a := w.post(path+"/take", "").want(409, "code", "state_forbids")
	if !strings.Contains(a.raw, "oidc:ann has it since 2026-") {
		t.Errorf("who has it is not told: %s", a.raw)
	}
	w.post(path+"/comment", `{"text":""}`).want(400)
	w.post(path+"/comment", `{"text":"the clerk is away"}`).want(202)
	r := w.get(path+"/review").want(200, "review.owner", "oidc:ann", "review.team", "leads", "review.answers.0.needs", "reference", "review.answers.1.then", "retry", "review.answers.1.attempt", 1)
	if !strings.Contains(r.raw, "the clerk is away") {
		t.Error("the comment is not shown")
	}
	w.clock.Advance(24 * time.Hour)
	w.get("/v1/reviews?team=leads&overdue=true").want(200, "reviews.0.overdue", true)
	w.post(path+"/resolve", `{"outcome":"abandoned","reason":"too old"}`).want(200)
	a = w.post(path+"/resolve", `{"outcome":"abandoned","reason":"too old"}`).want(409, "code", "state_forbids")
	if !strings.Contains(a.raw, "local:operator resolved it at 2026-") {
		t.Errorf("who resolved it is not told: %s", a.raw)
	}
	w.get("/v1/reviews").want(200).lacks("reviews.0")
	w.get(path+"/review").want(200, "review.operation.state", "abandoned").lacks("review.owner", "review.due")
}

func TestPagesOfTheQueueGoOnByTheirCursor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]bool{}
	for _, input := range []string{`{"id":"a"}`, `{"id":"b"}`, `{"id":"c"}`} {
		w.provider.Script(oncewardtest.FaultAnswerLost)
		w.post("/v1/operations", `{"tool":"`+unsafely+`","wait":"0s","input":`+input+`}`)
		w.quiet()
		w.pass(0)
	}
	after := ""
	for range 4 {
		r := w.get("/v1/reviews?limit=1" + after).want(200)
		if _, more := r.find("reviews.0"); !more {
			break
		}
		seen[r.text("reviews.0.operation.id")] = true
		after = "&after=" + r.text("next")
	}
	if len(seen) != 3 {
		t.Fatalf("%d of 3 reviews are listed", len(seen))
	}
}

func TestResolvingNeedsTheRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(unsafely, oncewardtest.FaultAnswerLost)
	w.pass(0)
	w.who = &onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "token", Subject: "agent", Roles: []onceward.Role{onceward.RoleCaller, onceward.RoleApprover}}
	for action, body := range map[string]string{"resolve": `{"outcome":"abandoned","reason":"r"}`, "take": "", "assign": `{"team":"x","reason":"r"}`, "comment": `{"text":"c"}`} {
		w.post("/v1/operations/"+id+"/"+action, body).want(403, "code", "forbidden")
	}
}

func TestBulkReplayIsStartedFollowedAndCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(once, oncewardtest.FaultInvalid)
	w.clock.Advance(time.Second)
	w.get("/v1/operations?dead=true").want(200, "operations.0.id", id, "operations.0.state", "failed")
	w.get("/v1/operations?dead=true&state=failed").want(400, "code", "invalid_request")
	for _, body := range []string{`{"reason":" "}`, `{"reason":"r","rate":0}`, `{"reason":"r","rate":6001}`, `{"reason":"r","plan":"x"}`, `{"reason":"r","confirm":"yes"}`,
		`{"reason":"r","filter":{"states":["succeeded"]}}`, `{"reason":"r","filter":{"from":"yesterday"}}`, `{"reason":"r","filter":{"tool":"NO"}}`} {
		w.post("/v1/replays", body).want(400)
	}
	const body = `{"filter":{"tool":"` + once + `","states":["failed"]},"rate":600,"reason":"the provider is repaired"}`
	a := w.post("/v1/replays", body).want(202, "replay.state", "running", "replay.rate", 600)
	if b := w.post("/v1/replays", body); b.text("replay.id") != a.text("replay.id") {
		t.Fatal("asked twice there are two")
	}
	path := "/v1/replays/" + a.text("replay.id")
	for range 2 {
		if _, err := w.ledger.StepBulkReplays(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(time.Second)
	}
	w.get(path).want(200, "replay.state", "finished", "replay.counts.replayed", 1, "replay.results.0.operation", id, "replay.results.0.outcome", "replayed")
	w.pass(0)
	w.get("/v1/operations/"+id).want(200, "operation.state", "succeeded")
	other := w.post("/v1/replays", `{"reason":"another","key":"k"}`).want(202).text("replay.id")
	w.post("/v1/replays", `{"reason":"a third","key":"k"}`).want(422, "code", "key_reused")
	w.post("/v1/replays/"+other+"/cancel", "").want(200, "replay.state", "cancelled")
	w.get("/v1/replays/replay_00000000000000000000000004").want(404, "code", "replay_not_found")
}
