package mcpgateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
	"github.com/onceward/onceward/worker"
)

// The fixture's tools.
const (
	tickets  = "tickets.create"  // its key is the member id
	letters  = "letters.send"    // has no key rule; its volatile member is text
	payouts  = "payouts.send"    // a person must say yes first
	contacts = "contacts.search" // writes nothing
	faxes    = "fax.send"        // cannot be looked up
)

// world is a gateway over a ledger in memory.
type world struct {
	testing.TB
	provider *oncewardtest.Provider
	store    onceward.Store
	registry *onceward.Registry
	ledger   *onceward.Ledger
	gateway  *Gateway
	server   *httptest.Server
	restart  func() // a new ledger, client and gateway over the same store; nil in most worlds
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// bearers are the principals that the fixture knows by their token.
var bearers = map[string]onceward.Principal{
	"":     onceward.LocalPrincipal(),
	"ada":  {Tenant: "default", Issuer: "token", Subject: "ada", Roles: []onceward.Role{onceward.RoleCaller}},
	"ben":  {Tenant: "default", Issuer: "token", Subject: "ben", Roles: []onceward.Role{onceward.RoleCaller}},
	"slim": {Tenant: "default", Issuer: "token", Subject: "slim", Roles: []onceward.Role{onceward.RoleCaller}, Tools: []onceward.ToolName{contacts}},
}

func newWorld(t testing.TB, edit ...func(*Options)) *world {
	t.Helper()
	clock := onceward.SystemClock{}
	w := &world{TB: t, provider: oncewardtest.NewProvider(clock)}
	store := memory.New(memory.Options{})
	w.store = store
	w.registry = onceward.NewRegistry(store, nil)
	asking := oncewardtest.NewTool(payouts, onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.ApprovalExpiry = time.Hour })
	asking.NeedsApproval = true
	w.must(w.registry.Activate(t.Context(), []onceward.Tool{
		oncewardtest.NewTool(tickets, onceward.EffectProbedWrite, func(i *onceward.ToolInfo) {
			i.Description, i.KeyRule = "Open a ticket", `["input.id"]`
			i.InputSchema = []byte(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"amount":{"type":"number"},"text":{"type":"string"}}}`)
		}),
		oncewardtest.NewTool(letters, onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.KeyFromCaller = true }),
		oncewardtest.NewTool(faxes, onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.KeyRule = `["input.id"]` }),
		oncewardtest.NewTool(contacts, onceward.EffectRead),
		asking,
	}, false))
	var err error
	w.ledger, err = onceward.New(onceward.Options{Store: store, Tools: w.registry, Provider: w.provider})
	w.must(err)
	w.must(w.ledger.Start(t.Context()))
	opts := Options{Ledger: w.ledger, Authenticate: func(req *http.Request) (onceward.Principal, error) {
		who, ok := bearers[strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")]
		if !ok {
			return who, onceward.Errorf(onceward.CodeUnauthenticated, "nobody")
		}
		return who, nil
	}}
	for _, e := range edit {
		e(&opts)
	}
	w.gateway, err = New(opts)
	w.must(err)
	mux := http.NewServeMux()
	mux.Handle(Path, w.gateway)
	mux.HandleFunc(MetadataPath+Path, w.gateway.Metadata)
	w.server = httptest.NewServer(mux)
	t.Cleanup(func() { w.server.CloseClientConnections(); w.server.Close(); _ = w.ledger.Close(context.Background()) })
	return w
}

// activate puts more contracts in force.
func (w *world) activate(more ...onceward.Tool) {
	w.Helper()
	w.must(w.registry.Activate(w.Context(), append(w.registry.All(), more...), false))
}

// work runs the loop that goes on with what is due, until the test ends or stop
// is called.
func (w *world) work() (stopped func()) {
	log := slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	due := worker.NewDue(w.ledger, w.store, log)
	wait := worker.Start(ctx, onceward.SystemClock{}, log, due)
	stopped = sync.OnceFunc(func() { stop(); wait(); due.Wait() })
	w.Cleanup(stopped)
	return stopped
}

// settled waits until an operation is as the condition says.
func (w *world) settled(id string, is func(*onceward.Operation) bool) *onceward.Operation {
	w.Helper()
	op, err := onceward.ParseOperationID(id)
	w.must(err)
	for until := time.Now().Add(20 * time.Second); ; {
		got, err := w.ledger.Get(w.Context(), onceward.LocalPrincipal(), op, 100*time.Millisecond)
		w.must(err)
		if is(got) {
			return got
		}
		if time.Now().After(until) {
			w.Fatalf("the operation stays %s: %+v", got.State, got.Failure)
		}
	}
}

// eras are the protocol versions that clients speak.
var eras = map[string]string{"with sessions": "2025-11-25", "stateless": "2026-07-28"}

// headers adds header fields to each request of a client.
type headers map[string]string

func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range h {
		req.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(req)
}

// client connects a client of the SDK, which speaks the version, or falls back.
func (w *world) client(version string, h headers, edit ...func(*mcp.ClientOptions)) *mcp.ClientSession {
	w.Helper()
	opts := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	for _, e := range edit {
		e(opts)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	s, err := c.Connect(w.Context(), &mcp.StreamableClientTransport{Endpoint: w.server.URL + Path, HTTPClient: &http.Client{Transport: h}, DisableStandaloneSSE: true, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	w.must(err)
	w.Cleanup(func() { _ = s.Close() })
	if got := s.InitializeResult().ProtocolVersion; got != version {
		w.Fatalf("the session speaks %s, want %s", got, version)
	}
	return s
}

// call calls a tool; meta may be nil.
func (w *world) call(s *mcp.ClientSession, tool, arguments string, meta mcp.Meta) *mcp.CallToolResult {
	w.Helper()
	res, err := s.CallTool(w.Context(), &mcp.CallToolParams{Meta: meta, Name: tool, Arguments: json.RawMessage(arguments)})
	w.must(err)
	return res
}

// text is everything that a model would read.
func text(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// mark is what _meta says of the operation.
func mark(t testing.TB, res *mcp.CallToolResult) map[string]any {
	t.Helper()
	m, ok := res.Meta[MetaPrefix+"operation"].(map[string]any)
	if !ok {
		t.Fatalf("no word about the operation in %v", res.Meta)
	}
	return m
}
