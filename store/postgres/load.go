package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// querier is a connection, or a pool of them.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// found is an operation that an ID led to.
type found struct {
	op    *onceward.Operation
	err   error // it cannot be read back
	alias bool  // the ID is an earlier name of it
}

var loadSQL = "select " + selectWhole + " from operations o where o.id = any($1::uuid[])"

// Load reads operations by ID; see [onceward.Store].
func (s *Store) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	ops := make([]*onceward.Operation, len(ids))
	err := s.do(ctx, "load operations", func(ctx context.Context, q *pgxpool.Pool) error {
		if len(ids) == 0 {
			return nil
		}
		all, err := load(ctx, q, ids)
		if err != nil {
			return err
		}
		used := make(map[onceward.OperationID]bool, len(ids))
		for i, id := range ids {
			f, ok := all[id]
			if !ok {
				continue
			}
			if f.err != nil {
				return f.err
			}
			ops[i] = f.op
			if used[f.op.ID] { // two callers never share an operation
				again := f.op.Clone()
				ops[i] = &again
			}
			used[f.op.ID] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ops, nil
}

// load reads the operations that the IDs lead to; absent ones are absent.
func load(ctx context.Context, q querier, ids []onceward.OperationID) (map[onceward.OperationID]found, error) {
	all := make(map[onceward.OperationID]found, len(ids))
	leads := map[onceward.OperationID]onceward.OperationID{}
	err := readRows(ctx, q, all, leads, ids)
	if err != nil || len(leads) == 0 {
		return all, err
	}
	var targets []onceward.OperationID
	for _, to := range leads {
		if _, ok := all[to]; !ok {
			targets = append(targets, to)
		}
	}
	if err = readRows(ctx, q, all, nil, targets); err != nil {
		return nil, err
	}
	for id, to := range leads {
		if f, ok := all[to]; ok {
			f.alias = true
			all[id] = f
		}
	}
	return all, nil
}

// readRows reads rows by ID into all; where an ID is an alias it notes where
// that leads to.
func readRows(
	ctx context.Context, q querier, all map[onceward.OperationID]found, leads map[onceward.OperationID]onceward.OperationID,
	ids []onceward.OperationID,
) error {
	if len(ids) == 0 {
		return nil
	}
	return each(ctx, q, func(values [][]byte) error {
		row, bodies, aliasOf, err := readRow(values, false)
		if err != nil {
			return err
		}
		if !aliasOf.IsZero() {
			leads[row.ID] = aliasOf
			return nil
		}
		op, err := store.Decode(&row, bodies)
		all[row.ID] = found{op: op, err: err}
		return nil
	}, loadSQL, uuids(ids))
}

// each runs a query and calls scan for every row, with its values in binary
// form. They are valid until scan returns.
func each(ctx context.Context, q querier, scan func(values [][]byte) error, sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, append([]any{pgx.QueryResultFormats{pgx.BinaryFormatCode}}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows.RawValues()); err != nil {
			return err
		}
	}
	return rows.Err()
}

func uuids(ids []onceward.OperationID) []pgtype.UUID {
	out := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		out[i] = uuid(id)
	}
	return out
}

func uuid(id [16]byte) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// LoadDetail reads a timeline; see [onceward.Store].
func (s *Store) LoadDetail(ctx context.Context, id onceward.OperationID) (onceward.Detail, error) {
	var detail onceward.Detail
	err := s.do(ctx, "load timeline", func(ctx context.Context, q *pgxpool.Pool) error {
		detail.Records = nil
		return each(ctx, q, func(values [][]byte) error {
			body, err := readBytes(values[0])
			if err != nil {
				return err
			}
			record, err := store.DecodeRecord(id, body)
			detail.Records = append(detail.Records, record)
			return err
		}, `select r.body from records r
where r.operation_id = coalesce((select o.alias_of from operations o where o.id = $1), $1)
order by r.version, r.seq`, uuid(id))
	})
	return detail, err
}
