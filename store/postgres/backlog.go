package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// waitingTenants finds the tenants that have due rows one by one along an index.
const waitingTenants = `with recursive tenants (tenant) as (
    (select d.tenant from due d order by d.tenant limit 1)
    union all
    select (select d.tenant from due d where d.tenant > t.tenant order by d.tenant limit 1)
    from tenants t where t.tenant is not null)
`

// Backlog counts what waits; see [onceward.BacklogStore]. It walks the index by
// tenant and state, so that what has ended costs nothing.
func (s *Store) Backlog(ctx context.Context) (rows []onceward.Backlog, now time.Time, err error) {
	err = s.do(ctx, "count what waits", func(ctx context.Context, conn *pgx.Conn) error {
		rows = nil
		if err := conn.QueryRow(ctx, "select now()").Scan(&now); err != nil {
			return err
		}
		sql, args := backlogSQL(now)
		found, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		_, err = pgx.CollectRows(found, func(row pgx.CollectableRow) (struct{}, error) {
			var b onceward.Backlog
			var state int16
			into := []any{(*string)(&b.Tool), &state, &b.Count, &b.Oldest}
			for i := range b.Younger {
				into = append(into, &b.Younger[i])
			}
			for i := range b.Due {
				into = append(into, &b.Due[i])
			}
			err := row.Scan(into...)
			b.State, b.Oldest = onceward.State(state), b.Oldest.UTC()
			rows = append(rows, b)
			return struct{}{}, err
		})
		return err
	})
	return rows, now.UTC(), err
}

func backlogSQL(now time.Time) (sql string, args []any) {
	var counts strings.Builder
	states := make([]int16, 0, len(onceward.AllStates))
	for _, state := range store.WaitingStates() {
		states = append(states, int16(state))
	}
	args = append(args, states)
	younger, due := store.BacklogMarks(now)
	for _, mark := range younger {
		args = append(args, mark)
		fmt.Fprintf(&counts, ", count(*) filter (where d.created_at > $%d::timestamptz)", len(args))
	}
	for _, mark := range due {
		args = append(args, mark)
		fmt.Fprintf(&counts, ", count(*) filter (where d.at <= $%d::timestamptz)", len(args))
	}
	return waitingTenants + `select d.tool, d.state, count(*), min(d.created_at)` + counts.String() + `
from tenants t cross join unnest($1::smallint[]) as s (state) join due d on d.tenant = t.tenant and d.state = s.state
where t.tenant is not null group by d.tool, d.state`, args
}

// Waiting lists what waits in a state; see [onceward.BacklogStore].
func (s *Store) Waiting(ctx context.Context, state onceward.State, limit int) ([]*onceward.Operation, error) {
	var p parameters
	at, most := p.add(intParam(int64(state))), p.add(intParam(int64(limit)))
	return s.operations(ctx, "list what waits", waitingTenants+`, page as materialized (
select d.operation_id from tenants t cross join lateral (
    select d.operation_id, d.created_at from due d where d.tenant = t.tenant and d.state = `+at+`::bigint::smallint
    order by d.created_at, d.operation_id limit `+most+`::bigint) d
where t.tenant is not null order by d.created_at, d.operation_id limit `+most+`::bigint)
select `+selectWhole+` from page join operations o on o.id = page.operation_id where o.state = `+at+`::bigint::smallint
order by o.created_at, o.id`, p.values, false)
}
