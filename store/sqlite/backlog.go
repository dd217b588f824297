package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Backlog counts what waits; see [onceward.BacklogStore]. It walks the index by
// tenant and state, so that what has ended costs nothing.
func (s *Store) Backlog(ctx context.Context) (rows []onceward.Backlog, now time.Time, err error) {
	states := store.WaitingStates()
	sums := strings.Repeat(", sum(created_at > ?)", len(onceward.BacklogAges)) + strings.Repeat(", sum(coalesce(at <= ?, 0))", len(onceward.BacklogSteps))
	sql := `SELECT tool, state, count(*), min(created_at)` + sums + ` FROM due INDEXED BY due_listed
		WHERE tenant = ? AND state IN (?` + strings.Repeat(", ?", len(states)-1) + `) GROUP BY tool, state`
	err = s.read(ctx, "count what waits", func(c *conn) error {
		rows, now = nil, s.now()
		younger, due := store.BacklogMarks(now)
		tenants, err := c.tenants()
		if err != nil {
			return err
		}
		for _, tenant := range tenants {
			err := c.query(sql, func(b *binder) {
				for _, mark := range slices.Concat(younger, due) {
					b.time(mark)
				}
				b.text(tenant)
				b.states(states)
			}, func(r *rower) error {
				one := onceward.Backlog{Tool: onceward.ToolName(r.text()), State: onceward.State(r.int()), Count: r.int(), Oldest: r.time()}
				for i := range one.Younger {
					one.Younger[i] = r.int()
				}
				for i := range one.Due {
					one.Due[i] = r.int()
				}
				rows = store.AddBacklog(rows, one)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return rows, now, err
}

// CountWaiting counts what waits of a tenant; see [onceward.BacklogStore].
func (s *Store) CountWaiting(ctx context.Context, t onceward.Tenant, states []onceward.State, most int) (out []onceward.Waiting, err error) {
	err = s.read(ctx, "count what waits", func(c *conn) error {
		out = make([]onceward.Waiting, len(states))
		for i, state := range states {
			w := onceward.Waiting{State: state}
			in := func(b *binder) {
				b.text(string(t))
				b.int(int64(state))
			}
			err := c.query(`SELECT count(*) FROM (SELECT 1 FROM due INDEXED BY due_listed WHERE tenant = ? AND state = ? LIMIT ?)`, func(b *binder) {
				in(b)
				b.int(int64(most))
			}, func(r *rower) error {
				w.Count = int(r.int())
				return nil
			})
			if err == nil && w.Count > 0 {
				err = c.query(`SELECT operation_id, created_at FROM due INDEXED BY due_listed WHERE tenant = ? AND state = ?
					ORDER BY created_at, operation_id LIMIT 1`, in, func(r *rower) error {
					w.Oldest, w.Since = r.id(), r.time()
					return nil
				})
			}
			if err != nil {
				return err
			}
			out[i] = w
		}
		return nil
	})
	return out, err
}

// Waiting lists what waits in a state; see [onceward.BacklogStore].
func (s *Store) Waiting(ctx context.Context, state onceward.State, limit int) ([]*onceward.Operation, error) {
	return s.oldest(ctx, "list what waits", limit, nil,
		`SELECT `+columns+` FROM due d INDEXED BY due_listed CROSS JOIN operations o ON o.id = d.operation_id
		WHERE d.tenant = ? AND d.state = ? AND o.state = d.state ORDER BY d.created_at, d.operation_id LIMIT ?`,
		func(b *binder) {
			b.int(int64(state))
			b.int(int64(limit))
		})
}
