package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// keptEvent is an event as a database would keep it.
type keptEvent struct {
	columns       onceward.InboxEvent // without what is encoded
	body, payload []byte
}

func keepEvent(e *onceward.InboxEvent) (*keptEvent, error) {
	body, payload, err := store.EncodeInboxEvent(e)
	if err != nil {
		return nil, err
	}
	return &keptEvent{onceward.InboxEvent{ID: e.ID, Tenant: e.Tenant, Source: e.Source, State: e.State, ReceivedAt: store.Stored(e.ReceivedAt),
		NextAt: store.Stored(e.NextAt), DropAt: store.Stored(e.DropAt), Revision: e.Revision, Token: e.Token}, body, payload}, nil
}

func (k *keptEvent) event(withPayload bool) (*onceward.InboxEvent, error) {
	e, payload := k.columns, k.payload
	if !withPayload {
		payload = nil
	}
	return &e, store.DecodeInboxEvent(&e, k.body, payload)
}

// PutEvents records events; see [onceward.InboxStore].
func (s *Store) PutEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	rows := make([]*keptEvent, len(events))
	for i := range events {
		var err error
		if rows[i], err = keepEvent(&events[i]); err != nil {
			return nil, err
		}
	}
	recorded := make([]bool, len(events))
	err := s.write(ctx, "record events", func(d *data) error {
		for i, row := range rows {
			if d.inbox[row.columns.ID] == nil {
				d.inbox[row.columns.ID] = row
			}
			recorded[i] = d.inbox[row.columns.ID].columns.Token == row.columns.Token
		}
		return nil
	})
	return recorded, err
}

// TakeEvents hands out what is to be handled; see [onceward.InboxStore].
func (s *Store) TakeEvents(ctx context.Context, limit int, hold time.Duration) (taken []*onceward.InboxEvent, err error) {
	err = s.write(ctx, "take events", func(d *data) error {
		now := d.now()
		var due []*keptEvent
		for _, k := range d.inbox {
			if at := k.columns.NextAt; !at.IsZero() && !at.After(now) {
				due = append(due, k)
			}
		}
		slices.SortFunc(due, func(a, b *keptEvent) int {
			return cmp.Or(a.columns.NextAt.Compare(b.columns.NextAt), bytes.Compare(a.columns.ID[:], b.columns.ID[:]))
		})
		for _, k := range due[:min(len(due), limit)] {
			e, err := k.event(true)
			if err != nil {
				return err
			}
			taken = append(taken, e)
			k.columns.NextAt = store.Stored(now.Add(hold))
		}
		return nil
	})
	return taken, err
}

// SetEvents stores events by compare-and-set; see [onceward.InboxStore].
func (s *Store) SetEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	rows := make([]*keptEvent, len(events))
	for i := range events {
		var err error
		if rows[i], err = keepEvent(&events[i]); err != nil {
			return nil, err
		}
	}
	applied := make([]bool, len(events))
	err := s.write(ctx, "store events", func(d *data) error {
		for i, row := range rows {
			old, next := d.inbox[row.columns.ID], &row.columns
			if old == nil {
				continue
			}
			if old.columns.Revision == next.Revision-1 {
				next.Tenant, next.Source, next.ReceivedAt, row.payload = old.columns.Tenant, old.columns.Source, old.columns.ReceivedAt, old.payload
				d.inbox[next.ID] = row
			}
			applied[i] = d.inbox[next.ID].columns.Token == next.Token
		}
		return nil
	})
	return applied, err
}

// LoadEvent reads one event; see [onceward.InboxStore].
func (s *Store) LoadEvent(ctx context.Context, id onceward.InboxID) (e *onceward.InboxEvent, err error) {
	err = s.read(ctx, "load event", func(d *data) error {
		if k := d.inbox[id]; k != nil {
			e, err = k.event(true)
		}
		return err
	})
	return e, err
}

// ListEvents returns a page; see [onceward.InboxStore].
func (s *Store) ListEvents(ctx context.Context, f onceward.InboxFilter) (page []*onceward.InboxEvent, err error) {
	err = s.read(ctx, "list events", func(d *data) error {
		for _, k := range d.inbox {
			e, err := k.event(false)
			if err != nil {
				return err
			}
			if store.SelectsInboxEvent(&f, e) {
				page = append(page, e)
			}
		}
		return nil
	})
	slices.SortFunc(page, func(a, b *onceward.InboxEvent) int {
		return cmp.Or(b.ReceivedAt.Compare(a.ReceivedAt), bytes.Compare(b.ID[:], a.ID[:]))
	})
	return page[:min(len(page), f.Limit)], err
}

// DropEvents forgets events whose time is over; see [onceward.InboxStore].
func (s *Store) DropEvents(ctx context.Context, limit int) (n int, err error) {
	err = s.write(ctx, "drop events", func(d *data) error {
		now := d.now()
		for id, k := range d.inbox {
			if at := k.columns.DropAt; n < limit && !at.IsZero() && !at.After(now) {
				delete(d.inbox, id)
				n++
			}
		}
		return nil
	})
	return n, err
}
