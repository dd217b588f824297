package auth

import (
	"net/http"
	"strings"

	"github.com/onceward/onceward"
)

// headerBytesMax is the longest Authorization header that is looked at. A token
// has 72 characters.
const headerBytesMax = 512

// Options make an Authenticator. Ledger is needed.
type Options struct {
	Ledger *onceward.Ledger
	// Required refuses whoever has no credentials, also while there is no token.
	// False: they are demanded once a token was ever made; until then, everybody
	// is the local principal, which is for loopback servers that nothing stands
	// in front of.
	Required bool
	// Secure says that browsers reach the server over TLS only: cookies are
	// marked so.
	Secure bool
}

// Authenticator tells who asks. It is safe for concurrent use.
type Authenticator struct {
	opts Options
	csrf *http.CrossOriginProtection
}

// New makes an authenticator. CodeConfigInvalid: there is no ledger.
func New(opts Options) (*Authenticator, error) {
	if opts.Ledger == nil {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "authentication needs a ledger")
	}
	return &Authenticator{opts: opts, csrf: http.NewCrossOriginProtection()}, nil
}

// Authenticate returns who sends the request. An Authorization header decides
// alone; then a session's cookie; then, where nothing is demanded, everybody is
// the local principal. CodeUnauthenticated: nobody that is known.
// CodeOriginRefused: a session is used by the page of another origin.
func (a *Authenticator) Authenticate(req *http.Request) (onceward.Principal, error) {
	ctx := req.Context()
	if lines := req.Header["Authorization"]; len(lines) > 0 {
		token, err := bearer(lines)
		if err != nil {
			return onceward.Principal{}, err
		}
		return a.opts.Ledger.Authenticate(ctx, token)
	}
	if id, ok := a.sessionID(req); ok {
		if err := a.csrf.Check(req); err != nil {
			return onceward.Principal{}, crossOrigin()
		}
		s, err := a.opts.Ledger.Session(ctx, id)
		if err != nil {
			return onceward.Principal{}, err
		}
		return s.Principal, nil
	}
	demanded := a.opts.Required
	if !demanded {
		var err error
		if demanded, err = a.opts.Ledger.AnyToken(ctx); err != nil {
			return onceward.Principal{}, err
		}
	}
	if demanded {
		return onceward.Principal{}, refuse("no credentials are given", "send Authorization: Bearer ow_…, or sign in at /auth/login")
	}
	return onceward.LocalPrincipal(), nil
}

// bearer reads the one Authorization header of a request.
func bearer(lines []string) (string, error) {
	if len(lines) > 1 {
		return "", refuse("the request has more than one Authorization header", "send one")
	}
	if len(lines[0]) > headerBytesMax {
		return "", refuse("the Authorization header is too long for a token", "send Authorization: Bearer ow_…")
	}
	scheme, token, ok := strings.Cut(lines[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", refuse("the Authorization header is not of the scheme Bearer", "send Authorization: Bearer ow_…")
	}
	return strings.TrimLeft(token, " "), nil
}

func refuse(message, hint string) error {
	return &onceward.Error{Code: onceward.CodeUnauthenticated, Op: "authenticate", Message: message, Hint: hint}
}

func crossOrigin() error {
	return &onceward.Error{Code: onceward.CodeOriginRefused, Op: "authenticate", Message: "the request comes from a page of another origin",
		Hint: "ask from a page that this server serves, or with a token"}
}
