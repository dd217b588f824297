package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/committer"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/worker"
)

// The fixture's tools.
const (
	probed   = "tickets.create"  // can be looked up
	unsafely = "fax.send"        // cannot
	once     = "pages.publish"   // can be looked up, one attempt is its whole budget
	asked    = "payouts.send"    // a person must say yes first
	remotely = "reports.file"    // performed by the caller
	anew     = "drafts.save"     // a retired key may be used anew
	digested = "letters.send"    // keeps no input and no result
	reading  = "contacts.search" // writes nothing
	serially = "rooms.book"      // one at a time per account
)

// world is an API over a ledger in memory, with a clock that moves when told
// and workers stepped by hand.
type world struct {
	testing.TB
	clock    *oncewardtest.Clock
	provider *oncewardtest.Provider
	store    *countingStore
	ledger   *onceward.Ledger
	due      *worker.Due
	api      *API
	log      *bytes.Buffer
	who      *onceward.Principal // nil: the local principal
	denied   error               // what Authenticate says instead
}

func newWorld(t testing.TB, edit ...func(*Options)) *world {
	t.Helper()
	return openWorld(t, func(*onceward.Options) {}, edit...)
}

func openWorld(t testing.TB, ledger func(*onceward.Options), edit ...func(*Options)) *world {
	t.Helper()
	clock := oncewardtest.NewClock()
	w := &world{TB: t, clock: clock, provider: oncewardtest.NewProvider(clock), store: &countingStore{Store: memory.New(memory.Options{Now: clock.Now})}, log: &bytes.Buffer{}}
	tools := fixtureTools()
	registry := onceward.NewRegistry(w.store, func(name onceward.ToolName, _ []byte) (onceward.Tool, error) {
		return nil, onceward.Errorf(onceward.CodeInternal, "no source of %s", name)
	})
	w.must(registry.Activate(t.Context(), tools, false))
	shop, err := contract.SourceCompiler(contract.Options{Secrets: func(string) (string, error) { return hookSecret, nil }})("shop", []byte(shopSource))
	w.must(err)
	w.must(registry.ActivateEventSources(t.Context(), []onceward.EventSource{shop}, false))
	group := committer.New(w.store, committer.Options{Clock: clock})
	o := onceward.Options{Store: w.store, Writer: group, Tools: registry, Provider: w.provider, Clock: clock}
	ledger(&o)
	w.ledger, err = onceward.New(o)
	w.must(err)
	w.must(w.ledger.Start(t.Context()))
	w.due = worker.NewDue(w.ledger, w.store, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		_ = w.ledger.Close(context.Background())
		group.Close()
	})
	opts := Options{Ledger: w.ledger, Log: slog.New(slog.NewTextHandler(w.log, nil)), Now: clock.Now, Authenticate: w.authenticate}
	for _, e := range edit {
		e(&opts)
	}
	w.api, err = New(opts)
	w.must(err)
	return w
}

func (w *world) authenticate(*http.Request) (onceward.Principal, error) {
	if w.denied != nil {
		return onceward.Principal{}, w.denied
	}
	if w.who != nil {
		return *w.who, nil
	}
	return onceward.LocalPrincipal(), nil
}

func fixtureTools() []onceward.Tool {
	write := onceward.EffectProbedWrite
	serial := oncewardtest.NewTool(serially, write)
	serial.SerializeBy = "account"
	return []onceward.Tool{
		oncewardtest.NewTool(probed, write, func(i *onceward.ToolInfo) {
			i.Description, i.InputSchema = "Open a ticket", []byte(`{"type": "object"}`)
		}),
		oncewardtest.NewTool(unsafely, onceward.EffectUnsafeWrite),
		oncewardtest.NewTool(once, write, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 }),
		askingTool{oncewardtest.NewTool(asked, write, func(i *onceward.ToolInfo) { i.Policy.ApprovalExpiry = time.Hour })},
		oncewardtest.NewTool(remotely, write, func(i *onceward.ToolInfo) { i.Policy.RemoteExecutor, i.KeyFromCaller = true, true }),
		oncewardtest.NewTool(anew, write, func(i *onceward.ToolInfo) { i.Policy.KeyReusable = true }),
		oncewardtest.NewTool(digested, write, func(i *onceward.ToolInfo) {
			i.KeepResult, i.Policy.KeepInput = onceward.KeepDigest, onceward.KeepDigest
		}),
		oncewardtest.NewTool(reading, onceward.EffectRead),
		serial,
	}
}

// askingTool asks a person before its first attempt.
type askingTool struct{ *oncewardtest.Tool }

func (t askingTool) Prepare(in *onceward.Intent, g onceward.Generation) (*onceward.Prepared, error) {
	p, err := t.Tool.Prepare(in, g)
	if err == nil {
		p.Approval = true
	}
	return p, err
}

// countingStore counts what the API makes the store do, and can be broken.
type countingStore struct {
	onceward.Store
	mu      sync.Mutex
	loads   int
	commits int
	checks  int
	broken  error
}

func (s *countingStore) count(n *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
	return s.broken
}

func (s *countingStore) breakWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *countingStore) calls() [3]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return [3]int{s.loads, s.commits, s.checks}
}

func (s *countingStore) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	if err := s.count(&s.commits); err != nil {
		return onceward.Commit{}, err
	}
	return s.Store.Commit(ctx, batch)
}

func (s *countingStore) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	if err := s.count(&s.loads); err != nil {
		return nil, err
	}
	return s.Store.Load(ctx, ids)
}

func (s *countingStore) Check(ctx context.Context) error {
	if err := errors.Join(s.count(&s.checks), ctx.Err()); err != nil {
		return err
	}
	return s.Store.Check(ctx)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// reply is a response, its body decoded.
type reply struct {
	testing.TB
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// header is an option of do: name and value.
type header [2]string

// do sends a request and holds the answer to the OpenAPI document.
func (w *world) do(method, target, body string, headers ...header) *reply {
	w.Helper()
	var reader *strings.Reader
	if body != "" {
		reader = strings.NewReader(body)
	} else {
		reader = strings.NewReader("")
	}
	req := httptest.NewRequestWithContext(w.Context(), method, target, reader)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		if h[1] == "" {
			req.Header.Del(h[0])
		} else {
			req.Header.Add(h[0], h[1])
		}
	}
	return w.send(req)
}

func (w *world) send(req *http.Request) *reply {
	w.Helper()
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, req)
	res := rec.Result()
	r := &reply{TB: w.TB, status: res.StatusCode, header: res.Header, raw: rec.Body.String()}
	if req.Method == http.MethodHead {
		return r
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &r.body); err != nil {
		w.Fatalf("%s %s: the answer is no JSON object: %v\n%s", req.Method, req.URL, err, r.raw)
	}
	checkAgainstOpenAPI(w.TB, w.api, req, r)
	return r
}

// post and get are the usual requests.
func (w *world) post(target, body string, headers ...header) *reply {
	w.Helper()
	return w.do(http.MethodPost, target, body, headers...)
}

func (w *world) get(target string) *reply {
	w.Helper()
	return w.do(http.MethodGet, target, "")
}

// submit posts an operation with further members, such as `"wait":"0s"`.
func (w *world) submit(tool, input string, members ...string) *reply {
	w.Helper()
	return w.post("/v1/operations", fmt.Sprintf(`{"tool":%q,"input":%s%s}`, tool, input, strings.Join(append([]string{""}, members...), ",")))
}

// quiet waits until no attempt is running.
func (w *world) quiet() {
	w.due.Wait()
	w.ledger.WaitIdle()
}

// pass moves the clock on and lets the workers do what has come due.
func (w *world) pass(d time.Duration) {
	w.Helper()
	w.clock.Advance(d)
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

// force applies events that no use case of the API has, and stores the result.
func (w *world) force(id string, events ...onceward.Event) {
	w.Helper()
	opID, err := onceward.ParseOperationID(id)
	w.must(err)
	op, err := w.ledger.Get(w.Context(), onceward.LocalPrincipal(), opID, 0)
	w.must(err)
	next := *op
	for _, ev := range events {
		next, _, err = onceward.Apply(next, ev, w.clock.Now())
		w.must(err)
	}
	next.Version, next.Token = op.Version+1, onceward.WriteToken{byte(op.Version + 1), 7}
	c, err := w.store.Commit(w.Context(), []onceward.Change{{Before: op.Version, After: next, Slim: next.Retired && !op.Retired, DueGone: true}})
	w.must(err)
	if !c.Results[0].Applied {
		w.Fatalf("the forced change of %s was not applied: %v", id, c.Results[0].Err)
	}
}

// at follows a path of members and indices, written as "operation.state" or
// "results.0.status"; it fails the test if it leads nowhere.
func (r *reply) at(path string) any {
	r.Helper()
	v, ok := r.find(path)
	if !ok {
		r.Fatalf("the answer has no %s:\n%s", path, r.raw)
	}
	return v
}

func (r *reply) find(path string) (any, bool) {
	var v any = r.body
	for step := range strings.SplitSeq(path, ".") {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func (r *reply) text(path string) string {
	r.Helper()
	s, ok := r.at(path).(string)
	if !ok {
		r.Fatalf("%s is no string:\n%s", path, r.raw)
	}
	return s
}

// want fails the test unless the status and the members are as given, in pairs
// of path and value.
func (r *reply) want(status int, pairs ...any) *reply {
	r.Helper()
	if r.status != status {
		r.Fatalf("status %d, want %d:\n%s", r.status, status, r.raw)
	}
	for i := 0; i < len(pairs); i += 2 {
		if got := r.at(pairs[i].(string)); fmt.Sprint(got) != fmt.Sprint(pairs[i+1]) {
			r.Fatalf("%s is %v, want %v:\n%s", pairs[i], got, pairs[i+1], r.raw)
		}
	}
	return r
}

// lacks fails the test if the answer has one of the members.
func (r *reply) lacks(paths ...string) *reply {
	r.Helper()
	for _, p := range paths {
		if v, ok := r.find(p); ok {
			r.Errorf("the answer has %s = %v:\n%s", p, v, r.raw)
		}
	}
	return r
}

// document compiles schemas of the served OpenAPI document.
var document = sync.OnceValue(func() *jsonschema.Compiler {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenAPI()))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", doc); err != nil {
		panic(err)
	}
	return c
})

var documentMu sync.Mutex

// schemaAt compiles the schema at a JSON pointer of the document; nil if there is none.
func schemaAt(steps ...string) (*jsonschema.Schema, error) {
	documentMu.Lock()
	defer documentMu.Unlock()
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	pointer := ""
	for _, s := range steps {
		pointer += "/" + escape.Replace(s)
	}
	return document().Compile("openapi.json#" + pointer)
}

// checkAgainstOpenAPI holds an answer to what the document says of its route.
func checkAgainstOpenAPI(t testing.TB, api *API, req *http.Request, r *reply) {
	t.Helper()
	mediaType := r.header.Get("Content-Type")
	if cc := r.header.Get("Cache-Control"); cc != "no-store" && req.URL.Path != "/openapi.json" {
		t.Errorf("%s %s: Cache-Control is %q", req.Method, req.URL, cc)
	}
	if got := r.header.Get("X-Content-Type-Options"); got != "nosniff" && req.URL.Path != "/openapi.json" {
		t.Errorf("%s %s: X-Content-Type-Options is %q", req.Method, req.URL, got)
	}
	_, pattern := api.mux.Handler(req)
	method, path, found := strings.Cut(pattern, " ")
	var schema *jsonschema.Schema
	err := fmt.Errorf("no route")
	if found {
		schema, err = schemaAt("paths", path, strings.ToLower(method), "responses", fmt.Sprint(r.status), "content", mediaType, "schema")
	}
	if _, raw := schemaAt("paths", path, strings.ToLower(method), "responses", fmt.Sprint(r.status), "content", "*/*", "schema"); found && raw == nil {
		return // bytes of any kind
	}
	if err != nil && mediaType == mediaProblem && r.status >= 400 {
		schema, err = schemaAt("components", "schemas", "Problem")
	}
	if err != nil {
		t.Fatalf("%s %s answers %d %s, which the OpenAPI document does not have: %v\n%s", req.Method, req.URL, r.status, mediaType, err, r.raw)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(r.raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s %s answers %d with a body that breaks the OpenAPI document: %v\n%s", req.Method, req.URL, r.status, err, r.raw)
	}
	if mediaType == mediaProblem && r.body["status"] != float64(r.status) {
		t.Errorf("the problem says status %v, the answer has %d", r.body["status"], r.status)
	}
}
