package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutSession implements onceward.Store.
func (s *FaultyStore) PutSession(ctx context.Context, n onceward.Session, notes ...onceward.AuditEvent) error {
	if err := s.writable("store session"); err != nil {
		return err
	}
	return s.inner.PutSession(ctx, n, notes...)
}

// LoadSession implements onceward.Store.
func (s *FaultyStore) LoadSession(ctx context.Context, h onceward.SessionHash) (*onceward.Session, error) {
	if err := s.readable("load session"); err != nil {
		return nil, err
	}
	return s.inner.LoadSession(ctx, h)
}

// SeeSession implements onceward.Store.
func (s *FaultyStore) SeeSession(ctx context.Context, h onceward.SessionHash, at time.Time) error {
	if err := s.writable("note use of session"); err != nil {
		return err
	}
	return s.inner.SeeSession(ctx, h, at)
}

// DropSession implements onceward.Store.
func (s *FaultyStore) DropSession(ctx context.Context, h onceward.SessionHash) error {
	if err := s.writable("remove session"); err != nil {
		return err
	}
	return s.inner.DropSession(ctx, h)
}

// DropEndedSessions implements onceward.Store.
func (s *FaultyStore) DropEndedSessions(ctx context.Context, before time.Time, limit int) error {
	if err := s.writable("remove ended sessions"); err != nil {
		return err
	}
	return s.inner.DropEndedSessions(ctx, before, limit)
}
