package sealed

import (
	"context"

	"github.com/onceward/onceward"
)

// row is a row beside the operations, as far as encryption is concerned.
type row struct {
	tenant  onceward.Tenant
	how     *onceward.Concealed
	noun    string
	id      string
	take    func() []byte      // takes the secrets out of it
	put     func([]byte) error // puts them back
	digests []hidden
}

// hidden is a digest of a row, which is encrypted with the tenant's own key, and
// so outlives the subject's.
type hidden struct {
	of     *onceward.Digest
	within string // tells it from the others of its row
}

func (r *row) purpose() string { return "onceward/" + r.noun + "/v1\n" + r.id }

// key is the data key with which a row is encrypted that is written now. A zero
// ID: there are no master keys, and it stays in clear. A nil key: it was shredded
// meanwhile.
func (s *Store) key(ctx context.Context, t onceward.Tenant, how *onceward.Concealed) (id onceward.DataKeyID, key []byte, err error) {
	switch {
	case !how.DataKey.IsZero():
		key, err = s.keys.toSeal(ctx, how.DataKey)
		return how.DataKey, key, err
	case len(s.opts.Keys.Names()) == 0 && how.Subject == "":
		return id, nil, nil
	}
	return s.keys.newest(ctx, owner{t, how.Subject})
}

// conceal encrypts a row where the process has master keys.
func (s *Store) conceal(ctx context.Context, r *row) error {
	id, key, err := s.key(ctx, r.tenant, r.how)
	if err != nil || id.IsZero() {
		return err
	}
	own, err := s.keys.tenant(ctx, r.tenant)
	if err != nil {
		return err
	}
	for _, d := range r.digests {
		if !d.of.IsZero() {
			*d.of = hideDigest(own, r.purpose()+"\n"+d.within, *d.of)
		}
	}
	r.how.Sealed, err = s.bytes(id, key, r.purpose(), r.take())
	return err
}

// bytes encrypts, or says no more than which key is gone.
func (s *Store) bytes(id onceward.DataKeyID, key []byte, purpose string, plain []byte) ([]byte, error) {
	if key == nil {
		return append([]byte{envelopeFormat}, id[:]...), nil
	}
	return seal(id, key, purpose, plain)
}

// reveal decrypts a row. One that is in clear stays as it is.
func (s *Store) reveal(ctx context.Context, r *row) error {
	if r.how.Sealed == nil {
		return nil
	}
	own, err := s.keys.tenant(ctx, r.tenant)
	if err != nil {
		return err
	}
	for _, d := range r.digests {
		if !d.of.IsZero() {
			*d.of = showDigest(own, r.purpose()+"\n"+d.within, *d.of)
		}
	}
	plain, err := s.opened(ctx, r, r.how.Sealed, r.purpose())
	r.how.Sealed = nil
	if err != nil || r.how.Shredded {
		return err
	}
	return r.put(plain)
}

// opened decrypts bytes of a row, and notes in it with which key, whose that is,
// and whether it was shredded.
func (s *Store) opened(ctx context.Context, r *row, envelope []byte, purpose string) ([]byte, error) {
	id, ok := keyOf(envelope)
	if !ok {
		return nil, corruptRow(r.noun, r.id)
	}
	key, subject, err := s.keys.one(ctx, id)
	if err != nil {
		return nil, err
	}
	r.how.DataKey, r.how.Subject = id, subject
	if key == nil {
		r.how.Shredded = true
		return nil, nil
	}
	plain, ok := open(key, purpose, envelope)
	if !ok {
		return nil, corruptRow(r.noun, r.id)
	}
	return plain, nil
}

// revealAll decrypts a page; its keys are read by one query.
func revealAll[T any](ctx context.Context, s *Store, all []*T, of func(*T) *row) error {
	var ids []onceward.DataKeyID
	rows := make([]*row, len(all))
	for i := range all {
		rows[i] = of(all[i])
		if id, ok := keyOf(rows[i].how.Sealed); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := s.keys.of(ctx, ids...); err != nil {
		return err
	}
	for _, r := range rows {
		if err := s.reveal(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// stored decrypts what a write or a read gives back.
func stored[T any](ctx context.Context, s *Store, one *T, err error, of func(*T) *row) (*T, error) {
	if one == nil || err != nil {
		return nil, err
	}
	if err := s.reveal(ctx, of(one)); err != nil {
		return nil, err
	}
	return one, nil
}

// page decrypts a page that was read.
func page[T any](ctx context.Context, s *Store, all []*T, err error, of func(*T) *row) ([]*T, error) {
	if err == nil {
		err = revealAll(ctx, s, all, of)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}
