package memory

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutSession stores a new session; see [onceward.SessionStore].
func (s *Store) PutSession(ctx context.Context, n onceward.Session, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store session", func(d *data) error {
		n.CreatedAt, n.EndsAt, n.SeenAt = store.Stored(n.CreatedAt), store.Stored(n.EndsAt), store.Stored(n.SeenAt)
		d.sessions[n.Hash] = *copySession(n)
		d.note(notes)
		return nil
	})
}

// LoadSession reads a session; see [onceward.SessionStore].
func (s *Store) LoadSession(ctx context.Context, h onceward.SessionHash) (*onceward.Session, error) {
	var found *onceward.Session
	err := s.read(ctx, "load session", func(d *data) error {
		if n, ok := d.sessions[h]; ok {
			found = copySession(n)
		}
		return nil
	})
	return found, err
}

func copySession(n onceward.Session) *onceward.Session {
	p := &n.Principal
	s := store.CloneScope(onceward.Scope{Roles: p.Roles, Groups: p.Groups, Tools: p.Tools, Effects: p.Effects})
	p.Roles, p.Groups, p.Tools, p.Effects = s.Roles, s.Groups, s.Tools, s.Effects
	p.Credential = onceward.Credential{Token: p.Credential.Token}
	return &n
}

// SeeSession notes that a session was seen; see [onceward.SessionStore].
func (s *Store) SeeSession(ctx context.Context, h onceward.SessionHash, at time.Time) error {
	return s.write(ctx, "note use of session", func(d *data) error {
		if n, ok := d.sessions[h]; ok && n.SeenAt.Before(at) {
			n.SeenAt = store.Stored(at)
			d.sessions[h] = n
		}
		return nil
	})
}

// DropSession removes a session; see [onceward.SessionStore].
func (s *Store) DropSession(ctx context.Context, h onceward.SessionHash) error {
	return s.write(ctx, "remove session", func(d *data) error {
		delete(d.sessions, h)
		return nil
	})
}

// DropEndedSessions removes ended sessions; see [onceward.SessionStore].
func (s *Store) DropEndedSessions(ctx context.Context, before time.Time, limit int) error {
	return s.write(ctx, "remove ended sessions", func(d *data) error {
		for h, n := range d.sessions {
			if limit > 0 && n.EndsAt.Before(before) {
				delete(d.sessions, h)
				limit--
			}
		}
		return nil
	})
}
