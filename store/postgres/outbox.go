package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// outboxRow is an event that a batch of changes adds.
type outboxRow struct {
	id    onceward.OperationID
	place int32
	event *onceward.OutboxEvent
}

var outboxFields = []field[outboxRow]{
	{"operation_id", kindUUID, func(b []byte, r outboxRow) []byte { return appendUUID(b, r.id) }},
	{"place", kindInt4, func(b []byte, r outboxRow) []byte { return appendInt4(b, r.place) }},
	{"id", kindText, func(b []byte, r outboxRow) []byte { return appendText(b, r.event.ID) }},
	{"tenant", kindText, func(b []byte, r outboxRow) []byte { return appendText(b, string(r.event.Tenant)) }},
	{"type", kindText, func(b []byte, r outboxRow) []byte { return appendText(b, r.event.Type) }},
	{"key", kindText, func(b []byte, r outboxRow) []byte { return appendText(b, r.event.Key) }},
	{"at", kindTime, func(b []byte, r outboxRow) []byte { return appendTime(b, store.Stored(r.event.At)) }},
	{"body", kindBytes, func(b []byte, r outboxRow) []byte { return appendBytes(b, store.EncodeOutboxEvent(r.event)) }},
}

const (
	addEventsSQL = `insert into outbox (id, tenant, type, key, at, body)
select u.id, u.tenant, u.type, u.key, u.at, u.body
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::bytea[]) with ordinality u (id, tenant, type, key, at, body, place) order by u.place`

	addEventSQL = `insert into outbox (id, tenant, type, key, at, body) values ($1, $2, $3, $4, $5, $6)`

	outboxColumns = `o.stamp::text, o.position, o.id, o.tenant, o.type, o.key, o.at, o.body`

	// A transaction that began before the oldest one that still runs has ended, and
	// no other can come below it: see the migration.
	readOutboxSQL = `select ` + outboxColumns + ` from outbox o
where (o.stamp, o.position) > ($1::text::xid8, $2::bigint) and o.stamp < pg_snapshot_xmin(pg_current_snapshot())
order by o.stamp, o.position limit $3`

	holdSinkSQL = `insert into sinks as s (name, stamp, position, owner, lease_until, updated_at) values ($1, '0', 0, $2, now() + $3::bigint * interval '1 microsecond', now())
on conflict (name) do update set owner = excluded.owner, lease_until = excluded.lease_until where s.owner = excluded.owner or s.lease_until < now()`

	stepSinkSQL = `update sinks set stamp = $4::text::xid8, position = $5, lease_until = now() + $3::bigint * interval '1 microsecond', updated_at = now()
where name = $1 and owner = $2 and stamp = $6::text::xid8 and position = $7`

	freeSQL = `update aside a set due_at = now() from (
    select distinct on (f.key) f.stamp, f.position from aside f where f.sink = $1 and f.key = any($2::text[]) order by f.key, f.stamp, f.position) first
where a.sink = $1 and a.stamp = first.stamp and a.position = first.position and not a.dead`

	asideColumns = `a.sink, a.tries, a.due_at, a.dead, a.since, a.message, ` + outboxColumns

	passedSQL = `select o.stamp, o.position from outbox o
where (o.stamp, o.position) <= (select s.stamp, s.position from sinks s order by s.stamp, s.position limit 1)
    and not exists (select from aside a where a.stamp = o.stamp and a.position = o.position)
order by o.stamp, o.position limit $1`
)

// AddEvents appends events; see [onceward.OutboxStore].
func (s *Store) AddEvents(ctx context.Context, events []onceward.OutboxEvent) error {
	var ids, tenants, types, keys []string
	var ats []time.Time
	var bodies [][]byte
	for i := range events {
		e := &events[i]
		ids, tenants, types, keys = append(ids, e.ID), append(tenants, string(e.Tenant)), append(types, e.Type), append(keys, e.Key)
		ats, bodies = append(ats, store.Stored(e.At)), append(bodies, store.EncodeOutboxEvent(e))
	}
	return s.do(ctx, "add events", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, addEventsSQL, ids, tenants, types, keys, ats, bodies)
			return err
		})
	})
}

// outboxScan is where the columns of an event are scanned to.
type outboxScan struct {
	event onceward.OutboxEvent
	stamp string
	body  []byte
}

func (o *outboxScan) into() []any {
	e := &o.event
	return []any{&o.stamp, &e.Place.Position, &e.ID, (*string)(&e.Tenant), &e.Type, &e.Key, &e.At, &o.body}
}

func (o *outboxScan) done() (onceward.OutboxEvent, error) {
	var err error
	if o.event.Place.Stamp, err = strconv.ParseUint(o.stamp, 10, 64); err != nil {
		return o.event, err
	}
	o.event.At = o.event.At.UTC()
	return o.event, store.DecodeOutboxEvent(&o.event, o.body)
}

// ReadOutbox reads events in order; see [onceward.OutboxStore].
func (s *Store) ReadOutbox(ctx context.Context, after onceward.OutboxPlace, limit int) (events []onceward.OutboxEvent, err error) {
	err = s.do(ctx, "read outbox", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, readOutboxSQL, xidText(after.Stamp), after.Position, limit)
		if err != nil {
			return err
		}
		events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (onceward.OutboxEvent, error) {
			var o outboxScan
			if err := row.Scan(o.into()...); err != nil {
				return o.event, err
			}
			return o.done()
		})
		return err
	})
	return events, err
}

const sinkColumns = `s.name, s.stamp::text, s.position, s.owner, s.updated_at`

func scanSink(row pgx.Row, more ...any) (out onceward.Sink, err error) {
	var stamp string
	if err = row.Scan(append([]any{&out.Name, &stamp, &out.Place.Position, &out.Owner, &out.UpdatedAt}, more...)...); err != nil {
		return out, err
	}
	out.UpdatedAt = out.UpdatedAt.UTC()
	out.Place.Stamp, err = strconv.ParseUint(stamp, 10, 64)
	return out, err
}

// HoldSink gives the lease of a sink; see [onceward.OutboxStore].
func (s *Store) HoldSink(ctx context.Context, sink, owner string, lease time.Duration) (out onceward.Sink, err error) {
	err = s.do(ctx, "hold sink", func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, holdSinkSQL, sink, owner, lease.Microseconds()); err != nil {
			return err
		}
		for range 2 {
			var ahead bool
			out, err = scanSink(conn.QueryRow(ctx, `select `+sinkColumns+`, s.stamp > pg_snapshot_xmax(pg_current_snapshot()) from sinks s where s.name = $1`, sink), &ahead)
			if err != nil || !ahead {
				break
			}
			if err := inTx(ctx, conn, func(tx pgx.Tx) error { return rebase(ctx, tx) }); err != nil {
				return err
			}
		}
		out.Held = out.Owner == owner
		return err
	})
	return out, err
}

// rebase gives every event a new place, in the order in which they were: the
// tables came from another server, whose transactions were numbered further than
// this one's, so that sinks would take what is added from now on as behind them.
// What was added since is told by its position, which goes on.
func rebase(ctx context.Context, tx pgx.Tx) error {
	for _, sql := range []string{
		`lock table outbox, sinks, aside in exclusive mode`,
		`create temporary table moved on commit drop as
with old as (select greatest(
    (select max(position) from outbox where stamp > pg_snapshot_xmax(pg_current_snapshot())),
    (select max(position) from sinks where stamp > pg_snapshot_xmax(pg_current_snapshot()))) as last)
select o.stamp, o.position, row_number() over (order by o.position > old.last, o.stamp, o.position) - count(*) over () - 1 as place, o.position <= old.last as old
from outbox o, old where exists (select from sinks where stamp > pg_snapshot_xmax(pg_current_snapshot()))`,
		`update sinks s set stamp = '3', position = coalesce(
    (select max(m.place) from moved m where m.old and (m.stamp, m.position) <= (s.stamp, s.position)), (select min(m.place) - 1 from moved m), -1)
where exists (select from sinks where stamp > pg_snapshot_xmax(pg_current_snapshot()))`,
		`update aside a set stamp = '3', position = m.place from moved m where a.stamp = m.stamp and a.position = m.position`,
		`update outbox o set stamp = '3', position = m.place from moved m where o.stamp = m.stamp and o.position = m.position`,
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// StepSink stores what a relay did; see [onceward.OutboxStore].
func (s *Store) StepSink(ctx context.Context, step onceward.SinkStep) (ours bool, err error) {
	err = s.do(ctx, "step sink", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, stepSinkSQL, step.Sink, step.Owner, step.Lease.Microseconds(), xidText(step.To.Stamp), step.To.Position, xidText(step.From.Stamp), step.From.Position)
			if ours = tag.RowsAffected() == 1; err != nil || !ours {
				return err
			}
			return setAside(ctx, tx, &step)
		})
	})
	return ours && err == nil, err
}

// setAside stores what a step says of events beside the sink's place.
func setAside(ctx context.Context, tx pgx.Tx, step *onceward.SinkStep) error {
	for _, p := range step.Gone {
		if _, err := tx.Exec(ctx, `delete from aside where sink = $1 and stamp = $2::text::xid8 and position = $3`, step.Sink, xidText(p.Stamp), p.Position); err != nil {
			return err
		}
	}
	for i := range step.Aside {
		a := &step.Aside[i]
		_, err := tx.Exec(ctx, `insert into aside (sink, stamp, position, id, tenant, key, tries, due_at, dead, since, message)
values ($1, $2::text::xid8, $3, $4, $5, $6, $7, $8, $9, now(), $10)
on conflict (sink, stamp, position) do update set tries = excluded.tries, due_at = excluded.due_at, dead = excluded.dead, message = excluded.message`,
			step.Sink, xidText(a.Event.Place.Stamp), a.Event.Place.Position, a.Event.ID, string(a.Event.Tenant), a.Event.Key, a.Tries, optionalTime(store.Stored(a.DueAt)), a.Dead,
			store.AsideMessage(a.Message))
		if err != nil {
			return err
		}
	}
	if len(step.Freed) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, freeSQL, step.Sink, step.Freed)
	return err
}

// HeldKeys reads keys with events set aside; see [onceward.OutboxStore].
func (s *Store) HeldKeys(ctx context.Context, sink string) (keys []string, err error) {
	err = s.do(ctx, "read held keys", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select distinct key from aside where sink = $1 and key <> ''`, sink)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return keys, err
}

func (s *Store) asides(ctx context.Context, op, where string, args ...any) (out []onceward.SetAside, err error) {
	err = s.do(ctx, op, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select `+asideColumns+` from aside a join outbox o on o.stamp = a.stamp and o.position = a.position where `+where, args...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a onceward.SetAside, err error) {
			var o outboxScan
			var due *time.Time
			if err = row.Scan(append([]any{&a.Sink, &a.Tries, &due, &a.Dead, &a.Since, &a.Message}, o.into()...)...); err != nil {
				return a, err
			}
			a.DueAt, a.Since = timeOf(due), a.Since.UTC()
			a.Event, err = o.done()
			return a, err
		})
		return err
	})
	return out, err
}

// DueAside reads what is to be tried again; see [onceward.OutboxStore].
func (s *Store) DueAside(ctx context.Context, sink string, limit int) ([]onceward.SetAside, error) {
	return s.asides(ctx, "read events set aside", `a.sink = $1 and a.due_at <= now() order by a.stamp, a.position limit $2`, sink, limit)
}

// ListAside lists what is set aside; see [onceward.OutboxStore].
func (s *Store) ListAside(ctx context.Context, f onceward.AsideFilter) ([]onceward.SetAside, error) {
	out, err := s.asides(ctx, "list events set aside", `a.tenant = $1 and ($2::text = '' or a.sink = $2) and (a.stamp, a.position, a.sink) > ($3::text::xid8, $4::bigint, $5::text) and (a.dead or not $6)
order by a.stamp, a.position, a.sink limit $7`, string(f.Tenant), f.Sink, xidText(f.After.Place.Stamp), f.After.Place.Position, f.After.Sink, f.Dead, f.Limit)
	for i := range out {
		out[i].Event.Data = nil
	}
	return out, err
}

// Sinks reads every sink; see [onceward.OutboxStore].
func (s *Store) Sinks(ctx context.Context) (all []onceward.Sink, err error) {
	err = s.do(ctx, "read sinks", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `select `+sinkColumns+`,
    (select count(*) from (select from outbox o where (o.stamp, o.position) > (s.stamp, s.position) limit $1) behind),
    (select o.at from outbox o where (o.stamp, o.position) > (s.stamp, s.position) order by o.stamp, o.position limit 1),
    (select count(*)::int from aside a where a.sink = s.name), (select count(*)::int from aside a where a.sink = s.name and a.dead)
from sinks s order by s.name`, onceward.OutboxBehindMax)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (onceward.Sink, error) {
			var behind int64
			var aside, dead int
			var oldest *time.Time
			sink, err := scanSink(row, &behind, &oldest, &aside, &dead)
			sink.Behind, sink.OldestAt, sink.Aside, sink.Dead = behind, timeOf(oldest), aside, dead
			return sink, err
		})
		return err
	})
	return all, err
}

// Redrive drives a dead event again, or forgets it; see [onceward.OutboxStore].
func (s *Store) Redrive(ctx context.Context, t onceward.Tenant, sink, id string, drop bool, notes ...onceward.AuditEvent) (done bool, err error) {
	change := `update aside a set dead = false, tries = 0, due_at = now()`
	if drop {
		change = `delete from aside a`
	}
	err = s.do(ctx, "drive event again", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			var key string
			err := tx.QueryRow(ctx, change+` where (a.sink, a.stamp, a.position) = (select f.sink, f.stamp, f.position from aside f
    where f.tenant = $1 and f.sink = $2 and f.id = $3 and f.dead order by f.stamp, f.position limit 1 for update) returning a.key`, string(t), sink, id).Scan(&key)
			if done = err == nil; errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err == nil {
				err = note(ctx, tx, notes)
			}
			if err != nil || !drop || key == "" {
				return err
			}
			_, err = tx.Exec(ctx, freeSQL, sink, []string{key})
			return err
		})
	})
	return done && err == nil, err
}

// ForgetSink removes a sink; see [onceward.OutboxStore].
func (s *Store) ForgetSink(ctx context.Context, sink string) (there bool, err error) {
	err = s.do(ctx, "forget sink", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `delete from sinks where name = $1`, sink)
			if there = tag.RowsAffected() == 1; err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `delete from aside where sink = $1`, sink)
			return err
		})
	})
	return there && err == nil, err
}

// DropOutbox removes what every sink has; see [onceward.OutboxStore].
func (s *Store) DropOutbox(ctx context.Context, limit int) (n int, err error) {
	err = s.do(ctx, "drop events", func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, `delete from outbox o using (`+passedSQL+`) p where o.stamp = p.stamp and o.position = p.position`, limit)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}

// DropReceipts forgets receipts; see [onceward.ReceiptStore].
func (s *Store) DropReceipts(ctx context.Context, limit int) (n int, err error) {
	err = s.do(ctx, "drop receipts", func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, `delete from receipts where (consumer, message) in (
    select consumer, message from receipts where drop_at <= now() order by drop_at limit $1 for update skip locked)`, limit)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
