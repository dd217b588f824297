package sealed

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

func runRow(r *onceward.Run) *row {
	return &row{tenant: r.Tenant, how: &r.Concealed, noun: "run", id: r.ID.String(),
		take: func() []byte { return store.TakeRunSecrets(r) }, put: func(b []byte) error { return store.PutRunSecrets(r, b) },
		digests: []hidden{{&r.InputDigest, "input"}}}
}

// inputPurpose is of the input, which stands beside the row: lists do not read it.
func inputPurpose(r *onceward.Run) string { return "onceward/run-input/v1\n" + r.ID.String() }

// PutRun implements onceward.Store.
func (s *Store) PutRun(ctx context.Context, r onceward.Run, notes ...onceward.AuditEvent) (*onceward.Run, bool, error) {
	if r.Input != nil {
		id, key, err := s.key(ctx, r.Tenant, &r.Concealed)
		if err != nil {
			return nil, false, err
		}
		if !id.IsZero() {
			r.DataKey = id // one key for both
			if r.Input, err = s.bytes(id, key, inputPurpose(&r), r.Input); err != nil {
				return nil, false, err
			}
		}
	}
	if err := s.conceal(ctx, runRow(&r)); err != nil {
		return nil, false, err
	}
	out, applied, err := s.Store.PutRun(ctx, r, notes...)
	out, err = s.wholeRun(ctx, out, err)
	return out, applied && err == nil, err
}

// wholeRun decrypts a run with its input, which may have been written before
// there were keys.
func (s *Store) wholeRun(ctx context.Context, r *onceward.Run, err error) (*onceward.Run, error) {
	if r, err = stored(ctx, s, r, err, runRow); r == nil || err != nil {
		return nil, err
	}
	if len(r.Input) > 0 && r.Input[0] == envelopeFormat {
		if r.Input, err = s.opened(ctx, runRow(r), r.Input, inputPurpose(r)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// LoadRun implements onceward.Store.
func (s *Store) LoadRun(ctx context.Context, id onceward.RunID) (*onceward.Run, error) {
	r, err := s.Store.LoadRun(ctx, id)
	return s.wholeRun(ctx, r, err)
}

// ListRuns implements onceward.Store.
func (s *Store) ListRuns(ctx context.Context, f onceward.RunFilter) ([]*onceward.Run, error) {
	all, err := s.Store.ListRuns(ctx, f)
	return page(ctx, s, all, err, runRow)
}

// AgedRuns implements onceward.Store.
func (s *Store) AgedRuns(ctx context.Context, after onceward.RunCursor, before time.Time, limit int) ([]*onceward.Run, error) {
	all, err := s.Store.AgedRuns(ctx, after, before, limit)
	return page(ctx, s, all, err, runRow)
}
