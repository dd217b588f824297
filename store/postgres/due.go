package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// TakeDue hands out due rows; see [onceward.Store]. The rows are picked and then
// found again by their keys as an array: a join would sometimes be planned as a
// walk over the whole table. If the connection is lost
// after it took some, these come up again after the hold.
func (s *Store) TakeDue(ctx context.Context, limit int, hold time.Duration, except ...onceward.Workload) ([]onceward.Due, time.Time, error) {
	var taken []onceward.Due
	var now time.Time
	params := []param{intParam(int64(limit)), intParam(hold.Microseconds())}
	rest := ""
	for _, w := range except {
		params = append(params, textParam(string(w.Tenant)), textParam(string(w.Tool)))
		rest += fmt.Sprintf(" and not (d.tenant = $%d and $%d in ('', d.tool))", len(params)-1, len(params))
	}
	err := s.do(ctx, "take due rows", func(ctx context.Context, conn *pgx.Conn) error {
		taken = nil
		return s.each(ctx, conn, func(values [][]byte) (err error) {
			if now, err = readTime(values[0]); err != nil || values[1] == nil {
				return err
			}
			d, err := readDue(values[1:])
			taken = append(taken, d)
			return err
		}, `with picked as materialized (
    select d.operation_id, d.at from due d where d.at <= now()`+rest+` order by d.at, d.operation_id limit $1::bigint for update skip locked),
taken as (
    update due d set at = now() + $2::bigint * interval '1 microsecond' where d.operation_id = any(array(select operation_id from picked))
    returning d.operation_id, d.tenant, d.tool, d.state, d.kind, d.parked, d.since)
select now(), t.operation_id, t.tenant, t.tool, t.state, t.kind, t.parked, p.at, t.since
from (values (1)) one left join (taken t join picked p on p.operation_id = t.operation_id) on true order by p.at, t.operation_id`, params...)
	})
	return taken, now, err
}

func readDue(values [][]byte) (d onceward.Due, err error) {
	var state, kind int16
	for i, read := range []func([]byte) error{
		func(v []byte) (err error) { d.ID, err = idOf(v); return err },
		func(v []byte) error { d.Tenant = onceward.Tenant(v); return nil },
		func(v []byte) error { d.Tool = onceward.ToolName(v); return nil },
		func(v []byte) (err error) { state, err = readNumber[int16](v); return err },
		func(v []byte) (err error) { kind, err = readNumber[int16](v); return err },
		func(v []byte) error { d.Parked = onceward.ParkReason(v); return nil },
		func(v []byte) (err error) { d.At, err = readTime(v); return err },
		func(v []byte) (err error) { d.Since, err = readTime(v); return err },
	} {
		if err = read(values[i]); err != nil {
			return d, err
		}
	}
	d.State, d.Kind = onceward.State(state), onceward.DueKind(kind)
	return d, nil
}

// Reschedule sets the time of a due row; see [onceward.Store].
func (s *Store) Reschedule(ctx context.Context, due onceward.Due) error {
	return s.do(ctx, "reschedule due row", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "update due set at = $2::timestamptz, parked = $3 where operation_id = $1::uuid and state = $4::smallint",
			pgtype.UUID{Bytes: due.ID, Valid: true}, optionalTime(due.At), string(due.Parked), int16(due.State))
		return err
	})
}

// NextDue is when the next due row comes up; see [onceward.Store].
func (s *Store) NextDue(ctx context.Context) (next, now time.Time, err error) {
	err = s.do(ctx, "read next due time", func(ctx context.Context, conn *pgx.Conn) error {
		var at *time.Time
		if err := conn.QueryRow(ctx, "select min(at), now() from due where at is not null").Scan(&at, &now); err != nil {
			return err
		}
		next = timeOf(at)
		return nil
	})
	return next, now.UTC(), err
}

// Unpark releases parked rows; see [onceward.Store].
func (s *Store) Unpark(ctx context.Context, t onceward.Tenant, tool onceward.ToolName, why onceward.ParkReason, limit int) (int, error) {
	var n int64
	err := s.do(ctx, "release parked rows", func(ctx context.Context, conn *pgx.Conn) error {
		whose := `d.tenant = $1`
		if t == onceward.EveryTenant {
			whose = `$1::text <> ''`
		}
		tag, err := conn.Exec(ctx, `with picked as materialized (
    select d.operation_id from due d
    where `+whose+` and d.parked = $2 and d.parked <> '' and ($3 = '' or d.tool = $3)
    order by d.since, d.operation_id limit $4 for update skip locked)
update due d set at = now(), parked = '' where d.operation_id = any(array(select operation_id from picked))`,
			string(t), string(why), string(tool), limit)
		n = tag.RowsAffected()
		return err
	})
	return int(n), err
}

// optionalTime is the time as it is stored; nil for none.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = store.Stored(t)
	return &t
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
