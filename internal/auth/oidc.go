package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/onceward/onceward"
)

// Limits of signing in.
const (
	// flowTime is how long a person may take at the identity provider.
	flowTime = 10 * time.Minute
	// providerTimeout bounds each request to the identity provider.
	providerTimeout = 10 * time.Second
	// answerBytesMax is the longest answer of the identity provider.
	answerBytesMax = 1 << 20
)

// OIDC is an identity provider, and what its claims mean here.
type OIDC struct {
	Issuer       string // https, or loopback
	ClientID     string
	ClientSecret string // empty: a public client, which PKCE protects alone
	RedirectURL  string // this server's /auth/callback, as browsers reach it
	Scopes       []string
	Claims       Claims
	Log          *slog.Logger // what the provider says to operators; nil discards
	HTTP         *http.Client // nil: one with limits
}

// SignIn is the sign-in at an identity provider: authorization code with PKCE,
// state and nonce. It is safe for concurrent use.
type SignIn struct {
	auth   *Authenticator
	conf   OIDC
	client *http.Client

	mu       sync.Mutex
	provider *oidc.Provider // nil until it was found
}

// NewSignIn checks the configuration (CodeConfigInvalid). The provider is asked
// for at the first sign-in, so that its outage keeps no server from starting.
func NewSignIn(a *Authenticator, conf OIDC) (*SignIn, error) {
	invalid := func(message string) error {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "configure oidc", Message: message, Hint: "docs/operating/access.md has an example"}
	}
	switch {
	case conf.ClientID == "":
		return nil, invalid("client_id is missing")
	case !trusted(conf.Issuer):
		return nil, invalid("issuer is not an https:// address")
	case !trusted(conf.RedirectURL):
		return nil, invalid("redirect_url is not an https:// address")
	}
	if err := conf.Claims.check(); err != nil {
		return nil, err
	}
	if len(conf.Scopes) == 0 {
		conf.Scopes = []string{"profile", "email"}
	}
	if !slices.Contains(conf.Scopes, oidc.ScopeOpenID) {
		conf.Scopes = append([]string{oidc.ScopeOpenID}, conf.Scopes...)
	}
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	s := &SignIn{auth: a, conf: conf, client: conf.HTTP}
	if s.client == nil {
		s.client = &http.Client{Timeout: providerTimeout, Transport: bounded{http.DefaultTransport}}
	}
	return s, nil
}

// trusted takes addresses on which nobody in between can read or change what is said.
func trusted(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// bounded cuts answers off that are longer than any key set.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, answerBytesMax), res.Body}
	}
	return res, err
}

// find asks the issuer for its endpoints and keys, once.
func (s *SignIn) find(ctx context.Context) (*oidc.Provider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider != nil {
		return s.provider, nil
	}
	// Why without cancellation: the provider keeps the context for its keys.
	p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), s.client), s.conf.Issuer)
	if err != nil {
		s.conf.Log.Error("identity provider not found", "issuer", s.conf.Issuer, "error", limited(err.Error()))
		return nil, unavailable()
	}
	s.provider = p
	return p, nil
}

func unavailable() error {
	return &onceward.Error{Code: onceward.CodeProviderUnreachable, Op: "sign in", Message: "the identity provider cannot be reached", Hint: "try again; the server's log has the reason"}
}

func (s *SignIn) oauth(p *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{ClientID: s.conf.ClientID, ClientSecret: s.conf.ClientSecret, Endpoint: p.Endpoint(), RedirectURL: s.conf.RedirectURL, Scopes: s.conf.Scopes}
}

// flow is one sign-in under way. All that it needs is made from one secret, which
// only the browser keeps: so any replica can end what another began, and nothing
// is stored of a sign-in that nobody ends.
type flow struct{ secret string }

func newFlow() flow {
	b := make([]byte, 32)
	rand.Read(b) // never fails (crypto/rand)
	return flow{base64.RawURLEncoding.EncodeToString(b)}
}

// part is a value that nobody without the secret can make, for one purpose.
func (f flow) part(purpose string) string {
	sum := sha256.Sum256([]byte("onceward/sign-in/v1\n" + purpose + "\n" + f.secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Begin is GET /auth/login: it sends the browser to the identity provider.
func (s *SignIn) Begin(w http.ResponseWriter, req *http.Request) error {
	p, err := s.find(req.Context())
	if err != nil {
		return err
	}
	f := newFlow()
	back := localPath(req.URL.Query().Get("return"))
	s.auth.setCookie(w, flowCookie, f.secret+"."+base64.RawURLEncoding.EncodeToString([]byte(back)), flowTime)
	w.Header().Set("Cache-Control", "no-store")
	to := s.oauth(p).AuthCodeURL(f.part("state"), oidc.Nonce(f.part("nonce")), oauth2.S256ChallengeOption(f.part("verifier")))
	http.Redirect(w, req, to, http.StatusSeeOther)
	return nil
}

// End is GET /auth/callback: the identity provider sends the browser back.
func (s *SignIn) End(w http.ResponseWriter, req *http.Request) error {
	f, back, ok := s.flowOf(req)
	s.auth.setCookie(w, flowCookie, "", 0) // whatever comes of it, it was used
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	q := req.URL.Query()
	if !ok || len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q["state"][0]), []byte(f.part("state"))) != 1 {
		return refuse("this browser began no such sign-in", "begin at /auth/login")
	}
	if reason := q.Get("error"); reason != "" {
		s.conf.Log.Warn("identity provider refused a sign-in", "reason", limited(reason))
		return refuse("the identity provider refused the sign-in", "begin again at /auth/login")
	}
	subject, claims, err := s.exchange(req.Context(), f, q.Get("code"))
	if err != nil {
		return err
	}
	who, name, err := s.conf.Claims.principal(s.conf.Issuer, subject, claims)
	if err != nil {
		return err
	}
	if err := s.auth.begin(w, req, who, name); err != nil {
		return err
	}
	http.Redirect(w, req, back, http.StatusSeeOther)
	return nil
}

func (s *SignIn) flowOf(req *http.Request) (f flow, back string, ok bool) {
	value, ok := s.auth.cookie(req, flowCookie)
	if !ok {
		return flow{}, "", false
	}
	secret, path, ok := cut(value)
	return flow{secret}, localPath(path), ok
}

// cut reads the sign-in's cookie.
func cut(value string) (secret, path string, ok bool) {
	const secretChars = 43
	if len(value) < secretChars+1 || value[secretChars] != '.' {
		return "", "", false
	}
	b, err := base64.RawURLEncoding.DecodeString(value[secretChars+1:])
	return value[:secretChars], string(b), err == nil
}

// exchange trades the code for an ID token, verifies that it was issued to us, by
// the issuer, for this very sign-in, and reads who it speaks of.
func (s *SignIn) exchange(ctx context.Context, f flow, code string) (subject string, claims map[string]any, err error) {
	p, err := s.find(ctx)
	if err != nil {
		return "", nil, err
	}
	ctx = oidc.ClientContext(ctx, s.client)
	tokens, err := s.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(f.part("verifier")))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) { // its text has the answer's body, which is not for logs
			s.conf.Log.Warn("identity provider refused a code", "reason", limited(refused.ErrorCode))
			return "", nil, refuse("the identity provider did not take the code", "begin again at /auth/login")
		}
		s.conf.Log.Error("code not exchanged", "issuer", s.conf.Issuer, "error", err)
		return "", nil, unavailable()
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := p.VerifierContext(ctx, &oidc.Config{ClientID: s.conf.ClientID}).Verify(ctx, raw)
	if err == nil && subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.part("nonce"))) != 1 {
		err = errors.New("its nonce is another sign-in's")
	}
	if err == nil {
		err = id.Claims(&claims)
	}
	if err != nil || id.Subject == "" {
		s.conf.Log.Error("identity provider sent an ID token that does not hold", "issuer", s.conf.Issuer, "error", err)
		return "", nil, refuse("the identity provider's answer does not hold", "begin again at /auth/login")
	}
	return id.Subject, claims, s.ask(ctx, p, tokens, id.Subject, claims)
}

// ask adds what the provider says at its userinfo endpoint, if a claim is missing.
// What the ID token says stays.
func (s *SignIn) ask(ctx context.Context, p *oidc.Provider, tokens *oauth2.Token, subject string, claims map[string]any) error {
	if !s.conf.Claims.missing(claims) || p.UserInfoEndpoint() == "" {
		return nil
	}
	var more map[string]any
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err == nil && info.Subject != subject {
		err = errors.New("it speaks of somebody else")
	}
	if err == nil {
		err = info.Claims(&more)
	}
	if err != nil {
		s.conf.Log.Error("userinfo not read", "issuer", s.conf.Issuer, "error", limited(err.Error()))
		return unavailable()
	}
	for name, claim := range more {
		if _, ok := claims[name]; !ok {
			claims[name] = claim
		}
	}
	return nil
}

// limited is a stranger's word as it may stand in a log. Errors of the provider's
// package hold the answer's body behind its status.
func limited(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most]
	}
	return s
}
