package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutSession stores a new session; see [onceward.SessionStore].
func (s *Store) PutSession(ctx context.Context, n onceward.Session, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store session", func(c *conn) error {
		err := c.exec(`INSERT INTO sessions (hash, tenant, issuer, subject, name, scope, created_at, ends_at, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, func(b *binder) {
			p := &n.Principal
			b.blob(n.Hash[:])
			b.text(string(p.Tenant))
			b.text(p.Issuer)
			b.text(p.Subject)
			b.text(n.Name)
			b.blob(store.EncodeRights(p))
			b.time(n.CreatedAt)
			b.time(n.EndsAt)
			b.time(n.SeenAt)
		})
		if err != nil {
			return err
		}
		return s.note(c, notes)
	})
}

// LoadSession reads a session; see [onceward.SessionStore].
func (s *Store) LoadSession(ctx context.Context, h onceward.SessionHash) (*onceward.Session, error) {
	var found *onceward.Session
	err := s.readRaw(ctx, "load session", func(c *conn) error {
		return c.query(`SELECT tenant, issuer, subject, name, scope, created_at, ends_at, seen_at FROM sessions WHERE hash = ?`, func(b *binder) { b.blob(h[:]) }, func(r *rower) error {
			n := onceward.Session{Hash: h}
			p := &n.Principal
			p.Tenant, p.Issuer, p.Subject = onceward.Tenant(r.text()), r.text(), r.text()
			n.Name = r.text()
			err := store.DecodeRights(r.blob(), p)
			n.CreatedAt, n.EndsAt, n.SeenAt = r.time(), r.time(), r.time()
			found = &n
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// SeeSession notes that a session was seen; see [onceward.SessionStore].
func (s *Store) SeeSession(ctx context.Context, h onceward.SessionHash, at time.Time) error {
	return s.write(ctx, "note use of session", func(c *conn) error {
		return c.exec(`UPDATE sessions SET seen_at = ?1 WHERE hash = ?2 AND seen_at < ?1`, func(b *binder) {
			b.time(at)
			b.blob(h[:])
		})
	})
}

// DropSession removes a session; see [onceward.SessionStore].
func (s *Store) DropSession(ctx context.Context, h onceward.SessionHash) error {
	return s.write(ctx, "remove session", func(c *conn) error {
		return c.exec(`DELETE FROM sessions WHERE hash = ?`, func(b *binder) { b.blob(h[:]) })
	})
}

// DropEndedSessions removes ended sessions; see [onceward.SessionStore].
func (s *Store) DropEndedSessions(ctx context.Context, before time.Time, limit int) error {
	return s.write(ctx, "remove ended sessions", func(c *conn) error {
		return c.exec(`DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE ends_at < ? LIMIT ?)`, func(b *binder) {
			b.time(before)
			b.int(int64(limit))
		})
	})
}
