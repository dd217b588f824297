package auth_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/auth"
)

// resource is the one that tokens of the tests are for.
const resource = "https://onceward.example/mcp"

// authorizationServer signs tokens with keys that it publishes.
type authorizationServer struct {
	testing.TB
	key    *rsa.PrivateKey
	issuer string
}

// newAuthorizationServer publishes its metadata at one path alone.
func newAuthorizationServer(t testing.TB, metadata string) *authorizationServer {
	t.Helper()
	s := &authorizationServer{TB: t}
	var err error
	if s.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case metadata:
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": s.issuer, "jwks_uri": s.issuer + "/keys"})
		case strings.TrimPrefix(s.issuer, "http://"+req.Host) + "/keys":
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k",
				"n": base64.RawURLEncoding.EncodeToString(s.key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(s.key.E)).Bytes())}}})
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(srv.Close)
	s.issuer = srv.URL
	return s
}

// token signs claims.
func (s *authorizationServer) token(header string, claims map[string]any) string {
	s.Helper()
	all := map[string]any{"iss": s.issuer, "sub": "ada", "aud": resource, "exp": time.Now().Add(time.Hour).Unix(), "scope": "profile tickets.write"}
	maps.Copy(all, claims)
	body, err := json.Marshal(all)
	if err != nil {
		s.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		s.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}

const plainHeader = `{"alg":"RS256","kid":"k","typ":"at+jwt"}`

// takes is what is made of a bearer, beside the tokens of a site.
func (s *authorizationServer) takes(conf auth.Access) func(bearer string) (onceward.Principal, error) {
	s.Helper()
	a, err := auth.NewAccessTokens(conf)
	if err != nil {
		s.Fatal(err)
	}
	who := a.Authenticate(func(*http.Request) (onceward.Principal, error) { return onceward.LocalPrincipal(), nil })
	return func(bearer string) (onceward.Principal, error) {
		req := httptest.NewRequestWithContext(s.Context(), http.MethodPost, "http://onceward.example/mcp", nil)
		req.Header.Set("Authorization", "Bearer "+bearer)
		return who(req)
	}
}

func (s *authorizationServer) conf() auth.Access {
	return auth.Access{Issuer: s.issuer, Resource: resource, Scopes: map[string][]onceward.Role{"tickets.write": {"caller"}, "tickets.audit": {"auditor"}}, Claims: auth.Claims{Tenant: "acme"}}
}

func TestAccessTokenForThisResourceIsItsSubjects(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"OpenID Connect's metadata": "/.well-known/openid-configuration", "OAuth's metadata": "/.well-known/oauth-authorization-server"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAuthorizationServer(t, path)
			takes := s.takes(s.conf())
			first, err := takes(s.token(plainHeader, nil))
			if err != nil || first.Tenant != "acme" || first.Issuer != s.issuer || first.Subject != "ada" || fmt.Sprint(first.Roles) != "[caller]" {
				t.Fatalf("%+v, %v", first, err)
			}
			refreshed, err := takes(s.token(plainHeader, map[string]any{"jti": "2", "iat": time.Now().Unix(), "aud": []string{"https://other.example", resource}, "scope": "", "scp": []string{"tickets.write", "tickets.audit"}}))
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
	s := newAuthorizationServer(t, "/.well-known/openid-configuration")
	stranger := newAuthorizationServer(t, "/.well-known/openid-configuration")
	takes := s.takes(s.conf())
	good := s.token(plainHeader, nil)
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"for another resource":     s.token(plainHeader, map[string]any{"aud": "https://other.example/mcp"}),
		"for nobody in particular": s.token(plainHeader, map[string]any{"aud": nil}),
		"over":                     s.token(plainHeader, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}),
		"without an end":           s.token(plainHeader, map[string]any{"exp": nil}),
		"of another issuer":        s.token(plainHeader, map[string]any{"iss": "https://idp.example"}),
		"signed by a stranger":     stranger.token(plainHeader, map[string]any{"iss": s.issuer}),
		"unsigned":                 base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"with a shared secret":     s.token(`{"alg":"HS256","kid":"k"}`, nil),
		"changed":                  parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+s.issuer+`","sub":"root","aud":"`+resource+`","exp":9999999999,"scope":"tickets.write"}`)) + "." + parts[2],
		"of another type":          s.token(`{"alg":"RS256","kid":"k","typ":"logout+jwt"}`, nil),
		"without a subject":        s.token(plainHeader, map[string]any{"sub": ""}),
		"no JSON":                  "a.b.c",
	} {
		if p, err := takes(token); !onceward.Is(err, onceward.CodeUnauthenticated) {
			t.Errorf("a token %s is taken for %+v, %v", name, p, err)
		}
	}
	for name, token := range map[string]string{
		"no scope":           s.token(plainHeader, map[string]any{"scope": nil}),
		"a scope in another": s.token(plainHeader, map[string]any{"scope": "tickets.writer xtickets.write"}),
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
	s := newAuthorizationServer(t, "/.well-known/openid-configuration")
	conf := s.conf()
	conf.Issuer = strings.Replace(s.issuer, "127.0.0.1", "localhost", 1) // its metadata names another issuer
	if _, err := s.takes(conf)(s.token(plainHeader, map[string]any{"iss": conf.Issuer})); !onceward.Is(err, onceward.CodeProviderUnreachable) {
		t.Errorf("metadata of another issuer: %v", err)
	}
	conf.Issuer = "http://127.0.0.1:1"
	if _, err := s.takes(conf)(s.token(plainHeader, nil)); !onceward.Is(err, onceward.CodeProviderUnreachable) {
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
