package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"time"
)

// formCookie is the secret of a browser that has no session.
const formCookie = "onceward_form"

// formTime is how long that secret is kept.
const formTime = 24 * time.Hour

// FormToken returns what every form of a page carries. It is made from a secret
// that only the browser keeps, the session's where there is one, so that another
// site can neither know nor plant it; it tells nothing of the secret.
func (a *Authenticator) FormToken(w http.ResponseWriter, req *http.Request) string {
	if secret, ok := a.formSecret(req); ok {
		return formToken(secret)
	}
	b := make([]byte, 32)
	rand.Read(b) // never fails (crypto/rand)
	secret := hex.EncodeToString(b)
	a.setCookie(w, formCookie, secret, formTime)
	return formToken(secret)
}

func (a *Authenticator) formSecret(req *http.Request) (string, bool) {
	if id, ok := a.sessionID(req); ok {
		return id, true
	}
	return a.cookie(req, formCookie)
}

func formToken(secret string) string {
	sum := sha256.Sum256([]byte("onceward/form/v1\n" + secret))
	return hex.EncodeToString(sum[:])
}

// CheckForm refuses, with CodeOriginRefused, a form that this server did not make
// for this browser.
func (a *Authenticator) CheckForm(req *http.Request, token string) error {
	secret, ok := a.formSecret(req)
	if a.csrf.Check(req) != nil || !ok || subtle.ConstantTimeCompare([]byte(formToken(secret)), []byte(token)) != 1 {
		return crossOrigin()
	}
	return nil
}
