package auth_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/auth"
)

func TestBearerOfATokenIsKnown(t *testing.T) {
	t.Parallel()
	s := newSite(t, auth.Options{Required: true})
	_, secret := s.token()
	for _, line := range []string{"Bearer " + secret, "bearer " + secret, "BEARER  " + secret} {
		status, who, text := s.ask(func(r *http.Request) { r.Header.Set("Authorization", line) })
		if status != 200 || who.String() != "token:bot" {
			t.Errorf("%.10q...: %d %s", line, status, text)
		}
	}
}

func TestWhoBringsNoGoodCredentialsIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, auth.Options{})
	good, secret := s.token()
	revoked, old := s.token()
	if _, err := s.ledger.RevokeToken(t.Context(), onceward.LocalPrincipal(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string][]string{
		"none": nil, "empty": {""}, "the scheme alone": {"Bearer"}, "the scheme and a blank": {"Bearer "}, "no scheme": {secret},
		"Basic": {"Basic " + secret}, "Digest": {"Digest username=x"}, "two headers": {"Bearer " + secret, "Bearer " + secret},
		"two different": {"Bearer " + secret, "Basic eDp5"}, "two tokens in one": {"Bearer " + secret + ", Bearer " + secret},
		"overlong": {"Bearer " + secret + strings.Repeat("0", 1<<16)}, "blanks": {"Bearer" + strings.Repeat(" ", 600) + secret},
		"forged": {"Bearer ow_" + string(good.ID) + "_" + strings.Repeat("0", 52)}, "revoked": {"Bearer " + old},
		"quoted": {`Bearer "` + secret + `"`}, "a tab": {"Bearer\t" + secret},
	} {
		status, _, text := s.ask(func(r *http.Request) { r.Header["Authorization"] = lines })
		if status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, status, text)
		}
		for _, word := range []string{secret[20:], old[20:]} {
			if strings.Contains(text, word) || strings.Contains(s.logged(), word) {
				t.Errorf("%s: the secret is repeated: %s", name, text)
			}
		}
	}
}

func TestBadHeaderIsNotRescuedByACookie(t *testing.T) {
	t.Parallel()
	s := newSite(t, auth.Options{})
	id, _, err := s.ledger.SignIn(t.Context(), onceward.Principal{Tenant: "acme", Issuer: "i", Subject: "ada", Roles: []onceward.Role{"approver"}}, "")
	s.must(err)
	cookie := &http.Cookie{Name: "onceward_session", Value: id}
	if status, who, text := s.ask(func(r *http.Request) { r.AddCookie(cookie) }); status != 200 || who.Subject != "ada" {
		t.Fatalf("with the cookie: %d %s", status, text)
	}
	if status, _, text := s.ask(func(r *http.Request) { r.AddCookie(cookie); r.Header.Set("Authorization", "Bearer x") }); status != 401 {
		t.Errorf("with a bad header too: %d %s", status, text)
	}
	if status, _, text := s.ask(func(r *http.Request) { r.AddCookie(cookie); r.AddCookie(cookie) }); status != 200 {
		t.Logf("two cookies count as none, and nobody is demanded: %d %s", status, text)
	}
}

func TestLoopbackAsksForCredentialsOnceThereIsAToken(t *testing.T) {
	t.Parallel()
	none := func(*http.Request) {}
	s := newSite(t, auth.Options{})
	if status, who, text := s.ask(none); status != 200 || who.String() != "local:operator" {
		t.Errorf("before: %d %s", status, text)
	}
	tok, _ := s.token()
	if status, _, text := s.ask(none); status != 401 {
		t.Errorf("with a token: %d %s", status, text)
	}
	if _, err := s.ledger.RevokeToken(t.Context(), onceward.LocalPrincipal(), tok.ID); err != nil {
		t.Fatal(err)
	}
	if status, _, text := s.ask(none); status != 401 {
		t.Errorf("with a revoked token: %d %s", status, text)
	}
	if status, _, text := newSite(t, auth.Options{Required: true}).ask(none); status != 401 {
		t.Errorf("where credentials are required: %d %s", status, text)
	}
	lost := newSite(t, auth.Options{})
	lost.store.GoAway()
	if status, _, text := lost.ask(none); status != 500 {
		t.Errorf("where the ledger cannot be read: %d %s", status, text)
	}
}

func TestSessionIsOfNoUseToAPageOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t, auth.Options{Required: true, Secure: true})
	id, _, err := s.ledger.SignIn(t.Context(), onceward.Principal{Tenant: "acme", Issuer: "i", Subject: "ada", Roles: []onceward.Role{"approver"}}, "")
	s.must(err)
	for _, c := range []struct {
		method, header, value string
		want                  int
	}{
		{"POST", "Sec-Fetch-Site", "cross-site", 403}, {"POST", "Sec-Fetch-Site", "same-site", 403}, {"POST", "Origin", "https://evil.test", 403},
		{"DELETE", "Sec-Fetch-Site", "cross-site", 403}, {"POST", "Sec-Fetch-Site", "same-origin", 200}, {"POST", "X", "from a program", 200},
		{"GET", "Sec-Fetch-Site", "cross-site", 200}, // a link; pages of other origins read nothing of it
	} {
		status, _, text := s.ask(func(r *http.Request) {
			r.Method = c.method
			r.Header.Set(c.header, c.value)
			r.AddCookie(&http.Cookie{Name: "__Host-onceward_session", Value: id})
		})
		if status != c.want {
			t.Errorf("%s with %s: %s gets %d %s, want %d", c.method, c.header, c.value, status, text, c.want)
		}
	}
	if status, _, _ := s.ask(func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "onceward_session", Value: id}) }); status != 401 {
		t.Errorf("a cookie that a neighbour could plant gets %d", status)
	}
}
