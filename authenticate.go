package onceward

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// TokenCacheTime is how long a process uses a token as it read it. A revocation
// is in effect at once in the process that took it, and within this time in
// every other.
const TokenCacheTime = time.Second

// tokenCacheMax is how many tokens a process remembers.
const tokenCacheMax = 4096

// tokens is what this process read of tokens lately.
type tokens struct {
	mu    sync.Mutex
	known map[TokenID]*readToken
	any   anyToken
}

// readToken is one reading. Whoever comes while it is under way waits for it.
type readToken struct {
	began time.Time     // local
	done  chan struct{} // closed when token and err stand
	token *Token
	err   error
}

// anyToken remembers whether there is a token. Once there is, there always is.
type anyToken struct {
	mu   sync.Mutex
	yes  bool
	read time.Time // local; zero: never
}

// Authenticate returns who presents a token. CodeUnauthenticated: it is forged,
// expired or revoked, or none at all; what is wrong with one that is no token is
// not told. A ledger that cannot be read refuses, with its own code.
func (l *Ledger) Authenticate(ctx context.Context, presented string) (Principal, error) {
	id, secret, ok := splitToken(presented)
	if !ok {
		return Principal{}, unauthenticated("this is no token of onceward", "a token looks like ow_ID_SECRET; onceward token create makes one")
	}
	t, err := l.readToken(ctx, id)
	if err != nil {
		return Principal{}, fmt.Errorf("read token: %w", err)
	}
	if t == nil || !t.proves(secret) {
		return Principal{}, unauthenticated("the token is not known", "is it whole, and of this server? onceward token create makes one")
	}
	now := l.clock.now()
	if err := t.refusal(now); err != nil {
		return Principal{}, err
	}
	l.noteUse(ctx, t, now)
	return t.Principal(), nil
}

// readToken reads a token, or uses what was read within TokenCacheTime. What was
// not found is not remembered: a new token can be used at once.
func (l *Ledger) readToken(ctx context.Context, id TokenID) (*Token, error) {
	now := l.opts.Clock.Now()
	l.tokens.mu.Lock()
	r := l.tokens.known[id]
	if r != nil && now.Sub(r.began) < TokenCacheTime {
		l.tokens.mu.Unlock()
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, &Error{Code: CodeCanceled, Op: "read token", Err: ctx.Err()}
		}
		if r.err == nil && r.token != nil {
			return r.token, nil
		}
		return l.store.LoadToken(ctx, id) // whoever read for us failed by his own context, or the token is new
	}
	r = &readToken{began: now, done: make(chan struct{})}
	if l.tokens.known == nil || len(l.tokens.known) >= tokenCacheMax {
		l.tokens.known = map[TokenID]*readToken{}
	}
	l.tokens.known[id] = r
	l.tokens.mu.Unlock()
	defer close(r.done)
	if r.token, r.err = l.store.LoadToken(ctx, id); r.token == nil {
		l.forgetToken(id, r)
	}
	return r.token, r.err
}

// forgetToken drops a reading, if it is the one that is remembered (nil: whichever).
func (l *Ledger) forgetToken(id TokenID, r *readToken) {
	l.tokens.mu.Lock()
	defer l.tokens.mu.Unlock()
	if r == nil || l.tokens.known[id] == r {
		delete(l.tokens.known, id)
	}
}

// noteUse keeps the hour of the last use. It is a courtesy to whoever cleans up:
// a ledger that does not take it refuses nobody.
func (l *Ledger) noteUse(ctx context.Context, t *Token, now time.Time) {
	hour := now.Truncate(tokenUsedStep)
	if !t.LastUsedAt.Before(hour) || !l.tokens.use(t.ID, hour) {
		return
	}
	if err := l.store.UseToken(ctx, t.ID, hour); err != nil {
		l.log.Warn("use of a token not noted", "token", string(t.ID), "error", err)
	}
}

// use lets one of those that come at once note the hour: a reading is shared, so
// it is replaced and never changed.
func (c *tokens) use(id TokenID, hour time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.known[id]
	if r == nil {
		return true
	}
	select {
	case <-r.done:
	default:
		return false
	}
	if r.token == nil || !r.token.LastUsedAt.Before(hour) {
		return false
	}
	used := *r.token
	used.LastUsedAt = hour
	c.known[id] = &readToken{began: r.began, done: r.done, token: &used}
	return true
}

// AnyToken reports whether a token was ever made on this ledger: from then on
// even a loopback server asks for credentials. It is read at most once per
// TokenCacheTime, and never again once there is one. A ledger that cannot be
// read is an error, so that an outage opens nothing.
func (l *Ledger) AnyToken(ctx context.Context) (bool, error) {
	a := &l.tokens.any
	a.mu.Lock()
	defer a.mu.Unlock()
	now := l.opts.Clock.Now()
	if a.yes || !a.read.IsZero() && now.Sub(a.read) < TokenCacheTime {
		return a.yes, nil
	}
	yes, err := l.store.AnyToken(ctx)
	if err != nil {
		return false, fmt.Errorf("look for tokens: %w", err)
	}
	a.yes, a.read = yes, now
	return yes, nil
}

// IssueToken makes a token of the principal's own tenant. The second value is
// its secret, which cannot be had again. See NewToken.
func (l *Ledger) IssueToken(ctx context.Context, p Principal, r TokenRequest) (*Token, string, error) {
	t, secret, err := NewToken(p, r, l.clock.now())
	if err != nil {
		return nil, "", err
	}
	if err := l.store.PutToken(ctx, t, TokenIssued(&t)); err != nil {
		return nil, "", fmt.Errorf("store token %s: %w", t.ID, err)
	}
	l.tokens.any.mu.Lock()
	defer l.tokens.any.mu.Unlock()
	l.tokens.any.yes = true
	return &t, secret, nil
}

// ListTokens returns a page of the tenant's tokens by ID, with those that do not
// hold any more. limit is between 1 and TokenPageMax.
func (l *Ledger) ListTokens(ctx context.Context, p Principal, after TokenID, limit int) ([]Token, error) {
	if err := Authorize(p, ActionReadTokens); err != nil {
		return nil, err
	}
	if limit < 1 || limit > TokenPageMax {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", limit, TokenPageMax)
	}
	return l.store.ListTokens(ctx, p.Tenant, after, limit)
}

// RevokeToken ends a token of the tenant. Revoking it again changes nothing:
// who did it first stays. CodeTokenNotFound: the tenant has no such token.
func (l *Ledger) RevokeToken(ctx context.Context, p Principal, id TokenID) (*Token, error) {
	if err := Authorize(p, ActionManageTokens); err != nil {
		return nil, err
	}
	t, err := Revoke(ctx, l.store, p, id, l.clock.now())
	l.forgetToken(id, nil)
	return t, err
}

// Revoke is RevokeToken for whoever has the store and no ledger.
func Revoke(ctx context.Context, s TokenStore, p Principal, id TokenID, now time.Time) (*Token, error) {
	t, err := s.LoadToken(ctx, id)
	if err == nil && t != nil && t.Tenant == p.Tenant {
		t, err = s.RevokeToken(ctx, p.Tenant, id, p.String(), now, tokenRevoked(t, p))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("revoke token %s: %w", id, err)
	case t == nil || t.Tenant != p.Tenant:
		return nil, &Error{Code: CodeTokenNotFound, Op: "revoke token", Message: "no such token", Hint: "onceward token list shows the IDs; a token belongs to one tenant"}
	}
	return t, nil
}
