package testoidc

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The paths at which an authorization server can publish its metadata.
const (
	OpenIDMetadata = "/.well-known/openid-configuration"
	OAuthMetadata  = "/.well-known/oauth-authorization-server"
)

// AccessToken is the header of an access token that Signer signs.
const AccessToken = `{"alg":"RS256","kid":"k","typ":"at+jwt"}`

// Signer is an authorization server that publishes its one key, and signs tokens.
type Signer struct {
	URL string // the issuer

	t   testing.TB
	key *rsa.PrivateKey
}

// NewSigner serves its metadata at one path alone, until the test ends.
func NewSigner(t testing.TB, metadata string) *Signer {
	t.Helper()
	s := &Signer{t: t}
	var err error
	if s.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	serve := func(path string, answer func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(answer()) }) // whoever went away needs none
	}
	serve(metadata, func() any { return map[string]string{"issuer": s.URL, "jwks_uri": s.URL + "/keys"} })
	serve("/keys", func() any {
		return map[string]any{"keys": []map[string]string{{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k",
			"n": base64.RawURLEncoding.EncodeToString(s.key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(s.key.E)).Bytes())}}}
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// Sign makes a token of a header and of claims, whatever they say.
func (s *Signer) Sign(header string, claims map[string]any) string {
	s.t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		s.t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		s.t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}
