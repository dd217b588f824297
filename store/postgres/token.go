package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

const tokenColumns = `id, tenant, subject, scope, note, hash, created_by, created_at, expires_at, revoked_by, revoked_at, last_used_at`

// PutToken stores a new token; see [onceward.TokenStore]. A token that was
// stored by a try whose answer was lost is not taken by somebody else.
func (s *Store) PutToken(ctx context.Context, t onceward.Token, notes ...onceward.AuditEvent) error {
	return s.do(ctx, "store token", func(ctx context.Context, conn *pgx.Conn) error {
		wrote, err := durably(ctx, conn, notes, `insert into tokens as t (`+tokenColumns+`)
values ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz, $9::timestamptz, $10, $11::timestamptz, $12::timestamptz)
on conflict (id) do update set id = excluded.id where t.hash = excluded.hash`,
			string(t.ID), string(t.Tenant), t.Subject, store.EncodeScope(t.Scope), t.Note, t.Hash[:], t.CreatedBy,
			optionalTime(t.CreatedAt), optionalTime(t.ExpiresAt), t.RevokedBy, optionalTime(t.RevokedAt), optionalTime(t.LastUsedAt))
		if err == nil && !wrote {
			err = store.TokenTaken()
		}
		return err
	})
}

func scanToken(row pgx.CollectableRow) (t onceward.Token, err error) {
	var scope, hash []byte
	var revoked, used *time.Time
	err = row.Scan((*string)(&t.ID), (*string)(&t.Tenant), &t.Subject, &scope, &t.Note, &hash, &t.CreatedBy, &t.CreatedAt, &t.ExpiresAt, &t.RevokedBy, &revoked, &used)
	if err != nil {
		return t, err
	}
	copy(t.Hash[:], hash)
	t.CreatedAt, t.ExpiresAt, t.RevokedAt, t.LastUsedAt = t.CreatedAt.UTC(), t.ExpiresAt.UTC(), timeOf(revoked), timeOf(used)
	t.Scope, err = store.DecodeScope(scope)
	return t, err
}

// oneToken runs a statement that gives one token or none.
func (s *Store) oneToken(ctx context.Context, op, sql string, args ...any) (*onceward.Token, error) {
	var found *onceward.Token
	err := s.do(ctx, op, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		t, err := pgx.CollectExactlyOneRow(rows, scanToken)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			found = nil
			return nil
		case err != nil:
			return err
		}
		found = &t
		return nil
	})
	return found, err
}

// LoadToken reads a token; see [onceward.TokenStore].
func (s *Store) LoadToken(ctx context.Context, id onceward.TokenID) (*onceward.Token, error) {
	return s.oneToken(ctx, "load token", "select "+tokenColumns+" from tokens where id = $1", string(id))
}

// ListTokens reads a page of tokens; see [onceward.TokenStore].
func (s *Store) ListTokens(ctx context.Context, tenant onceward.Tenant, after onceward.TokenID, limit int) (page []onceward.Token, err error) {
	err = s.do(ctx, "list tokens", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select "+tokenColumns+" from tokens where tenant = $1 and id > $2 order by id limit $3", string(tenant), string(after), limit)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, scanToken)
		return err
	})
	return page, err
}

// RevokeToken notes who revoked a token; see [onceward.TokenStore]. Who was
// first stays: the row is locked by whoever comes first.
func (s *Store) RevokeToken(ctx context.Context, tenant onceward.Tenant, id onceward.TokenID, by string, at time.Time, notes ...onceward.AuditEvent) (*onceward.Token, error) {
	err := s.do(ctx, "revoke token", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := durably(ctx, conn, notes, "update tokens set revoked_by = $3, revoked_at = $4::timestamptz where id = $1 and tenant = $2 and revoked_at is null",
			string(id), string(tenant), by, optionalTime(at))
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.oneToken(ctx, "load token", "select "+tokenColumns+" from tokens where id = $1 and tenant = $2", string(id), string(tenant))
}

// UseToken notes a token's last use; see [onceward.TokenStore].
func (s *Store) UseToken(ctx context.Context, id onceward.TokenID, at time.Time) error {
	return s.do(ctx, "note use of token", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "update tokens set last_used_at = $2::timestamptz where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz)", string(id), optionalTime(at))
		return err
	})
}

// AnyToken reports whether there is a token; see [onceward.TokenStore].
func (s *Store) AnyToken(ctx context.Context) (any bool, err error) {
	err = s.do(ctx, "look for tokens", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "select exists (select 1 from tokens)").Scan(&any)
	})
	return any, err
}
