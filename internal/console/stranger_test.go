package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

var toolRoles = []onceward.Role{onceward.RoleApprover, onceward.RoleOperator, onceward.RoleCaller}

// narrowed is the browser of somebody with these roles whose token is for one tool.
func (w *world) narrowed(tool onceward.ToolName, roles ...onceward.Role) *browser {
	w.Helper()
	_, secret, err := w.ledger.IssueToken(w.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: "narrow",
		Scope: onceward.Scope{Roles: roles, Groups: []string{"finance", "legal"}, Tools: []onceward.ToolName{tool}}})
	w.must(err)
	b := w.stranger()
	b.signIn(secret)
	return b
}

func TestLinesThatSomebodyWritesHaveNoHiddenCharacters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := "/reviews/" + w.inReview("1").String()
	b := w.visit("olga", onceward.RoleOperator)
	b.get(at).submit(strings.Replace(at, "reviews", "operations", 1)+"/comment", "from", "review", "text", "I called them.\r\nNobody knows.").want(200, "I called them.\nNobody knows.").lacks("U+000D")
}

func TestNoButtonIsShownThatIsRefusedForWantOfARight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	review := w.inReview("1").String()
	w.provider.Script(oncewardtest.FaultInvalid)
	failed := w.ask(ticket, `{"id":"1"}`).String()
	w.visit("alice", onceward.RoleApprover).get("/reviews/"+review).want(200).lacks("/assign", "/take", "/resolve")
	narrow := w.narrowed(payout, toolRoles...)
	for _, at := range []string{"/reviews/" + review, "/operations/" + review, "/operations/" + failed, "/tools/" + string(fax), "/tools"} {
		p := narrow.get(at).want(200)
		for _, f := range formPattern.FindAllStringSubmatch(p.text, -1) {
			if strings.Contains(f[0], `method="post"`) && f[1] != "/signout" {
				t.Errorf("%s offers %s to somebody whose token is for another tool", at, f[1])
			}
		}
		p.lacks("/replay\"")
	}
	w.visit("olga", onceward.RoleOperator).get("/reviews/"+review).want(200, "/assign", "/take", "/resolve")
}

func TestStoppedDryRunOffersNothingToCarryOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("olga", onceward.RoleOperator)
	p := b.get("/replays").submit("/replays", "state", "failed", "reason", "the schema is repaired", "dry_run", "1").want(200, "Take on no more")
	p.submit(p.url.Path+"/cancel").want(200, "cancelled").lacks("Carry it out")
}

func TestToolThatIsStoppedWithAllIsNotSaidToRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("olga", onceward.RoleOperator)
	at := "/tools/" + string(fax)
	own := b.get(at).submit(at+"/pause", "reason", "they announced maintenance").want(200, "The tool is paused")
	b.get("/tools").submit("/switches/stop", "reason", "an incident").want(200)
	b.get("/tools/"+string(ticket)).want(200, "together with every other tool").lacks("/resume\"")
	own.submit(at+"/resume").want(200, "every tool is stopped", "an incident").lacks("It runs again")
	b.get("/tools").submit("/switches/resume").want(200, "It runs again")
}

func TestHandingOverNamesSomebodyAndATimeToCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.inReview("1")
	at := "/reviews/" + op.String()
	p := w.visit("olga", onceward.RoleOperator).get(at)
	give := func(to, due string) *page {
		return p.submit(at+"/assign", "to", to, "due", due, "reason", "she knows them")
	}
	give("maria", "").want(400, "names no person", "token:maria")
	give("token:maria", "2001-01-01T00:00").want(400, "is over already")
	give("token:maria", "tomorrow").want(400, "What stands in &#34;Until (UTC)&#34; is no time: tomorrow")
	if got := w.read(op).Assigned; got.To != "" {
		t.Fatalf("%s got it", got.To)
	}
	give("token:maria", "").want(200, "It is handed over")
	give("", "").want(200, "nobody in particular now")
}

func TestRefusalsSpeakToPeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.asked("return-1")
	at := "/approvals/" + op.String()
	alice, bob := w.visit("alice", onceward.RoleApprover), w.visit("bob", onceward.RoleApprover)
	stale := bob.get(at)
	alice.get(at).submit(at + "/approve").want(200)
	for _, answer := range []string{"/approve", "/reject"} {
		stale.submit(at+answer, "reason", "no").want(409, "token:alice said yes at", "it has moved on").lacks("is not allowed in", "docs/", "approval_")
	}
	bob.get("/operations?from=2026-12-01T00:00&to=2026-11-01T00:00").want(400, "2026-12-01T00:00 is not before 2026-11-01T00:00")
	bob.get("/operations?to=later").want(400, "What stands in &#34;Until (UTC)&#34; is no time: later", "Write it as")
	bob.get("/tools/no.such").want(404, "The page Tools has the names").lacks("/v1/")
	bob.do(http.MethodPost, at+"/reject", url.Values{"reason": {strings.Repeat("x", 6<<20)}}).want(413, "The form has more than 5 MiB")
	bob.get("/operations").submit("/signout")
	stale.submit(at+"/approve").want(401, "/signin?to=", "Sign in: the session has ended")
}

func TestAddressOfAFormLeadsToItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.asked("return-1").String()
	b := w.visit("ada", onceward.AllRoles...)
	for at, page := range map[string]string{"/approvals/" + op + "/approve": "/approvals/" + op, "/operations/" + op + "/cancel": "/operations/" + op, "/switches/stop": "/", "/access/tokens": "/access"} {
		if got := b.get(at).want(200).url.Path; got != page {
			t.Errorf("%s leads to %s", at, got)
		}
	}
	if p := b.do(http.MethodPut, "/tools/"+string(fax), nil); p.status != http.StatusMethodNotAllowed || p.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("PUT is answered with %d, allowed are %q", p.status, p.header.Get("Allow"))
	}
}

func TestSavedSearchIsCalledAsPeopleWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("ada", onceward.AllRoles...)
	save := func(name string) *page {
		return b.get("/operations?state=failed").submit("/operations/filters", "name", name)
	}
	for _, name := range []string{"сорок букв, и ни одной больше, это точно", strings.Repeat("💥", 40), "a\x00b"} {
		save(name).want(200, "The search is saved")
	}
	save(strings.Repeat("я", 41)).want(400, "up to 40 characters")
	for range 3 {
		b.get("/operations").submit("/operations/filters/drop").want(200, "The saved search is gone")
	}
	b.get("/operations").want(200).lacks(`class="saved"`)
}

func TestWayBackToTheNewestKeepsTheSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("ada", onceward.AllRoles...)
	last := "1." + w.asked("return-1").String()
	b.get("/reviews?of=team&team=legal&overdue=1&after=_"+last).want(200, `href="/reviews?of=team&amp;overdue=1&amp;team=legal"`)
	b.get("/runs?workflow=orders.place&state=open&after=1.run_"+strings.Repeat("a", 25)+"0").want(200, `href="/runs?state=open&amp;workflow=orders.place"`)
}

func TestTokensAreListedWithWhatTheyAreNarrowedTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, _, err := w.ledger.IssueToken(w.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: "reader",
		Scope: onceward.Scope{Roles: []onceward.Role{onceward.RoleCaller}, Groups: []string{"night-shift"}, Effects: []onceward.EffectClass{onceward.EffectRead}}})
	w.must(err)
	p := w.visit("ada", onceward.RoleAdmin).get("/access").want(200, "night-shift")
	row := p.text[strings.Index(p.text, `<span class="mono">reader</span>`):]
	if row = row[:strings.Index(row, "</tr>")]; !strings.Contains(row, ">Read<") {
		t.Errorf("a token for reading looks like any other: %s", row)
	}
}

func TestTrailIsAskedInTheWordsOfThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.visit("ada", onceward.AllRoles...)
	at := "/tools/" + string(fax)
	b.get(at).submit(at+"/pause", "reason", "they announced maintenance").want(200)
	for _, asked := range []string{"tool_paused", "Tool paused", "tool paused"} {
		b.get("/audit?"+url.Values{"action": {asked}}.Encode()).want(200, "they announced maintenance", `<option value="tool_paused">Tool paused</option>`)
	}
	if p := b.get("/audit?action=Tool+resumed").want(200); slices.Contains(strings.Fields(p.text), "maintenance") {
		t.Error("another action found it")
	}
}

func TestWhoSeesNoOperationsIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.visit("ada", onceward.RoleAdmin).get("/").want(200, "Your roles do not show you operations").lacks("The invariant is whole")
	w.visit("aud", onceward.RoleAuditor).get("/").want(200, "The invariant is whole").lacks("Your roles do not")
}
