package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// putDue sets or removes the due row that goes with a change.
func (t *transaction) putDue(w *store.Write) error {
	d := w.Change.Due
	if d == nil {
		if !w.Change.DueGone {
			return nil
		}
		return t.exec(`DELETE FROM due WHERE operation_id = ?`, func(b *binder) { b.id(w.Row.ID) })
	}
	return t.exec(`INSERT INTO due (operation_id, created_at, tenant, tool, state, kind, parked, at, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (operation_id) DO UPDATE SET created_at = excluded.created_at, tenant = excluded.tenant, tool = excluded.tool,
		state = excluded.state, kind = excluded.kind, parked = excluded.parked, at = excluded.at, since = excluded.since`, func(b *binder) {
		b.id(w.Row.ID)
		b.time(w.Row.CreatedAt)
		b.text(string(d.Tenant))
		b.text(string(d.Tool))
		b.int(int64(d.State))
		b.int(int64(d.Kind))
		b.text(string(d.Parked))
		b.time(d.At)
		b.time(d.Since)
	})
}

// TakeDue hands out due rows; see [onceward.Store]. A taken row's At is when it
// came up, not when it comes up again.
func (s *Store) TakeDue(ctx context.Context, limit int, hold time.Duration, except ...onceward.Workload) ([]onceward.Due, time.Time, error) {
	var due []onceward.Due
	var now time.Time
	// Why first without the lock: most often nothing is due, and a look must not
	// cost a turn as the writer.
	next, now, err := s.NextDue(ctx)
	if err != nil || next.IsZero() || next.After(now) {
		return nil, now, err
	}
	err = s.write(ctx, "take due rows", func(c *conn) error {
		now = s.now()
		err := c.query(`SELECT operation_id, tenant, tool, state, kind, parked, at, since FROM due INDEXED BY due_at
			WHERE at IS NOT NULL AND at <= ?`+strings.Repeat(` AND NOT (tenant = ? AND ? IN ('', tool))`, len(except))+`
			ORDER BY at, operation_id LIMIT ?`, func(b *binder) {
			b.time(now)
			for _, w := range except {
				b.text(string(w.Tenant))
				b.text(string(w.Tool))
			}
			b.int(int64(limit))
		}, func(r *rower) error {
			due = append(due, onceward.Due{
				ID: r.id(), Tenant: onceward.Tenant(r.text()), Tool: onceward.ToolName(r.text()), State: onceward.State(r.int()),
				Kind: onceward.DueKind(r.int()), Parked: onceward.ParkReason(r.text()), At: r.time(), Since: r.time(),
			})
			return nil
		})
		if err != nil {
			return err
		}
		for i := range due {
			err := c.exec(`UPDATE due SET at = ? WHERE operation_id = ?`, func(b *binder) {
				b.time(now.Add(hold))
				b.id(due[i].ID)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return due, now, nil
}

// Reschedule sets the time, and the reason for waiting, of a due row that
// stands in the same state; see [onceward.Store].
func (s *Store) Reschedule(ctx context.Context, d onceward.Due) error {
	return s.write(ctx, "reschedule due row", func(c *conn) error {
		return c.exec(`UPDATE due SET at = ?, parked = ? WHERE operation_id = ? AND state = ?`, func(b *binder) {
			b.time(d.At)
			b.text(string(d.Parked))
			b.id(d.ID)
			b.int(int64(d.State))
		})
	})
}

// NextDue is when the next due row comes up; see [onceward.Store].
func (s *Store) NextDue(ctx context.Context) (next, now time.Time, err error) {
	err = s.readRaw(ctx, "read next due time", func(c *conn) error {
		now = s.now()
		return c.query(`SELECT min(at) FROM due INDEXED BY due_at WHERE at IS NOT NULL`, nil,
			func(r *rower) error { next = r.time(); return nil })
	})
	return next, now, err
}

// Unpark releases parked rows; see [onceward.Store]. A released row is not
// parked any more, so that the next step takes others.
func (s *Store) Unpark(
	ctx context.Context, t onceward.Tenant, tool onceward.ToolName, why onceward.ParkReason, limit int,
) (int, error) {
	n := 0
	err := s.write(ctx, "release parked rows", func(c *conn) error {
		whose, err := `tenant = ?2`, error(nil)
		if t == onceward.EveryTenant {
			whose = `?2 <> ''`
		}
		n, err = c.changed(`UPDATE due SET parked = '', at = ?1 WHERE operation_id IN (
			SELECT operation_id FROM due INDEXED BY due_parked
			WHERE parked <> '' AND `+whose+` AND parked = ?3 AND (?4 = '' OR tool = ?4)
			ORDER BY since, operation_id LIMIT ?5)`, func(b *binder) {
			b.time(s.now())
			b.text(string(t))
			b.text(string(why))
			b.text(string(tool))
			b.int(int64(limit))
		})
		return err
	})
	return n, err
}
