package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// beginSQL begins a transaction that outlives a power cut, whatever the database
// does by default. Both statements are one round trip.
const beginSQL = `begin isolation level read committed;
select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') in ('off', 'local', 'remote_write')`

// inTx runs work as a transaction that beginSQL begins.
func inTx(ctx context.Context, conn *pgx.Conn, work func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: beginSQL}, work)
}

// Note appends events; see [onceward.AuditStore].
func (s *Store) Note(ctx context.Context, events ...onceward.AuditEvent) error {
	return s.do(ctx, "note audit event", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error { return note(ctx, tx, events) })
	})
}

// note appends events within a transaction.
func note(ctx context.Context, tx pgx.Tx, events []onceward.AuditEvent) error {
	for i := range events {
		e := &events[i]
		_, err := tx.Exec(ctx, `insert into audit (id, at, tenant, actor, action, subject, reason, detail)
values ($1, clock_timestamp(), $2, $3, $4, $5, $6, $7) on conflict (id) do nothing`,
			uuidOf(e.ID), string(e.Tenant), e.Actor, string(e.Action), e.Subject, e.Reason, e.Detail)
		if err != nil {
			return err
		}
	}
	return nil
}

func xidText(xid uint64) string { return strconv.FormatUint(xid, 10) }

// AuditRows reads rows of the trail; see [onceward.AuditStore]. A row of a
// transaction that began before the oldest one that still runs cannot come any
// more; one of a later one can, below rows that can be seen.
func (s *Store) AuditRows(ctx context.Context, q onceward.AuditQuery) (rows []onceward.AuditRow, err error) {
	sql, scan := "select xid::text, position, at, token, entries from journal", func(row pgx.CollectableRow) (onceward.AuditRow, error) { return scanJournal(row, q.Holding) }
	switch {
	case q.Bare && q.Source == onceward.SourceEvents:
		sql, scan = "select xid::text, position, at from audit", scanBare(q.Source)
	case q.Bare:
		sql, scan = "select xid::text, position, at from journal", scanBare(q.Source)
	case q.Source == onceward.SourceEvents:
		sql, scan = "select xid::text, position, at, id, tenant, actor, action, subject, reason, detail from audit", scanEvent
	}
	bounded := q.To != onceward.AuditPlace{}
	err = s.do(ctx, "read audit trail", func(ctx context.Context, conn *pgx.Conn) error {
		found, err := conn.Query(ctx, sql+` where (xid, position) > ($1::text::xid8, $2::bigint)
    and (not $3::boolean or (xid, position) <= ($4::text::xid8, $5::bigint))
    and ($6::boolean or xid < pg_snapshot_xmin(pg_current_snapshot()))
order by xid, position limit $7::bigint`,
			xidText(q.After.Xid), q.After.Position, bounded, xidText(q.To.Xid), q.To.Position, q.Open, q.Limit)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(found, scan)
		return err
	})
	return rows, err
}

func scanBare(source onceward.AuditSource) pgx.RowToFunc[onceward.AuditRow] {
	return func(row pgx.CollectableRow) (onceward.AuditRow, error) {
		at := onceward.AuditRow{Source: source}
		var xid string
		err := row.Scan(&xid, &at.Place.Position, &at.At)
		if err == nil {
			at.Place.Xid, err = strconv.ParseUint(xid, 10, 64)
		}
		at.At = at.At.UTC()
		return at, err
	}
}

func scanJournal(row pgx.CollectableRow, holding []byte) (onceward.AuditRow, error) {
	var at onceward.AuditRow
	var xid string
	var token [16]byte
	var entries []byte
	if err := row.Scan(&xid, &at.Place.Position, &at.At, &token, &entries); err != nil {
		return at, err
	}
	var err error
	at.At = at.At.UTC()
	at.Place.Xid, err = strconv.ParseUint(xid, 10, 64)
	return store.JournalRow(at, token, entries, holding), err
}

func scanEvent(row pgx.CollectableRow) (onceward.AuditRow, error) {
	var e onceward.AuditEvent
	var xid string
	err := row.Scan(&xid, &e.Place.Position, &e.At, (*[16]byte)(&e.ID), (*string)(&e.Tenant), &e.Actor, (*string)(&e.Action), &e.Subject, &e.Reason, &e.Detail)
	if err != nil {
		return onceward.AuditRow{}, err
	}
	e.At = e.At.UTC()
	e.Place.Xid, err = strconv.ParseUint(xid, 10, 64)
	return store.EventRow(e), err
}

const sealColumns = "number, at, previous, journal_xid::text, journal_position, events_xid::text, events_position, count, rows, hash"

func scanSeal(row pgx.CollectableRow) (s onceward.Seal, err error) {
	var previous, hash []byte
	var journal, events string
	if err := row.Scan(&s.Number, &s.At, &previous, &journal, &s.Journal.Position, &events, &s.Events.Position, &s.Count, &s.Rows, &hash); err != nil {
		return s, err
	}
	s.At = s.At.UTC()
	copy(s.Previous[:], previous)
	copy(s.Hash[:], hash)
	if s.Journal.Xid, err = strconv.ParseUint(journal, 10, 64); err == nil {
		s.Events.Xid, err = strconv.ParseUint(events, 10, 64)
	}
	return s, err
}

func (s *Store) seals(ctx context.Context, where string, args ...any) (seals []onceward.Seal, err error) {
	err = s.do(ctx, "load seals", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select "+sealColumns+" from seals "+where, args...)
		if err != nil {
			return err
		}
		seals, err = pgx.CollectRows(rows, scanSeal)
		return err
	})
	return seals, err
}

func oneOf[T any](all []T, err error) (*T, error) {
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// LastSeal returns the newest seal; see [onceward.AuditStore].
func (s *Store) LastSeal(ctx context.Context) (*onceward.Seal, error) {
	return oneOf(s.seals(ctx, "order by number desc limit 1"))
}

// SealBefore returns the newest seal of before a time; see [onceward.AuditStore].
func (s *Store) SealBefore(ctx context.Context, at time.Time) (*onceward.Seal, error) {
	return oneOf(s.seals(ctx, "where at < $1::timestamptz order by number desc limit 1", at))
}

// Seals reads seals; see [onceward.AuditStore].
func (s *Store) Seals(ctx context.Context, after int64, limit int) ([]onceward.Seal, error) {
	return s.seals(ctx, "where number > $1 order by number limit $2", after, limit)
}

// AppendSeal stores a seal; see [onceward.AuditStore]. One whose answer was lost
// is found by its hash.
func (s *Store) AppendSeal(ctx context.Context, seal onceward.Seal) (applied bool, err error) {
	err = s.do(ctx, "store seal", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := durably(ctx, conn, nil, `insert into seals (number, at, previous, journal_xid, journal_position, events_xid, events_position, count, rows, hash)
values ($1, $2::timestamptz, $3, $4::text::xid8, $5, $6::text::xid8, $7, $8, $9, $10) on conflict (number) do nothing`,
			seal.Number, seal.At, seal.Previous[:], xidText(seal.Journal.Xid), seal.Journal.Position, xidText(seal.Events.Xid), seal.Events.Position,
			seal.Count, notNil(seal.Rows), seal.Hash[:])
		if err != nil {
			return err
		}
		return conn.QueryRow(ctx, "select exists (select 1 from seals where number = $1 and hash = $2)", seal.Number, seal.Hash[:]).Scan(&applied)
	})
	return applied, err
}

// PutCheckpoint stores a checkpoint; see [onceward.AuditStore].
func (s *Store) PutCheckpoint(ctx context.Context, c onceward.Checkpoint) error {
	return s.do(ctx, "store checkpoint", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := durably(ctx, conn, nil, `insert into checkpoints (number, at, hash, key, signature) values ($1, $2::timestamptz, $3, $4, $5) on conflict (number) do nothing`,
			c.Number, c.At, c.Hash[:], notNil(c.Key), notNil(c.Signature))
		return err
	})
}

func scanCheckpoint(row pgx.CollectableRow) (c onceward.Checkpoint, err error) {
	var hash, key []byte
	err = row.Scan(&c.Number, &c.At, &hash, &key, &c.Signature)
	c.At, c.Key = c.At.UTC(), key
	copy(c.Hash[:], hash)
	return c, err
}

func (s *Store) checkpoints(ctx context.Context, where string, args ...any) (all []onceward.Checkpoint, err error) {
	err = s.do(ctx, "load checkpoints", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select number, at, hash, key, signature from checkpoints "+where, args...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanCheckpoint)
		return err
	})
	return all, err
}

// Checkpoints reads checkpoints; see [onceward.AuditStore].
func (s *Store) Checkpoints(ctx context.Context, after int64, limit int) ([]onceward.Checkpoint, error) {
	return s.checkpoints(ctx, "where number > $1 order by number limit $2", after, limit)
}

// LastCheckpoint returns the newest checkpoint; see [onceward.AuditStore].
func (s *Store) LastCheckpoint(ctx context.Context) (*onceward.Checkpoint, error) {
	return oneOf(s.checkpoints(ctx, "order by number desc limit 1"))
}

// PruneAudit removes the beginning of the trail; see [onceward.AuditStore].
func (s *Store) PruneAudit(ctx context.Context, anchor onceward.Seal, e onceward.AuditEvent) error {
	return s.do(ctx, "prune audit trail", func(ctx context.Context, conn *pgx.Conn) error {
		return inTx(ctx, conn, func(tx pgx.Tx) error {
			for _, d := range []struct {
				sql  string
				args []any
			}{
				{"delete from journal where (xid, position) <= ($1::text::xid8, $2::bigint)", []any{xidText(anchor.Journal.Xid), anchor.Journal.Position}},
				{"delete from audit where (xid, position) <= ($1::text::xid8, $2::bigint)", []any{xidText(anchor.Events.Xid), anchor.Events.Position}},
				{"delete from seals where number < $1", []any{anchor.Number}},
				{"delete from checkpoints where number < $1", []any{anchor.Number}},
			} {
				if _, err := tx.Exec(ctx, d.sql, d.args...); err != nil {
					return err
				}
			}
			return note(ctx, tx, []onceward.AuditEvent{e})
		})
	})
}

// AuditOperations walks the operations; see [onceward.AuditStore]. Rows, bodies
// and records are of one snapshot.
func (s *Store) AuditOperations(ctx context.Context, after onceward.OperationID, limit int) (ops []onceward.AuditOperation, err error) {
	err = s.do(ctx, "verify operations", func(ctx context.Context, conn *pgx.Conn) error {
		ops = nil
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			return s.verifiable(ctx, tx, after, limit, &ops)
		})
	})
	return ops, err
}

func (s *Store) verifiable(ctx context.Context, tx pgx.Tx, after onceward.OperationID, limit int, ops *[]onceward.AuditOperation) error {
	type whole struct {
		row    store.Row
		bodies []store.Body
	}
	var rows []whole
	err := s.each(ctx, tx.Conn(), func(values [][]byte) error {
		rows = append(rows, whole{})
		w := &rows[len(rows)-1]
		var err error
		w.bodies, _, err = readRow(&w.row, values, false)
		return err
	}, "select "+selectWhole+" from operations o where o.id > $1 and o.alias_of is null order by o.id limit "+strconv.Itoa(limit), uuidParam(after))
	if err != nil || len(rows) == 0 {
		return err
	}
	records, err := recordsBetween(ctx, tx, rows[0].row.ID, rows[len(rows)-1].row.ID)
	if err != nil {
		return err
	}
	for i := range rows {
		*ops = append(*ops, store.Verifiable(&rows[i].row, rows[i].bodies, records[rows[i].row.ID]))
	}
	return nil
}

func recordsBetween(ctx context.Context, tx pgx.Tx, first, last onceward.OperationID) (map[onceward.OperationID][]store.RecordRow, error) {
	rows, err := tx.Query(ctx, `select operation_id, version, seq, at, event, body from records
where operation_id between $1 and $2 order by operation_id, version, seq`, uuidOf(first), uuidOf(last))
	if err != nil {
		return nil, err
	}
	all := map[onceward.OperationID][]store.RecordRow{}
	for rows.Next() {
		var id [16]byte
		var r store.RecordRow
		var at *time.Time
		if err := rows.Scan(&id, &r.Version, &r.Seq, &at, &r.Event, &r.Body); err != nil {
			rows.Close()
			return nil, err
		}
		r.At = timeOf(at)
		all[id] = append(all[id], r)
	}
	return all, rows.Err()
}
