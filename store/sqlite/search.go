package sqlite

import (
	"context"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Search returns a page of what it finds in a bounded walk; see [onceward.Store].
func (s *Store) Search(ctx context.Context, f onceward.Filter, scan int) (ops []*onceward.Operation, stopped onceward.Cursor, err error) {
	err = s.read(ctx, "search operations", func(c *conn) (err error) {
		if !store.AllOffPath(f.States) {
			index, bounds := walked(&f)
			ops, stopped, err = c.searchIn(walk{from: `operations o INDEXED BY ` + index, row: `o.rowid`, id: `o.id`, created: `o.created_at`, bounds: bounds,
				join: `o.rowid = s.at`, chosen: chosen(&f)}, f.Limit, scan)
			return err
		}
		var parts []store.Found
		for _, state := range slices.Compact(slices.Sorted(slices.Values(f.States))) {
			some, last, err := c.searchIn(walk{from: `due d INDEXED BY due_listed`, row: `d.operation_id`, id: `d.operation_id`, created: `d.created_at`, bounds: dueIn(&f, state),
				join: `o.id = s.at`, also: `, d.tool AS tool`, chosen: searchedDue(&f, state)}, f.Limit, scan)
			if err != nil {
				return err
			}
			parts = append(parts, store.Found{Page: some, Stopped: last})
		}
		ops, stopped = store.MergeFound(parts, f.Limit)
		return nil
	})
	return ops, stopped, err
}

// searchedDue names the tool's column as the walk hands it out.
func searchedDue(f *onceward.Filter, state onceward.State) []condition {
	rest := *f
	rest.Tool = ""
	all := dueChosen(&rest, state)
	if f.Tool != "" {
		all = append([]condition{{`s.tool = ?`, func(b *binder) { b.text(string(f.Tool)) }}}, all...)
	}
	return all
}

// walk is a bounded walk along an index, and what is taken of it.
type walk struct {
	from, row, id, created, join, also string
	bounds, chosen                     []condition
}

// searchIn walks. Why the page needs no sorting: the rows of the inner query come
// in its order, and the outer one looks each of them up in turn.
func (c *conn) searchIn(w walk, limit, scan int) (ops []*onceward.Operation, stopped onceward.Cursor, err error) {
	order := ` ORDER BY ` + w.created + ` DESC, ` + w.id + ` DESC LIMIT ?`
	ops, err = c.operations(`SELECT `+columns+` FROM (SELECT `+w.row+` AS at`+w.also+` FROM `+w.from+` WHERE `+where(w.bounds)+order+`) s
		CROSS JOIN operations o ON `+w.join+` WHERE `+where(w.chosen)+` LIMIT ?`, limit, func(b *binder) {
		b.conditions(w.bounds)
		b.int(int64(scan))
		b.conditions(w.chosen)
		b.int(int64(limit))
	})
	if err != nil || len(ops) == limit {
		return ops, stopped, err
	}
	err = c.query(`SELECT `+w.created+`, `+w.id+` FROM `+w.from+` WHERE `+where(w.bounds)+order+` OFFSET ?`, func(b *binder) {
		b.conditions(w.bounds)
		b.int(1)
		b.int(int64(scan - 1))
	}, func(r *rower) error {
		stopped.CreatedAt, stopped.ID = r.time(), r.id()
		return nil
	})
	return ops, stopped, err
}
