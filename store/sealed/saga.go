package sealed

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

func sagaRow(s *onceward.Saga) *row {
	return &row{tenant: s.Tenant, how: &s.Concealed, noun: "saga", id: s.ID.String(),
		take: func() []byte { return store.TakeSagaSecrets(s) }, put: func(b []byte) error { return store.PutSagaSecrets(s, b) },
		digests: []hidden{{&s.Digest, "steps"}}}
}

// PutSaga implements onceward.Store.
func (s *Store) PutSaga(ctx context.Context, saga onceward.Saga, notes ...onceward.AuditEvent) (*onceward.Saga, bool, error) {
	if err := s.conceal(ctx, sagaRow(&saga)); err != nil {
		return nil, false, err
	}
	out, applied, err := s.Store.PutSaga(ctx, saga, notes...)
	out, err = stored(ctx, s, out, err, sagaRow)
	return out, applied && err == nil, err
}

// LoadSaga implements onceward.Store.
func (s *Store) LoadSaga(ctx context.Context, id onceward.SagaID) (*onceward.Saga, error) {
	saga, err := s.Store.LoadSaga(ctx, id)
	return stored(ctx, s, saga, err, sagaRow)
}

// ListSagas implements onceward.Store.
func (s *Store) ListSagas(ctx context.Context, f onceward.SagaFilter) ([]*onceward.Saga, error) {
	all, err := s.Store.ListSagas(ctx, f)
	return page(ctx, s, all, err, sagaRow)
}

// TakeSagas implements onceward.Store.
func (s *Store) TakeSagas(ctx context.Context, limit int, hold time.Duration) ([]*onceward.Saga, error) {
	all, err := s.Store.TakeSagas(ctx, limit, hold)
	return page(ctx, s, all, err, sagaRow)
}
