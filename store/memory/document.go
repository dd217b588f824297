package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

type documentKey struct {
	tenant onceward.Tenant
	digest onceward.Digest
}

// keptDocument is a document and when it was last named.
type keptDocument struct {
	onceward.Document
	namedAt time.Time
}

// old reports whether it was added and last named before the time.
func (d *keptDocument) old(before time.Time) bool {
	return d.CreatedAt.Before(before) && d.namedAt.Before(before)
}

// PutDocument stores a document; see [onceward.DocumentStore].
func (s *Store) PutDocument(ctx context.Context, doc onceward.Document, notes ...onceward.AuditEvent) error {
	return s.write(ctx, "store document", func(d *data) error {
		key := documentKey{doc.Tenant, doc.Digest}
		if _, there := d.documents[key]; !there {
			doc.Body, doc.CreatedAt = bytes.Clone(doc.Body), store.Stored(doc.CreatedAt)
			d.documents[key] = keptDocument{Document: doc}
			d.note(notes)
		}
		return nil
	})
}

// LoadDocument reads a document; see [onceward.DocumentStore].
func (s *Store) LoadDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest) (*onceward.Document, error) {
	var found *onceward.Document
	err := s.read(ctx, "load document", func(d *data) error {
		if kept, there := d.documents[documentKey{t, digest}]; there {
			doc := kept.Document
			doc.Body = bytes.Clone(doc.Body)
			found = &doc
		}
		return nil
	})
	return found, err
}

// NameDocument notes that a document is named; see [onceward.DocumentStore].
func (s *Store) NameDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest, at time.Time) (there bool, err error) {
	err = s.write(ctx, "name document", func(d *data) error {
		key := documentKey{t, digest}
		var kept keptDocument
		if kept, there = d.documents[key]; there && kept.namedAt.Before(at) {
			kept.namedAt = store.Stored(at)
			d.documents[key] = kept
		}
		return nil
	})
	return there, err
}

// AgedDocuments lists old documents; see [onceward.DocumentStore].
func (s *Store) AgedDocuments(ctx context.Context, after onceward.DocumentCursor, before time.Time, limit int) (all []onceward.Document, err error) {
	order := func(a, b onceward.DocumentCursor) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Tenant, b.Tenant), bytes.Compare(a.Digest[:], b.Digest[:]))
	}
	place := func(d onceward.Document) onceward.DocumentCursor {
		return onceward.DocumentCursor{CreatedAt: d.CreatedAt, Tenant: d.Tenant, Digest: d.Digest}
	}
	err = s.read(ctx, "list old documents", func(d *data) error {
		for _, kept := range d.documents {
			doc := kept.Document
			doc.Body = nil
			shown := doc.MediaType == onceward.ShowingMediaType || doc.MediaType == onceward.SealedMediaType
			if !shown && kept.old(before) && (after == onceward.DocumentCursor{} || order(place(doc), after) > 0) {
				all = append(all, doc)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b onceward.Document) int { return order(place(a), place(b)) })
	return all[:min(len(all), limit)], err
}

// DropDocument removes a document; see [onceward.DocumentStore].
func (s *Store) DropDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest, before time.Time, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.write(ctx, "drop document", func(d *data) error {
		key := documentKey{t, digest}
		kept, there := d.documents[key]
		if dropped = there && kept.old(before); dropped {
			delete(d.documents, key)
			d.note(notes)
		}
		return nil
	})
	return dropped, err
}
