package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Load reads operations by ID; see [onceward.Store].
func (s *Store) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	ops := make([]*onceward.Operation, len(ids))
	err := s.read(ctx, "load operations", func(d *data) error {
		for i, id := range ids {
			old, _ := d.follow(id)
			if old == nil {
				continue
			}
			var err error
			if ops[i], err = old.decode(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ops, nil
}

// LoadDetail reads a timeline; see [onceward.Store].
func (s *Store) LoadDetail(ctx context.Context, id onceward.OperationID) (onceward.Detail, error) {
	var detail onceward.Detail
	err := s.read(ctx, "load timeline", func(d *data) error {
		old, _ := d.follow(id)
		if old == nil {
			return nil
		}
		for _, r := range old.records {
			record, err := store.DecodeRecord(id, r.Body)
			if err != nil {
				return err
			}
			detail.Records = append(detail.Records, record)
		}
		return nil
	})
	return detail, err
}

// List returns a page; see [onceward.Store].
func (s *Store) List(ctx context.Context, f onceward.Filter) ([]*onceward.Operation, error) {
	var ops []*onceward.Operation
	err := s.read(ctx, "list operations", func(d *data) error {
		rows := d.rows
		if f.Key != "" {
			rows = map[onceward.OperationID]*stored{}
			if old, _ := d.follow(onceward.NewOperationID(f.Tenant, f.Tool, f.Key)); old != nil {
				rows[old.row.ID] = old
			}
		}
		for _, old := range rows {
			op, err := old.decode()
			if err != nil {
				return err
			}
			if store.Selects(&f, op) {
				ops = append(ops, op)
			}
		}
		return nil
	})
	slices.SortFunc(ops, func(a, b *onceward.Operation) int { return store.Newer(store.CursorOf(b), store.CursorOf(a)) })
	return ops[:min(len(ops), f.Limit)], err
}

// Search returns a page of what it finds in a bounded walk; see [onceward.Store].
func (s *Store) Search(ctx context.Context, f onceward.Filter, scan int) (page []*onceward.Operation, stopped onceward.Cursor, err error) {
	bounds := onceward.Filter{Tenant: f.Tenant, Run: f.Run, CorrelationID: f.CorrelationID, From: f.From, To: f.To, After: f.After, Limit: scan}
	walked, err := s.List(ctx, bounds)
	for _, op := range walked {
		if store.Selects(&f, op) && len(page) < f.Limit {
			page = append(page, op)
		}
	}
	if len(walked) == scan && len(page) < f.Limit {
		stopped = store.CursorOf(walked[scan-1])
	}
	return page, stopped, err
}

// Aged walks the ledger, oldest first; see [onceward.Store].
func (s *Store) Aged(ctx context.Context, after onceward.Cursor, before time.Time, limit int) ([]*onceward.Operation, error) {
	return s.scan(ctx, "list aged operations", limit, func(r *store.Row) bool {
		at := onceward.Cursor{CreatedAt: r.CreatedAt, ID: r.ID}
		return r.CreatedAt.Before(store.Stored(before)) && (after == (onceward.Cursor{}) || store.Newer(at, after) > 0)
	}, (*stored).slim)
}

// Drop removes tombstones; see [onceward.Store].
func (s *Store) Drop(ctx context.Context, rows []onceward.Tombstone) (int, error) {
	var gone []store.Entry
	err := s.write(ctx, "drop tombstones", func(d *data) error {
		for _, r := range rows {
			if old, ok := d.rows[r.ID]; !ok || old.row.Version != r.Version || old.row.Generation != int64(r.Generation) {
				continue
			}
			delete(d.rows, r.ID)
			delete(d.due, r.ID)
			delete(d.early, r.ID)
			maps.DeleteFunc(d.aliases, func(_, to onceward.OperationID) bool { return to == r.ID })
			gone = append(gone, store.Dropped(r))
		}
		if len(gone) > 0 {
			d.journaled(onceward.WriteToken(gone[0].ID), gone)
		}
		return nil
	})
	return len(gone), err
}

// Stranded finds attempts that a replica left; see [onceward.Store].
func (s *Store) Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*onceward.Operation, error) {
	now := s.data.now()
	return s.scan(ctx, "list stranded operations", limit, func(r *store.Row) bool {
		return onceward.State(r.State) == onceward.StateEffectPending && r.Attempt == 1 && r.Owner == replica &&
			r.LeaseUntil.Before(now) && !r.CreatedAt.Before(store.Stored(from)) && !r.CreatedAt.After(store.Stored(to))
	}, (*stored).decode)
}

func (s *stored) slim() (*onceward.Operation, error) { return store.DecodeSlim(&s.row) }

// scan gives the operations that are wanted, oldest first.
func (s *Store) scan(
	ctx context.Context, what string, limit int, want func(*store.Row) bool, decode func(*stored) (*onceward.Operation, error),
) ([]*onceward.Operation, error) {
	var ops []*onceward.Operation
	err := s.read(ctx, what, func(d *data) error {
		for _, old := range d.rows {
			if !want(&old.row) {
				continue
			}
			op, err := decode(old)
			if err != nil {
				return err
			}
			ops = append(ops, op)
		}
		return nil
	})
	slices.SortFunc(ops, func(a, b *onceward.Operation) int { return store.Newer(store.CursorOf(a), store.CursorOf(b)) })
	return ops[:min(len(ops), limit)], err
}
