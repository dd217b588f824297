package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/onceward/onceward"
)

// begin is a world, and a window in which nobody has signed in yet.
func begin(t *testing.T, edits ...chromedp.Action[chromedp.Void]) (*world, *tab) {
	t.Helper()
	startChromium(t)
	w := newWorld(t)
	return w, w.open(t, edits...)
}

// submitted presses the button of a form.
func (b *tab) submitted(form string) *tab {
	b.Helper()
	return b.click(`form[action="` + form + `"] button:not([name])`)
}

func TestInABrowserApproverChangesTheAmountAndAnotherSaysYes(t *testing.T) {
	t.Parallel()
	w, alice := begin(t)
	op := w.asked("return-1")
	at := "/approvals/" + op.String()
	alice.signedIn("alice", onceward.RoleApprover).at("/approvals").sees("return-1").click(".cards a").sees("What will be done", `"amount": 500`)
	alice.do(chromedp.KeyEvent("e")).sees("See what changes") // a key opens, and nothing else
	alice.do(chromedp.SetValue(chromedp.CSS("textarea[name=input]"), `{"id":"return-1","text":"Refund for the kettle","amount":50}`)).submitted(at+"/preview").sees("You change this", "500", "50")
	if w.read(op).State != onceward.StateAwaitingApproval {
		t.Fatal("looking decided")
	}
	alice.submitted(at + "/approve").sees("Somebody else has to say yes to it")
	bob := w.open(t).signedIn("bob", onceward.RoleApprover).at(at).sees("What was changed", "token:alice")
	bob.do(chromedp.KeyEvent("a"), chromedp.KeyEvent(kb.Enter)).sees("You said yes.")
	w.drain()
	if got := w.read(op); got.State != onceward.StateSucceeded || w.provider.Effects() != 1 || !strings.Contains(string(w.provider.Requests()[0].Body), `"amount":50,`) {
		t.Errorf("it is %s with %d effects", got.State, w.provider.Effects())
	}
	bob.sees("Succeeded") // by itself
}

func TestInABrowserReviewIsTakenAndSettled(t *testing.T) {
	t.Parallel()
	w, olga := begin(t)
	op := w.inReview("case-1")
	at := "/reviews/" + op.String()
	olga.signedIn("olga", onceward.RoleOperator).at("/reviews").sees("case-1").click(".cards a").sees("What we sent", "No answer came")
	olga.submitted(at + "/take").sees("You have it")
	olga.click(".answer summary").submitted(at + "/resolve")
	if olga.path() != at || w.read(op).State != onceward.StateNeedsReview {
		t.Fatalf("it is settled without a reference, at %s", olga.path())
	}
	olga.typed(".answer[open] input[name=reference]", "FAX-7"+kb.Enter).sees("It is settled", "Nothing has to be settled here")
	if got := w.read(op); got.State != onceward.StateSucceeded || got.Reference != "FAX-7" || w.provider.Effects() != 1 {
		t.Errorf("it is %s, %q, with %d effects", got.State, got.Reference, w.provider.Effects())
	}
}

func TestInABrowserReplayWantsItsSentence(t *testing.T) {
	t.Parallel()
	w, olga := begin(t)
	op := w.inReview("case-1")
	at := "/operations/" + op.String()
	olga.signedIn("olga", onceward.RoleOperator).at(at).sees("It may have happened").click(`a[href="` + at + `/replay"]`).sees("may make a second effect")
	sentence := eval[string](olga, `document.getElementById('sentence').textContent`)
	olga.typed("textarea[name=reason]", "the line was down").typed("input[name=confirm]", "yes").submitted(at + "/replay").sees("That is not the sentence")
	olga.typed("input[name=confirm]", sentence).submitted(at + "/replay").sees("A new attempt may start")
	w.drain()
	olga.sees("Succeeded")
	if got := w.read(op); got.Attempt() != 2 || w.provider.Effects() != 2 { // the first fax went out, too: that is what was confirmed
		t.Errorf("%d attempts, %d effects", got.Attempt(), w.provider.Effects())
	}
}

func TestInABrowserStopSwitchIsThrownAndTakenBack(t *testing.T) {
	t.Parallel()
	w, olga := begin(t)
	at := "/tools/" + string(ticket)
	olga.signedIn("olga", onceward.RoleOperator).at("/tools").click(`a[href="` + at + `"]`).sees("Stop switch")
	olga.typed(`form[action="`+at+`/pause"] textarea`, "the vendor is down").submitted(at+"/pause").sees("The tool is paused", "the vendor is down")
	op := w.ask(ticket, `{"id":"1"}`)
	if w.provider.Writes() != 0 {
		t.Fatal("it was sent")
	}
	olga.submitted(at + "/resume").sees("It runs again")
	w.pass(time.Second)
	if got := w.read(op); got.State != onceward.StateSucceeded || w.provider.Effects() != 1 {
		t.Errorf("it is %s with %d effects", got.State, w.provider.Effects())
	}
}

func TestInABrowserOfTwoWhoAnswerOneWinsAndTheOtherIsTold(t *testing.T) {
	t.Parallel()
	w, alice := begin(t, withoutScript())
	op := w.asked("return-1")
	at := "/approvals/" + op.String()
	alice.signedIn("alice", onceward.RoleApprover).at(at)
	bob := w.open(t, withoutScript()).signedIn("bob", onceward.RoleApprover).at(at)
	alice.submitted(at + "/approve").sees("You said yes")
	bob.click("details:nth-of-type(2) > summary").typed(`form[action="`+at+`/reject"] textarea`, "too much").submitted(at+"/reject").sees("That did not work", "token:alice")
	w.drain()
	if got := w.read(op); got.State != onceward.StateSucceeded || w.provider.Effects() != 1 {
		t.Errorf("it is %s with %d effects", got.State, w.provider.Effects())
	}
}

func TestInABrowserPageFollowsWithoutBeingLoadedAgain(t *testing.T) {
	t.Parallel()
	w, olga := begin(t)
	w.provider.BreakProbes(true)
	op := w.lost(ticket, `{"id":"1"}`)
	olga.signedIn("olga", onceward.RoleOperator)
	olga.at("/operations/"+op.String()).sees("Outcome unknown", "Up to date")
	eval[bool](olga, `window.same = true`)
	w.provider.BreakProbes(false)
	w.pass(time.Minute)
	olga.sees("Succeeded", "A look-up at the provider found out.")
	if !eval[bool](olga, `window.same === true`) {
		t.Error("the page was loaded again")
	}
	// While nothing changes, nothing is asked for.
	asked := func() int { return eval[int](olga, `performance.getEntriesByType('resource').length`) }
	for last := -1; last != asked(); <-time.After(1600 * time.Millisecond) { // a reading may be on its way
		last = asked()
	}
	before := asked()
	<-time.After(3 * time.Second)
	if after := asked(); after != before {
		t.Errorf("the page asked %d times while nothing changed", after-before)
	}
}

func TestInABrowserWhatSomebodyWritesIsNotTakenAway(t *testing.T) {
	t.Parallel()
	w, bob := begin(t)
	op := w.asked("return-1")
	bob.signedIn("bob", onceward.RoleApprover).at("/approvals/"+op.String()).sees("Say yes", "Up to date")
	bob.click("details:nth-of-type(2) > summary").typed("form[action$=reject] textarea", "I am still writ")
	w.decide(op, true)
	bob.sees("No answer is taken").typed("form[action$=reject] textarea", "ing")
	if got := eval[string](bob, `document.querySelector('form[action$=reject] textarea').value`); got != "I am still writing" {
		t.Errorf("the field has %q", got)
	}
}

func TestInABrowserPersonSignsInAtTheIdentityProviderAndOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withPeople)
	op := w.inReview("case-1")
	at := "/reviews/" + op.String()
	b := w.open(t)
	asked := b.asked()
	b.at(at).sees("Sign in with your organisation").click(`a[href^="/auth/login"]`).authenticates().sees("What we sent")
	if b.path() != at {
		t.Errorf("who followed a link ends at %s", b.path())
	}
	ask, back := asked("code_challenge="), asked(w.base+"/auth/callback")
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if v := ask.Query().Get(name); len(v) != 43 || v == ask.Query().Get("client_id") {
			t.Errorf("the provider is asked with %s=%q", name, v)
		}
	}
	if ask.Query().Get("response_type") != "code" || ask.Query().Get("code_challenge_method") != "S256" || back.Query().Get("state") != ask.Query().Get("state") || back.Query().Get("code") == "" {
		t.Errorf("the provider is asked with %s, and answers with %s", ask, back)
	}
	var kept []string
	for _, k := range b.cookies() {
		if kept = append(kept, k.Name); !k.HTTPOnly || k.SameSite != network.CookieSameSiteLax {
			t.Errorf("the cookie is %+v", k)
		}
	}
	if slices.Sort(kept); !slices.Equal(kept, []string{"onceward_form", "onceward_session"}) {
		t.Errorf("the browser keeps %v", kept)
	}
	b.submitted(at + "/take").sees("You have it") // what an operator may
	b.at("/access").sees("approver, operator", "finance")
	if text := b.text(); strings.Contains(text, "Issue a token") || strings.Contains(text, "Audit") {
		t.Errorf("an operator is shown what is for others:\n%s", text)
	}
	b.at(back.RequestURI()).sees("That did not work", "began no such sign-in") // the way back is taken once
	b.at("/").sees("Overview").submitted("/signout").sees("You are signed out")
	if b.at(at); b.path() != "/signin" {
		t.Errorf("after signing out, the person is at %s", b.path())
	}
	for _, elsewhere := range []string{"//evil.example/", "https://evil.example/"} {
		if b.at("/auth/login?return=" + url.QueryEscape(elsewhere)).authenticates().sees("The invariant is whole"); eval[string](b, "location.href") != w.base+"/" {
			t.Errorf("%s leads to %s", elsewhere, eval[string](b, "location.href"))
		}
	}
	w.clock.Advance(onceward.SessionIdle + time.Minute)
	if b.at("/reviews"); b.path() != "/signin" {
		t.Errorf("after an hour without use the session goes on at %s", b.path())
	}
}

func TestInABrowserPageIsThereBeforeItsScriptIs(t *testing.T) {
	t.Parallel()
	w, b := begin(t)
	op := w.inReview("case-1")
	b.signedIn("olga", onceward.RoleOperator).withholdScript().goes("/reviews/"+op.String()).sees("What we sent", "What did you find out?", "UTC")
	for end := time.Now().Add(stepTime); eval[int](b, `performance.getEntriesByName('first-contentful-paint').length`) == 0; pause() {
		if time.Now().After(end) {
			t.Fatal("nothing is painted while the script is on its way")
		}
	}
	if state := eval[string](b, "document.readyState"); state == "complete" {
		t.Errorf("the document is %s: the script was not held up", state)
	}
}

func TestInABrowserHostileTextDoesNothing(t *testing.T) {
	t.Parallel()
	w, olga := begin(t)
	op := w.ask(ticket, `{"id":"1","text":`+jsonText(hostile)+`}`)
	ask := w.ask(payout, `{"id":"3","text":`+jsonText(hostile)+`}`)
	olga.signedIn("olga", onceward.AllRoles...)
	for _, target := range []string{"/operations/" + op.String(), "/approvals/" + ask.String()} {
		olga.at(target).sees("<script>document.title='owned'</script>", "⟦U+202E⟧")
		if title := eval[string](olga, "document.title"); strings.Contains(title, "owned") {
			t.Errorf("%s was obeyed: %s", target, title)
		}
	}
	if refused := eval[string](olga, `(() => { try { return eval('1+1') + '' } catch (e) { return 'refused' } })()`); refused != "refused" {
		t.Logf("a devtools evaluation is not bound by the page's policy: %s", refused)
	}
}

func TestInABrowserWithoutScriptEverythingIsDecided(t *testing.T) {
	t.Parallel()
	w, b := begin(t, withoutScript())
	op := w.asked("return-1")
	review := w.inReview("case-1")
	b.signedIn("bob", onceward.RoleApprover, onceward.RoleOperator)
	b.at("/approvals/" + op.String()).sees("UTC").submitted("/approvals/" + op.String() + "/approve").sees("You said yes")
	b.at("/reviews/"+review.String()).click(".answer:nth-of-type(3) summary").typed(`.answer[open] textarea`, "the journal has none").click(".answer[open] button").sees("It is settled")
	w.drain()
	if w.read(op).State != onceward.StateSucceeded || w.read(review).State != onceward.StateFailed {
		t.Errorf("they are %s and %s", w.read(op).State, w.read(review).State)
	}
	b.submitted("/signout").sees("You are signed out")
}

func TestInABrowserOnAPhoneAnApprovalIsAnswered(t *testing.T) {
	t.Parallel()
	w, b := begin(t, phone())
	op := w.asked("return-1")
	b.signedIn("bob", onceward.RoleApprover).at("/approvals").click(".cards a").sees("Say yes")
	if small := eval[int](b, `[...document.querySelectorAll('main button, main summary')].filter(e => { const r = e.getBoundingClientRect(); return r.width && (r.height < 24 || r.width < 24) }).length`); small > 0 {
		t.Errorf("%d things to press are too small for a finger", small)
	}
	b.submitted("/approvals/" + op.String() + "/approve").sees("You said yes")
	w.drain()
	if w.read(op).State != onceward.StateSucceeded {
		t.Errorf("it is %s", w.read(op).State)
	}
}

func TestInABrowserTimesAreInTheViewersZoneWithUTCOnHover(t *testing.T) {
	t.Parallel()
	w, b := begin(t, inZone("Asia/Tokyo"))
	op := w.ask(ticket, `{"id":"1"}`)
	b.signedIn("olga", onceward.RoleOperator).at("/operations/" + op.String())
	local := w.clock.Now().In(time.FixedZone("", 9*60*60)).Format("2006-01-02 15:04:05")
	if got := eval[string](b, `document.querySelector('.facts time').textContent`); got != local {
		t.Errorf("the time is %q, want %q", got, local)
	}
	if got := eval[string](b, `document.querySelector('.facts time').title`); got != w.clock.Now().Format("2006-01-02 15:04:05")+" UTC" {
		t.Errorf("on hover it is %q", got)
	}
}

func TestInABrowserPagesAreLight(t *testing.T) {
	t.Parallel()
	w, b := begin(t)
	s := w.story()
	b.signedIn("olga", onceward.AllRoles...)
	for _, name := range []string{"overview", "operations", "operation-review", "approval", "review", "audit", "access"} {
		if bytes, _ := b.transferred(s.pages()[name]); bytes < 1000 || bytes > 100<<10 {
			t.Errorf("%s takes %.0f bytes from the wire with an empty cache, want at most 100 KiB", name, bytes)
		}
	}
}

func TestInABrowserKeysMoveAndCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	w, b := begin(t)
	for _, id := range []string{"1", "2", "3"} {
		w.ask(ticket, `{"id":"`+id+`"}`)
	}
	b.signedIn("olga", onceward.RoleOperator).at("/operations")
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"))
	if got := eval[string](b, `document.activeElement.textContent`); got != eval[string](b, `document.querySelectorAll('tbody a')[1].textContent`) {
		t.Errorf("two steps down is %q", got)
	}
	b.do(chromedp.KeyEvent("/"))
	if got := eval[string](b, `document.activeElement.name`); got != "key" {
		t.Errorf("the search is %q", got)
	}
	b.click("#keys-toggle").do(chromedp.KeyEvent("j"))
	if got := eval[string](b, `document.activeElement.id`); got != "keys-toggle" {
		t.Errorf("keys that are off moved to %q", got)
	}
}

func TestStreamEndsWhenTheSessionDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("olga", onceward.RoleOperator)
	if status := b.get("/live?topic=nothing").status; status != http.StatusBadRequest {
		t.Errorf("an unknown topic: %d", status)
	}
	if status := w.stranger().get("/live?topic=tenant").status; status != http.StatusUnauthorized {
		t.Errorf("a stranger's stream: %d", status)
	}
}
