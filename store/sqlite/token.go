package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const tokenColumns = `id, tenant, subject, scope, note, hash, created_by, created_at, expires_at, revoked_by, revoked_at, last_used_at`

// PutToken stores a new token; see [onceward.TokenStore].
func (s *Store) PutToken(ctx context.Context, t onceward.Token, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store token", func(c *conn) error {
		n, err := c.changed(`INSERT INTO tokens (`+tokenColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, func(b *binder) {
			b.text(string(t.ID))
			b.text(string(t.Tenant))
			b.text(t.Subject)
			b.blob(store.EncodeScope(t.Scope))
			b.text(t.Note)
			b.blob(t.Hash[:])
			b.text(t.CreatedBy)
			b.time(t.CreatedAt)
			b.time(t.ExpiresAt)
			b.text(t.RevokedBy)
			b.time(t.RevokedAt)
			b.time(t.LastUsedAt)
		})
		switch {
		case err != nil:
			return err
		case n == 0:
			return store.TokenTaken()
		}
		return s.note(c, notes)
	})
}

func (r *rower) token() (t onceward.Token, err error) {
	t.ID, t.Tenant, t.Subject = onceward.TokenID(r.text()), onceward.Tenant(r.text()), r.text()
	if t.Scope, err = store.DecodeScope(r.blob()); err != nil {
		return t, err
	}
	t.Note = r.text()
	r.fill(t.Hash[:])
	t.CreatedBy, t.CreatedAt, t.ExpiresAt, t.RevokedBy, t.RevokedAt, t.LastUsedAt = r.text(), r.time(), r.time(), r.text(), r.time(), r.time()
	return t, nil
}

// LoadToken reads a token; see [onceward.TokenStore].
func (s *Store) LoadToken(ctx context.Context, id onceward.TokenID) (found *onceward.Token, err error) {
	err = s.readRaw(ctx, "load token", func(c *conn) error {
		return c.query(`SELECT `+tokenColumns+` FROM tokens WHERE id = ?`, func(b *binder) { b.text(string(id)) }, func(r *rower) error {
			t, err := r.token()
			found = &t
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// ListTokens reads a page of tokens; see [onceward.TokenStore].
func (s *Store) ListTokens(ctx context.Context, tenant onceward.Tenant, after onceward.TokenID, limit int) (page []onceward.Token, err error) {
	err = s.readRaw(ctx, "list tokens", func(c *conn) error {
		return c.query(`SELECT `+tokenColumns+` FROM tokens WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?`, func(b *binder) {
			b.text(string(tenant))
			b.text(string(after))
			b.int(int64(limit))
		}, func(r *rower) error {
			t, err := r.token()
			page = append(page, t)
			return err
		})
	})
	return page, err
}

// RevokeToken notes who revoked a token; see [onceward.TokenStore].
func (s *Store) RevokeToken(ctx context.Context, tenant onceward.Tenant, id onceward.TokenID, by string, at time.Time, notes ...onceward.AuditEvent) (*onceward.Token, error) {
	var found *onceward.Token
	err := s.write(ctx, "revoke token", func(c *conn) error {
		n, err := c.changed(`UPDATE tokens SET revoked_by = ?, revoked_at = ? WHERE id = ? AND tenant = ? AND revoked_at IS NULL`, func(b *binder) {
			b.text(by)
			b.time(at)
			b.text(string(id))
			b.text(string(tenant))
		})
		if err == nil && n == 1 {
			err = s.note(c, notes)
		}
		if err != nil {
			return err
		}
		return c.query(`SELECT `+tokenColumns+` FROM tokens WHERE id = ? AND tenant = ?`, func(b *binder) {
			b.text(string(id))
			b.text(string(tenant))
		}, func(r *rower) error {
			t, err := r.token()
			found = &t
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// UseToken notes a token's last use; see [onceward.TokenStore].
func (s *Store) UseToken(ctx context.Context, id onceward.TokenID, at time.Time) error {
	return s.write(ctx, "note use of token", func(c *conn) error {
		return c.exec(`UPDATE tokens SET last_used_at = ?1 WHERE id = ?2 AND (last_used_at IS NULL OR last_used_at < ?1)`, func(b *binder) {
			b.time(at)
			b.text(string(id))
		})
	})
}

// AnyToken reports whether there is a token; see [onceward.TokenStore].
func (s *Store) AnyToken(ctx context.Context) (any bool, err error) {
	err = s.readRaw(ctx, "look for tokens", func(c *conn) error {
		return c.query(`SELECT EXISTS (SELECT 1 FROM tokens)`, nil, func(r *rower) error {
			any = r.bool()
			return nil
		})
	})
	return any, err
}
