package onceward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"
)

// Limits of sessions.
const (
	// SessionLifetime is how long a person stays signed in at most. Roles and
	// groups are those of the moment of signing in.
	SessionLifetime = 8 * time.Hour
	// SessionIdle is how long a session that nobody uses lasts.
	SessionIdle = time.Hour
	// sessionSeenStep is how coarse the time of the last use is: it costs a write.
	sessionSeenStep = time.Minute
	// sessionSweep is how many ended sessions a sign-in removes at most.
	sessionSweep = 100

	sessionIDBytes = 32
)

// SessionHash is what is stored of a session's ID: whoever reads the database
// cannot act for those who are signed in. The ID is 256 random bits; see NewToken.
type SessionHash [sha256.Size]byte

// Session is a person who signed in with a browser.
type Session struct {
	Hash      SessionHash
	Principal Principal // of one that began with a token, as the token has it now
	Name      string    // for people to read; may be empty
	CreatedAt time.Time
	EndsAt    time.Time // whatever happens
	SeenAt    time.Time // to the minute
}

// SessionStore keeps sessions.
type SessionStore interface {
	// PutSession stores a new session, and notes the events in the same transaction.
	PutSession(ctx context.Context, s Session, notes ...AuditEvent) error
	// LoadSession reads one; nil if there is none.
	LoadSession(ctx context.Context, h SessionHash) (*Session, error)
	// SeeSession moves the time at which a session was seen forward.
	SeeSession(ctx context.Context, h SessionHash, at time.Time) error
	// DropSession removes one; it need not be there.
	DropSession(ctx context.Context, h SessionHash) error
	// DropEndedSessions removes at most limit sessions that ended before the time.
	DropEndedSessions(ctx context.Context, before time.Time, limit int) error
}

// SignIn begins a session and returns its ID, which only the browser keeps.
// CodeForbidden: the person has no role here.
func (l *Ledger) SignIn(ctx context.Context, p Principal, name string) (id string, s *Session, err error) {
	if _, err := ParseTenant(string(p.Tenant)); err != nil {
		return "", nil, err
	}
	if len(p.Roles) == 0 {
		return "", nil, &Error{Code: CodeForbidden, Op: "sign in", Message: "the identity provider names no role that this server knows",
			Hint: "ask an admin to map one of your groups to a role"}
	}
	now := l.clock.now()
	if err := l.store.DropEndedSessions(ctx, now, sessionSweep); err != nil {
		return "", nil, fmt.Errorf("remove ended sessions: %w", err)
	}
	id = base32hex.EncodeToString(randomBytes(sessionIDBytes))
	s = &Session{Hash: hashSession(id), Principal: p, Name: name, CreatedAt: now, EndsAt: now.Add(SessionLifetime), SeenAt: now}
	note := NewAuditEvent(AuditEvent{Tenant: p.Tenant, Actor: p.String(), Action: AuditSignedIn, Subject: p.Subject, Detail: "roles " + inWords(p.Roles)})
	if err := l.store.PutSession(ctx, *s, note); err != nil {
		return "", nil, fmt.Errorf("store session: %w", err)
	}
	return id, s, nil
}

func hashSession(id string) SessionHash {
	return sha256.Sum256([]byte("onceward/session/v1\n" + id))
}

// SignInWithToken begins a session for whoever presents a token, so that a
// browser need not keep the token. It ends with the token: once that is revoked
// or has expired. CodeUnauthenticated as [Ledger.Authenticate].
func (l *Ledger) SignInWithToken(ctx context.Context, presented string) (id string, s *Session, err error) {
	p, err := l.Authenticate(ctx, presented)
	if err != nil {
		return "", nil, err
	}
	return l.SignIn(ctx, p, p.Subject)
}

// Session returns the session of an ID, and notes that it was seen.
// CodeUnauthenticated: there is none, or it has ended, or the token has that it
// began with. It is read each time, so that signing out is in effect at once
// everywhere.
func (l *Ledger) Session(ctx context.Context, id string) (*Session, error) {
	if !lowerBase32(id, sessionIDBytes) {
		return nil, signedOut()
	}
	s, err := l.store.LoadSession(ctx, hashSession(id))
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	now := l.clock.now()
	if s == nil || !now.Before(s.EndsAt) || now.Sub(s.SeenAt) > SessionIdle {
		return nil, signedOut()
	}
	if now.Sub(s.SeenAt) >= sessionSeenStep {
		if err := l.store.SeeSession(ctx, s.Hash, now); err != nil {
			l.log.Warn("use of a session not noted", "error", err)
		}
	}
	if id := s.Principal.Credential.Token; id != "" {
		if err := l.ofToken(ctx, s, id, now); err != nil {
			return nil, err
		}
		return s, nil
	}
	s.Principal.Credential = Credential{EndsAt: s.EndsAt}
	return s, nil
}

// ofToken gives a session the rights that its token has now.
func (l *Ledger) ofToken(ctx context.Context, s *Session, id TokenID, now time.Time) error {
	t, err := l.readToken(ctx, id)
	switch {
	case err != nil:
		return fmt.Errorf("read the token of a session: %w", err)
	case t == nil || t.refusal(now) != nil:
		return signedOut()
	}
	s.Principal = t.Principal()
	if s.EndsAt.Before(t.ExpiresAt) {
		s.Principal.Credential.EndsAt = s.EndsAt
	}
	return nil
}

// SignOut ends a session. One that is not there has ended already.
func (l *Ledger) SignOut(ctx context.Context, id string) error {
	if !lowerBase32(id, sessionIDBytes) {
		return nil
	}
	if err := l.store.DropSession(ctx, hashSession(id)); err != nil {
		return fmt.Errorf("remove session: %w", err)
	}
	return nil
}

func signedOut() error { return unauthenticated("the session has ended", "sign in again") }
