package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutToken stores a new token; see [onceward.TokenStore].
func (s *Store) PutToken(ctx context.Context, t onceward.Token, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store token", func(d *data) error {
		if _, taken := d.tokens[t.ID]; taken {
			return store.TokenTaken()
		}
		t.Scope = store.CloneScope(t.Scope)
		t.CreatedAt, t.ExpiresAt = store.Stored(t.CreatedAt), store.Stored(t.ExpiresAt)
		t.RevokedAt, t.LastUsedAt = store.Stored(t.RevokedAt), store.Stored(t.LastUsedAt)
		d.tokens[t.ID] = t
		d.note(notes)
		return nil
	})
}

// LoadToken reads a token; see [onceward.TokenStore].
func (s *Store) LoadToken(ctx context.Context, id onceward.TokenID) (*onceward.Token, error) {
	var found *onceward.Token
	err := s.read(ctx, "load token", func(d *data) error {
		if t, ok := d.tokens[id]; ok {
			found = copyToken(t)
		}
		return nil
	})
	return found, err
}

func copyToken(t onceward.Token) *onceward.Token {
	t.Scope = store.CloneScope(t.Scope)
	return &t
}

// ListTokens reads a page of tokens; see [onceward.TokenStore].
func (s *Store) ListTokens(ctx context.Context, tenant onceward.Tenant, after onceward.TokenID, limit int) ([]onceward.Token, error) {
	var page []onceward.Token
	err := s.read(ctx, "list tokens", func(d *data) error {
		for _, t := range slices.SortedFunc(maps.Values(d.tokens), func(a, b onceward.Token) int { return strings.Compare(string(a.ID), string(b.ID)) }) {
			if t.Tenant == tenant && t.ID > after && len(page) < limit {
				page = append(page, *copyToken(t))
			}
		}
		return nil
	})
	return page, err
}

// RevokeToken notes who revoked a token; see [onceward.TokenStore].
func (s *Store) RevokeToken(ctx context.Context, tenant onceward.Tenant, id onceward.TokenID, by string, at time.Time, notes ...onceward.AuditEvent) (*onceward.Token, error) {
	var found *onceward.Token
	err := s.write(ctx, "revoke token", func(d *data) error {
		t, ok := d.tokens[id]
		if !ok || t.Tenant != tenant {
			return nil
		}
		if t.RevokedAt.IsZero() {
			t.RevokedBy, t.RevokedAt = by, store.Stored(at)
			d.tokens[id] = t
			d.note(notes)
		}
		found = copyToken(t)
		return nil
	})
	return found, err
}

// UseToken notes a token's last use; see [onceward.TokenStore].
func (s *Store) UseToken(ctx context.Context, id onceward.TokenID, at time.Time) error {
	return s.write(ctx, "note use of token", func(d *data) error {
		if t, ok := d.tokens[id]; ok && t.LastUsedAt.Before(at) {
			t.LastUsedAt = store.Stored(at)
			d.tokens[id] = t
		}
		return nil
	})
}

// AnyToken reports whether there is a token; see [onceward.TokenStore].
func (s *Store) AnyToken(ctx context.Context) (bool, error) {
	any := false
	err := s.read(ctx, "look for tokens", func(d *data) error {
		any = len(d.tokens) > 0
		return nil
	})
	return any, err
}
