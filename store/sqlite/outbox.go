package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// AddEvents appends events; see [onceward.OutboxStore].
func (s *Store) AddEvents(ctx context.Context, events []onceward.OutboxEvent) error {
	return s.write(ctx, "add events", func(c *conn) error { return c.addEvents(events) })
}

// addEvents appends events in the connection's transaction.
func (c *conn) addEvents(events []onceward.OutboxEvent) error {
	for i := range events {
		e := &events[i]
		err := c.exec(`INSERT INTO outbox (id, tenant, type, key, at, body) VALUES (?, ?, ?, ?, ?, ?)`, func(b *binder) {
			b.text(e.ID)
			b.text(string(e.Tenant))
			b.text(e.Type)
			b.text(e.Key)
			b.time(e.At)
			b.blob(store.EncodeOutboxEvent(e))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const outboxColumns = `o.position, o.id, o.tenant, o.type, o.key, o.at, o.body`

func (r *rower) outboxEvent() (e onceward.OutboxEvent, err error) {
	e.Place.Position, e.ID, e.Tenant, e.Type, e.Key, e.At = r.int(), r.text(), onceward.Tenant(r.text()), r.text(), r.text(), r.time()
	return e, store.DecodeOutboxEvent(&e, r.blob())
}

// ReadOutbox reads events in order; see [onceward.OutboxStore].
func (s *Store) ReadOutbox(ctx context.Context, after onceward.OutboxPlace, limit int) (events []onceward.OutboxEvent, err error) {
	err = s.readRaw(ctx, "read outbox", func(c *conn) error {
		return c.query(`SELECT `+outboxColumns+` FROM outbox o WHERE o.position > ? ORDER BY o.position LIMIT ?`, func(b *binder) {
			b.int(after.Position)
			b.int(int64(limit))
		}, func(r *rower) error {
			e, err := r.outboxEvent()
			events = append(events, e)
			return err
		})
	})
	return events, err
}

const sinkColumns = `s.name, s.position, s.owner, s.updated_at`

func (r *rower) sink() onceward.Sink {
	return onceward.Sink{Name: r.text(), Place: onceward.OutboxPlace{Position: r.int()}, Owner: r.text(), UpdatedAt: r.time()}
}

// HoldSink gives the lease of a sink; see [onceward.OutboxStore].
func (s *Store) HoldSink(ctx context.Context, sink, owner string, lease time.Duration) (out onceward.Sink, err error) {
	err = s.write(ctx, "hold sink", func(c *conn) error {
		now := s.now()
		err := c.exec(`INSERT INTO sinks (name, position, owner, lease_until, updated_at) VALUES (?1, 0, ?2, ?3, ?4)
			ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until WHERE owner = excluded.owner OR lease_until < ?4`, func(b *binder) {
			b.text(sink)
			b.text(owner)
			b.time(now.Add(lease))
			b.time(now)
		})
		if err != nil {
			return err
		}
		return c.query(`SELECT `+sinkColumns+` FROM sinks s WHERE name = ?`, func(b *binder) { b.text(sink) }, func(r *rower) error {
			out = r.sink()
			out.Held = out.Owner == owner
			return nil
		})
	})
	return out, err
}

// StepSink stores what a relay did; see [onceward.OutboxStore].
func (s *Store) StepSink(ctx context.Context, step onceward.SinkStep) (ours bool, err error) {
	err = s.write(ctx, "step sink", func(c *conn) error {
		now := s.now()
		n, err := c.changed(`UPDATE sinks SET position = ?, lease_until = ?, updated_at = ? WHERE name = ? AND owner = ? AND position = ?`, func(b *binder) {
			b.int(step.To.Position)
			b.time(now.Add(step.Lease))
			b.time(now)
			b.text(step.Sink)
			b.text(step.Owner)
			b.int(step.From.Position)
		})
		if ours = n == 1; err != nil || !ours {
			return err
		}
		return c.setAside(&step, now)
	})
	return ours && err == nil, err
}

// setAside stores what a step says of events beside the sink's place.
func (c *conn) setAside(step *onceward.SinkStep, now time.Time) error {
	for _, p := range step.Gone {
		if err := c.exec(`DELETE FROM aside WHERE sink = ? AND position = ?`, func(b *binder) { b.text(step.Sink); b.int(p.Position) }); err != nil {
			return err
		}
	}
	for i := range step.Aside {
		a := &step.Aside[i]
		err := c.exec(`INSERT INTO aside (sink, position, id, tenant, key, tries, due_at, dead, since, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (sink, position) DO UPDATE SET tries = excluded.tries, due_at = excluded.due_at, dead = excluded.dead, message = excluded.message`, func(b *binder) {
			b.text(step.Sink)
			b.int(a.Event.Place.Position)
			b.text(a.Event.ID)
			b.text(string(a.Event.Tenant))
			b.text(a.Event.Key)
			b.int(int64(a.Tries))
			b.time(a.DueAt)
			b.bool(a.Dead)
			b.time(now)
			b.text(store.AsideMessage(a.Message))
		})
		if err != nil {
			return err
		}
	}
	for _, key := range step.Freed {
		if err := c.free(step.Sink, key, now); err != nil {
			return err
		}
	}
	return nil
}

// free makes the first event of a key that is set aside due, unless it is dead.
func (c *conn) free(sink, key string, now time.Time) error {
	return c.exec(`UPDATE aside SET due_at = ?1 WHERE sink = ?2 AND dead = 0 AND position = (SELECT min(position) FROM aside WHERE sink = ?2 AND key = ?3)`,
		func(b *binder) { b.time(now); b.text(sink); b.text(key) })
}

// HeldKeys reads keys with events set aside; see [onceward.OutboxStore].
func (s *Store) HeldKeys(ctx context.Context, sink string) (keys []string, err error) {
	err = s.readRaw(ctx, "read held keys", func(c *conn) error {
		return c.query(`SELECT DISTINCT key FROM aside WHERE sink = ? AND key <> ''`, func(b *binder) { b.text(sink) },
			func(r *rower) error { keys = append(keys, r.text()); return nil })
	})
	return keys, err
}

const asideColumns = `a.sink, a.tries, a.due_at, a.dead, a.since, a.message, ` + outboxColumns

func (r *rower) aside() (a onceward.SetAside, err error) {
	a.Sink, a.Tries, a.DueAt, a.Dead, a.Since, a.Message = r.text(), int(r.int()), r.time(), r.bool(), r.time(), r.text()
	a.Event, err = r.outboxEvent()
	return a, err
}

// DueAside reads what is to be tried again; see [onceward.OutboxStore].
func (s *Store) DueAside(ctx context.Context, sink string, limit int) (out []onceward.SetAside, err error) {
	err = s.readRaw(ctx, "read events set aside", func(c *conn) error {
		return c.query(`SELECT `+asideColumns+` FROM aside a JOIN outbox o ON o.position = a.position
			WHERE a.sink = ? AND a.due_at IS NOT NULL AND a.due_at <= ? ORDER BY a.position LIMIT ?`, func(b *binder) {
			b.text(sink)
			b.time(s.now())
			b.int(int64(limit))
		}, func(r *rower) error {
			a, err := r.aside()
			out = append(out, a)
			return err
		})
	})
	return out, err
}

// Sinks reads every sink; see [onceward.OutboxStore].
func (s *Store) Sinks(ctx context.Context) (all []onceward.Sink, err error) {
	err = s.readRaw(ctx, "read sinks", func(c *conn) error {
		return c.query(`SELECT `+sinkColumns+`,
			(SELECT count(*) FROM (SELECT 1 FROM outbox o WHERE o.position > s.position LIMIT ?)),
			(SELECT o.at FROM outbox o WHERE o.position > s.position ORDER BY o.position LIMIT 1),
			(SELECT count(*) FROM aside a WHERE a.sink = s.name), (SELECT count(*) FROM aside a WHERE a.sink = s.name AND a.dead = 1)
			FROM sinks s ORDER BY s.name`, func(b *binder) { b.int(onceward.OutboxBehindMax) }, func(r *rower) error {
			sink := r.sink()
			sink.Behind, sink.OldestAt, sink.Aside, sink.Dead = r.int(), r.time(), int(r.int()), int(r.int())
			all = append(all, sink)
			return nil
		})
	})
	return all, err
}

// ListAside lists what is set aside; see [onceward.OutboxStore].
func (s *Store) ListAside(ctx context.Context, f onceward.AsideFilter) (out []onceward.SetAside, err error) {
	err = s.readRaw(ctx, "list events set aside", func(c *conn) error {
		return c.query(`SELECT `+asideColumns+` FROM aside a JOIN outbox o ON o.position = a.position
			WHERE a.tenant = ?1 AND (?2 = '' OR a.sink = ?2) AND (a.position, a.sink) > (?3, ?4) AND a.dead >= ?5 ORDER BY a.position, a.sink LIMIT ?6`, func(b *binder) {
			b.text(string(f.Tenant))
			b.text(f.Sink)
			b.int(f.After.Place.Position)
			b.text(f.After.Sink)
			b.bool(f.Dead)
			b.int(int64(f.Limit))
		}, func(r *rower) error {
			a, err := r.aside()
			a.Event.Data = nil
			out = append(out, a)
			return err
		})
	})
	return out, err
}

// Redrive drives a dead event again, or forgets it; see [onceward.OutboxStore].
func (s *Store) Redrive(ctx context.Context, t onceward.Tenant, sink, id string, drop bool, notes ...onceward.AuditEvent) (done bool, err error) {
	err = s.write(ctx, "drive event again", func(c *conn) error {
		var position int64
		var key string
		err := c.query(`SELECT position, key FROM aside WHERE tenant = ? AND sink = ? AND id = ? AND dead = 1 ORDER BY position LIMIT 1`, func(b *binder) {
			b.text(string(t))
			b.text(sink)
			b.text(id)
		}, func(r *rower) error { position, key, done = r.int(), r.text(), true; return nil })
		if err != nil || !done {
			return err
		}
		if err := s.note(c, notes); err != nil {
			return err
		}
		if !drop {
			return c.exec(`UPDATE aside SET dead = 0, tries = 0, due_at = ? WHERE sink = ? AND position = ?`, func(b *binder) { b.time(s.now()); b.text(sink); b.int(position) })
		}
		if err := c.exec(`DELETE FROM aside WHERE sink = ? AND position = ?`, func(b *binder) { b.text(sink); b.int(position) }); err != nil || key == "" {
			return err
		}
		return c.free(sink, key, s.now())
	})
	return done && err == nil, err
}

// ForgetSink removes a sink; see [onceward.OutboxStore].
func (s *Store) ForgetSink(ctx context.Context, sink string) (there bool, err error) {
	err = s.write(ctx, "forget sink", func(c *conn) error {
		if err := c.exec(`DELETE FROM aside WHERE sink = ?`, func(b *binder) { b.text(sink) }); err != nil {
			return err
		}
		n, err := c.changed(`DELETE FROM sinks WHERE name = ?`, func(b *binder) { b.text(sink) })
		there = n == 1
		return err
	})
	return there, err
}

// DropOutbox removes what every sink has; see [onceward.OutboxStore].
func (s *Store) DropOutbox(ctx context.Context, limit int) (n int, err error) {
	const passed = `SELECT o.position FROM outbox o WHERE o.position <= (SELECT min(position) FROM sinks)
		AND NOT EXISTS (SELECT 1 FROM aside a WHERE a.position = o.position) ORDER BY o.position LIMIT ?`
	any := false
	err = s.readRaw(ctx, "drop events", func(c *conn) error {
		return c.query(passed, func(b *binder) { b.int(1) }, func(*rower) error { any = true; return nil })
	})
	if err != nil || !any {
		return 0, err
	}
	err = s.write(ctx, "drop events", func(c *conn) error {
		n, err = c.changed(`DELETE FROM outbox WHERE position IN (`+passed+`)`, func(b *binder) { b.int(int64(limit)) })
		return err
	})
	return n, err
}
