package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/onceward/onceward"
)

// accessTokenBytesMax is the longest access token that is looked at.
const accessTokenBytesMax = 16 << 10

// signingAlgs are the signatures that access tokens may have: none of a shared
// secret, which whoever verifies could make.
var signingAlgs = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// Access says whose access tokens are taken, and what they mean here (OAuth 2.1:
// this server is the resource server).
type Access struct {
	Issuer string // of the authorization server: https, or loopback
	// Resource is this resource as clients name it (RFC 8707). A token that was
	// not made for it is refused, so that one for another server is of no use here.
	Resource string
	// Scopes are the roles that a scope brings. Nobody gets a role that no scope of
	// the token, and no value of Claims.RolesClaim, brings.
	Scopes map[string][]onceward.Role
	Claims Claims       // tenant and groups; RolesClaim and Roles may be empty
	Log    *slog.Logger // nil discards
	HTTP   *http.Client // nil: one with limits
}

// AccessTokens takes access tokens of one authorization server: JWTs, verified by
// its metadata and keys. It is safe for concurrent use.
type AccessTokens struct {
	conf   Access
	client *http.Client

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier // nil until the keys were found
}

// NewAccessTokens checks the configuration (CodeConfigInvalid). The authorization
// server is asked for its keys at the first token.
func NewAccessTokens(conf Access) (*AccessTokens, error) {
	invalid := func(format string, args ...any) error {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "configure oauth", Message: fmt.Sprintf(format, args...), Hint: "docs/operating/mcp.md has an example"}
	}
	switch {
	case !trusted(conf.Issuer):
		return nil, invalid("issuer is not an https:// address")
	case !trusted(conf.Resource):
		return nil, invalid("resource is not an https:// address: it is that of /mcp, as clients reach it")
	case len(conf.Scopes) == 0:
		return nil, invalid("scopes say which scope brings which role; without them no token would be of use")
	}
	for scope, roles := range conf.Scopes {
		if scope == "" || strings.ContainsAny(scope, " \"\\\t\r\n") {
			return nil, invalid("%q is no scope", scope)
		}
		for _, r := range roles {
			if _, err := onceward.ParseRole(string(r)); err != nil {
				return nil, invalid("scopes: %s is given %q, which is no role", scope, r)
			}
		}
	}
	if err := conf.Claims.checkTenant(); err != nil {
		return nil, err
	}
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	a := &AccessTokens{conf: conf, client: conf.HTTP}
	if a.client == nil {
		a.client = &http.Client{Timeout: providerTimeout, Transport: bounded{http.DefaultTransport}}
	}
	return a, nil
}

// Issuer is the authorization server's.
func (a *AccessTokens) Issuer() string { return a.conf.Issuer }

// Resource is this resource, as tokens have to name it.
func (a *AccessTokens) Resource() string { return a.conf.Resource }

// Scopes are those that bring a role, in order.
func (a *AccessTokens) Scopes() []string { return a.scopesOf("") }

// ScopesFor are those that bring a role.
func (a *AccessTokens) ScopesFor(r onceward.Role) []string { return a.scopesOf(r) }

func (a *AccessTokens) scopesOf(r onceward.Role) []string {
	var out []string
	for scope, roles := range a.conf.Scopes {
		if r == "" || slices.Contains(roles, r) {
			out = append(out, scope)
		}
	}
	slices.Sort(out)
	return out
}

// Authenticate puts access tokens beside what else is known: a bearer that is a
// JWT is judged here alone, everything else by next.
func (a *AccessTokens) Authenticate(next func(*http.Request) (onceward.Principal, error)) func(*http.Request) (onceward.Principal, error) {
	return func(req *http.Request) (onceward.Principal, error) {
		lines := req.Header["Authorization"]
		if len(lines) != 1 || !isJWT(lines[0]) {
			return next(req)
		}
		_, token, _ := strings.Cut(lines[0], " ")
		return a.principal(req.Context(), strings.TrimLeft(token, " "))
	}
}

// isJWT tells an access token from a token of ours, which has no dot.
func isJWT(line string) bool {
	scheme, token, ok := strings.Cut(line, " ")
	return ok && strings.EqualFold(scheme, "Bearer") && strings.Count(token, ".") == 2
}

// principal is whom a token speaks of: issuer and subject, so that a token that
// was refreshed is the same principal's.
func (a *AccessTokens) principal(ctx context.Context, token string) (onceward.Principal, error) {
	nobody := func(why string) (onceward.Principal, error) {
		return onceward.Principal{}, refuse(why, "ask the authorization server for a token for "+a.conf.Resource)
	}
	if len(token) > accessTokenBytesMax || !accessType(token) {
		return nobody("the bearer is no access token")
	}
	v, err := a.find(ctx)
	if err != nil {
		return onceward.Principal{}, err
	}
	read, err := v.Verify(oidc.ClientContext(ctx, a.client), token)
	if err != nil {
		a.conf.Log.Warn("access token refused", "issuer", a.conf.Issuer, "error", limited(err.Error()))
		return nobody("the access token does not hold: it is not of this server's issuer, not for this resource, over, or not signed by the issuer")
	}
	var claims map[string]any
	if err := read.Claims(&claims); err != nil || read.Subject == "" || len(read.Subject) > onceward.SubjectBytesMax {
		return nobody("the access token names no subject")
	}
	p, _, err := a.conf.Claims.principal(a.conf.Issuer, read.Subject, claims)
	if err != nil {
		return onceward.Principal{}, err
	}
	p.Roles = a.roles(p.Roles, claims)
	if len(p.Roles) == 0 {
		return onceward.Principal{}, &onceward.Error{Code: onceward.CodeForbidden, Op: "authenticate", Message: "the access token has no scope that brings a role here",
			Hint: "ask for one of the scopes " + strings.Join(a.Scopes(), ", ")}
	}
	return p, nil
}

// roles adds what the scopes bring, in the order of the roles.
func (a *AccessTokens) roles(by []onceward.Role, claims map[string]any) []onceward.Role {
	given := map[onceward.Role]bool{}
	for _, r := range by {
		given[r] = true
	}
	for _, claim := range []string{"scope", "scp"} { // RFC 9068; what some servers call it
		for _, text := range texts(claims[claim]) {
			for scope := range strings.FieldsSeq(text) {
				for _, r := range a.conf.Scopes[scope] {
					given[r] = true
				}
			}
		}
	}
	var out []onceward.Role
	for _, r := range onceward.AllRoles {
		if given[r] {
			out = append(out, r)
		}
	}
	return out
}

// accessType reports whether a JWT calls itself an access token, or says nothing
// of it (RFC 9068 wants at+jwt, and many servers write JWT).
func accessType(token string) bool {
	head, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(head)
	var h struct {
		Type string `json:"typ"`
	}
	if err != nil || json.Unmarshal(raw, &h) != nil {
		return false
	}
	switch strings.TrimPrefix(strings.ToLower(h.Type), "application/") {
	case "", "jwt", "at+jwt":
		return true
	}
	return false
}

// find asks the issuer for its keys, once: by OpenID Connect's metadata, else by
// OAuth's (RFC 8414).
func (a *AccessTokens) find(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.verifier != nil {
		return a.verifier, nil
	}
	var err error
	for _, address := range metadataAddresses(a.conf.Issuer) {
		var keys string
		if keys, err = a.keysAt(ctx, address); err == nil {
			// Why without cancellation: the key set keeps the context.
			set := oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), a.client), keys)
			a.verifier = oidc.NewVerifier(a.conf.Issuer, set, &oidc.Config{ClientID: a.conf.Resource, SupportedSigningAlgs: signingAlgs})
			return a.verifier, nil
		}
	}
	a.conf.Log.Error("authorization server not found", "issuer", a.conf.Issuer, "error", limited(err.Error()))
	return nil, &onceward.Error{Code: onceward.CodeProviderUnreachable, Op: "authenticate", Message: "the authorization server cannot be reached", Hint: "try again; the server's log has the reason"}
}

// metadataAddresses are where an issuer's metadata may stand.
func metadataAddresses(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	path := strings.TrimSuffix(u.Path, "/")
	root := *u
	root.Path = ""
	return []string{
		strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration",
		root.String() + "/.well-known/oauth-authorization-server" + path,
		root.String() + "/.well-known/openid-configuration" + path,
	}
}

// keysAt reads the address of the keys from metadata that is the issuer's own.
func (a *AccessTokens) keysAt(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), providerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", fmt.Errorf("ask for metadata: %w", err)
	}
	res, err := a.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask for metadata: %w", err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
	if err != nil || res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("metadata at %s: %s", address, res.Status)
	}
	var doc struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return "", fmt.Errorf("metadata at %s is no JSON", address)
	}
	if doc.Issuer != a.conf.Issuer || !trusted(doc.Keys) {
		return "", fmt.Errorf("metadata at %s is another issuer's, or names no https:// address of keys", address)
	}
	return doc.Keys, nil
}
