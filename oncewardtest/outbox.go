package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// AddEvents implements onceward.Store.
func (s *FaultyStore) AddEvents(ctx context.Context, events []onceward.OutboxEvent) error {
	if err := s.writable("add events"); err != nil {
		return err
	}
	return s.inner.AddEvents(ctx, events)
}

// ReadOutbox implements onceward.Store.
func (s *FaultyStore) ReadOutbox(ctx context.Context, after onceward.OutboxPlace, limit int) ([]onceward.OutboxEvent, error) {
	if err := s.readable("read outbox"); err != nil {
		return nil, err
	}
	return s.inner.ReadOutbox(ctx, after, limit)
}

// HoldSink implements onceward.Store.
func (s *FaultyStore) HoldSink(ctx context.Context, sink, owner string, lease time.Duration) (onceward.Sink, error) {
	if err := s.writable("hold sink"); err != nil {
		return onceward.Sink{}, err
	}
	return s.inner.HoldSink(ctx, sink, owner, lease)
}

// StepSink implements onceward.Store.
func (s *FaultyStore) StepSink(ctx context.Context, step onceward.SinkStep) (bool, error) {
	if err := s.writable("step sink"); err != nil {
		return false, err
	}
	return s.inner.StepSink(ctx, step)
}

// HeldKeys implements onceward.Store.
func (s *FaultyStore) HeldKeys(ctx context.Context, sink string) ([]string, error) {
	if err := s.readable("read held keys"); err != nil {
		return nil, err
	}
	return s.inner.HeldKeys(ctx, sink)
}

// DueAside implements onceward.Store.
func (s *FaultyStore) DueAside(ctx context.Context, sink string, limit int) ([]onceward.SetAside, error) {
	if err := s.readable("read events set aside"); err != nil {
		return nil, err
	}
	return s.inner.DueAside(ctx, sink, limit)
}

// Sinks implements onceward.Store.
func (s *FaultyStore) Sinks(ctx context.Context) ([]onceward.Sink, error) {
	if err := s.readable("read sinks"); err != nil {
		return nil, err
	}
	return s.inner.Sinks(ctx)
}

// ListAside implements onceward.Store.
func (s *FaultyStore) ListAside(ctx context.Context, f onceward.AsideFilter) ([]onceward.SetAside, error) {
	if err := s.readable("list events set aside"); err != nil {
		return nil, err
	}
	return s.inner.ListAside(ctx, f)
}

// Redrive implements onceward.Store.
func (s *FaultyStore) Redrive(ctx context.Context, t onceward.Tenant, sink, id string, drop bool, notes ...onceward.AuditEvent) (bool, error) {
	if err := s.writable("drive event again"); err != nil {
		return false, err
	}
	return s.inner.Redrive(ctx, t, sink, id, drop, notes...)
}

// ForgetSink implements onceward.Store.
func (s *FaultyStore) ForgetSink(ctx context.Context, sink string) (bool, error) {
	if err := s.writable("forget sink"); err != nil {
		return false, err
	}
	return s.inner.ForgetSink(ctx, sink)
}

// DropOutbox implements onceward.Store.
func (s *FaultyStore) DropOutbox(ctx context.Context, limit int) (int, error) {
	if err := s.writable("drop events"); err != nil {
		return 0, err
	}
	return s.inner.DropOutbox(ctx, limit)
}

// DropReceipts implements onceward.Store.
func (s *FaultyStore) DropReceipts(ctx context.Context, limit int) (int, error) {
	if err := s.writable("drop receipts"); err != nil {
		return 0, err
	}
	return s.inner.DropReceipts(ctx, limit)
}
