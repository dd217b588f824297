package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutSaga implements onceward.Store.
func (s *FaultyStore) PutSaga(ctx context.Context, saga onceward.Saga, notes ...onceward.AuditEvent) (*onceward.Saga, bool, error) {
	if err := s.writable("store saga"); err != nil {
		return nil, false, err
	}
	return s.inner.PutSaga(ctx, saga, notes...)
}

// LoadSaga implements onceward.Store.
func (s *FaultyStore) LoadSaga(ctx context.Context, id onceward.SagaID) (*onceward.Saga, error) {
	if err := s.readable("load saga"); err != nil {
		return nil, err
	}
	return s.inner.LoadSaga(ctx, id)
}

// ListSagas implements onceward.Store.
func (s *FaultyStore) ListSagas(ctx context.Context, f onceward.SagaFilter) ([]*onceward.Saga, error) {
	if err := s.readable("list sagas"); err != nil {
		return nil, err
	}
	return s.inner.ListSagas(ctx, f)
}

// TakeSagas implements onceward.Store.
func (s *FaultyStore) TakeSagas(ctx context.Context, limit int, hold time.Duration) ([]*onceward.Saga, error) {
	if err := s.writable("take sagas"); err != nil {
		return nil, err
	}
	return s.inner.TakeSagas(ctx, limit, hold)
}

// RescheduleSaga implements onceward.Store.
func (s *FaultyStore) RescheduleSaga(ctx context.Context, id onceward.SagaID, revision int64, at time.Time) error {
	if err := s.writable("reschedule saga"); err != nil {
		return err
	}
	return s.inner.RescheduleSaga(ctx, id, revision, at)
}

// NextSaga implements onceward.Store.
func (s *FaultyStore) NextSaga(ctx context.Context) (next, now time.Time, err error) {
	if err := s.readable("read next saga"); err != nil {
		return next, now, err
	}
	return s.inner.NextSaga(ctx)
}

// CountSagas implements onceward.Store.
func (s *FaultyStore) CountSagas(ctx context.Context) ([]onceward.SagaCount, error) {
	if err := s.readable("count sagas"); err != nil {
		return nil, err
	}
	return s.inner.CountSagas(ctx)
}
