package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Search returns a page of what it finds in a bounded walk; see [onceward.Store].
func (s *Store) Search(ctx context.Context, f onceward.Filter, scan int) ([]*onceward.Operation, onceward.Cursor, error) {
	if !store.AllOffPath(f.States) || f.Run != "" || f.CorrelationID != "" {
		return s.searchIn(ctx, &f, scan, searchAll)
	}
	var parts []store.Found
	for _, state := range slices.Compact(slices.Sorted(slices.Values(f.States))) {
		one := f
		one.States = []onceward.State{state}
		page, stopped, err := s.searchIn(ctx, &one, scan, searchDue)
		if err != nil {
			return nil, stopped, err
		}
		parts = append(parts, store.Found{Page: page, Stopped: stopped})
	}
	page, stopped := store.MergeFound(parts, f.Limit)
	return page, stopped, nil
}

// searched is a statement of a bounded walk: its page, or the last row that it
// looks at.
type searched func(f *onceward.Filter, scan int, last bool, p *parameters) string

func (s *Store) searchIn(ctx context.Context, f *onceward.Filter, scan int, in searched) ([]*onceward.Operation, onceward.Cursor, error) {
	var p, q parameters
	sql, last := in(f, scan, false, &p), in(f, scan, true, &q)
	page, err := s.operations(ctx, "search operations", sql, p.values, false)
	if err != nil || len(page) == f.Limit {
		return page, onceward.Cursor{}, err
	}
	var stopped onceward.Cursor
	err = s.do(ctx, "search operations", func(ctx context.Context, conn *pgx.Conn) error {
		stopped = onceward.Cursor{}
		return s.each(ctx, conn, func(values [][]byte) (err error) {
			if stopped.ID, err = idOf(values[0]); err != nil {
				return err
			}
			stopped.CreatedAt, err = readTime(values[1])
			return err
		}, last, q.values...)
	})
	return page, stopped, err
}

func searchAll(f *onceward.Filter, scan int, last bool, p *parameters) string {
	walk := "from operations o where " + strings.Join(bounds(f, p), " and ") + newestFirst
	if last {
		return "select o.id, o.created_at " + walk + "1 offset " + p.add(intParam(int64(scan-1)))
	}
	return "select " + selectWhole + " from (select o.* " + walk + p.add(intParam(int64(scan))) + ") o where " +
		strings.Join(chosen(f, p), " and ") + newestFirst + p.add(intParam(int64(f.Limit)))
}

func searchDue(f *onceward.Filter, scan int, last bool, p *parameters) string {
	where := append([]string{"d.tenant = " + p.add(textParam(string(f.Tenant))), "d.state = any(" + p.add(statesParam(f.States)) + "::smallint[])"}, within(f, p, "d.created_at", "d.operation_id")...)
	walk := "from due d where " + strings.Join(where, " and ") + " order by d.created_at desc, d.operation_id desc limit "
	if last {
		return "select d.operation_id, d.created_at " + walk + "1 offset " + p.add(intParam(int64(scan-1)))
	}
	return "select " + selectWhole + " from (select d.operation_id " + walk + p.add(intParam(int64(scan))) + ") d join operations o on o.id = d.operation_id where " +
		strings.Join(chosen(f, p), " and ") + newestFirst + p.add(intParam(int64(f.Limit)))
}

// CountWaiting counts what waits of a tenant; see [onceward.BacklogStore].
func (s *Store) CountWaiting(ctx context.Context, t onceward.Tenant, states []onceward.State, most int) (out []onceward.Waiting, err error) {
	err = s.do(ctx, "count what waits", func(ctx context.Context, conn *pgx.Conn) error {
		out = make([]onceward.Waiting, len(states))
		for i, state := range states {
			out[i].State = state
			err := conn.QueryRow(ctx, "select count(*) from (select 1 from due where tenant = $1 and state = $2 limit $3) d", string(t), int16(state), most).Scan(&out[i].Count)
			if err != nil {
				return err
			}
			if out[i].Count == 0 {
				continue
			}
			var id [16]byte
			var since time.Time
			err = conn.QueryRow(ctx, "select operation_id, created_at from due where tenant = $1 and state = $2 order by created_at, operation_id limit 1", string(t), int16(state)).Scan(&id, &since)
			if err != nil {
				return err
			}
			out[i].Oldest, out[i].Since = onceward.OperationID(id), since.UTC()
		}
		return nil
	})
	return out, err
}
