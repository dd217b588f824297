package telemetry

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Store is the store with the time of its calls measured: of those that serve
// requests and keep the engine going.
func Store(s onceward.Store, m onceward.Meter) onceward.Store { return &store{s, m} }

type store struct {
	onceward.Store
	meter onceward.Meter
}

// OnNewServer implements onceward.ServerWatcher, where the store does.
func (s *store) OnNewServer(told func(), refusal func() error) {
	if w, ok := s.Store.(onceward.ServerWatcher); ok {
		w.OnNewServer(told, refusal)
	}
}

func (s *store) took(call string, began time.Time, err error) {
	s.meter.Record(onceward.MetricStore, time.Since(began).Seconds(), onceward.Labels{call, string(onceward.CodeOf(err))})
}

// Commit implements onceward.Store.
func (s *store) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	began := time.Now()
	out, err := s.Store.Commit(ctx, batch)
	s.took("commit", began, err)
	return out, err
}

// Load implements onceward.Store.
func (s *store) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	began := time.Now()
	ops, err := s.Store.Load(ctx, ids)
	s.took("load", began, err)
	return ops, err
}

// List implements onceward.Store.
func (s *store) List(ctx context.Context, f onceward.Filter) ([]*onceward.Operation, error) {
	began := time.Now()
	ops, err := s.Store.List(ctx, f)
	s.took("list", began, err)
	return ops, err
}

// TakeDue implements onceward.Store.
func (s *store) TakeDue(ctx context.Context, limit int, hold time.Duration, except ...onceward.Workload) ([]onceward.Due, time.Time, error) {
	began := time.Now()
	due, now, err := s.Store.TakeDue(ctx, limit, hold, except...)
	s.took("take_due", began, err)
	return due, now, err
}

// Beat implements onceward.Store.
func (s *store) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	began := time.Now()
	all, now, err := s.Store.Beat(ctx, r)
	s.took("beat", began, err)
	return all, now, err
}

// Backlog implements onceward.Store.
func (s *store) Backlog(ctx context.Context) ([]onceward.Backlog, time.Time, error) {
	began := time.Now()
	rows, now, err := s.Store.Backlog(ctx)
	s.took("backlog", began, err)
	return rows, now, err
}

// Check implements onceward.Store.
func (s *store) Check(ctx context.Context) error {
	began := time.Now()
	err := s.Store.Check(ctx)
	s.took("check", began, err)
	return err
}
