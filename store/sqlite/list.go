package sqlite

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// List returns a page; see [onceward.Store].
func (s *Store) List(ctx context.Context, f onceward.Filter) ([]*onceward.Operation, error) {
	var ops []*onceward.Operation
	err := s.read(ctx, "list operations", func(c *conn) (err error) {
		switch {
		case f.Key != "":
			ops, err = c.listKey(&f)
		case store.AllOffPath(f.States):
			ops, err = c.listDue(&f)
		default:
			ops, err = c.listCreated(&f)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ops, nil
}

// listKey finds the one operation of a key.
func (c *conn) listKey(f *onceward.Filter) ([]*onceward.Operation, error) {
	row, _, err := c.find(onceward.NewOperationID(f.Tenant, f.Tool, f.Key))
	if err != nil || row == nil {
		return nil, err
	}
	op, err := c.decode(row)
	if err != nil || !store.Selects(f, op) || f.Limit < 1 {
		return nil, err
	}
	return []*onceward.Operation{op}, nil
}

// condition is a part of a WHERE clause with what it binds.
type condition struct {
	sql  string
	bind func(b *binder)
}

// walked names the index by time of creation that a listing walks, and the
// conditions that bound the walk.
func walked(f *onceward.Filter) (index string, bounds []condition) {
	index = "operations_created"
	bounds = append(bounds, condition{`o.alias_of IS NULL AND o.tenant = ?`, func(b *binder) { b.text(string(f.Tenant)) }})
	if f.CorrelationID != "" {
		index = "operations_correlation"
		bounds = append(bounds, condition{`o.correlation_id <> '' AND o.correlation_id = ?`, func(b *binder) { b.text(f.CorrelationID) }})
	}
	if f.Run != "" {
		index = "operations_run"
		bounds = append(bounds, condition{`o.run <> '' AND o.run = ?`, func(b *binder) { b.text(f.Run) }})
	}
	if f.Subject != "" {
		index = "operations_subject"
		bounds = append(bounds, condition{`o.subject <> '' AND o.subject = ?`, func(b *binder) { b.text(string(f.Subject)) }})
	}
	return index, append(bounds, within(f, "o.created_at", "o.id")...)
}

// within bounds a walk by time and by where the page begins.
func within(f *onceward.Filter, created, id string) []condition {
	bounds := []condition{{`(` + created + `, ` + id + `) < (?, ?)`, func(b *binder) { b.before(store.Before(f)) }}}
	if !f.From.IsZero() {
		bounds = append(bounds, condition{created + ` >= ?`, func(b *binder) { b.time(f.From) }})
	}
	return bounds
}

// chosen are the conditions that no index helps with.
func chosen(f *onceward.Filter) []condition {
	all := []condition{{`1`, func(*binder) {}}}
	for _, is := range []struct{ column, value string }{{"tool", string(f.Tool)}, {"reference", f.Reference}, {"actor", f.Actor}} {
		if is.value != "" {
			all = append(all, condition{`o.` + is.column + ` = ?`, func(b *binder) { b.text(is.value) }})
		}
	}
	if len(f.States) > 0 {
		all = append(all, condition{`o.state IN (?` + strings.Repeat(", ?", len(f.States)-1) + `)`, func(b *binder) { b.states(f.States) }})
	}
	return all
}

func where(all []condition) string {
	parts := make([]string, len(all))
	for i := range all {
		parts[i] = all[i].sql
	}
	return strings.Join(parts, ` AND `)
}

func (b *binder) conditions(all []condition) {
	for i := range all {
		all[i].bind(b)
	}
}

// listCreated walks one of the indexes by time of creation.
func (c *conn) listCreated(f *onceward.Filter) ([]*onceward.Operation, error) {
	index, bounds := walked(f)
	all := append(bounds, chosen(f)...)
	return c.operations(`SELECT `+columns+` FROM operations o INDEXED BY `+index+` WHERE `+where(all)+`
		ORDER BY o.created_at DESC, o.id DESC LIMIT ?`, f.Limit, func(b *binder) {
		b.conditions(all)
		b.int(int64(f.Limit))
	})
}

// listDue walks the due table, one state after the other, and merges.
func (c *conn) listDue(f *onceward.Filter) ([]*onceward.Operation, error) {
	var ops []*onceward.Operation
	states := slices.Compact(slices.Sorted(slices.Values(f.States)))
	for _, state := range states {
		all := append(dueIn(f, state), dueChosen(f, state)...)
		some, err := c.operations(`SELECT `+columns+` FROM due d INDEXED BY due_listed CROSS JOIN operations o ON o.id = d.operation_id
			WHERE `+where(all)+` ORDER BY d.created_at DESC, d.operation_id DESC LIMIT ?`, f.Limit, func(b *binder) {
			b.conditions(all)
			b.int(int64(f.Limit))
		})
		if err != nil {
			return nil, err
		}
		ops = append(ops, some...)
	}
	if len(states) > 1 {
		slices.SortFunc(ops, func(a, b *onceward.Operation) int { return store.Newer(store.CursorOf(b), store.CursorOf(a)) })
	}
	return ops[:min(len(ops), f.Limit)], nil
}

// dueIn bounds a walk of the due table in one state.
func dueIn(f *onceward.Filter, state onceward.State) []condition {
	return append([]condition{{`d.tenant = ? AND d.state = ?`, func(b *binder) {
		b.text(string(f.Tenant))
		b.int(int64(state))
	}}}, within(f, "d.created_at", "d.operation_id")...)
}

// dueChosen are the conditions of a walk of the due table that its order does
// not help with.
func dueChosen(f *onceward.Filter, state onceward.State) []condition {
	all := []condition{{`o.state = ?`, func(b *binder) { b.int(int64(state)) }}}
	for _, is := range []struct{ column, value string }{{"d.tool", string(f.Tool)}, {"o.run", f.Run}, {"o.correlation_id", f.CorrelationID},
		{"o.reference", f.Reference}, {"o.actor", f.Actor}} {
		if is.value != "" {
			all = append(all, condition{is.column + ` = ?`, func(b *binder) { b.text(is.value) }})
		}
	}
	return all
}

// before binds the place before which a page begins; none: the end of time.
func (b *binder) before(after onceward.Cursor) {
	if after == (onceward.Cursor{}) {
		b.int(math.MaxInt64)
	} else {
		b.time(after.CreatedAt)
	}
	b.id(after.ID)
}

func (b *binder) states(states []onceward.State) {
	for _, state := range states {
		b.int(int64(state))
	}
}

// operations reads whole operations, each with its side bodies.
func (c *conn) operations(sql string, limit int, bind func(b *binder)) ([]*onceward.Operation, error) {
	var rows []*store.Row
	err := c.query(sql, bind, func(r *rower) error {
		rows = append(rows, r.row())
		return nil
	})
	if err != nil {
		return nil, err
	}
	ops := make([]*onceward.Operation, len(rows))
	for i, row := range rows {
		if ops[i], err = c.decode(row); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// tenants lists every tenant, by a step in the index for each.
func (c *conn) tenants() ([]string, error) {
	var tenants []string
	err := c.query(`WITH RECURSIVE t (name) AS (
		SELECT min(tenant) FROM operations INDEXED BY operations_created WHERE alias_of IS NULL
		UNION ALL
		SELECT (SELECT min(tenant) FROM operations INDEXED BY operations_created WHERE alias_of IS NULL AND tenant > t.name)
		FROM t WHERE t.name IS NOT NULL)
		SELECT name FROM t WHERE name IS NOT NULL`, nil, func(r *rower) error {
		tenants = append(tenants, r.text())
		return nil
	})
	return tenants, err
}

// Aged walks the ledger, oldest first; see [onceward.Store].
func (s *Store) Aged(ctx context.Context, after onceward.Cursor, before time.Time, limit int) ([]*onceward.Operation, error) {
	return s.oldest(ctx, "list aged operations", limit, store.DecodeSlim,
		`SELECT `+columns+` FROM operations o INDEXED BY operations_created
		WHERE o.alias_of IS NULL AND o.tenant = ? AND (o.created_at, o.id) > (?, ?) AND o.created_at < ?
		ORDER BY o.created_at, o.id LIMIT ?`,
		func(b *binder) {
			if after == (onceward.Cursor{}) {
				b.int(math.MinInt64)
			} else {
				b.time(after.CreatedAt)
			}
			b.id(after.ID)
			b.time(before)
			b.int(int64(limit))
		})
}

// Stranded finds attempts that a replica left; see [onceward.Store].
func (s *Store) Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*onceward.Operation, error) {
	return s.oldest(ctx, "list stranded operations", limit, nil,
		`SELECT `+columns+` FROM operations o INDEXED BY operations_created
		WHERE o.alias_of IS NULL AND o.tenant = ? AND o.created_at >= ? AND o.created_at <= ?
		AND o.state = ? AND o.attempt = 1 AND o.owner = ? AND o.lease_until < ?
		ORDER BY o.created_at, o.id LIMIT ?`,
		func(b *binder) {
			b.time(from)
			b.time(to)
			b.int(int64(onceward.StateEffectPending))
			b.text(replica)
			b.time(s.now())
			b.int(int64(limit))
		})
}

// oldest runs a query for each tenant, which is its first parameter, and merges
// what they give, oldest first. A nil decode reads whole operations.
func (s *Store) oldest(
	ctx context.Context, what string, limit int, decode func(*store.Row) (*onceward.Operation, error), sql string, bind func(b *binder),
) ([]*onceward.Operation, error) {
	var ops []*onceward.Operation
	err := s.read(ctx, what, func(c *conn) error {
		tenants, err := c.tenants()
		if err != nil {
			return err
		}
		var rows []*store.Row
		for _, tenant := range tenants {
			err := c.query(sql, func(b *binder) { b.text(tenant); bind(b) }, func(r *rower) error {
				rows = append(rows, r.row())
				return nil
			})
			if err != nil {
				return err
			}
		}
		if len(tenants) > 1 {
			slices.SortFunc(rows, func(a, b *store.Row) int {
				return store.Newer(onceward.Cursor{CreatedAt: a.CreatedAt, ID: a.ID}, onceward.Cursor{CreatedAt: b.CreatedAt, ID: b.ID})
			})
		}
		if decode == nil {
			decode = c.decode
		}
		for _, row := range rows[:min(len(rows), limit)] {
			op, err := decode(row)
			if err != nil {
				return err
			}
			ops = append(ops, op)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ops, nil
}
