package mcpgateway

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/onceward/onceward"
)

// Metadata serves the OAuth 2.1 metadata of the protected resource (RFC 9728).
// Without an authorization server it says only that a bearer token is wanted.
func (g *Gateway) Metadata(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		g.opts.Refuse(w, req, onceward.Errorf(onceward.CodeMethodNotAllowed, "this path takes GET, HEAD only"))
		return
	}
	doc := map[string]any{"resource": origin(req) + Path, "resource_name": "Onceward", "bearer_methods_supported": []string{"header"}}
	if o := g.opts.OAuth; o != nil {
		doc["resource"] = o.Resource
		doc["authorization_servers"] = []string{o.Issuer}
		doc["scopes_supported"] = o.Scopes
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(doc)
}

// challenge refuses a request, and says where a token is had (RFC 9728, RFC
// 6750): an error is named only where a token came.
func (g *Gateway) challenge(w http.ResponseWriter, req *http.Request, err error) {
	given := len(req.Header["Authorization"]) > 0
	parts := []string{`Bearer resource_metadata="` + origin(req) + MetadataPath + Path + `"`}
	switch o := g.opts.OAuth; {
	case onceward.Is(err, onceward.CodeUnauthenticated):
		if given {
			parts = append(parts, `error="invalid_token"`)
		}
		if o != nil && len(o.CallerScopes) > 0 {
			parts = append(parts, `scope="`+strings.Join(o.CallerScopes, " ")+`"`)
		}
	case onceward.Is(err, onceward.CodeForbidden) && o != nil:
		parts = append(parts, `error="insufficient_scope"`, `scope="`+strings.Join(o.CallerScopes, " ")+`"`)
	default:
		parts = nil
	}
	if parts != nil {
		w.Header().Set("WWW-Authenticate", strings.Join(parts, ", "))
	}
	g.opts.Refuse(w, req, err)
}

// mayCall refuses, before the protocol has its say, a call by whoever came with
// an access token whose scopes let him call nothing: his client can ask for more.
// Everybody else is told by the tool's result.
func (g *Gateway) mayCall(req *http.Request, who onceward.Principal) error {
	if g.opts.OAuth == nil || who.Issuer != g.opts.OAuth.Issuer || req.Method != http.MethodPost {
		return nil
	}
	refused := onceward.Authorize(who, onceward.ActionSubmit)
	if refused == nil {
		return nil
	}
	body, err := peek(req)
	var m message
	if err == nil && json.Unmarshal(body, &m) == nil && m.Method == "tools/call" && m.Params.Name != StatusTool {
		return refused
	}
	return nil
}

// origin is how the client reached this server. The webserver's guard has
// checked the Host header.
func origin(req *http.Request) string {
	scheme := "http"
	if req.TLS != nil || strings.EqualFold(req.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return scheme + "://" + req.Host
}
