package sealed

import (
	"context"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

func eventRow(e *onceward.InboxEvent) *row {
	return &row{tenant: e.Tenant, how: &e.Concealed, noun: "event", id: e.ID.String(),
		take: func() []byte { return store.TakeInboxSecrets(e) }, put: func(b []byte) error { return store.PutInboxSecrets(e, b) }}
}

// PutEvents implements onceward.Store.
func (s *Store) PutEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	events = slices.Clone(events)
	for i := range events {
		if err := s.conceal(ctx, eventRow(&events[i])); err != nil {
			return nil, err
		}
	}
	return s.Store.PutEvents(ctx, events)
}

// SetEvents implements onceward.Store: what is encrypted of an event stays as it
// was recorded.
func (s *Store) SetEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	events = slices.Clone(events)
	for i := range events {
		store.TakeInboxSecrets(&events[i])
	}
	return s.Store.SetEvents(ctx, events)
}

// TakeEvents implements onceward.Store.
func (s *Store) TakeEvents(ctx context.Context, limit int, hold time.Duration) ([]*onceward.InboxEvent, error) {
	all, err := s.Store.TakeEvents(ctx, limit, hold)
	return page(ctx, s, all, err, eventRow)
}

// LoadEvent implements onceward.Store.
func (s *Store) LoadEvent(ctx context.Context, id onceward.InboxID) (*onceward.InboxEvent, error) {
	e, err := s.Store.LoadEvent(ctx, id)
	return stored(ctx, s, e, err, eventRow)
}
