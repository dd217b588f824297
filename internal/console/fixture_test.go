package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/console"
	"github.com/onceward/onceward/internal/httpapi"
	"github.com/onceward/onceward/internal/testoidc"
	"github.com/onceward/onceward/internal/webserver"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/store/sealed"
	"github.com/onceward/onceward/worker"
)

// The tools of the fixture.
const (
	ticket = onceward.ToolName("tickets.create") // can be looked up
	fax    = onceward.ToolName("fax.send")       // cannot
	payout = onceward.ToolName("payouts.send")   // a person must say yes first
)

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// world is a served console over a ledger in memory, with a clock that moves when
// told and workers that are stepped by hand.
type world struct {
	store *memory.Store
	testing.TB
	clock    *oncewardtest.Clock
	provider *oncewardtest.Provider
	ledger   *onceward.Ledger
	due      *worker.Due
	replays  worker.Loop
	sagas    worker.Loop
	seal     worker.Loop
	base     string
	log      *lines

	wider  bool // a version of a tool waits that risks more
	keys   bool // faxes, and runs, are stored encrypted with their subject's data key
	people bool // they sign in at a real OpenID provider
}

// withWiderTickets has a version of the tickets' contract wait for its owners.
func withWiderTickets(w *world) { w.wider = true }

// withKeys has faxes and runs stored encrypted with a data key of their subject.
func withKeys(w *world) { w.keys = true }

// sealed puts encryption in front of a store.
func (w *world) sealed(s onceward.Store) *sealed.Store {
	ring, err := sealed.ParseKeyRing(sealed.NewMasterKey())
	w.must(err)
	vault, err := sealed.Open(w.Context(), s, sealed.Options{Keys: ring, Wait: func(context.Context, time.Duration) error { return nil }})
	w.must(err)
	return vault
}

// encryptedFax is the contract of faxes whose bodies are those of the member "who".
func encryptedFax() onceward.Tool {
	t := oncewardtest.NewTool(fax, onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) {
		i.Policy.KeepInput, i.KeepResult, i.Policy.KeepResult = onceward.KeepEncrypted, onceward.KeepEncrypted, onceward.KeepEncrypted
	})
	t.Subject = "who"
	return t
}

// withPeople has people sign in at a real OpenID provider: its user is approver
// and operator here, in the team finance.
func withPeople(w *world) { w.people = true }

func newWorld(t testing.TB, edits ...func(*world)) *world {
	t.Helper()
	clock := oncewardtest.NewClock()
	w := &world{TB: t, clock: clock, provider: oncewardtest.NewProvider(clock), log: &lines{}}
	for _, edit := range edits {
		edit(w)
	}
	w.store = memory.New(memory.Options{Now: clock.Now})
	var store onceward.Store = w.store
	var sealer onceward.Sealer
	offered := tools()
	if w.keys {
		vault := w.sealed(store)
		store, sealer, offered[1] = vault, vault, encryptedFax()
	}
	wider := widerTickets()
	registry := onceward.NewRegistry(store, func(name onceward.ToolName, source []byte) (onceward.Tool, error) {
		for _, t := range append(offered, wider) {
			if string(t.Info().Source) == string(source) {
				return t, nil
			}
		}
		return nil, onceward.Errorf(onceward.CodeInternal, "no source of %s", name)
	})
	registry.SignOff(moreAttempts, true)
	w.must(registry.Activate(t.Context(), offered, false))
	if w.wider {
		w.must(registry.Activate(t.Context(), append(offered[1:], wider), false))
	}
	group := committer.New(store, committer.Options{Clock: clock})
	log := slog.New(slog.NewTextHandler(w.log, nil))
	var err error
	w.ledger, err = onceward.New(onceward.Options{Store: store, Writer: group, Tools: registry, Provider: w.provider, Sealer: sealer, Clock: clock, Log: log})
	w.must(err)
	w.must(w.ledger.Start(t.Context()))
	w.due, w.replays, w.sagas = worker.NewDue(w.ledger, store, log), worker.NewReplays(w.ledger), worker.NewSagas(w.ledger)
	w.seal = worker.NewSeal(&onceward.Auditor{Store: store, Now: store.Now, Actor: "replica"})
	stop := w.serve(log)
	t.Cleanup(func() {
		stop()
		_ = w.ledger.Close(context.Background())
		group.Close()
	})
	return w
}

// serve serves the console as the program does, API and limits included.
func (w *world) serve(log *slog.Logger) (stop func()) {
	who, err := auth.New(auth.Options{Ledger: w.ledger, Required: true})
	w.must(err)
	api, err := httpapi.New(httpapi.Options{Ledger: w.ledger, Log: log, Authenticate: who.Authenticate})
	w.must(err)
	l, err := webserver.Listen(w.Context(), "127.0.0.1:0", false)
	w.must(err)
	w.base = "http://" + l.Addr().String()
	signIn, at := w.identityProvider(who)
	con, err := console.New(console.Options{Ledger: w.ledger, Authenticate: who.Authenticate, Sessions: who, Status: httpapi.Status, Log: log, SignInAt: at,
		Lint: func(t onceward.Tool) []console.Finding {
			if t.Info().Name != fax {
				return nil
			}
			return []console.Finding{{Severity: "warning", Rule: "no_probe", Message: "nothing can be looked up after a lost answer", Fix: "ask the provider for a search", Line: 12}}
		},
		Drill: func() (*console.Drill, error) {
			return &console.Drill{Started: w.clock.Now().Add(-time.Hour), Rows: []console.DrillRow{{Tool: string(ticket), Title: "the answer is lost", Verdict: "as promised", Effects: 1}}}, nil
		}})
	w.must(err)
	srv, err := webserver.New(webserver.Options{Handler: con.Handler(who.Handler(api, signIn, con.Refuse)), Listener: l, Log: log, Refuse: httpapi.WriteProblem})
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = srv.Serve() })
	done.Go(func() { con.Run(ctx) })
	return func() {
		con.Drain()
		cancel()
		within, end := context.WithTimeout(context.Background(), 5*time.Second)
		defer end()
		if err := srv.Shutdown(within); err != nil {
			w.Errorf("the server did not go away: %v", err)
		}
		done.Wait()
	}
}

// identityProvider is where people sign in, and its address; nil: nowhere.
func (w *world) identityProvider(who *auth.Authenticator) (signIn *auth.SignIn, at string) {
	w.Helper()
	if !w.people {
		return nil, ""
	}
	back := w.base + "/auth/callback"
	p := testoidc.NewProvider(w, back)
	signIn, err := auth.NewSignIn(who, auth.OIDC{Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: testoidc.Secret, RedirectURL: back, Claims: auth.Claims{Tenant: onceward.DefaultTenant,
		RolesClaim: "email", Roles: map[string][]onceward.Role{testoidc.Email: {onceward.RoleApprover, onceward.RoleOperator}}, GroupsClaim: "locale", Groups: map[string]string{testoidc.Locale: "finance"}}})
	w.must(err)
	return signIn, "/auth/login"
}

// widerTickets is a version of the tickets' contract that may be tried more often.
func widerTickets() onceward.Tool {
	return oncewardtest.NewTool(ticket, onceward.EffectProbedWrite, func(i *onceward.ToolInfo) {
		i.Version, i.Source, i.Policy.MaxAttempts = "v2", []byte("name: tickets.create, more often"), 9
		i.Description, i.BusinessOwner, i.TechnicalOwner = "Open a support ticket for an event", "support", "platform"
	})
}

func moreAttempts(old, next onceward.Tool) []onceward.ContractDifference {
	was, is := old.Info().Policy.MaxAttempts, next.Info().Policy.MaxAttempts
	if was == is {
		return nil
	}
	return []onceward.ContractDifference{{Field: "retry.max_attempts", Was: strconv.Itoa(was), Is: strconv.Itoa(is), Widens: is > was, Why: "it may be sent more often"}}
}

func tools() []onceward.Tool {
	described := func(text, business, technical string) func(*onceward.ToolInfo) {
		return func(i *onceward.ToolInfo) {
			i.Description, i.BusinessOwner, i.TechnicalOwner = text, business, technical
			i.InputSchema = []byte(`{"type":"object","properties":{"id":{"type":"string"},"text":{"type":"string"}}}`)
			i.KeyRule, i.Horizon = `["input.id"]`, 7*24*time.Hour
		}
	}
	pay := oncewardtest.NewTool(payout, onceward.EffectKeyedWrite, described("Pay money out to a customer", "finance", "platform"), func(i *onceward.ToolInfo) {
		i.Policy.ApprovalExpiry, i.Approvers, i.Policy.SeparateRequester = 24*time.Hour, []string{"finance"}, true
	})
	pay.NeedsApproval = true
	return []onceward.Tool{
		oncewardtest.NewTool(ticket, onceward.EffectProbedWrite, described("Open a support ticket for an event", "support", "platform"), func(i *onceward.ToolInfo) {
			i.BlindSpots = "tickets that were merged into others are not found"
		}),
		oncewardtest.NewTool(fax, onceward.EffectUnsafeWrite, described("Send a fax", "legal", "platform"), func(i *onceward.ToolInfo) {
			i.Policy.ReviewTeam, i.Policy.ReviewWithin = "legal", 8*time.Hour
		}),
		pay,
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// person is a principal of the fixture's tenant in every group of its own.
func person(name string, roles ...onceward.Role) onceward.Principal {
	return onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: onceward.IssuerToken, Subject: name, Roles: roles, Groups: []string{"finance", "legal"}}
}

// agent asks for operations.
var agent = onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: onceward.IssuerToken, Subject: "agent", Roles: []onceward.Role{onceward.RoleCaller}}

// ask asks for an operation and lets its attempt end.
func (w *world) ask(tool onceward.ToolName, input string, edits ...func(*onceward.Intent)) onceward.OperationID {
	w.Helper()
	in := onceward.Intent{Principal: agent, Tool: tool, Input: []byte(input)}
	for _, e := range edits {
		e(&in)
	}
	a, err := w.ledger.Submit(w.Context(), in)
	w.must(err)
	w.quiet()
	return a.Operation.ID
}

// lost asks for an operation whose answer is lost.
func (w *world) lost(tool onceward.ToolName, input string) onceward.OperationID {
	w.Helper()
	w.provider.Script(oncewardtest.FaultAnswerLost)
	return w.ask(tool, input)
}

// inReview is a fax of which nobody knows whether it was sent.
func (w *world) inReview(id string) onceward.OperationID {
	w.Helper()
	op := w.lost(fax, fmt.Sprintf(`{"id":%q,"text":"Notice of termination"}`, id))
	w.pass(10 * time.Second)
	if got := w.read(op); got.State != onceward.StateNeedsReview {
		w.Fatalf("it is %s", got.State)
	}
	return op
}

// asked is a payout that waits for a yes.
func (w *world) asked(id string) onceward.OperationID {
	w.Helper()
	return w.ask(payout, fmt.Sprintf(`{"id":%q,"text":"Refund for the kettle","amount":500}`, id))
}

func (w *world) read(id onceward.OperationID) *onceward.Operation {
	w.Helper()
	op, err := w.ledger.Get(w.Context(), person("reader", onceward.RoleAuditor), id, 0)
	w.must(err)
	return op
}

func (w *world) quiet() {
	w.due.Wait()
	w.ledger.WaitIdle()
}

// pass moves the clock on and lets the workers do what has come due.
func (w *world) pass(d time.Duration) {
	w.Helper()
	w.clock.Advance(d)
	w.drain()
}

func (w *world) drain() {
	w.Helper()
	for range 100 {
		worked, err := w.due.Step(w.Context())
		w.must(err)
		w.quiet()
		if !worked {
			return
		}
	}
	w.Fatal("the due loop never comes to rest")
}

// token issues a token with these roles, and returns its secret.
func (w *world) token(name string, roles ...onceward.Role) string {
	w.Helper()
	_, secret, err := w.ledger.IssueToken(w.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: name, Scope: onceward.Scope{Roles: roles, Groups: []string{"finance", "legal"}}})
	w.must(err)
	return secret
}

// owner is the browser of an approver who is in one owner's team alone.
func (w *world) owner(name, team string) *browser {
	w.Helper()
	_, secret, err := w.ledger.IssueToken(w.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: name, Scope: onceward.Scope{Roles: []onceward.Role{onceward.RoleApprover}, Groups: []string{team}}})
	w.must(err)
	b := w.stranger()
	b.signIn(secret)
	return b
}

// browser is a person's browser without script: cookies, links and forms.
type browser struct {
	*world
	http *http.Client
}

// visit is a browser that signs in with a token of these roles.
func (w *world) visit(name string, roles ...onceward.Role) *browser {
	w.Helper()
	b := w.stranger()
	b.signIn(w.token(name, roles...))
	return b
}

func (w *world) stranger() *browser {
	w.Helper()
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &browser{w, &http.Client{Jar: jar, Timeout: 20 * time.Second}}
}

func (b *browser) signIn(token string) *page {
	b.Helper()
	return b.get("/signin").submit("/signin", "token", token)
}

// page is an answer.
type page struct {
	*browser
	status int
	url    *url.URL
	header http.Header
	text   string
}

func (b *browser) do(method, target string, form url.Values) *page {
	b.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.Context(), method, b.base+target, body)
	b.must(err)
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := b.http.Do(req)
	b.must(err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	b.must(err)
	return &page{b, res.StatusCode, res.Request.URL, res.Header, string(text)}
}

func (b *browser) get(target string) *page { b.Helper(); return b.do(http.MethodGet, target, nil) }

var (
	formPattern   = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
	hiddenPattern = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// submit sends the page's form for an address, its hidden fields as they stand,
// the others as given: name, value, name, value.
func (p *page) submit(action string, pairs ...string) *page {
	p.Helper()
	return p.submitNth(action, 0, pairs...)
}

// submitNth sends the nth form for an address.
func (p *page) submitNth(action string, nth int, pairs ...string) *page {
	p.Helper()
	for _, f := range formPattern.FindAllStringSubmatch(p.text, -1) {
		if f[1] != action {
			continue
		}
		if nth--; nth >= 0 {
			continue
		}
		form := url.Values{}
		for _, h := range hiddenPattern.FindAllStringSubmatch(f[2], -1) {
			form.Add(unescape(h[1]), unescape(h[2]))
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			form.Add(pairs[i], pairs[i+1])
		}
		return p.do(http.MethodPost, action, form)
	}
	p.Fatalf("the page has no form for %s:\n%s", action, p.text)
	return nil
}

func unescape(s string) string {
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+", "&amp;", "&").Replace(s)
}

// want holds a page to a status and to texts that it must have.
func (p *page) want(status int, texts ...string) *page {
	p.Helper()
	if p.status != status {
		p.Fatalf("%s: status %d, want %d:\n%s", p.url, p.status, status, p.text)
	}
	for _, s := range texts {
		if !strings.Contains(p.text, s) {
			p.Errorf("%s does not have %q:\n%s", p.url, s, p.text)
		}
	}
	return p
}

// lacks holds a page to texts that it must not have.
func (p *page) lacks(texts ...string) *page {
	p.Helper()
	for _, s := range texts {
		if strings.Contains(p.text, s) {
			p.Errorf("%s has %q", p.url, s)
		}
	}
	return p
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
