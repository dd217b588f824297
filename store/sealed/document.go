package sealed

import (
	"context"
	"strings"

	"github.com/onceward/onceward"
)

// PutDocument implements onceward.Store. What an approver was shown has the key
// of its operation, and is in clear where that is; any other document is encrypted
// where there are master keys.
func (s *Store) PutDocument(ctx context.Context, d onceward.Document, notes ...onceward.AuditEvent) error {
	shown := d.MediaType == onceward.ShowingMediaType
	if shown && d.DataKey.IsZero() {
		return s.Store.PutDocument(ctx, d, notes...)
	}
	id, key, err := s.key(ctx, d.Tenant, &d.Concealed)
	switch {
	case err != nil:
		return err
	case id.IsZero():
		return s.Store.PutDocument(ctx, d, notes...)
	case key == nil:
		return nil // shredded meanwhile: nothing of it is kept
	}
	plain := append([]byte(d.MediaType+"\n"), d.Body...)
	if d.Body, err = seal(id, key, documentPurpose(&d), plain); err != nil {
		return err
	}
	d.MediaType = onceward.SealedDocumentMediaType
	if shown {
		d.MediaType = onceward.SealedMediaType
	}
	return s.Store.PutDocument(ctx, d, notes...)
}

// LoadDocument implements onceward.Store.
func (s *Store) LoadDocument(ctx context.Context, t onceward.Tenant, digest onceward.Digest) (*onceward.Document, error) {
	d, err := s.Store.LoadDocument(ctx, t, digest)
	if err != nil || d == nil || d.MediaType != onceward.SealedMediaType && d.MediaType != onceward.SealedDocumentMediaType {
		return d, err
	}
	altered := onceward.Errorf(onceward.CodeLedgerCorrupt, "document %s was altered", digest)
	id, ok := keyOf(d.Body)
	if !ok {
		return nil, altered
	}
	key, subject, err := s.keys.one(ctx, id)
	if err != nil {
		return nil, err
	}
	d.DataKey, d.Subject = id, subject
	if key == nil {
		d.Body, d.Shredded = []byte{}, true
		return d, nil
	}
	plain, ok := open(key, documentPurpose(d), d.Body)
	media, body, cut := strings.Cut(string(plain), "\n")
	if !ok || !cut {
		return nil, altered
	}
	d.MediaType, d.Body = media, []byte(body)
	return d, nil
}
