package oncewardtest

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// PutEvents implements onceward.Store. It meets the faults of ScriptCommits as a
// commit does.
func (s *FaultyStore) PutEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	s.mu.Lock()
	fault := CommitSound
	if len(s.script) > 0 {
		fault, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	if err := s.writable("record events"); err != nil {
		return nil, err
	}
	lost := &onceward.Error{Code: onceward.CodeMayBeRecorded, Op: "record events", Message: "the connection was lost inside the commit"}
	switch fault {
	case CommitRefused:
		return nil, unreachable("record events")
	case CommitLostUnwritten:
		return nil, lost
	case CommitTooLarge:
		return nil, onceward.Errorf(onceward.CodeTooLarge, "a value is too long")
	case CommitSound, CommitLostWritten:
	}
	recorded, err := s.inner.PutEvents(ctx, events)
	if fault == CommitLostWritten && err == nil {
		return nil, lost
	}
	return recorded, err
}

// TakeEvents implements onceward.Store.
func (s *FaultyStore) TakeEvents(ctx context.Context, limit int, hold time.Duration) ([]*onceward.InboxEvent, error) {
	if err := s.writable("take events"); err != nil {
		return nil, err
	}
	return s.inner.TakeEvents(ctx, limit, hold)
}

// SetEvents implements onceward.Store.
func (s *FaultyStore) SetEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	if err := s.writable("store events"); err != nil {
		return nil, err
	}
	return s.inner.SetEvents(ctx, events)
}

// LoadEvent implements onceward.Store.
func (s *FaultyStore) LoadEvent(ctx context.Context, id onceward.InboxID) (*onceward.InboxEvent, error) {
	if err := s.readable("load event"); err != nil {
		return nil, err
	}
	return s.inner.LoadEvent(ctx, id)
}

// ListEvents implements onceward.Store.
func (s *FaultyStore) ListEvents(ctx context.Context, f onceward.InboxFilter) ([]*onceward.InboxEvent, error) {
	if err := s.readable("list events"); err != nil {
		return nil, err
	}
	return s.inner.ListEvents(ctx, f)
}

// DropEvents implements onceward.Store.
func (s *FaultyStore) DropEvents(ctx context.Context, limit int) (int, error) {
	if err := s.writable("drop events"); err != nil {
		return 0, err
	}
	return s.inner.DropEvents(ctx, limit)
}
