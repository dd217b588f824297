package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/console"
	"github.com/onceward/onceward/oncewardtest"
)

// A page that is first parsed when somebody opens it must not be found broken then.
func TestEveryPageParses(t *testing.T) {
	t.Parallel()
	if console.ParsePages() == 0 {
		t.Error("there is no page")
	}
}

// addresses of routes with the names of a story in them. A route without a line
// here is one whose address is its path.
func (s *story) address(path string) string {
	id := s.review.String()
	switch {
	case strings.HasPrefix(path, "/approvals/"):
		id = s.approval.String()
	case strings.HasPrefix(path, "/runs/"):
		id = s.run.String()
	case strings.HasPrefix(path, "/replays/"):
		id = s.replay.String()
	case strings.HasPrefix(path, "/events/"):
		id = onceward.NewInboxID(onceward.DefaultTenant, "shop", "e-1").String()
	case strings.HasPrefix(path, "/access/tokens/"):
		id = strings.Repeat("0", 16)
	}
	return strings.NewReplacer("{$}", "", "{id}", id, "{name}", string(ticket)).Replace(path)
}

// TestEveryPageIsForWhoeverTheRightsSay walks the table of pages with each role
// alone: who may not is told so, and whatever is done by a form needs the form.
func TestEveryPageIsForWhoeverTheRightsSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.story()
	for _, role := range onceward.AllRoles {
		b := w.visit("only-"+string(role), role)
		for _, r := range console.Routes() {
			if r.Action == "" || r.Path == "/live" {
				continue
			}
			target, may := s.address(r.Path), slices.Contains(r.Action.Roles(), role)
			var got *page
			if r.Method == http.MethodGet {
				got = b.get(target)
			} else {
				got = b.do(http.MethodPost, target, url.Values{"reason": {"because"}})
			}
			switch {
			case !may && got.status != http.StatusForbidden:
				t.Errorf("%s %s as %s: status %d, want 403", r.Method, target, role, got.status)
			case may && r.Method == http.MethodPost && (got.status != http.StatusForbidden || !strings.Contains(got.text, "another origin")):
				t.Errorf("%s without its form as %s: status %d, want it refused", target, role, got.status)
			case may && r.Method == http.MethodGet && !strings.HasPrefix(target, "/events/") && got.status != http.StatusOK:
				t.Errorf("%s as %s: status %d:\n%s", target, role, got.status, got.text)
			}
		}
	}
	if w.read(s.review).State != onceward.StateNeedsReview || w.read(s.approval).State != onceward.StateAwaitingApproval {
		t.Error("a post without its form changed something")
	}
}

func TestPagesShowNothingOfAnotherTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.story()
	admin := onceward.LocalPrincipal()
	admin.Tenant = "rival"
	_, secret, err := w.ledger.IssueToken(t.Context(), admin, onceward.TokenRequest{Subject: "rival", Scope: onceward.Scope{Roles: onceward.AllRoles, Groups: []string{"finance", "legal"}}})
	w.must(err)
	b := w.stranger()
	b.signIn(secret).want(200, "rival")
	for _, r := range console.Routes() {
		if r.Action == "" || r.Method != http.MethodGet || r.Path == "/live" || r.Path == "/audit/export" {
			continue
		}
		target := s.address(r.Path)
		got := b.get(target)
		if strings.Contains(r.Path, "{id}") {
			got.want(404)
		} else {
			got.want(200)
		}
		got.lacks("case-2291", "return-88", "shop/", "mail-4711", "complaints", "token:agent", "token:bob", "line is repaired")
	}
	form := b.get("/access")
	for _, target := range []string{"/reviews/" + s.review.String() + "/take", "/approvals/" + s.approval.String() + "/reject", "/operations/" + s.review.String() + "/replay"} {
		token := regexp.MustCompile(`name="form" value="([^"]*)"`).FindStringSubmatch(form.text)[1]
		got := b.do(http.MethodPost, target, url.Values{"form": {token}, "reason": {"mine"}, "digest": {w.read(s.approval).Digest.String()}})
		got.want(404)
	}
	if status := b.get("/live?topic=operation:" + s.review.String()).status; status != 404 {
		t.Errorf("the stream of another tenant's operation: %d", status)
	}
}

func TestStrangerIsSentToSignInAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.inReview("case-1")
	secret := w.token("ada", onceward.RoleOperator)
	b := w.stranger()
	p := b.get("/reviews/"+op.String()).want(200, "Sign in")
	if p.url.Path != "/signin" {
		t.Fatalf("a stranger is at %s", p.url)
	}
	p.submit("/signin", "token", "ow_wrong").want(401, "no token of onceward")
	if p = p.submit("/signin", "token", secret); p.url.Path != "/reviews/"+op.String() {
		t.Errorf("after signing in, the person is at %s", p.url)
	}
	p.want(200, "case-1")
	base, err := url.Parse(w.base)
	w.must(err)
	for _, c := range b.http.Jar.Cookies(base) {
		if strings.Contains(c.Value, secret) || strings.Contains(c.Value, strings.Split(secret, "_")[2]) {
			t.Errorf("the cookie %s has the token", c.Name)
		}
	}
	if p = b.get("/").submit("/signout"); p.url.Path != "/signin" {
		t.Errorf("after signing out, the person is at %s", p.url)
	}
	if p = b.get("/"); p.url.Path != "/signin" {
		t.Error("the session went on")
	}
	if p = b.get("/signin?to=//evil.example/x"); !strings.Contains(p.text, `name="to" value="/"`) {
		t.Errorf("a link leads elsewhere after signing in:\n%s", p.text)
	}
}

func TestSessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tok, secret, err := w.ledger.IssueToken(t.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: "ada", Scope: onceward.Scope{Roles: []onceward.Role{onceward.RoleOperator}}})
	w.must(err)
	b := w.stranger()
	b.signIn(secret).want(200, "token:ada")
	if _, err := w.ledger.RevokeToken(t.Context(), onceward.LocalPrincipal(), tok.ID); err != nil {
		t.Fatal(err)
	}
	if p := b.get("/reviews"); p.url.Path != "/signin" {
		t.Errorf("with a revoked token the session goes on at %s", p.url)
	}
	other := w.visit("bob", onceward.RoleOperator)
	w.clock.Advance(onceward.SessionIdle + time.Minute)
	if p := other.get("/reviews"); p.url.Path != "/signin" {
		t.Errorf("after an hour without use the session goes on at %s", p.url)
	}
}

func TestApproverChangesWhatWasAskedAndSaysYes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.asked("return-1")
	at := "/approvals/" + op.String()
	b := w.visit("alice", onceward.RoleApprover)
	p := b.get(at).want(200, "&#34;amount&#34;: 500")
	p.submit(at+"/preview", "input", `{"id":"return-1","text":"Refund for the kettle","amount":`).want(200, "The change is not taken")
	p.submit(at+"/preview", "input", `{"amount":500,"id":"return-1","text":"Refund for the kettle"}`).want(200, "That changes nothing")
	p = p.submit(at+"/preview", "input", `{"id":"return-1","text":"Refund for the kettle","amount":50}`).want(200, "You change this", "<del>500</del>", "<ins>50</ins>")
	if w.read(op).State != onceward.StateAwaitingApproval || w.provider.Effects() != 0 {
		t.Fatal("looking at a change made it")
	}
	p.submit(at+"/approve").want(200, "Somebody else has to say yes to it").lacks("You said yes")
	w.drain()
	if got := w.read(op); got.State != onceward.StateAwaitingApproval || got.QuorumLeft() != 1 {
		t.Fatalf("whoever changed it may not say yes alone, and it is %s", got.State)
	}
	bob := w.visit("bob", onceward.RoleApprover)
	bob.get(at).want(200, "What was changed", "<del>500</del>", "token:alice").submit(at+"/approve").want(200, "You said yes")
	w.drain()
	if got := w.read(op); got.State != onceward.StateSucceeded || w.provider.Effects() != 1 {
		t.Fatalf("it is %s with %d effects", got.State, w.provider.Effects())
	}
	if sent := string(w.provider.Requests()[0].Body); !strings.Contains(sent, `"amount":50,`) {
		t.Errorf("%s was sent", sent)
	}
}

func TestChangeOfAKeyFieldIsNotTakenAndNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.asked("return-1")
	at := "/approvals/" + op.String()
	p := w.visit("alice", onceward.RoleApprover).get(at)
	p = p.submit(at+"/preview", "input", `{"id":"return-2","text":"x","amount":50}`).want(200, "You change this")
	p = p.submit(at + "/approve").lacks("You said yes")
	if p.status < 400 || !strings.Contains(p.text, "return-2") || !strings.Contains(p.text, "The change is not taken") {
		t.Errorf("the refused change is answered with %d:\n%s", p.status, p.text)
	}
	if w.read(op).State != onceward.StateAwaitingApproval {
		t.Error("it was answered")
	}
}

func TestReviewIsNotClosedWithoutReferenceOrReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.inReview("case-1")
	at := "/reviews/" + op.String()
	b := w.visit("olga", onceward.RoleOperator)
	b.get(at).want(200, "What we sent", "No answer came", "only the provider knows").submit(at+"/take").want(200, "It is yours now", "You have it")
	b.get(at).submitNth(at+"/resolve", 0, "reference", " ", "reason", "sure").want(400)
	b.get(at).submitNth(at+"/resolve", 2, "reason", " ").want(400)
	if w.read(op).State != onceward.StateNeedsReview {
		t.Fatal("it was closed")
	}
	b.get(at).submitNth(at+"/resolve", 0, "reference", "FAX-7", "reason", "the fax journal").want(200, "It is settled", "FAX-7")
	if got := w.read(op); got.State != onceward.StateSucceeded || got.Reference != "FAX-7" || w.provider.Effects() != 1 {
		t.Errorf("it is %s, reference %q, with %d effects", got.State, got.Reference, w.provider.Effects())
	}
}

func TestReplayNeedsItsSentenceWordForWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.inReview("case-1")
	at := "/operations/" + op.String() + "/replay"
	b := w.visit("olga", onceward.RoleOperator)
	p := b.get(at).want(200, "may make a second effect")
	sentence := html.UnescapeString(regexp.MustCompile(`class="sentence">([^<]*)<`).FindStringSubmatch(p.text)[1])
	p.submit(at, "reason", "the line was down", "confirm", "yes").lacks("A new attempt may start").want(409, "That is not the sentence")
	if w.read(op).State != onceward.StateNeedsReview {
		t.Fatal("it was replayed without its sentence")
	}
	b.get(at).submit(at, "reason", "the line was down", "confirm", sentence).want(200, "A new attempt may start")
	w.drain()
	if got := w.read(op); got.State != onceward.StateSucceeded || got.Attempt() != 2 {
		t.Errorf("it is %s after %d attempts", got.State, got.Attempt())
	}
}

func TestStopSwitchHoldsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("olga", onceward.RoleOperator)
	at := "/tools/" + string(ticket)
	b.get(at).submit(at+"/pause", "reason", " ").want(400)
	b.get(at).submit(at+"/pause", "reason", "the vendor is down").want(200, "Paused.", "the vendor is down", "token:olga")
	op := w.ask(ticket, `{"id":"1"}`)
	if w.provider.Writes() != 0 {
		t.Fatal("it was sent")
	}
	b.get("/operations/"+op.String()).want(200, "the tool is paused")
	b.get(at).submit(at+"/resume").want(200, "It runs again")
	w.pass(time.Second)
	if got := w.read(op); got.State != onceward.StateSucceeded || w.provider.Effects() != 1 {
		t.Errorf("it is %s with %d effects", got.State, w.provider.Effects())
	}
	b.get("/tools").submit("/switches/stop", "reason", "fire").want(200, "Everything is stopped")
	b.get("/tools").submit("/switches/resume").want(200, "It runs again")
}

func TestBulkReplayIsDryFirstAndThenCarriedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.Script(oncewardtest.FaultInvalid, oncewardtest.FaultInvalid)
	first, second := w.ask(ticket, `{"id":"1"}`), w.ask(ticket, `{"id":"2"}`)
	w.clock.Advance(time.Second)
	b := w.visit("olga", onceward.RoleOperator)
	carry := func() {
		for range 20 {
			if worked, err := w.replays.Step(t.Context()); err != nil || !worked {
				w.clock.Advance(2 * time.Second)
			}
		}
		w.drain()
	}
	p := b.get("/replays").submit("/replays", "state", "failed", "tool", string(ticket), "reason", "the schema is repaired", "dry_run", "1", "rate", "600").want(200, "Dry run")
	carry()
	p = b.get(p.url.Path).want(200, "safe <b>2</b>", "finished")
	if w.read(first).State != onceward.StateFailed {
		t.Fatal("a dry run replayed")
	}
	p = p.submit(p.url.Path+"/run", "reason", "the schema is repaired", "rate", "600").want(200)
	carry()
	b.get(p.url.Path).want(200, "replayed <b>2</b>", "2 of 2 operations")
	if w.read(first).State != onceward.StateSucceeded || w.read(second).State != onceward.StateSucceeded || w.provider.Effects() != 2 {
		t.Errorf("they are %s and %s with %d effects", w.read(first).State, w.read(second).State, w.provider.Effects())
	}
}

func TestTokenIsShownOnceAndEndsWhenItIsRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("root", onceward.RoleAdmin, onceward.RoleCaller)
	p := b.get("/access").submit("/access/tokens", "subject", "bot", "role", "caller", "days", "7").want(200, "it is not shown again")
	secret := regexp.MustCompile(`ow_[a-z0-9]+_[a-z0-9]+`).FindString(p.text)
	who, err := w.ledger.Authenticate(t.Context(), secret)
	w.must(err)
	if who.Subject != "bot" || !who.Has(onceward.RoleCaller) || len(who.Roles) != 1 {
		t.Errorf("the token is %v", who)
	}
	b.get("/access").lacks(secret).submit("/access/tokens/"+string(who.Credential.Token)+"/revoke").want(200, "is revoked")
	if _, err := w.ledger.Authenticate(t.Context(), secret); !onceward.Is(err, onceward.CodeUnauthenticated) {
		t.Errorf("the revoked token: %v", err)
	}
	b.get("/access").submit("/access/tokens", "subject", "bot", "role", "operator").want(403)
}

func TestAccessPageSaysWhoSignedInLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range console.ListPage + 5 {
		w.visit(fmt.Sprintf("guest-%02d", i), onceward.RoleOperator)
		w.clock.Advance(time.Second)
	}
	w.visit("ada", onceward.AllRoles...).get("/access").want(200, "token:guest-54<", "token:guest-06<").lacks("token:guest-05<")
}

func TestOperationLeadsToWhatUndidItAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run, undone := w.aSaga()
	b := w.visit("olga", onceward.RoleOperator)
	first := b.get("/operations/"+undone.String()).want(200, "It happened, and was undone by another operation.", "Undone by", "pack of orders.place")
	undoing := regexp.MustCompile(`<dt>Undone by</dt><dd class="mono"><a href="([^"]*)"`).FindStringSubmatch(first.text)[1]
	b.get(undoing).want(200, "Undoes", `href="/operations/`+undone.String()+`"`)
	b.get("/runs/"+run.String()).want(200, "Saga", "It went back:", "the customer changed her mind", undoing, "undone", "Step")
}

func TestSagaIsMadeToGoBackAndSettledOnThePageOfItsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.anOrder("order-78")
	at := "/runs/" + id.Run().String()
	olga := w.visit("olga", onceward.RoleOperator)
	w.visit("carl", onceward.RoleApprover).get(at).want(200, "Saga").lacks("Make it go back")
	olga.get("/reviews").want(200).lacks("Sagas that need a person")

	w.provider.Script(oncewardtest.FaultInvalid) // what would undo it is refused
	olga.get(at).submit(at+"/saga/cancel", "reason", "she has two kettles").want(200, "The saga goes back.")
	w.moveSagas()
	olga.get("/reviews").want(200, "Sagas that need a person", at, "the compensation of the step pack is failed; replay")
	form := olga.get(at).want(200, "needs a person", "she has two kettles", "How does the step pack stand?").lacks("Make it go back")
	form.submit(at+"/saga/resolve", "answer", "undone", "reason", " ").want(400, "A resolution needs a reason")
	form.submit(at+"/saga/resolve", "answer", "done", "reason", "it is").want(400)
	form.submit(at+"/saga/resolve", "answer", "undone", "reason", "I put it back on the shelf").want(200, "It is settled.", "I put it back on the shelf").lacks("How does the step")
	w.moveSagas()
	s, err := w.ledger.Saga(t.Context(), agent, id)
	w.must(err)
	if s.State != onceward.SagaCompensated || s.Steps[0].State != onceward.SagaStepUndone || w.provider.Effects() != 1 {
		t.Errorf("the saga is %s, its first step %s, with %d effects", s.State, s.Steps[0].State, w.provider.Effects())
	}
	form.submit(at+"/saga/resolve", "answer", "undone", "reason", "again").want(409)
	olga.get("/reviews").want(200).lacks("Sagas that need a person")
}

func TestPagesSayWhatWasShredded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withKeys)
	run, sent := w.aRun(), w.ask(fax, `{"id":"1","who":"ann","text":"4111 2222"}`)
	b := w.visit("olga", onceward.RoleOperator)
	b.get("/operations/"+sent.String()).want(200, "4111 2222").lacks("shredded")
	b.get("/runs/"+run.String()).want(200, "justified").lacks("shredded")
	if _, err := w.ledger.ShredSubject(t.Context(), person("adam", onceward.RoleAdmin), "ann", "asked for"); err != nil {
		t.Fatal(err)
	}
	b.get("/operations/"+sent.String()).want(200, "cannot be read any more").lacks("4111 2222", "The answer was not kept")
	b.get("/runs/"+run.String()).want(200, "cannot be read any more", `assess <span class="badge calm">shredded</span>`).lacks("justified")
}

func TestSecondEffectIsAForkThatKnowsItsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.ask(ticket, `{"id":"1","text":"the first parcel"}`)
	at := "/operations/" + op.String()
	b := w.visit("carl", onceward.RoleCaller, onceward.RoleAuditor)
	form := []string{"input", `{"id":"1","text":"the second parcel"}`, "key", "second:2"}
	b.get(at).submit(at+"/fork", append(form, "reason", " ")...).want(400)
	if w.provider.Effects() != 1 {
		t.Fatal("it was made without a reason")
	}
	fork := b.get(at).submit(at+"/fork", append(form, "reason", "two parcels: both are lost")...).want(200, "the second effect that you wanted", "Fork of", at)
	w.quiet()
	b.get(at).want(200, "Forked as", fork.url.Path).submit(at+"/fork", append(form, "reason", "asked again")...).want(200)
	w.quiet()
	if w.provider.Effects() != 2 {
		t.Errorf("there are %d effects, want the first and one more", w.provider.Effects())
	}
	w.visit("aud", onceward.RoleAuditor).get(at).want(200).lacks("/fork")
}

func TestVersionThatRisksMoreIsSignedByBothOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withWiderTickets)
	at := "/tools/" + string(ticket)
	sue, tom := w.owner("sue", "support"), w.owner("tom", "platform")
	w.owner("eve", "finance").get(at).want(200, "waits for its owners").lacks("/sign\"")
	sue.get(at).want(200, `value="business"`).lacks(`value="technical"`)
	sue.get(at).want(200, "waits for its owners", "it may be sent more often", `<del>5</del>`, `<ins>9</ins>`).submit(at+"/sign", "as", "technical", "reason", "it was agreed").want(403)
	sue.get(at).submit(at+"/sign", "as", "business", "reason", " ").want(400)
	sue.get(at).submit(at+"/sign", "as", "business", "reason", "the vendor is slow").want(200, "Your yes is noted", "business owner", "token:sue", "the vendor is slow").lacks("/sign\"")
	tom.get(at).submit(at+"/sign", "as", "technical", "reason", "it is looked up in between").want(200).lacks("waits for its owners")
	if got, err := w.ledger.Tool(ticket); err != nil || got.Info().Version != "v2" {
		t.Errorf("in force is %v, %v", got, err)
	}
	w.visit("aud", onceward.RoleAuditor).get(at).want(200).lacks("/sign\"")
}

func TestSearchFindsByWhateverIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.ask(ticket, `{"id":"a/1"}`, func(in *onceward.Intent) { in.CorrelationID, in.Run = "corr-1", "run-label" })
	w.ask(ticket, `{"id":"b/2"}`)
	w.inReview("case-1")
	b := w.visit("olga", onceward.RoleOperator)
	day := w.clock.Now().Format("2006-01-02")
	for query, want := range map[string]bool{
		"key=a/1": true, "key=a/1&tool=fax.send": false, "reference=" + w.read(op).Reference: true, "reference=nothing": false, "correlation=corr-1": true, "run=run-label": true,
		"actor=token:agent&tool=tickets.create": true, "actor=token:nobody": false, "state=succeeded": true, "state=needs_review": false,
		"from=" + day + "T00:00": true, "to=" + day + "T00:00": false, "key=" + op.String(): true,
	} {
		p := b.get("/operations?" + query).want(200)
		if got := strings.Contains(p.text, `a/1</a>`) || p.url.Path == "/operations/"+op.String(); got != want {
			t.Errorf("%s finds it: %v, want %v", query, got, want)
		}
	}
	b.get("/operations?state=needs_review").submit("/operations/filters", "name", "Mine & yours").want(200, "is saved", "Mine &amp; yours")
	b.get("/operations").want(200, "Mine &amp; yours").submit("/operations/filters/drop").want(200).lacks("Mine &amp; yours")
	b.get("/operations?from=yesterday").want(400, "in UTC")
	b.get("/operations?after=x").want(400)
}

func TestOperationSaysInWordsWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("olga", onceward.RoleOperator)
	done := w.ask(ticket, `{"id":"1"}`)
	b.get("/operations/"+done.String()).want(200, "It happened once.", "whoever asks again gets this answer")
	w.provider.BreakProbes(true)
	unknown := w.lost(ticket, `{"id":"2"}`)
	b.get("/operations/"+unknown.String()).want(200, "It may have happened.", "It is looked up at the provider at", "nobody knew", `class="unknown"`)
	w.provider.BreakProbes(false)
	w.pass(time.Minute)
	b.get("/operations/"+unknown.String()).want(200, "It happened once.", "A look-up at the provider found out.")
	waits := w.asked("3")
	b.get("/operations/"+waits.String()).want(200, "nothing was sent", "1 yes is missing")
	w.decide(waits, false)
	b.get("/operations/"+waits.String()).want(200, "token:bob said no", "the kettle was not ours")
}

// hostile is text that a provider or a caller would like to have obeyed.
const hostile = `</pre><script>document.title='owned'</script><img src=x onerror="document.title='owned'">"'` + "\u202egnp.exe\u200b"

func TestHostileTextIsShownAndNotObeyed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.provider.AnswerWith(oncewardtest.Answer{Status: 201, Body: []byte(hostile), Header: []onceward.HeaderField{{Name: "X-Note", Value: hostile}}})
	op := w.ask(ticket, `{"id":"1","text":`+jsonText(hostile)+`}`, func(in *onceward.Intent) { in.CorrelationID = "<script>" })
	w.provider.AnswerWith(oncewardtest.Answer{Status: 500, Body: []byte(hostile)})
	review := w.ask(fax, `{"id":`+jsonText(hostile)+`,"text":`+jsonText(hostile)+`}`)
	w.pass(10 * time.Second)
	ask := w.ask(payout, `{"id":"3","text":`+jsonText(hostile)+`}`)
	b := w.visit("olga", onceward.AllRoles...)
	_, err := w.ledger.Comment(t.Context(), person("mallory", onceward.RoleOperator), review, hostile)
	w.must(err)
	for _, target := range []string{"/operations/" + op.String(), "/reviews/" + review.String(), "/operations/" + review.String(), "/operations/" + review.String() + "/replay",
		"/approvals/" + ask.String(), "/operations", "/approvals", "/reviews", "/audit", "/operations?key=" + url.QueryEscape(hostile[:60]), "/operations?tool=" + url.QueryEscape(hostile[:60])} {
		p := b.get(target).lacks("<script>document", "<img src=x", `onerror="document`, "\u202e", "\u200b", "</pre><script")
		if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s has the policy %q", target, csp)
		}
	}
	b.get("/operations/"+op.String()).want(200, "&lt;script&gt;", `<mark class="hidden-char" title="A character that is not seen">⟦U+202E⟧</mark>`)
	b.get("/approvals/"+ask.String()).want(200, "U+202E in input", `⟦U+202E⟧</mark>`)
}

func TestNoPageHasInlineScriptOrStyle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.story()
	b := w.visit("olga", onceward.AllRoles...)
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?:>| [^s])|https?://[^"' <]*\.(?:js|css|woff)`)
	around := 0 // stylesheet, script and icon
	for _, asset := range slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`/console/[^"]*`).FindAllString(b.get("/").text, -1)))) {
		around += len(b.get(asset).want(200).text)
	}
	for name, target := range s.pages() {
		p := b.get(target)
		if found := inline.FindString(p.text); found != "" {
			t.Errorf("%s has %q", name, found)
		}
		if n := around + len(p.text); around < 1000 || n > 100<<10 {
			t.Errorf("%s takes %d bytes with what is around it, want at most 100 KiB", name, n)
		}
		for _, h := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy"} {
			if p.header.Get(h) == "" {
				t.Errorf("%s lacks %s", name, h)
			}
		}
		if p.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept: %q", name, p.header.Get("Cache-Control"))
		}
	}
}

func TestFormOfAnotherBrowserIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.asked("1")
	at := "/approvals/" + op.String()
	mine, theirs := w.visit("alice", onceward.RoleApprover), w.visit("mallory", onceward.RoleCaller)
	stolen := regexp.MustCompile(`name="form" value="([^"]*)"`).FindStringSubmatch(theirs.get("/access").text)[1]
	for _, form := range []string{"", "x", stolen} {
		mine.do(http.MethodPost, at+"/reject", url.Values{"form": {form}, "digest": {w.read(op).Digest.String()}, "reason": {"gone"}}).want(403)
	}
	if w.read(op).State != onceward.StateAwaitingApproval {
		t.Error("it was answered")
	}
}

func TestEveryTextHasItsPlace(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("english.txt")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, pattern := range []string{"*.go", "pages/*.html"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(b)
			if strings.HasSuffix(name, ".html") {
				bare := regexp.MustCompile(`(?s)\{\{.*?\}\}|<pre[^>]*>curl.*?</pre>|<code>.*?</code>|<pre[^>]*>onceward.*?</pre>|<[^>]*>`).ReplaceAllString(string(b), " ")
				if found := regexp.MustCompile(`[A-Za-z]{3,}`).FindAllString(bare, -1); len(found) > 0 {
					t.Errorf("%s has words of its own: %v", name, found)
				}
			}
		}
	}
	// Texts whose key is put together: by a state, a role, what was done.
	made := []string{"done.", "state.", "effect.", "effect_note.", "event.", "settler.", "reach.", "attempt.", "parked.", "pause.", "answer.", "ended.", "outcome.", "bulk.", "run.", "inbox.",
		"probe.", "verdict.", "advice.", "saga.", "saga_answer.", "saga_kind.", "saga_step.", "sign.", "severity.", "token.", "role.", "nav.", "tile.", "say.", "drawing."}
	for line := range strings.Lines(string(text)) {
		key, _, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		used := strings.Contains(code.String(), `"`+key+`"`) || strings.Contains(code.String(), `"`+strings.TrimPrefix(key, "say.")+`"`)
		if !used && !slices.ContainsFunc(made, func(p string) bool { return strings.HasPrefix(key, p) }) {
			t.Errorf("nobody says %q", key)
		}
	}
}

func TestUnknownAddressOfTheConsoleIsAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("olga", onceward.RoleOperator)
	b.get("/operations/x/y/z").want(404, "There is no such page")
	b.get("/operations/nothing").want(400)
	b.get("/tools/no.such").want(404)
	if p := b.get("/elsewhere"); p.status != 404 || !strings.Contains(p.header.Get("Content-Type"), "problem+json") {
		t.Errorf("what is no page of ours is answered by the console: %d %s", p.status, p.header.Get("Content-Type"))
	}
	for _, unclean := range []string{"//operations", "/operations/", "/operations/../tools"} {
		if p := b.get(unclean); p.status == http.StatusOK && p.url.Path != "/tools" {
			t.Errorf("%s is answered with %d at %s", unclean, p.status, p.url)
		}
	}
}

func TestExportedTrailSaysWhatThePageSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.inReview("case-1")
	b := w.visit("aud", onceward.RoleAuditor)
	b.get("/audit?subject="+op.String()).want(200, "Became: Under way", "<td>A person is asked")
	p := b.get("/audit/export?subject="+op.String()).want(200, fmt.Sprintf(`"subject":%q`, op.String()))
	if n := strings.Count(p.text, "\n"); n < 2 {
		t.Errorf("%d lines:\n%s", n, p.text)
	}
	b.get("/audit?action=audit_exported").want(200, "token:aud")
	b.get("/audit?people=1").want(200).lacks("<td>A person is asked")
}
