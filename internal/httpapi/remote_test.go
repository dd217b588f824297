package httpapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

const claimBody = `{"tool":"reports.file","input":{"id":"k","n":1},"wait":"0s","claim_token":"0123456789abcdef%s"}`

func (w *world) claim(token string) *reply {
	w.Helper()
	return w.post("/v1/operations:claim", fmt.Sprintf(claimBody, token))
}

// report sends an outcome with the attempt's secret in the header.
func (w *world) report(grant *reply, body string) *reply {
	w.Helper()
	return w.post("/v1/attempts/"+grant.text("attempt.id")+"/outcome", body, header{secretHeader, grant.text("attempt.secret")})
}

func TestClaimThatIsSentAgainIsTheSameAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.claim("").want(200, "decision", "fresh", "operation.state", "effect_pending", "attempt.fence", 1, "attempt.lease_until", "2026-01-02T03:04:10Z")
	again := w.claim("").want(200, "decision", "joined", "attempt.id", first.text("attempt.id"), "attempt.secret", first.text("attempt.secret"))
	if got := again.header.Get("Onceward-Attempt"); got != first.text("attempt.id") {
		t.Errorf("Onceward-Attempt is %q", got)
	}
	w.claim("other").want(202, "decision", "joined").lacks("attempt")
	if w.provider.Writes() != 0 {
		t.Error("the ledger performed the write itself")
	}
}

func TestOutcomeOfARemoteAttemptIsReplayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	grant := w.claim("")
	done := `{"outcome":"done","reference":"rep-1","result":{"status":201,"headers":{"Location":["/r/1"],"Set-Cookie":["s=1"]},"body":{"id":"rep-1","n":1.50}}}`
	w.report(grant, done).want(200, "operation.state", "succeeded", "operation.reference", "rep-1", "operation.result.status", 201, "operation.result.body.id", "rep-1")
	w.report(grant, done).want(200, "operation.state", "succeeded") // the answer was lost
	w.claim("later").want(200, "decision", "replayed", "operation.result.headers.Location.0", "/r/1").lacks("attempt", "operation.result.headers.Set-Cookie")
}

func TestOutcomesThatAreNotDone(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		status int
		state  string
		code   string
	}{
		`{"outcome":"not_done","error":{"class":"validation","code":"bad_form","message":"the form was refused"}}`: {200, "failed", "bad_form"},
		`{"outcome":"not_done","error":{"class":"unavailable","code":"down","retryable":true}}`:                    {202, "ready", "down"},
		`{"outcome":"unknown","evidence":{"status":502,"note":"the browser closed"}}`:                              {202, "outcome_unknown", "outcome_unknown"},
		`{"outcome":"unknown","error":{"class":"timeout","code":"slow","retryable":false}}`:                        {202, "outcome_unknown", "slow"},
	} {
		w := newWorld(t)
		w.report(w.claim(""), body).want(want.status, "operation.state", want.state, "operation.error.code", want.code)
	}
}

func TestEvidenceOfARemoteAttemptIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	grant := w.claim("")
	w.report(grant, `{"outcome":"unknown","evidence":{"status":502,"note":"the browser closed"}}`).want(202)
	r := w.get("/v1/operations/" + grant.text("operation.id"))
	r.want(200, "operation.attempt_list.0.owner", "caller", "operation.events.2.event", "attempt_unknown", "operation.events.2.evidence.status", 502, "operation.events.2.evidence.error_text", "the browser closed")
}

func TestSecretOfAnAttemptOpensNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	grant := w.claim("")
	attempt := "/v1/attempts/" + grant.text("attempt.id")
	secret := grant.text("attempt.secret")
	for _, c := range []struct {
		target, body string
		headers      []header
	}{
		{attempt + "/heartbeat", `{"secret":"guessed"}`, nil},
		{attempt + "/heartbeat", "", []header{{secretHeader, "guessed"}}},
		{"/v1/attempts/" + grant.text("operation.id") + ".2/heartbeat", "", []header{{secretHeader, secret}}},
		{attempt + "/outcome", `{"outcome":"done","reference":"r","secret":"guessed"}`, nil},
	} {
		w.post(c.target, c.body, c.headers...).want(404, "code", "attempt_not_found")
	}
	w.get("/v1/operations/"+grant.text("operation.id")).want(200, "operation.state", "effect_pending")
}

func TestHeartbeatProlongsTheLeaseUntilItIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	grant := w.claim("")
	beat := func() *reply {
		return w.post("/v1/attempts/"+grant.text("attempt.id")+"/heartbeat", fmt.Sprintf(`{"secret":%q}`, grant.text("attempt.secret")))
	}
	w.clock.Advance(4 * time.Second)
	beat().want(200, "lease_until", "2026-01-02T03:04:14Z")
	w.clock.Advance(6 * time.Second)
	beat().want(409, "code", "fence_lost")
	w.pass(0)
	w.get("/v1/operations/"+grant.text("operation.id")).want(200, "operation.state", "outcome_unknown")
	// a late report is evidence, and it is proof of its own attempt
	w.report(grant, `{"outcome":"done","reference":"rep-1"}`).want(200, "operation.state", "succeeded")
}

func TestClaimOfAnotherInputIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim("").want(200)
	w.post("/v1/operations:claim", `{"tool":"reports.file","input":{"id":"k","n":2},"claim_token":"0123456789abcdef"}`).want(422, "code", "key_reused", "decision", "blocked")
}

func TestResultOfARemoteAttemptIsKeptAsItsContractSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := func(n int) string {
		return fmt.Sprintf(`{"outcome":"done","reference":"r","result":{"status":200,"body":%q}}`, strings.Repeat("a", n-2))
	}
	w.report(w.claim(""), body(onceward.DefaultKeepBytes)).want(200, "operation.result.body_kept", true)
	w = newWorld(t)
	w.report(w.claim(""), body(onceward.DefaultKeepBytes+1)).want(200, "operation.state", "succeeded", "operation.result.body_kept", false, "operation.result.status", 200).
		lacks("operation.result.body")
}

func TestUnknownRemoteAttemptThatIsProvenAbsentMayBeClaimedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.claim("")
	w.report(first, `{"outcome":"unknown"}`).want(202, "operation.state", "outcome_unknown")
	for range 3 {
		w.pass(10 * time.Second) // past settle: the look-up's absence is proof
	}
	w.claim("second").want(200, "decision", "joined", "attempt.fence", 2, "operation.state", "effect_pending")
	w.report(first, `{"outcome":"done","reference":"late"}`).want(202, "operation.state", "effect_pending") // kept, and decides when the second ends
}

func TestOutcomesThatContradictThemselvesOrCannotHaveBeenSeenAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	grant := w.claim("")
	headers := func(fields string) string { return `{"outcome":"done","result":{"headers":{` + fields + `}}}` }
	many := make([]string, onceward.RemoteHeaderFieldsMax+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"X-%d":["a"]`, i)
	}
	long := strings.Repeat("a", 4<<10)
	for body, place := range map[string]string{
		`{"outcome":"done","error":{"code":"x"}}`:                "error stands",
		`{"outcome":"done","error":{}}`:                          "error stands",
		`{"outcome":"not_done","reference":"r"}`:                 "reference or result",
		`{"outcome":"unknown","result":{"status":200}}`:          "reference or result",
		`{"outcome":"done","result":{"status":99}}`:              "result.status",
		`{"outcome":"done","result":{"status":600}}`:             "result.status",
		`{"outcome":"done","result":{"status":-1}}`:              "result.status",
		`{"outcome":"unknown","evidence":{"status":7}}`:          "evidence.status",
		headers(`"X-A":["a\r\nSet-Cookie: s"]`):                  "result.headers",
		headers(`"":["a"]`):                                      "result.headers",
		headers(`"X A":["a"]`):                                   "result.headers",
		headers(`"X\u00e4":["a"]`):                               "result.headers",
		headers(`"X-A:":["a"]`):                                  "result.headers",
		headers(`"X-A":["a\u0000b"]`):                            "result.headers.X-A",
		headers(strings.Join(many, ",")):                         "result.headers",
		headers(`"X":["` + strings.Repeat(long+`","`, 9) + `"]`): "result.headers",
	} {
		r := w.report(grant, body)
		if r.status != 400 && r.status != 413 || !strings.Contains(r.text("detail"), place) {
			t.Errorf("%.80s is answered %d: %q", body, r.status, r.text("detail"))
		}
	}
	w.get("/v1/operations/"+grant.text("operation.id")).want(200, "operation.state", "effect_pending")
	w.report(grant, `{"outcome":"done","result":{"status":599,"headers":{"X-A":["a\tb"],"x-!#$%&'*+.^_|~":["c"]}}}`).want(200, "operation.state", "succeeded")
}

func TestAnErrorThatSaysOnlyNotToRepeatIsHeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.report(w.claim(""), `{"outcome":"unknown","error":{"retryable":false}}`).want(202, "operation.error.code", "unspecified")
	w = newWorld(t)
	w.report(w.claim(""), `{"outcome":"unknown"}`).want(202, "operation.error.code", "outcome_unknown")
}
