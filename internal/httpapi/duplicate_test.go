package httpapi

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// situation is what a second request meets.
type situation struct {
	name    string
	tool    string
	arrange func(w *world) string // brings the first request there and returns its operation
	state   string                // "" once retired
	final   bool
	same    told // what the same intention gets
}

// told is how a request was answered.
type told struct {
	status   int
	decision string
	code     string
}

func (s told) String() string { return fmt.Sprintf("%d %s %s", s.status, s.decision, s.code) }

const firstInput, otherInput = `{"id":"k","amount":100,"text":"first wording"}`, `{"id":"k","amount":"100","text":"first wording"}`

// first sends the first request and returns its operation.
func (w *world) first(tool string) string {
	w.Helper()
	id := w.submit(tool, firstInput, `"wait":"0s"`).header.Get("Onceward-Operation")
	if id == "" {
		w.Fatal("the first request has no operation")
	}
	return id
}

func (w *world) settled(tool string, faults ...oncewardtest.Fault) string {
	w.Helper()
	w.provider.Script(faults...)
	id := w.first(tool)
	w.quiet()
	return id
}

var (
	joined    = told{202, "joined", ""}
	escalated = told{202, "escalated", ""}
	ended     = told{424, "replayed", "operation_failed"}
	retired   = told{409, "blocked", "key_retired"}
	reused    = told{422, "blocked", "key_reused"}
)

var situations = []situation{
	{"succeeded", probed, func(w *world) string { return w.settled(probed) }, "succeeded", true, told{200, "replayed", ""}},
	{"compensated", probed, func(w *world) string {
		id := w.settled(probed)
		w.force(id, onceward.Compensated{Actor: "test", Reason: "undone"})
		return id
	}, "compensated", true, told{200, "replayed", ""}},
	{"in flight", probed, func(w *world) string {
		w.Cleanup(w.provider.Hold())
		return w.first(probed)
	}, "effect_pending", false, joined},
	{"waiting for its next attempt", probed, func(w *world) string { return w.settled(probed, oncewardtest.FaultRefused) }, "ready", false, joined},
	{"parked by a paused tool", probed, func(w *world) string {
		w.post("/v1/tools/"+probed+"/pause", `{"reason":"test"}`).want(200)
		return w.first(probed)
	}, "ready", false, joined},
	{"unknown", probed, func(w *world) string { return w.settled(probed, oncewardtest.FaultRequestLost) }, "outcome_unknown", false, escalated},
	{"waiting for a yes", asked, func(w *world) string { return w.first(asked) }, "awaiting_approval", false, escalated},
	{"waiting for a person", unsafely, func(w *world) string {
		id := w.settled(unsafely, oncewardtest.FaultRequestLost)
		w.pass(time.Second)
		return id
	}, "needs_review", false, escalated},
	{"failed for good", probed, func(w *world) string { return w.settled(probed, oncewardtest.FaultInvalid) }, "failed", true, ended},
	{"failed a moment ago, and may be tried later", once, func(w *world) string { return w.settled(once, oncewardtest.FaultRefused) }, "failed", true, ended},
	{"failed long ago, and may be tried", once, func(w *world) string {
		id := w.settled(once, oncewardtest.FaultRefused)
		w.clock.Advance(time.Minute)
		return id
	}, "failed", true, joined},
	{"cancelled", probed, func(w *world) string {
		id := w.settled(probed, oncewardtest.FaultRefused)
		w.post("/v1/operations/"+id+"/cancel", `{"reason":"test"}`).want(200, "operation.state", "cancelled")
		return id
	}, "cancelled", true, ended},
	{"abandoned", probed, func(w *world) string {
		id := w.settled(probed, oncewardtest.FaultRequestLost)
		w.post("/v1/operations/"+id+"/resolve", `{"outcome":"abandoned","reason":"test"}`).want(200, "operation.state", "abandoned")
		return id
	}, "abandoned", true, ended},
	{"retired", probed, func(w *world) string {
		id := w.settled(probed)
		w.force(id, onceward.Retired{})
		return id
	}, "", true, retired},
}

// expected is the whole of DESIGN section 5: the digest is compared first, then
// on_duplicate, then the state decides.
func (s *situation) expected(same bool, onDuplicate string) told {
	switch {
	case s.same == retired:
		return retired
	case !same:
		return reused
	case onDuplicate == "fail":
		return told{409, "blocked", "duplicate"}
	case onDuplicate == "fail_if_running" && !s.final:
		return told{409, "blocked", "still_running"}
	}
	return s.same
}

// The three ways to send one request; their answers must not differ.
var ways = map[string]func(w *world, tool, input, onDuplicate string) told{
	"operation": func(w *world, tool, input, onDuplicate string) told {
		members := []string{`"wait":"0s"`}
		if onDuplicate != "" {
			members = append(members, fmt.Sprintf(`"on_duplicate":%q`, onDuplicate))
		}
		return w.submit(tool, input, members...).told("")
	},
	"call": func(w *world, tool, input, onDuplicate string) told {
		query := "?wait=0s"
		if onDuplicate != "" {
			query += "&on_duplicate=" + onDuplicate
		}
		return w.post("/v1/tools/"+tool+"/call"+query, input).told("")
	},
	"batch": func(w *world, tool, input, onDuplicate string) told {
		member := ""
		if onDuplicate != "" {
			member = fmt.Sprintf(`,"on_duplicate":%q`, onDuplicate)
		}
		r := w.post("/v1/operations:batch", fmt.Sprintf(`{"wait":"0s","operations":[{"tool":%q,"input":%s%s}]}`, tool, input, member)).want(200)
		return r.told("results.0.")
	},
}

// told reads how a request was answered, from the answer or from a batch's result.
func (r *reply) told(prefix string) told {
	r.Helper()
	s := told{status: r.status}
	if prefix != "" {
		status, _ := r.at(prefix + "status").(float64)
		s.status = int(status)
	}
	problem := prefix
	if prefix != "" {
		problem += "problem."
	}
	if s.status >= 400 {
		s.code = r.text(problem + "code")
		if s.status != 500 {
			s.decision = r.text(problem + "decision")
		}
		return s
	}
	s.decision = r.text(prefix + "decision")
	return s
}

func TestDuplicateTable(t *testing.T) {
	t.Parallel()
	for i := range situations {
		s := &situations[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, same := range []bool{true, false} {
				for _, onDuplicate := range []string{"", "return", "fail", "fail_if_running"} {
					for way, ask := range ways {
						w := newWorld(t)
						id := s.arrange(w)
						if s.state != "" {
							w.get("/v1/operations/"+id).want(200, "operation.state", s.state)
						}
						input := firstInput
						if !same {
							input = otherInput
						}
						writes, probes := w.provider.Writes(), w.provider.Probes()
						if got, want := ask(w, s.tool, input, onDuplicate), s.expected(same, onDuplicate); got != want {
							t.Errorf("%s, same digest %v, on_duplicate %q: %s, want %s", way, same, onDuplicate, got, want)
						}
						if s.state != "effect_pending" { // its attempt is held
							w.quiet()
						}
						if w.provider.Writes() != writes || w.provider.Probes() != probes {
							t.Errorf("%s, same digest %v, on_duplicate %q: the request called the provider", way, same, onDuplicate)
						}
					}
				}
			}
		})
	}
}

func TestEveryStateIsASituation(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	for _, s := range situations {
		met[s.state] = true
	}
	for _, s := range onceward.AllStates {
		if !met[s.String()] {
			t.Errorf("no situation is %s", s)
		}
	}
}

func TestRewordedVolatileFieldIsTheSameIntention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	w.submit(probed, `{"id":"k","amount":1e2,"text":"second wording"}`).want(200, "decision", "replayed", "operation.id", id)
}

func TestKeyUsedForAnotherInputNamesTheFieldsAndNotTheirValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	r := w.submit(probed, `{"id":"k","amount":"secret-amount"}`).want(422, "code", "key_reused", "operation_id", id, "retryable", false, "side_effect_possible", false)
	if detail := r.text("detail"); detail != "the key was first used at 2026-01-02T03:04:05Z for another input; these fields differ: amount" {
		t.Errorf("detail is %q", detail)
	}
	if got := r.header.Get("Onceward-Operation"); got != id {
		t.Errorf("Onceward-Operation is %q", got)
	}
}

func TestRetiredKeySaysWhatItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(probed)
	reference := w.get("/v1/operations/" + id).text("operation.reference")
	w.force(id, onceward.Retired{})
	w.get("/v1/operations/"+id).want(200, "operation.retired", true).lacks("operation.attempts", "operation.open_attempts") // they went with the record
	r := w.submit(probed, firstInput).want(409, "code", "key_retired", "operation_id", id)
	if want := "the key was used at 2026-01-02T03:04:05Z, ended as succeeded and its record was retired; the effect's reference is " + reference; r.text("detail") != want {
		t.Errorf("detail is %q, want %q", r.text("detail"), want)
	}
	w.get("/v1/operations/"+id).want(200, "operation.retired", true).lacks("operation.result", "operation.attempt_list.0")
}

func TestRetiredKeyThatMayBeUsedAnewMakesANewEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.settled(anew)
	before := w.get("/v1/operations/" + id)
	w.force(id, onceward.Retired{})
	after := w.submit(anew, otherInput).want(200, "decision", "fresh", "operation.id", id, "operation.generation", 1)
	if after.text("operation.provider_key") == before.text("operation.provider_key") {
		t.Error("the second effect has the first one's key at the provider")
	}
	if w.provider.Effects() != 2 {
		t.Errorf("%d effects, want 2", w.provider.Effects())
	}
}

func TestOneKeyOfTwoTenantsOrTwoToolsIsTwoOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.settled(probed)
	if other := w.settled(once); other == mine {
		t.Error("two tools share an operation")
	}
	w.who = &onceward.Principal{Tenant: "rival", Issuer: "oidc", Subject: "agent", Roles: onceward.AllRoles}
	if other := w.settled(probed); other == mine {
		t.Error("two tenants share an operation")
	}
	w.get("/v1/operations/"+mine).want(404, "code", "operation_not_found")
	w.post("/v1/operations/"+mine+"/cancel", `{}`).want(404)
	if n := len(w.get("/v1/operations").want(200).at("operations").([]any)); n != 1 {
		t.Errorf("the other tenant lists %d operations, want its 1", n)
	}
}
