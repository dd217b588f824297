package auth

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// The cookies. Over TLS their names bind them to this very host: a neighbour
// under the same domain cannot plant them.
const (
	sessionCookie = "onceward_session"
	flowCookie    = "onceward_signin"
	hostPrefix    = "__Host-"
	// cookieBytesMax is the longest cookie value that is looked at.
	cookieBytesMax = 512
)

func (a *Authenticator) cookieName(name string) string {
	if a.opts.Secure {
		return hostPrefix + name
	}
	return name
}

// cookie reads a cookie that is there once.
func (a *Authenticator) cookie(req *http.Request, name string) (string, bool) {
	all := req.CookiesNamed(a.cookieName(name))
	if len(all) != 1 || len(all[0].Value) > cookieBytesMax {
		return "", false
	}
	return all[0].Value, true
}

func (a *Authenticator) sessionID(req *http.Request) (string, bool) {
	return a.cookie(req, sessionCookie)
}

// setCookie sets a cookie for as long as it is good; 0: takes it away.
//
// Why Lax: a link in a mail to a review must find the person signed in. Writes
// across origins are refused by what browsers say of them (CrossOriginProtection).
func (a *Authenticator) setCookie(w http.ResponseWriter, name, value string, good time.Duration) {
	age := int(good / time.Second)
	if age <= 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{Name: a.cookieName(name), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: a.opts.Secure, SameSite: http.SameSiteLaxMode})
}

// SignOut is POST /auth/logout: it ends the session, here and on every replica,
// and takes the cookie away.
func (a *Authenticator) SignOut(w http.ResponseWriter, req *http.Request) error {
	if err := a.End(w, req); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// End ends the session of a request, and takes its cookie away; what is answered
// is the caller's matter.
func (a *Authenticator) End(w http.ResponseWriter, req *http.Request) error {
	if err := a.csrf.Check(req); err != nil {
		return crossOrigin()
	}
	if id, ok := a.sessionID(req); ok {
		if err := a.opts.Ledger.SignOut(req.Context(), id); err != nil {
			return err
		}
	}
	a.setCookie(w, sessionCookie, "", 0)
	return nil
}

// BeginWithToken signs whoever presents a token in: the browser gets a session's
// cookie, and the token is in none. CodeUnauthenticated: the token is not good.
func (a *Authenticator) BeginWithToken(w http.ResponseWriter, req *http.Request, token string) error {
	if err := a.csrf.Check(req); err != nil {
		return crossOrigin()
	}
	id, _, err := a.opts.Ledger.SignInWithToken(req.Context(), token)
	if err != nil {
		return err
	}
	if old, ok := a.sessionID(req); ok { // a browser has one session
		if err := a.opts.Ledger.SignOut(req.Context(), old); err != nil {
			return err
		}
	}
	a.setCookie(w, sessionCookie, id, onceward.SessionLifetime)
	return nil
}

// SignedIn reports whether the request names a session; it may have ended.
func (a *Authenticator) SignedIn(req *http.Request) bool {
	_, is := a.sessionID(req)
	return is
}

// localPath is where a person goes after signing in: a path of this server, so
// that a link to the sign-in page leads nowhere else.
func localPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") ||
		strings.ContainsAny(s, "\\\r\n\t") || len(s) > 256 {
		return "/"
	}
	return s
}

// begin signs a person in: the browser gets the session's cookie.
func (a *Authenticator) begin(w http.ResponseWriter, req *http.Request, p onceward.Principal, name string) error {
	if old, ok := a.sessionID(req); ok { // a browser has one session
		if err := a.opts.Ledger.SignOut(req.Context(), old); err != nil {
			return err
		}
	}
	id, _, err := a.opts.Ledger.SignIn(req.Context(), p, name)
	if err != nil {
		return err
	}
	a.setCookie(w, sessionCookie, id, onceward.SessionLifetime)
	return nil
}
