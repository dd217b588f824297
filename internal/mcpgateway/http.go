package mcpgateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// Paths of the gateway.
const (
	Path         = "/mcp"
	MetadataPath = "/.well-known/oauth-protected-resource"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	versionModern = "2026-07-28" // from here on there are no sessions
	metaVersion   = "io.modelcontextprotocol/protocolVersion"
)

// whoKey is the principal in the context of a request.
type whoKey struct{}

// tokenWho is the principal in what the SDK hands to handlers.
const (
	tokenWho   = "onceward"
	tokenScope = "onceward scope"
)

// scopeKey is, in the context of a request, the server whose tools alone it is about.
type scopeKey struct{}

func scopeIn(ctx context.Context) string {
	scope, _ := ctx.Value(scopeKey{}).(string)
	return scope
}

// handler builds the way of an HTTP request: who asks, which era, the SDK.
//
// Why two handlers: one that keeps no sessions cannot ask a client of the older
// era anything, and one that keeps them does not speak the newer one.
func (g *Gateway) handler() http.Handler {
	server := func(*http.Request) *mcp.Server { return g.mcp }
	opts := func(stateless bool) *mcp.StreamableHTTPOptions {
		return &mcp.StreamableHTTPOptions{Stateless: stateless, SessionTimeout: SessionTimeout, MaxRequestBodyBytes: BodyBytesMax, PropagateRequestCancellation: stateless,
			DisableLocalhostProtection: true} // the webserver's guard checks Host and Origin
	}
	legacy, modern := mcp.NewStreamableHTTPHandler(server, opts(false)), mcp.NewStreamableHTTPHandler(server, opts(true))
	eras := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if isModern(req) {
			modern.ServeHTTP(w, req)
			return
		}
		legacy.ServeHTTP(w, req)
	})
	// Why a token of our own: the SDK binds a session to whom it knows by its
	// token, and hands that to handlers. The caller's own is never passed on.
	known := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		who, ok := ctx.Value(whoKey{}).(onceward.Principal)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: string(who.Tenant) + " " + who.String(), Expiration: time.Now().Add(time.Hour), Extra: map[string]any{tokenWho: who, tokenScope: ctx.Value(scopeKey{})}}, nil
	}, nil)
	return known(eras)
}

// ServeHTTP implements http.Handler for Path, and for the paths of servers below it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	who, err := g.opts.Authenticate(req)
	if err != nil {
		g.challenge(w, req, err)
		return
	}
	if err := g.mayCall(req, who); err != nil {
		g.challenge(w, req, err)
		return
	}
	// A stream lasts as long as its client wants; a body is bounded in time by the server.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		g.opts.Refuse(w, req, onceward.Errorf(onceward.CodeInternal, "the connection takes no deadline"))
		return
	}
	ctx := context.WithValue(req.Context(), whoKey{}, who)
	if server, below := strings.CutPrefix(req.URL.Path, Path+"/"); below {
		u := g.server(server)
		if u == nil {
			g.opts.Refuse(w, req, onceward.Errorf(onceward.CodeRouteNotFound, "no MCP server of this name is behind this one"))
			return
		}
		if u.URL != "" {
			g.relay(w, req, who, u)
			return
		}
		ctx = context.WithValue(ctx, scopeKey{}, u.Name)
	}
	if id, err := g.agrees(req, who, scopeIn(ctx)); err != nil {
		reply(w, http.StatusBadRequest, refusalOf(id, err))
		return
	}
	clean := req.Clone(ctx)
	clean.Header.Del("Cookie")
	clean.Header.Set("Authorization", "Bearer known")
	g.http.ServeHTTP(w, clean)
}

// isModern tells the era by how the client opens: by the version header, and
// where that is missing by the body, which is put back.
func isModern(req *http.Request) bool {
	if v := req.Header.Get(versionHeader); v != "" {
		return v >= versionModern
	}
	if req.Method != http.MethodPost || req.Header.Get("Mcp-Session-Id") != "" {
		return false
	}
	head, err := peek(req)
	return err == nil && bytes.Contains(head, []byte(`"`+metaVersion+`"`))
}

// peek reads a request's body, as far as one may be long, and puts it back.
func peek(req *http.Request) ([]byte, error) {
	head, err := io.ReadAll(io.LimitReader(req.Body, BodyBytesMax+1))
	rest := io.Reader(req.Body)
	if err != nil {
		rest = failing{err}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), req.Body}
	return head, err
}

// failing is a reader that has nothing but an error.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
