package auth_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/testoidc"
)

// resource is the one that tokens of the tests are for.
const resource = "https://onceward.example/mcp"

// authorizationServer signs tokens for the resource with keys that it publishes.
type authorizationServer struct {
	testing.TB
	*testoidc.Signer
}

func newAuthorizationServer(t testing.TB, metadata string) *authorizationServer {
	t.Helper()
	return &authorizationServer{t, testoidc.NewSigner(t, metadata)}
}

// token signs claims.
func (s *authorizationServer) token(header string, claims map[string]any) string {
	s.Helper()
	all := map[string]any{"iss": s.URL, "sub": "ada", "aud": resource, "exp": time.Now().Add(time.Hour).Unix(), "scope": "profile tickets.write"}
	maps.Copy(all, claims)
	return s.Sign(header, all)
}

// takes is what is made of a bearer, beside the tokens of a site.
func (s *authorizationServer) takes(conf auth.Access) func(bearer string) (onceward.Principal, error) {
	s.Helper()
	a, err := auth.NewAccessTokens(conf)
	if err != nil {
		s.Fatal(err)
	}
	who := a.Authenticate(func(*http.Request) (onceward.Principal, error) { return onceward.LocalPrincipal(), nil })
	ctx := s.Context()
	return func(bearer string) (onceward.Principal, error) {
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://onceward.example/mcp", nil)
		req.Header.Set("Authorization", "Bearer "+bearer)
		return who(req)
	}
}

func (s *authorizationServer) conf() auth.Access {
	return auth.Access{Issuer: s.URL, Resource: resource, Scopes: map[string][]onceward.Role{"tickets.write": {"caller"}, "tickets.audit": {"auditor"}}, Claims: auth.Claims{Tenant: "acme"}}
}

func TestAccessTokenForThisResourceIsItsSubjects(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"OpenID Connect's metadata": testoidc.OpenIDMetadata, "OAuth's metadata": testoidc.OAuthMetadata} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAuthorizationServer(t, path)
			takes := s.takes(s.conf())
			first, err := takes(s.token(testoidc.AccessToken, nil))
			if err != nil || first.Tenant != "acme" || first.Issuer != s.URL || first.Subject != "ada" || fmt.Sprint(first.Roles) != "[caller]" {
				t.Fatalf("%+v, %v", first, err)
			}
			refreshed, err := takes(s.token(testoidc.AccessToken, map[string]any{"jti": "2", "iat": time.Now().Unix(), "aud": []string{"https://other.example", resource}, "scope": "", "scp": []string{"tickets.write", "tickets.audit"}}))
			if err != nil || refreshed.String() != first.String() || fmt.Sprint(refreshed.Roles) != "[caller auditor]" {
				t.Errorf("the refreshed token is %+v's, %v", refreshed, err)
			}
			if other, err := takes("ow_1_2"); err != nil || other.Issuer != onceward.LocalPrincipal().Issuer {
				t.Errorf("a token of ours is %+v's, %v", other, err)
			}
		})
	}
}

func TestAccessTokenThatIsNotForUsIsRefused(t *testing.T) {
	t.Parallel()
	s := newAuthorizationServer(t, testoidc.OpenIDMetadata)
	stranger := newAuthorizationServer(t, testoidc.OpenIDMetadata)
	takes := s.takes(s.conf())
	good := s.token(testoidc.AccessToken, nil)
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"for another resource":     s.token(testoidc.AccessToken, map[string]any{"aud": "https://other.example/mcp"}),
		"for nobody in particular": s.token(testoidc.AccessToken, map[string]any{"aud": nil}),
		"over":                     s.token(testoidc.AccessToken, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}),
		"without an end":           s.token(testoidc.AccessToken, map[string]any{"exp": nil}),
		"of another issuer":        s.token(testoidc.AccessToken, map[string]any{"iss": "https://idp.example"}),
		"signed by a stranger":     stranger.token(testoidc.AccessToken, map[string]any{"iss": s.URL}),
		"unsigned":                 base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"with a shared secret":     s.token(`{"alg":"HS256","kid":"k"}`, nil),
		"changed":                  parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+s.URL+`","sub":"root","aud":"`+resource+`","exp":9999999999,"scope":"tickets.write"}`)) + "." + parts[2],
		"of another type":          s.token(`{"alg":"RS256","kid":"k","typ":"logout+jwt"}`, nil),
		"without a subject":        s.token(testoidc.AccessToken, map[string]any{"sub": ""}),
		"no JSON":                  "a.b.c",
	} {
		if p, err := takes(token); !onceward.Is(err, onceward.CodeUnauthenticated) {
			t.Errorf("a token %s is taken for %+v, %v", name, p, err)
		}
	}
	for name, token := range map[string]string{
		"no scope":           s.token(testoidc.AccessToken, map[string]any{"scope": nil}),
		"a scope in another": s.token(testoidc.AccessToken, map[string]any{"scope": "tickets.writer xtickets.write"}),
	} {
		if p, err := takes(token); !onceward.Is(err, onceward.CodeForbidden) {
			t.Errorf("a token with %s is taken for %+v, %v", name, p, err)
		}
	}
	if _, err := takes(good); err != nil {
		t.Error(err)
	}
}

func TestAuthorizationServerThatIsAwayOrAnotherLetsNobodyIn(t *testing.T) {
	t.Parallel()
	s := newAuthorizationServer(t, testoidc.OpenIDMetadata)
	conf := s.conf()
	conf.Issuer = strings.Replace(s.URL, "127.0.0.1", "localhost", 1) // its metadata names another issuer
	if _, err := s.takes(conf)(s.token(testoidc.AccessToken, map[string]any{"iss": conf.Issuer})); !onceward.Is(err, onceward.CodeProviderUnreachable) {
		t.Errorf("metadata of another issuer: %v", err)
	}
	conf.Issuer = "http://127.0.0.1:1"
	if _, err := s.takes(conf)(s.token(testoidc.AccessToken, nil)); !onceward.Is(err, onceward.CodeProviderUnreachable) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestConfigurationOfAccessTokensThatOpensTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*auth.Access){
		"issuer in clear":     func(a *auth.Access) { a.Issuer = "http://idp.example" },
		"no resource":         func(a *auth.Access) { a.Resource = "" },
		"no scope":            func(a *auth.Access) { a.Scopes = nil },
		"a role that is none": func(a *auth.Access) { a.Scopes = map[string][]onceward.Role{"x": {"root"}} },
		"two scopes in one":   func(a *auth.Access) { a.Scopes = map[string][]onceward.Role{"x y": {"caller"}} },
		"no tenant":           func(a *auth.Access) { a.Claims.Tenant = "" },
	} {
		conf := auth.Access{Issuer: "https://idp.example", Resource: resource, Scopes: map[string][]onceward.Role{"x": {"caller"}}, Claims: auth.Claims{Tenant: "acme"}}
		edit(&conf)
		if _, err := auth.NewAccessTokens(conf); !onceward.Is(err, onceward.CodeConfigInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
