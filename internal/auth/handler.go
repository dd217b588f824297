package auth

import (
	"net/http"
)

// Handler serves /auth/login, /auth/callback and /auth/logout in front of
// another handler. refuse writes refusals. signIn may be nil: then nobody can
// sign in, and only sessions that there are can end.
func (a *Authenticator) Handler(next http.Handler, signIn *SignIn, refuse func(http.ResponseWriter, *http.Request, error)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	handle := func(pattern string, f func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			if err := f(w, req); err != nil {
				refuse(w, req, err)
			}
		})
	}
	if signIn != nil {
		handle("GET /auth/login", signIn.Begin)
		handle("GET /auth/callback", signIn.End)
	}
	handle("POST /auth/logout", a.SignOut)
	return exact{mux, next}
}

// exact keeps the mux away from paths that it would clean with a redirect: those
// are answered by the other handler, as it sees fit.
type exact struct{ mux, next http.Handler }

// ServeHTTP implements http.Handler.
func (e exact) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/auth/login", "/auth/callback", "/auth/logout":
		e.mux.ServeHTTP(w, req)
	default:
		e.next.ServeHTTP(w, req)
	}
}
