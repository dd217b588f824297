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

// NameDocument notes that a document is named; see [onceward.DocumentStore].
func (s *Store) NameDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest, at time.Time) (there bool, err error) {
	err = s.do(ctx, "name document", func(ctx context.Context, conn *pgx.Conn) error {
		there, err = durably(ctx, conn, nil, "update documents set named_at = greatest(named_at, $3::timestamptz) where tenant = $1 and sha256 = $2", string(t), digest[:], optionalTime(at))
		return err
	})
	return there, err
}

// AgedDocuments lists old documents; see [onceward.DocumentStore].
func (s *Store) AgedDocuments(ctx context.Context, after onceward.DocumentCursor, before time.Time, limit int) (all []onceward.Document, err error) {
	first := after == onceward.DocumentCursor{}
	err = s.do(ctx, "list old documents", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select tenant, sha256, media_type, actor, created_at from documents
where created_at < $1::timestamptz and coalesce(named_at, created_at) < $1 and ($2::boolean or (created_at, tenant, sha256) > ($3::timestamptz, $4::text collate "C", $5::bytea))
and media_type not in ($6, $7) order by created_at, tenant, sha256 limit $8`,
			optionalTime(before), first, optionalTime(after.CreatedAt), string(after.Tenant), after.Digest[:], onceward.ShowingMediaType, onceward.SealedMediaType, limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d onceward.Document, err error) {
			var digest []byte
			var created *time.Time
			err = row.Scan(&d.Tenant, &digest, &d.MediaType, &d.Actor, &created)
			copy(d.Digest[:], digest)
			d.CreatedAt = timeOf(created)
			return d, err
		})
		return err
	})
	return all, err
}

// DropDocument removes a document; see [onceward.DocumentStore].
func (s *Store) DropDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest, before time.Time, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.do(ctx, "drop document", func(ctx context.Context, conn *pgx.Conn) error {
		dropped, err = durably(ctx, conn, notes, `delete from documents where tenant = $1 and sha256 = $2
and created_at < $3::timestamptz and coalesce(named_at, created_at) < $3`, string(t), digest[:], optionalTime(before))
		return err
	})
	return dropped, err
}
