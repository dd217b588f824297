package mcpgateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// Limits and times of the gateway.
const (
	// DefaultAnswerWithin is how long a call waits for its end before it is
	// answered that it goes on. Clients of the TypeScript SDK give up after 60 s.
	DefaultAnswerWithin = 45 * time.Second
	// DefaultProgressEvery is how often a caller that asked for progress hears.
	DefaultProgressEvery = 5 * time.Second
	// SessionTimeout ends a session of the older era that nobody uses.
	SessionTimeout = 4 * time.Hour
	// BodyBytesMax is the longest message that is read.
	BodyBytesMax = 4 << 20
	// ListTTL is how long a client of the stateless era may keep a list of tools.
	ListTTL = 30 * time.Second
)

// Options make a Gateway. Ledger is needed.
type Options struct {
	Ledger *onceward.Ledger
	// Authenticate says who sends an HTTP request; nil: everybody is the implicit
	// local principal, which is for loopback addresses only.
	Authenticate func(*http.Request) (onceward.Principal, error)
	// Refuse answers a request that reaches no MCP handler; nil: http.Error.
	Refuse        func(http.ResponseWriter, *http.Request, error)
	Log           *slog.Logger  // nil: discards
	Version       string        // of this program, as clients are told
	AnswerWithin  time.Duration // 0: DefaultAnswerWithin; at most onceward.MaxWait
	ProgressEvery time.Duration // 0: DefaultProgressEvery
	// OAuth says whose access tokens Authenticate takes; nil: nobody's. The
	// metadata of the protected resource, and challenges, say it to clients.
	OAuth     *OAuth
	Upstreams Upstreams // MCP servers behind this one; nil: none
	// Onward sends what is relayed to servers on HTTP; needed with Upstreams.
	Onward Onward
	// Trusts says of whose clients an answer to a question counts as a person's;
	// nil: of nobody's, so that approvals are asked for out of band.
	Trusts func(onceward.Principal) bool
}

// Onward sends a request with credentials of ours. It follows no redirect, keeps
// the rules of egress, and hands back no credential that an answer echoes. The
// caller closes the answer's body.
type Onward interface {
	Do(req *http.Request, ours []onceward.HeaderField) (*http.Response, error)
}

// OAuth is what clients are told of where to get a token.
type OAuth struct {
	Issuer       string   // of the authorization server
	Resource     string   // this one, as tokens have to name it
	Scopes       []string // that bring a role
	CallerScopes []string // of these, those that let call
}

// Gateway serves tools. It is safe for concurrent use.
type Gateway struct {
	opts   Options
	ledger *onceward.Ledger
	log    *slog.Logger
	mcp    *mcp.Server
	http   http.Handler
	seal   [32]byte // of sessions that are relayed, and of questions
	asked  questions
	lists  *Lists
}

// New makes a gateway. CodeConfigInvalid: an option is missing or out of range.
func New(opts Options) (*Gateway, error) {
	opts.AnswerWithin = cmp.Or(opts.AnswerWithin, DefaultAnswerWithin)
	opts.ProgressEvery = cmp.Or(opts.ProgressEvery, DefaultProgressEvery)
	switch {
	case opts.Ledger == nil:
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "an MCP gateway needs a ledger")
	case opts.Upstreams != nil && opts.Onward == nil:
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "an MCP gateway before other servers needs a way to send to them")
	case opts.AnswerWithin < 0 || opts.AnswerWithin > onceward.MaxWait:
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "calls cannot be answered within %s: it is at most %s", opts.AnswerWithin, onceward.MaxWait)
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Refuse == nil {
		opts.Refuse = func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}
	if opts.Authenticate == nil {
		opts.Authenticate = func(*http.Request) (onceward.Principal, error) { return onceward.LocalPrincipal(), nil }
	}
	g := &Gateway{opts: opts, ledger: opts.Ledger, log: opts.Log}
	rand.Read(g.seal[:]) // never fails (crypto/rand)
	g.mcp = mcp.NewServer(&mcp.Implementation{Name: "onceward", Title: "Onceward", Version: cmp.Or(opts.Version, "devel")}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}, Extensions: map[string]any{tasksExtension: map[string]any{}}},
	})
	if err := g.allowTasks(); err != nil {
		return nil, onceward.Errorf(onceward.CodeInternal, "the SDK takes no methods about tasks: %v", err)
	}
	g.mcp.AddReceivingMiddleware(g.intercept)
	g.http = g.handler()
	g.lists = &Lists{gateway: g, look: make(chan struct{}, 1)}
	return g, nil
}

// instructions tell a model how to read the answers.
const instructions = "Each write is done once, however often it is asked for: repeating a call with the same meaning gets the first one's answer. " +
	"An answer that says that something may have happened or still runs is not a failure: do not try another way, ask " + StatusTool + " for the operation that it names."

// intercept answers the methods of tools. Everything else is the SDK's.
func (g *Gateway) intercept(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			return g.listTools(ctx, r)
		case *mcp.CallToolRequest:
			return g.callTool(ctx, r)
		case *taskRequest:
			return g.aboutTask(ctx, method, r)
		}
		return next(ctx, method, req)
	}
}
