package auth_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/testoidc"
)

// FuzzAccessToken holds that no bearer that the issuer did not sign is anybody's,
// whatever header, claims and signature it shows.
func FuzzAccessToken(f *testing.F) {
	s := newAuthorizationServer(f, testoidc.OpenIDMetadata)
	takes := s.takes(s.conf())
	good := s.token(testoidc.AccessToken, nil)
	claims := strings.Split(good, ".")[1]
	body, err := base64.RawURLEncoding.DecodeString(claims)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(testoidc.AccessToken, string(body), "")
	f.Add(`{"alg":"none"}`, string(body), "")
	f.Add(`{"alg":"HS256","kid":"k"}`, string(body), "AAAA")
	f.Add(`{"alg":"RS256","kid":"k","jwk":{}}`, `{"exp":1e400}`, "=")
	f.Add(`{"alg":["RS256"]}`, `{"aud":{}}`, "\xff")
	f.Fuzz(func(t *testing.T, header, claims, signature string) {
		encode := base64.RawURLEncoding.EncodeToString
		for _, bearer := range []string{encode([]byte(header)) + "." + encode([]byte(claims)) + "." + encode([]byte(signature)), header + "." + claims + "." + signature} {
			if strings.Count(bearer, ".") != 2 || bearer == good {
				continue // not looked at here
			}
			p, err := takes(bearer)
			if err == nil || p.Subject != "" || !onceward.Is(err, onceward.CodeUnauthenticated) {
				t.Fatalf("%q is %+v's, %v", bearer, p, err)
			}
		}
	})
}

// FuzzKeys holds that no metadata and no key set of an authorization server make
// the verification panic, or take a token that they do not belong to.
func FuzzKeys(f *testing.F) {
	answer := func(issuer, body string) string { return strings.ReplaceAll(body, "ISSUER", issuer) }
	for _, seed := range [][2]string{{`{"issuer":"ISSUER","jwks_uri":"ISSUER/keys"}`, `{"keys":[{"kty":"RSA","kid":"k","n":"AQ","e":"AQAB"}]}`}, {`{"issuer":"ISSUER","jwks_uri":"ISSUER/keys"}`, `{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},{"kty":"oct","k":"AAAA"}]}`},
		{`{"issuer":"https://other.example","jwks_uri":"ISSUER/keys"}`, `{}`}, {`{"issuer":"ISSUER","jwks_uri":"file:///etc/passwd"}`, ``}, {`[`, `[`}, {`{"issuer":"ISSUER","jwks_uri":"ISSUER/keys"}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + strings.Repeat("A", 43) + `"}]}`}} {
		f.Add(seed[0], seed[1])
	}
	var metadata, keys string
	var issuer string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/keys" {
			_, _ = w.Write([]byte(answer(issuer, keys)))
			return
		}
		_, _ = w.Write([]byte(answer(issuer, metadata)))
	}))
	f.Cleanup(srv.Close)
	issuer = srv.URL
	signer := newAuthorizationServer(f, "/none")
	signer.URL = issuer
	bearer := signer.token(testoidc.AccessToken, nil)
	f.Fuzz(func(t *testing.T, m, k string) {
		metadata, keys = m, k
		asker := &authorizationServer{t, signer.Signer}
		p, err := asker.takes(auth.Access{Issuer: issuer, Resource: resource, Scopes: map[string][]onceward.Role{"tickets.write": {"caller"}}, Claims: auth.Claims{Tenant: "acme"}})(bearer)
		if err == nil || p.Subject != "" {
			t.Fatalf("with %q and %q the token is %+v's, %v", m, k, p, err)
		}
	})
}
