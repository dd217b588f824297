package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/testoidc"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
)

// site is a server with authentication in front of a page that says who asks.
type site struct {
	testing.TB
	clock  *oncewardtest.Clock
	store  *oncewardtest.FaultyStore
	ledger *onceward.Ledger
	auth   *auth.Authenticator
	signIn *auth.SignIn
	srv    *httptest.Server
	mu     sync.Mutex
	log    bytes.Buffer
}

// Write implements io.Writer, for the log.
func (s *site) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *site) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func newSite(t testing.TB, opts auth.Options) *site {
	t.Helper()
	s := &site{TB: t, clock: oncewardtest.NewClock()}
	s.store = oncewardtest.NewFaultyStore(memory.New(memory.Options{Now: s.clock.Now}))
	var err error
	s.ledger, err = onceward.New(onceward.Options{Store: s.store, Tools: onceward.NewRegistry(s.store, nil), Provider: oncewardtest.NewProvider(s.clock), Clock: s.clock,
		Log: slog.New(slog.NewTextHandler(s, nil))})
	s.must(err)
	opts.Ledger = s.ledger
	s.auth, err = auth.New(opts)
	s.must(err)
	s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.auth.Handler(http.HandlerFunc(s.whoAsks), s.signIn, refuse).ServeHTTP(w, req)
	}))
	t.Cleanup(func() { s.srv.Close(); _ = s.ledger.Close(context.Background()) })
	return s
}

func (s *site) whoAsks(w http.ResponseWriter, req *http.Request) {
	p, err := s.auth.Authenticate(req)
	if err != nil {
		refuse(w, req, err)
		return
	}
	_ = json.NewEncoder(w).Encode(p)
}

func refuse(w http.ResponseWriter, _ *http.Request, err error) {
	status := map[onceward.Code]int{onceward.CodeUnauthenticated: 401, onceward.CodeForbidden: 403, onceward.CodeOriginRefused: 403, onceward.CodeProviderUnreachable: 502}[onceward.CodeOf(err)]
	if status == 0 {
		status = 500
	}
	http.Error(w, err.Error(), status)
}

// token issues a caller's token.
func (s *site) token() (*onceward.Token, string) {
	s.Helper()
	t, secret, err := s.ledger.IssueToken(s.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: "bot", Scope: onceward.Scope{Roles: []onceward.Role{"caller"}}})
	s.must(err)
	return t, secret
}

// ask asks who the server takes the request's sender for.
func (s *site) ask(edit func(*http.Request)) (status int, who onceward.Principal, text string) {
	s.Helper()
	req := httptest.NewRequestWithContext(s.Context(), http.MethodGet, s.srv.URL+"/v1/x", nil)
	edit(req)
	rec := httptest.NewRecorder()
	s.whoAsks(rec, req)
	_ = json.Unmarshal(rec.Body.Bytes(), &who)
	return rec.Code, who, rec.Body.String()
}

// browser follows redirects and keeps cookies.
func (s *site) browser() *http.Client {
	s.Helper()
	jar, err := cookiejar.New(nil)
	s.must(err)
	return &http.Client{Jar: jar, Timeout: 20 * time.Second}
}

func (s *site) get(c *http.Client, address string) (*http.Response, string) {
	s.Helper()
	return s.send(c, http.MethodGet, address, nil)
}

func (s *site) send(c *http.Client, method, address string, form url.Values, header ...string) (*http.Response, string) {
	s.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(s.Context(), method, address, body)
	s.must(err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	s.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	s.must(err)
	return res, string(text)
}

// identityProvider starts a real OpenID provider whose client is the site.
func (s *site) identityProvider(claims auth.Claims) (issuer string) {
	s.Helper()
	back := s.srv.URL + "/auth/callback"
	p := testoidc.NewProvider(s, back)
	var err error
	s.signIn, err = auth.NewSignIn(s.auth, auth.OIDC{Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: testoidc.Secret, RedirectURL: back, Claims: claims, Log: slog.New(slog.NewTextHandler(s, nil))})
	s.must(err)
	return p.Issuer
}

// testers are the provider's own test user, as approver.
func testers() auth.Claims {
	return auth.Claims{Tenant: "acme", RolesClaim: "email", Roles: map[string][]onceward.Role{testoidc.Email: {"approver", "operator"}},
		GroupsClaim: "locale", Groups: map[string]string{testoidc.Locale: "finance"}}
}

// login goes to the site's sign-in and gives name and password at the provider.
func (s *site) login(c *http.Client, back string) (*http.Response, string) {
	s.Helper()
	page, _ := s.get(c, s.srv.URL+"/auth/login?return="+url.QueryEscape(back))
	id := page.Request.URL.Query().Get("authRequestID")
	if id == "" {
		s.Fatalf("the sign-in leads to %s (%s)", page.Request.URL, page.Status)
	}
	to := *page.Request.URL
	to.RawQuery = ""
	return s.send(c, http.MethodPost, to.String(), url.Values{"id": {id}, "username": {testoidc.User}, "password": {testoidc.Password}})
}
