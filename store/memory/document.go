package memory

import (
	"bytes"
	"context"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

type documentKey struct {
	tenant onceward.Tenant
	digest onceward.Digest
}

// PutDocument stores a document; see [onceward.DocumentStore].
func (s *Store) PutDocument(ctx context.Context, doc onceward.Document, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store document", func(d *data) error {
		key := documentKey{doc.Tenant, doc.Digest}
		if _, there := d.documents[key]; !there {
			doc.Body, doc.CreatedAt = bytes.Clone(doc.Body), store.Stored(doc.CreatedAt)
			d.documents[key] = doc
			d.note(notes)
		}
		return nil
	})
}

// LoadDocument reads a document; see [onceward.DocumentStore].
func (s *Store) LoadDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest) (*onceward.Document, error) {
	var found *onceward.Document
	err := s.read(ctx, "load document", func(d *data) error {
		if doc, there := d.documents[documentKey{t, digest}]; there {
			doc.Body = bytes.Clone(doc.Body)
			found = &doc
		}
		return nil
	})
	return found, err
}
