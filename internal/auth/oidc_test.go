package auth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/auth"
	"github.com/onceward/onceward/internal/testoidc"
)

func TestPersonSignsInAndOutAtARealProvider(t *testing.T) {
	t.Parallel()
	s := newSite(t, auth.Options{Required: true})
	issuer := s.identityProvider(testers())
	c := s.browser()
	res, text := s.login(c, "/reviews?open=1")
	if res.Request.URL.RequestURI() != "/reviews?open=1" || res.StatusCode != 200 {
		t.Fatalf("the sign-in ends at %s: %s %s\n%s", res.Request.URL, res.Status, text, s.logged())
	}
	for _, want := range []string{`"Tenant":"acme"`, `"Issuer":"` + issuer + `"`, `"Roles":["approver","operator"]`, `"Groups":["finance"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("the person is %s, want %s", text, want)
		}
	}
	home, err := url.Parse(s.srv.URL)
	s.must(err)
	var session string
	for _, k := range c.Jar.Cookies(home) {
		if k.Name == "onceward_session" {
			session = k.Value
		} else {
			t.Errorf("the cookie %s stays", k.Name)
		}
	}
	other := s.browser()
	other.Jar.SetCookies(home, []*http.Cookie{{Name: "onceward_session", Value: session, Path: "/"}})
	if res, _ := s.send(c, http.MethodPost, s.srv.URL+"/auth/logout", nil, "Sec-Fetch-Site", "cross-site"); res.StatusCode != 403 {
		t.Errorf("another page's sign-out: %s", res.Status)
	}
	if res, _ := s.send(c, http.MethodPost, s.srv.URL+"/auth/logout", nil); res.StatusCode != 204 {
		t.Errorf("signing out: %s", res.Status)
	}
	if res, text := s.get(other, s.srv.URL+"/"); res.StatusCode != 401 {
		t.Errorf("the session after signing out: %s %s", res.Status, text)
	}
	for _, secret := range []string{session, testoidc.Secret} {
		if strings.Contains(s.logged(), secret) {
			t.Error("a secret is in the log")
		}
	}
}

func TestCookiesOfASignInAreGuarded(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		s := newSite(t, auth.Options{Required: true, Secure: secure})
		s.identityProvider(testers())
		c := s.browser()
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		res, _ := s.get(c, s.srv.URL+"/auth/login")
		to, err := url.Parse(res.Header.Get("Location"))
		s.must(err)
		q := to.Query()
		if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || len(q.Get("state")) != 43 || len(q.Get("nonce")) != 43 || q.Get("state") == q.Get("nonce") {
			t.Errorf("the provider is asked with %s", to.RawQuery)
		}
		cookies := res.Cookies()
		if len(cookies) != 1 {
			t.Fatalf("cookies are %v", cookies)
		}
		k := cookies[0]
		if !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.Secure != secure || strings.HasPrefix(k.Name, "__Host-") != secure || k.MaxAge < 1 || k.Path != "/" || k.Domain != "" {
			t.Errorf("the cookie is %s", k)
		}
		if strings.Contains(to.RawQuery, k.Value[:43]) {
			t.Error("the browser's secret goes to the provider")
		}
	}
}

// begun is a sign-in whose browser has come to the way back, and not taken it.
func (s *site) begun(c *http.Client) (callback *url.URL) {
	s.Helper()
	c.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(req.URL.String(), s.srv.URL+"/auth/callback") {
			callback = req.URL
			return http.ErrUseLastResponse
		}
		return nil
	}
	s.login(c, "/")
	if callback == nil {
		s.Fatal("the provider never sent the browser back")
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return callback
}

func TestWayBackThatIsNotTheBrowsersOwnSignsNobodyIn(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(s *site, c *http.Client, to *url.URL) *http.Client{
		"another browser's": func(s *site, _ *http.Client, _ *url.URL) *http.Client { return s.browser() },
		"begun twice":       func(s *site, c *http.Client, _ *url.URL) *http.Client { s.get(c, s.srv.URL+"/auth/login"); return c },
		"no state":          func(_ *site, c *http.Client, to *url.URL) *http.Client { drop(to, "state"); return c },
		"another state": func(_ *site, c *http.Client, to *url.URL) *http.Client {
			set(to, "state", strings.Repeat("A", 43))
			return c
		},
		"two states":             func(_ *site, c *http.Client, to *url.URL) *http.Client { to.RawQuery += "&state=x"; return c },
		"no code":                func(_ *site, c *http.Client, to *url.URL) *http.Client { drop(to, "code"); return c },
		"a forged code":          func(_ *site, c *http.Client, to *url.URL) *http.Client { set(to, "code", "forged"); return c },
		"the provider's refusal": func(_ *site, c *http.Client, to *url.URL) *http.Client { set(to, "error", "access_denied"); return c },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, auth.Options{Required: true})
			s.identityProvider(testers())
			c := s.browser()
			to := s.begun(c)
			c = edit(s, c, to)
			res, text := s.get(c, to.String())
			if res.StatusCode != 401 || slices.ContainsFunc(res.Cookies(), func(k *http.Cookie) bool { return k.Name == "onceward_session" }) {
				t.Errorf("%s %v %s", res.Status, res.Cookies(), text)
			}
		})
	}
}

func TestWayBackIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, auth.Options{Required: true})
	s.identityProvider(testers())
	c := s.browser()
	to := s.begun(c)
	if res, text := s.get(c, to.String()); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("the first time: %s %s", res.Status, text)
	}
	if res, _ := s.get(c, to.String()); res.StatusCode != 401 {
		t.Errorf("the second time: %s", res.Status)
	}
}

func TestPersonWithoutAPlaceHereIsNotSignedIn(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]auth.Claims{
		"no role":   {Tenant: "acme", RolesClaim: "email", Roles: map[string][]onceward.Role{"somebody@else.test": {"admin"}}},
		"no tenant": {TenantClaim: "email", Tenants: map[string]onceward.Tenant{"somebody@else.test": "acme"}, RolesClaim: "email", Roles: testers().Roles},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, auth.Options{Required: true})
			s.identityProvider(claims)
			if res, text := s.login(s.browser(), "/"); res.StatusCode != 403 {
				t.Errorf("%s %s", res.Status, text)
			}
		})
	}
}

func TestSignInLeadsToNoOtherSite(t *testing.T) {
	t.Parallel()
	s := newSite(t, auth.Options{Required: true})
	s.identityProvider(testers())
	for _, back := range []string{"https://evil.test/", "//evil.test/", `/\evil.test`, `\\evil.test`, "evil", "javascript:alert(1)", "", "/a\r\nX: y"} {
		if res, _ := s.login(s.browser(), back); !strings.HasPrefix(res.Request.URL.String(), s.srv.URL+"/") || res.Request.URL.Path != "/" {
			t.Errorf("%q leads to %s", back, res.Request.URL)
		}
	}
}

func TestProviderThatIsAwaySaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t, auth.Options{Required: true})
	var err error
	s.signIn, err = auth.NewSignIn(s.auth, auth.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "x", RedirectURL: s.srv.URL + "/auth/callback", Claims: testers()})
	s.must(err)
	if res, text := s.get(s.browser(), s.srv.URL+"/auth/login"); res.StatusCode != 502 {
		t.Errorf("%s %s", res.Status, text)
	}
}

func TestConfigurationThatOpensTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	good := auth.OIDC{Issuer: "https://idp.test", ClientID: "x", RedirectURL: "https://here.test/auth/callback", Claims: testers()}
	s := newSite(t, auth.Options{})
	for name, edit := range map[string]func(*auth.OIDC){
		"issuer in clear":     func(o *auth.OIDC) { o.Issuer = "http://idp.test" },
		"no issuer":           func(o *auth.OIDC) { o.Issuer = "" },
		"way back in clear":   func(o *auth.OIDC) { o.RedirectURL = "http://here.test/auth/callback" },
		"no client":           func(o *auth.OIDC) { o.ClientID = "" },
		"no tenant":           func(o *auth.OIDC) { o.Claims.Tenant = "" },
		"two tenant rules":    func(o *auth.OIDC) { o.Claims.TenantClaim = "org" },
		"tenant of any name":  func(o *auth.OIDC) { o.Claims.Tenant, o.Claims.TenantClaim = "", "org" },
		"no roles":            func(o *auth.OIDC) { o.Claims.Roles = nil },
		"a role that is none": func(o *auth.OIDC) { o.Claims.Roles = map[string][]onceward.Role{"x": {"root"}} },
		"groups of any name":  func(o *auth.OIDC) { o.Claims.Groups = nil },
	} {
		o := good
		edit(&o)
		if _, err := auth.NewSignIn(s.auth, o); !onceward.Is(err, onceward.CodeConfigInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := auth.NewSignIn(s.auth, good); err != nil {
		t.Error(err)
	}
}

func set(to *url.URL, name, value string) {
	q := to.Query()
	q.Set(name, value)
	to.RawQuery = q.Encode()
}

func drop(to *url.URL, name string) {
	q := to.Query()
	q.Del(name)
	to.RawQuery = q.Encode()
}
