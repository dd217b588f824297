package sqlite

import (
	"context"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Load reads operations by ID; see [onceward.Store].
func (s *Store) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	if len(ids) == 1 {
		return s.loadOne(ctx, ids)
	}
	ops := make([]*onceward.Operation, len(ids))
	err := s.read(ctx, "load operations", func(c *conn) error { return c.load(ids, ops) })
	if err != nil {
		return nil, err
	}
	return ops, nil
}

// loadOne reads one operation by a single statement, which needs no transaction
// unless it has side bodies: those must be of the same snapshot.
func (s *Store) loadOne(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	ops := make([]*onceward.Operation, 1)
	whole := true
	err := s.readRaw(ctx, "load operations", func(c *conn) error {
		row, _, err := c.find(ids[0])
		if err != nil || row == nil {
			return err
		}
		if row.Side != 0 {
			whole = false
			return nil
		}
		ops[0], err = store.Decode(row, nil)
		return err
	})
	if err == nil && !whole {
		err = s.read(ctx, "load operations", func(c *conn) error { return c.load(ids, ops) })
	}
	if err != nil {
		return nil, err
	}
	return ops, nil
}

// load reads operations in the connection's transaction.
func (c *conn) load(ids []onceward.OperationID, ops []*onceward.Operation) error {
	for i, id := range ids {
		row, _, err := c.find(id)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if ops[i], err = c.decode(row); err != nil {
			return err
		}
	}
	return nil
}

// LoadDetail reads a timeline; see [onceward.Store].
func (s *Store) LoadDetail(ctx context.Context, id onceward.OperationID) (onceward.Detail, error) {
	var detail onceward.Detail
	err := s.readRaw(ctx, "load timeline", func(c *conn) error {
		return c.query(`SELECT body FROM records
			WHERE operation_id = coalesce((SELECT alias_of FROM operations WHERE id = ?1), ?1) ORDER BY version, seq`,
			func(b *binder) { b.id(id) },
			func(r *rower) error {
				record, err := store.DecodeRecord(id, r.blob())
				detail.Records = append(detail.Records, record)
				return err
			})
	})
	if err != nil {
		return onceward.Detail{}, err
	}
	return detail, nil
}
