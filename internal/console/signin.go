package console

import (
	"net/url"

	"github.com/onceward/onceward"
)

// signInView is the page on which a person signs in.
type signInView struct {
	To, SignInAt, Refused string
}

// signIn is GET /signin.
func signIn(p *page) error {
	return p.showSignIn(local(p.req.URL.Query().Get("to")), "")
}

func (p *page) showSignIn(to, refused string) error {
	v := signInView{To: to, Refused: refused}
	if p.opts.SignInAt != "" {
		v.SignInAt = p.opts.SignInAt + "?return=" + url.QueryEscape(to)
	}
	if refused == "" {
		return p.show("signin", word("signin.title"), v)
	}
	p.render(p.opts.Status(onceward.CodeUnauthenticated), "signin", word("signin.title"), v)
	return nil
}

// beginSession is POST /signin: the token is looked at once and kept nowhere.
func beginSession(p *page) error {
	to := local(p.field("to"))
	err := p.opts.Sessions.BeginWithToken(p.w, p.req, p.field("token"))
	switch {
	case onceward.Is(err, onceward.CodeUnauthenticated):
		return p.showSignIn(to, messageOf(err))
	case err != nil:
		return err
	}
	p.redirect(to)
	return nil
}

// endSession is POST /signout.
func endSession(p *page) error {
	if err := p.opts.Sessions.End(p.w, p.req); err != nil {
		return err
	}
	return p.done("/signin", "signed_out")
}
