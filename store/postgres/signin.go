package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutSession stores a new session; see [onceward.SessionStore].
func (s *Store) PutSession(ctx context.Context, n onceward.Session, notes ...onceward.AuditEvent) error {
	return s.do(ctx, "store session", func(ctx context.Context, conn *pgx.Conn) error {
		p := &n.Principal
		_, err := durably(ctx, conn, notes, `insert into sessions (hash, tenant, issuer, subject, name, scope, created_at, ends_at, seen_at)
values ($1, $2, $3, $4, $5, $6, $7::timestamptz, $8::timestamptz, $9::timestamptz) on conflict (hash) do nothing`,
			n.Hash[:], string(p.Tenant), p.Issuer, p.Subject, n.Name, store.EncodeRights(p),
			optionalTime(n.CreatedAt), optionalTime(n.EndsAt), optionalTime(n.SeenAt))
		return err
	})
}

// LoadSession reads a session; see [onceward.SessionStore].
func (s *Store) LoadSession(ctx context.Context, h onceward.SessionHash) (*onceward.Session, error) {
	var found *onceward.Session
	err := s.do(ctx, "load session", func(ctx context.Context, conn *pgx.Conn) error {
		n := onceward.Session{Hash: h}
		p := &n.Principal
		var rights []byte
		err := conn.QueryRow(ctx, "select tenant, issuer, subject, name, scope, created_at, ends_at, seen_at from sessions where hash = $1", h[:]).
			Scan((*string)(&p.Tenant), &p.Issuer, &p.Subject, &n.Name, &rights, &n.CreatedAt, &n.EndsAt, &n.SeenAt)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			found = nil
			return nil
		case err != nil:
			return err
		}
		n.CreatedAt, n.EndsAt, n.SeenAt = n.CreatedAt.UTC(), n.EndsAt.UTC(), n.SeenAt.UTC()
		found = &n
		return store.DecodeRights(rights, p)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// SeeSession notes that a session was seen; see [onceward.SessionStore].
func (s *Store) SeeSession(ctx context.Context, h onceward.SessionHash, at time.Time) error {
	return s.do(ctx, "note use of session", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "update sessions set seen_at = $2::timestamptz where hash = $1 and seen_at < $2::timestamptz", h[:], optionalTime(at))
		return err
	})
}

// DropSession removes a session; see [onceward.SessionStore].
func (s *Store) DropSession(ctx context.Context, h onceward.SessionHash) error {
	return s.do(ctx, "remove session", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "delete from sessions where hash = $1", h[:])
		return err
	})
}

// DropEndedSessions removes ended sessions; see [onceward.SessionStore].
func (s *Store) DropEndedSessions(ctx context.Context, before time.Time, limit int) error {
	return s.do(ctx, "remove ended sessions", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "delete from sessions where hash in (select hash from sessions where ends_at < $1::timestamptz limit $2)", optionalTime(before), limit)
		return err
	})
}
