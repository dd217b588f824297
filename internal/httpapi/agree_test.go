package httpapi

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// told by one way to ask: its status, and its body without what belongs to the way.
type whole struct {
	status int
	body   map[string]any
}

// asWhole makes a batch's result look like the answer to a request of its own.
func asWhole(t testing.TB, item any) whole {
	t.Helper()
	m, ok := item.(map[string]any)
	status, isNumber := m["status"].(float64)
	if !ok || !isNumber {
		t.Fatalf("a result is %v", item)
	}
	body := map[string]any{}
	if p, refused := m["problem"].(map[string]any); refused {
		body = p
	} else {
		for _, name := range []string{"decision", "operation", "advice"} {
			if v, there := m[name]; there {
				body[name] = v
			}
		}
	}
	return whole{int(status), body}
}

// Whatever an earlier request has led to, a request of its own, a call of the
// tool and every place in a batch where the key stands are answered alike to the
// last member, and none of them makes a second write.
func TestSingleAndBatchAnswersAreEqualWhateverCameBefore(t *testing.T) {
	t.Parallel()
	for i := range situations {
		s := &situations[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, input := range []string{firstInput, otherInput} {
				one := newWorld(t)
				s.arrange(one)
				single := one.submit(s.tool, input, `"wait":"0s"`)
				want := whole{single.status, single.body}

				called := newWorld(t)
				s.arrange(called)
				if r := called.post("/v1/tools/"+s.tool+"/call?wait=0s", input); !equalAnswers(whole{r.status, r.body}, want) {
					t.Errorf("a call is answered\n%d %v, a request\n%d %v", r.status, r.body, want.status, want.body)
				}

				many := newWorld(t)
				s.arrange(many)
				writes := many.provider.Writes()
				item := fmt.Sprintf(`{"tool":%q,"input":%s}`, s.tool, input)
				r := many.post("/v1/operations:batch", `{"wait":"0s","operations":[`+item+","+item+","+item+"]}").want(200)
				for i, item := range r.at("results").([]any) {
					if got := asWhole(t, item); !equalAnswers(got, want) {
						t.Errorf("item %d of a batch is answered\n%d %v, a request\n%d %v", i, got.status, got.body, want.status, want.body)
					}
				}
				if many.provider.Writes() != writes {
					t.Errorf("the batch made %d writes", many.provider.Writes()-writes)
				}
			}
		})
	}
}

// equalAnswers leaves out which HTTP request it was that was refused.
func equalAnswers(a, b whole) bool {
	for _, w := range []whole{a, b} {
		delete(w.body, "instance")
	}
	return a.status == b.status && reflect.DeepEqual(a.body, b.body)
}

// What cannot be recorded is refused and not sent, however it is asked for; what
// is known is still told.
func TestReadOnlyLedgerRefusesWritesAndIsStillRead(t *testing.T) {
	t.Parallel()
	var faulty *oncewardtest.FaultyStore
	w := openWorld(t, func(o *onceward.Options) {
		faulty = oncewardtest.NewFaultyStore(o.Store)
		o.Store, o.Writer = faulty, nil
	})
	id := w.settled(probed)
	faulty.GoReadOnly()
	const next = `{"id":"next"}`
	w.submit(probed, next).want(503, "code", "ledger_read_only", "decision", "blocked", "side_effect_possible", false)
	w.post("/v1/tools/"+probed+"/call", next).want(503, "code", "ledger_read_only")
	w.post("/v1/operations:batch", `{"operations":[{"tool":"tickets.create","input":`+next+`}]}`).
		want(200, "results.0.status", 503, "results.0.problem.code", "ledger_read_only")
	w.post("/v1/operations:claim", `{"tool":"reports.file","input":{"id":"k"},"claim_token":"0123456789abcdef"}`).want(503, "code", "ledger_read_only")
	if w.provider.Writes() != 1 {
		t.Errorf("%d writes reached the provider, want the one from before", w.provider.Writes())
	}
	w.get("/v1/operations/"+id).want(200, "operation.state", "succeeded", "operation.result.status", 201)
	w.get("/v1/operations").want(200, "operations.0.id", id).lacks("operations.1")
	faulty.ComeBack()
	w.submit(probed, next).want(200, "decision", "fresh") // nothing was left behind
}

func TestQuotedAndBareKeyAreOneAndItsCaseCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := func(member string, lines ...string) *reply {
		return w.post("/v1/operations", `{"tool":"tickets.create","input":{"n":1}`+member+`}`, key(lines...)...)
	}
	id := ask("", "abc").want(200, "decision", "fresh", "operation.key", "abc").text("operation.id")
	ask("", `"abc"`).want(200, "decision", "replayed", "operation.id", id)
	ask(`,"key":"abc"`).want(200, "decision", "replayed", "operation.id", id)
	ask(`,"key":"abc"`, `"abc"`).want(200, "decision", "replayed", "operation.id", id)
	ask("", "ABC").want(200, "decision", "fresh", "operation.key", "ABC")
	if w.provider.Writes() != 2 {
		t.Errorf("%d writes, want 2", w.provider.Writes())
	}
}

// Whoever reads bodies only, and whoever reads headers only, is told the same:
// how it was decided, which operation it is, and what to do.
func TestBodyAndHeadersTellTheSame(t *testing.T) {
	t.Parallel()
	codes := map[string]string{}
	for _, s := range situations {
		for _, onDuplicate := range []string{"return", "fail", "fail_if_running"} {
			for _, input := range []string{firstInput, otherInput} {
				w := newWorld(t)
				id := s.arrange(w)
				r := w.submit(s.tool, input, `"wait":"0s"`, `"on_duplicate":"`+onDuplicate+`"`)
				if decision := r.text("decision"); r.header.Get("Onceward-Decision") != decision || r.header.Get("Onceward-Operation") != id {
					t.Errorf("%s, %s: %s in the body, %v in the headers", s.name, onDuplicate, decision, r.header)
				}
				if r.status == 200 {
					continue
				}
				if r.text("advice") == "" {
					t.Errorf("%s, %s: no advice in %s", s.name, onDuplicate, r.raw)
				}
				if r.status < 400 {
					continue
				}
				retryable, isFlag := r.at("retryable").(bool)
				if again := r.header.Get("Retry-After") != ""; !isFlag || again != retryable {
					t.Errorf("%s, %s: retryable is %v, and Retry-After %q", s.name, onDuplicate, r.at("retryable"), r.header.Get("Retry-After"))
				}
				codes[r.text("code")] = r.text("title")
			}
		}
	}
	for _, code := range []string{"still_running", "duplicate", "key_reused", "key_retired", "operation_failed"} {
		if codes[code] == "" {
			t.Errorf("no answer has the code %s: %v", code, codes)
		}
	}
}

func TestResultIsGoneWithTheRightToAskForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.who = &onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "oidc", Subject: "agent", Roles: []onceward.Role{onceward.RoleCaller}}
	id := w.settled(probed)
	w.get("/v1/operations/"+id).want(200, "operation.result.status", 201)
	w.who.Roles = []onceward.Role{onceward.RoleApprover}
	w.submit(probed, firstInput).want(403, "code", "forbidden").lacks("operation")
	w.get("/v1/operations/"+id).want(200, "operation.state", "succeeded", "operation.result_withheld", true).lacks("operation.result")
	w.get("/v1/operations").want(200, "operations.0.id", id).lacks("operations.0.result")
	w.who.Roles = nil
	w.get("/v1/operations/" + id).want(403).lacks("operation")
}
