package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// PutDocument stores a document; see [onceward.DocumentStore].
func (s *Store) PutDocument(ctx context.Context, d onceward.Document, notes ...onceward.AuditEvent) error {
	return s.do(ctx, "store document", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := durably(ctx, conn, notes, `insert into documents (tenant, sha256, media_type, bytes, actor, created_at) values ($1, $2, $3, $4, $5, $6::timestamptz)
on conflict (tenant, sha256) do nothing`, string(d.Tenant), d.Digest[:], d.MediaType, notNil(d.Body), d.Actor, optionalTime(d.CreatedAt))
		return err
	})
}

// LoadDocument reads a document; see [onceward.DocumentStore].
func (s *Store) LoadDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest) (*onceward.Document, error) {
	var found *onceward.Document
	err := s.do(ctx, "load document", func(ctx context.Context, conn *pgx.Conn) error {
		d := onceward.Document{Tenant: t, Digest: digest}
		var created *time.Time
		err := conn.QueryRow(ctx, "select media_type, bytes, actor, created_at from documents where tenant = $1 and sha256 = $2", string(t), digest[:]).
			Scan(&d.MediaType, &d.Body, &d.Actor, &created)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		d.CreatedAt = timeOf(created)
		found = &d
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
