package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// found is an operation that an ID led to.
type found struct {
	op    *onceward.Operation
	err   error // it cannot be read back
	alias bool  // the ID is an earlier name of it
}

// loadSQL reads by IDs, loadOneSQL by one.
//
// Why two: a plan for any array seems to cost more than one for an array of one
// ID, so that the server would plan a lone read anew each time, which takes
// three times as long as the read.
var (
	loadSQL    = "select " + selectWhole + " from operations o where o.id = any($1::uuid[])"
	loadOneSQL = "select " + selectWhole + " from operations o where o.id = $1"
)

// Load reads operations by ID; see [onceward.Store].
func (s *Store) Load(ctx context.Context, ids []onceward.OperationID) ([]*onceward.Operation, error) {
	ops := make([]*onceward.Operation, len(ids))
	err := s.do(ctx, "load operations", func(ctx context.Context, conn *pgx.Conn) error {
		if len(ids) == 0 {
			return nil
		}
		all, err := s.load(ctx, conn, ids)
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
func (s *Store) load(ctx context.Context, conn *pgx.Conn, ids []onceward.OperationID) (map[onceward.OperationID]found, error) {
	all := make(map[onceward.OperationID]found, len(ids))
	leads := map[onceward.OperationID]onceward.OperationID{}
	err := s.readRows(ctx, conn, all, leads, ids)
	if err != nil || len(leads) == 0 {
		return all, err
	}
	var targets []onceward.OperationID
	for _, to := range leads {
		if _, ok := all[to]; !ok {
			targets = append(targets, to)
		}
	}
	if err = s.readRows(ctx, conn, all, nil, targets); err != nil {
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
func (s *Store) readRows(
	ctx context.Context, conn *pgx.Conn, all map[onceward.OperationID]found, leads map[onceward.OperationID]onceward.OperationID,
	ids []onceward.OperationID,
) error {
	sql, wanted := loadSQL, uuidsParam(ids)
	switch len(ids) {
	case 0:
		return nil
	case 1:
		sql, wanted = loadOneSQL, uuidParam(ids[0])
	}
	var row store.Row
	return s.each(ctx, conn, func(values [][]byte) error {
		bodies, aliasOf, err := readRow(&row, values, false)
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
	}, sql, wanted)
}

// each runs a query and calls scan for every row, with its values in binary
// form. They are valid until scan returns.
func (s *Store) each(ctx context.Context, conn *pgx.Conn, scan func(values [][]byte) error, sql string, params ...param) error {
	values, oids := make([][]byte, len(params)), make([]uint32, len(params))
	for i, p := range params {
		values[i], oids[i] = p.value, p.oid
	}
	var rows *pgconn.ResultReader
	if s.named() {
		prepared, err := conn.Prepare(ctx, sql, sql)
		if err != nil {
			return err
		}
		rows = conn.PgConn().ExecStatement(ctx, prepared, values, binaryFormat, binaryFormat) // its columns are known
	} else {
		rows = conn.PgConn().ExecParams(ctx, sql, values, oids, binaryFormat, binaryFormat)
	}
	for rows.NextRow() {
		if err := scan(rows.Values()); err != nil {
			_, _ = rows.Close() // the error of the scan says more
			return err
		}
	}
	_, err := rows.Close()
	return err
}

// LoadDetail reads a timeline; see [onceward.Store].
func (s *Store) LoadDetail(ctx context.Context, id onceward.OperationID) (onceward.Detail, error) {
	var detail onceward.Detail
	err := s.do(ctx, "load timeline", func(ctx context.Context, conn *pgx.Conn) error {
		detail.Records = nil
		return s.each(ctx, conn, func(values [][]byte) error {
			body, err := readBytes(values[0])
			if err != nil {
				return err
			}
			record, err := store.DecodeRecord(id, body)
			detail.Records = append(detail.Records, record)
			return err
		}, `select r.body from records r
where r.operation_id = coalesce((select o.alias_of from operations o where o.id = $1), $1)
order by r.version, r.seq`, uuidParam(id))
	})
	return detail, err
}
