package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// PutEvents records events; see [onceward.InboxStore].
func (s *Store) PutEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	bodies, payloads, err := encodeEvents(events)
	if err != nil {
		return nil, err
	}
	recorded := make([]bool, len(events))
	err = s.write(ctx, "record events", func(c *conn) error {
		for i := range events {
			e := &events[i]
			wrote, err := c.changed(`INSERT INTO inbox (id, tenant, source, state, received_at, next_at, drop_at, revision, token, body, payload)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, func(b *binder) {
				b.blob(e.ID[:])
				b.text(string(e.Tenant))
				b.text(e.Source)
				b.text(string(e.State))
				b.time(e.ReceivedAt)
				b.time(e.NextAt)
				b.time(e.DropAt)
				b.int(e.Revision)
				b.blob(e.Token[:])
				b.blob(bodies[i])
				b.blob(payloads[i])
			})
			if err != nil {
				return err
			}
			if recorded[i] = wrote == 1; wrote == 0 {
				if recorded[i], err = c.eventCarries(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return recorded, err
}

func encodeEvents(events []onceward.InboxEvent) (bodies, payloads [][]byte, err error) {
	bodies, payloads = make([][]byte, len(events)), make([][]byte, len(events))
	for i := range events {
		if bodies[i], payloads[i], err = store.EncodeInboxEvent(&events[i]); err != nil {
			return nil, nil, err
		}
	}
	return bodies, payloads, nil
}

// eventCarries reports whether the stored row was written with the event's token.
func (c *conn) eventCarries(e *onceward.InboxEvent) (yes bool, err error) {
	err = c.query(`SELECT token = ? FROM inbox WHERE id = ?`, func(b *binder) { b.blob(e.Token[:]); b.blob(e.ID[:]) },
		func(r *rower) error { yes = r.bool(); return nil })
	return yes, err
}

// TakeEvents hands out what is to be handled; see [onceward.InboxStore].
func (s *Store) TakeEvents(ctx context.Context, limit int, hold time.Duration) (taken []*onceward.InboxEvent, err error) {
	// Why first without the lock: most often nothing is due, and a look must not
	// cost a turn as the writer.
	due := false
	err = s.readRaw(ctx, "take events", func(c *conn) error {
		return c.query(`SELECT 1 FROM inbox INDEXED BY inbox_next WHERE next_at IS NOT NULL AND next_at <= ? LIMIT 1`, func(b *binder) { b.time(s.now()) },
			func(*rower) error { due = true; return nil })
	})
	if err != nil || !due {
		return nil, err
	}
	err = s.write(ctx, "take events", func(c *conn) error {
		now := s.now()
		err := c.query(`SELECT `+eventColumns+`, payload FROM inbox INDEXED BY inbox_next
			WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at, id LIMIT ?`, func(b *binder) {
			b.time(now)
			b.int(int64(limit))
		}, func(r *rower) error {
			e, err := r.event(true)
			taken = append(taken, e)
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range taken {
			if err := c.exec(`UPDATE inbox SET next_at = ? WHERE id = ?`, func(b *binder) { b.time(now.Add(hold)); b.blob(e.ID[:]) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

const eventColumns = `id, tenant, source, state, received_at, next_at, drop_at, revision, token, body`

// event reads eventColumns, and the payload behind them.
func (r *rower) event(withPayload bool) (*onceward.InboxEvent, error) {
	e := &onceward.InboxEvent{ID: onceward.InboxID(r.id()), Tenant: onceward.Tenant(r.text()), Source: r.text(), State: onceward.InboxState(r.text()),
		ReceivedAt: r.time(), NextAt: r.time(), DropAt: r.time(), Revision: r.int()}
	r.fill(e.Token[:])
	body, payload := r.blob(), []byte(nil)
	if withPayload {
		payload = r.blob()
	}
	return e, store.DecodeInboxEvent(e, body, payload)
}

// SetEvents stores events by compare-and-set; see [onceward.InboxStore].
func (s *Store) SetEvents(ctx context.Context, events []onceward.InboxEvent) ([]bool, error) {
	bodies, _, err := encodeEvents(events)
	if err != nil {
		return nil, err
	}
	applied := make([]bool, len(events))
	err = s.write(ctx, "store events", func(c *conn) error {
		for i := range events {
			e := &events[i]
			wrote, err := c.changed(`UPDATE inbox SET state = ?, next_at = ?, drop_at = ?, revision = ?, token = ?, body = ? WHERE id = ? AND revision = ?`, func(b *binder) {
				b.text(string(e.State))
				b.time(e.NextAt)
				b.time(e.DropAt)
				b.int(e.Revision)
				b.blob(e.Token[:])
				b.blob(bodies[i])
				b.blob(e.ID[:])
				b.int(e.Revision - 1)
			})
			if err != nil {
				return err
			}
			if applied[i] = wrote == 1; wrote == 0 {
				if applied[i], err = c.eventCarries(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return applied, err
}

// LoadEvent reads one event; see [onceward.InboxStore].
func (s *Store) LoadEvent(ctx context.Context, id onceward.InboxID) (found *onceward.InboxEvent, err error) {
	err = s.readRaw(ctx, "load event", func(c *conn) error {
		return c.query(`SELECT `+eventColumns+`, payload FROM inbox WHERE id = ?`, func(b *binder) { b.blob(id[:]) }, func(r *rower) error {
			found, err = r.event(true)
			return err
		})
	})
	return found, err
}

// ListEvents returns a page; see [onceward.InboxStore].
func (s *Store) ListEvents(ctx context.Context, f onceward.InboxFilter) (page []*onceward.InboxEvent, err error) {
	waiting := ""
	if f.Waiting {
		waiting = ` AND state IN ('unmapped', 'failed', 'late')`
	}
	first := f.After == onceward.InboxCursor{}
	err = s.readRaw(ctx, "list events", func(c *conn) error {
		return c.query(`SELECT `+eventColumns+` FROM inbox WHERE tenant = ?1 AND (?2 OR (received_at, id) < (?3, ?4)) AND (?5 = '' OR source = ?5) AND (?6 = '' OR state = ?6)`+waiting+`
			ORDER BY received_at DESC, id DESC LIMIT ?7`, func(b *binder) {
			b.text(string(f.Tenant))
			b.bool(first)
			b.time(f.After.ReceivedAt)
			b.blob(f.After.ID[:])
			b.text(f.Source)
			b.text(string(f.State))
			b.int(int64(f.Limit))
		}, func(r *rower) error {
			e, err := r.event(false)
			page = append(page, e)
			return err
		})
	})
	return page, err
}

// DropEvents forgets events whose time is over; see [onceward.InboxStore].
func (s *Store) DropEvents(ctx context.Context, limit int) (n int, err error) {
	due := false
	err = s.readRaw(ctx, "drop events", func(c *conn) error {
		return c.query(`SELECT 1 FROM inbox INDEXED BY inbox_drop WHERE drop_at IS NOT NULL AND drop_at <= ? LIMIT 1`, func(b *binder) { b.time(s.now()) },
			func(*rower) error { due = true; return nil })
	})
	if err != nil || !due {
		return 0, err
	}
	err = s.write(ctx, "drop events", func(c *conn) error {
		n, err = c.changed(`DELETE FROM inbox WHERE id IN (SELECT id FROM inbox INDEXED BY inbox_drop WHERE drop_at IS NOT NULL AND drop_at <= ? ORDER BY drop_at LIMIT ?)`,
			func(b *binder) { b.time(s.now()); b.int(int64(limit)) })
		return err
	})
	return n, err
}
