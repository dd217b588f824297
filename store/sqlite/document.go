package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutDocument stores a document; see [onceward.DocumentStore].
func (s *Store) PutDocument(ctx context.Context, d onceward.Document, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store document", func(c *conn) error {
		n, err := c.changed(`INSERT INTO documents (tenant, sha256, media_type, bytes, actor, created_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (tenant, sha256) DO NOTHING`, func(b *binder) {
			b.text(string(d.Tenant))
			b.blob(d.Digest[:])
			b.text(d.MediaType)
			b.blob(append([]byte{}, d.Body...))
			b.text(d.Actor)
			b.time(d.CreatedAt)
		})
		if err != nil || n == 0 {
			return err
		}
		return s.note(c, notes)
	})
}

// LoadDocument reads a document; see [onceward.DocumentStore].
func (s *Store) LoadDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest) (*onceward.Document, error) {
	var found *onceward.Document
	err := s.readRaw(ctx, "load document", func(c *conn) error {
		return c.query(`SELECT media_type, bytes, actor, created_at FROM documents WHERE tenant = ? AND sha256 = ?`, func(b *binder) {
			b.text(string(t))
			b.blob(digest[:])
		}, func(r *rower) error {
			found = &onceward.Document{Tenant: t, Digest: digest, MediaType: r.text(), Body: r.blob(), Actor: r.text(), CreatedAt: r.time()}
			return nil
		})
	})
	return found, err
}

// NameDocument notes that a document is named; see [onceward.DocumentStore].
func (s *Store) NameDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest, at time.Time) (there bool, err error) {
	err = s.write(ctx, "name document", func(c *conn) error {
		n, err := c.changed(`UPDATE documents SET named_at = max(coalesce(named_at, 0), ?) WHERE tenant = ? AND sha256 = ?`, func(b *binder) {
			b.time(at)
			b.text(string(t))
			b.blob(digest[:])
		})
		there = n == 1
		return err
	})
	return there, err
}

// AgedDocuments lists old documents; see [onceward.DocumentStore].
func (s *Store) AgedDocuments(ctx context.Context, after onceward.DocumentCursor, before time.Time, limit int) (all []onceward.Document, err error) {
	err = s.readRaw(ctx, "list old documents", func(c *conn) error {
		all = nil
		return c.query(`SELECT tenant, sha256, media_type, actor, created_at FROM documents
			WHERE created_at < ?1 AND coalesce(named_at, 0) < ?1 AND (?2 OR (created_at, tenant, sha256) > (?3, ?4, ?5)) AND media_type NOT IN (?6, ?7)
			ORDER BY created_at, tenant, sha256 LIMIT ?8`, func(b *binder) {
			b.time(before)
			b.bool(after == onceward.DocumentCursor{})
			b.time(after.CreatedAt)
			b.text(string(after.Tenant))
			b.blob(after.Digest[:])
			b.text(onceward.ShowingMediaType)
			b.text(onceward.SealedMediaType)
			b.int(int64(limit))
		}, func(r *rower) error {
			d := onceward.Document{Tenant: onceward.Tenant(r.text())}
			r.fill(d.Digest[:])
			d.MediaType, d.Actor, d.CreatedAt = r.text(), r.text(), r.time()
			all = append(all, d)
			return nil
		})
	})
	return all, err
}

// DropDocument removes a document; see [onceward.DocumentStore].
func (s *Store) DropDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest, before time.Time, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.write(ctx, "drop document", func(c *conn) error {
		n, err := c.changed(`DELETE FROM documents WHERE tenant = ?1 AND sha256 = ?2 AND created_at < ?3 AND coalesce(named_at, 0) < ?3`, func(b *binder) {
			b.text(string(t))
			b.blob(digest[:])
			b.time(before)
		})
		if dropped = n == 1; err != nil || !dropped {
			return err
		}
		return s.note(c, notes)
	})
	return dropped, err
}
