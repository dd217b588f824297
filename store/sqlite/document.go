package sqlite

import (
	"context"

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
