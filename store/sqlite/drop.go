package sqlite

import (
	"context"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Drop removes tombstones; see [onceward.Store].
func (s *Store) Drop(ctx context.Context, rows []onceward.Tombstone) (int, error) {
	var gone []store.Entry
	err := s.write(ctx, "drop tombstones", func(c *conn) error {
		gone = gone[:0]
		for _, r := range rows {
			dropped, err := c.drop(r)
			if err != nil {
				return err
			}
			if dropped {
				gone = append(gone, store.Dropped(r))
			}
		}
		if len(gone) == 0 {
			return nil
		}
		return c.journaled(s.now(), onceward.WriteToken(gone[0].ID), gone)
	})
	if err != nil {
		return 0, err
	}
	return len(gone), nil
}

// besideRow removes what refers to a row, and the row's aliases.
var besideRow = []string{
	`DELETE FROM bodies WHERE operation_id = ?`,
	`DELETE FROM records WHERE operation_id = ?`,
	`DELETE FROM due WHERE operation_id = ?`,
	`DELETE FROM early_approvals WHERE operation_id = ?`,
	`DELETE FROM operations INDEXED BY operations_alias WHERE alias_of = ?`,
}

// drop removes one row if it has its generation and version; what refers to it goes first.
func (c *conn) drop(r onceward.Tombstone) (gone bool, err error) {
	err = c.query(`SELECT 1 FROM operations WHERE id = ? AND version = ? AND generation = ? AND alias_of IS NULL`, func(b *binder) {
		b.id(r.ID)
		b.int(r.Version)
		b.int(int64(r.Generation))
	}, func(*rower) error { gone = true; return nil })
	if err != nil || !gone {
		return false, err
	}
	for _, sql := range besideRow {
		if err := c.exec(sql, func(b *binder) { b.id(r.ID) }); err != nil {
			return false, err
		}
	}
	return true, c.exec(`DELETE FROM operations WHERE id = ?`, func(b *binder) { b.id(r.ID) })
}
