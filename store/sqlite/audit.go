package sqlite

import (
	"context"
	"math"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Note appends events; see [onceward.AuditStore].
func (s *Store) Note(ctx context.Context, events ...onceward.AuditEvent) error {
	return s.write(ctx, "note audit event", func(c *conn) error { return s.note(c, events) })
}

// note appends events within a transaction.
func (s *Store) note(c *conn, events []onceward.AuditEvent) error {
	for i := range events {
		e := &events[i]
		err := c.exec(`INSERT INTO audit (id, at, tenant, actor, action, subject, reason, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO NOTHING`, func(b *binder) {
			b.blob(e.ID[:])
			b.time(s.now())
			for _, t := range [...]string{string(e.Tenant), e.Actor, string(e.Action), e.Subject, e.Reason, e.Detail} {
				b.text(t)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// AuditRows reads rows of the trail; see [onceward.AuditStore]. One writer at a
// time: no row comes before another that can be read.
func (s *Store) AuditRows(ctx context.Context, q onceward.AuditQuery) (rows []onceward.AuditRow, err error) {
	sql, scan := `SELECT position, at, token, entries FROM journal`, func(r *rower) onceward.AuditRow { return r.journalRow(q.Holding) }
	switch {
	case q.Bare:
		sql, scan = `SELECT position, at FROM `+table(q.Source), func(r *rower) onceward.AuditRow { return r.bareRow(q.Source) }
	case q.Source == onceward.SourceEvents:
		sql, scan = `SELECT position, at, id, tenant, actor, action, subject, reason, detail FROM audit`, (*rower).eventRow
	}
	to := q.To.Position
	if q.To == (onceward.AuditPlace{}) {
		to = math.MaxInt64
	}
	err = s.readRaw(ctx, "read audit trail", func(c *conn) error {
		return c.query(sql+` WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`, func(b *binder) {
			b.int(q.After.Position)
			b.int(to)
			b.int(int64(q.Limit))
		}, func(r *rower) error {
			rows = append(rows, scan(r))
			return nil
		})
	})
	return rows, err
}

// table is where the rows of a source are.
func table(s onceward.AuditSource) string {
	if s == onceward.SourceEvents {
		return "audit"
	}
	return "journal"
}

func (r *rower) bareRow(s onceward.AuditSource) onceward.AuditRow {
	return onceward.AuditRow{Source: s, Place: onceward.AuditPlace{Position: r.int()}, At: r.time()}
}

func (r *rower) journalRow(holding []byte) onceward.AuditRow {
	at := onceward.AuditRow{Place: onceward.AuditPlace{Position: r.int()}, At: r.time()}
	var token onceward.WriteToken
	r.fill(token[:])
	return store.JournalRow(at, token, r.blob(), holding)
}

func (r *rower) eventRow() onceward.AuditRow {
	e := onceward.AuditEvent{Place: onceward.AuditPlace{Position: r.int()}, At: r.time()}
	r.fill(e.ID[:])
	e.Tenant, e.Actor, e.Action, e.Subject, e.Reason, e.Detail = onceward.Tenant(r.text()), r.text(), onceward.AuditAction(r.text()), r.text(), r.text(), r.text()
	return store.EventRow(e)
}

const sealColumns = `number, at, previous, journal, events, count, rows, hash`

func (r *rower) seal() (s onceward.Seal) {
	s.Number, s.At = r.int(), r.time()
	r.fill(s.Previous[:])
	s.Journal.Position, s.Events.Position, s.Count, s.Rows = r.int(), r.int(), int(r.int()), r.blob()
	r.fill(s.Hash[:])
	return s
}

func (s *Store) seals(ctx context.Context, where string, bind func(b *binder)) (seals []onceward.Seal, err error) {
	err = s.readRaw(ctx, "load seals", func(c *conn) error {
		return c.query(`SELECT `+sealColumns+` FROM seals `+where, bind, func(r *rower) error {
			seals = append(seals, r.seal())
			return nil
		})
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
	return oneOf(s.seals(ctx, `ORDER BY number DESC LIMIT 1`, nil))
}

// SealBefore returns the newest seal of before a time; see [onceward.AuditStore].
func (s *Store) SealBefore(ctx context.Context, at time.Time) (*onceward.Seal, error) {
	return oneOf(s.seals(ctx, `WHERE at < ? ORDER BY number DESC LIMIT 1`, func(b *binder) { b.int(store.Micros(at)) }))
}

// Seals reads seals; see [onceward.AuditStore].
func (s *Store) Seals(ctx context.Context, after int64, limit int) ([]onceward.Seal, error) {
	return s.seals(ctx, `WHERE number > ? ORDER BY number LIMIT ?`, func(b *binder) {
		b.int(after)
		b.int(int64(limit))
	})
}

// AppendSeal stores a seal; see [onceward.AuditStore].
func (s *Store) AppendSeal(ctx context.Context, seal onceward.Seal) (applied bool, err error) {
	err = s.write(ctx, "store seal", func(c *conn) error {
		n, err := c.changed(`INSERT INTO seals (`+sealColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (number) DO NOTHING`, func(b *binder) {
			b.int(seal.Number)
			b.time(seal.At)
			b.blob(seal.Previous[:])
			b.int(seal.Journal.Position)
			b.int(seal.Events.Position)
			b.int(int64(seal.Count))
			b.blob(append([]byte{}, seal.Rows...))
			b.blob(seal.Hash[:])
		})
		applied = n == 1
		return err
	})
	return applied, err
}

const checkpointColumns = `number, at, hash, key, signature`

// PutCheckpoint stores a checkpoint; see [onceward.AuditStore].
func (s *Store) PutCheckpoint(ctx context.Context, k onceward.Checkpoint) error {
	return s.write(ctx, "store checkpoint", func(c *conn) error {
		return c.exec(`INSERT INTO checkpoints (`+checkpointColumns+`) VALUES (?, ?, ?, ?, ?) ON CONFLICT (number) DO NOTHING`, func(b *binder) {
			b.int(k.Number)
			b.time(k.At)
			b.blob(k.Hash[:])
			b.blob(append([]byte{}, k.Key...))
			b.blob(append([]byte{}, k.Signature...))
		})
	})
}

func (s *Store) checkpoints(ctx context.Context, where string, bind func(b *binder)) (all []onceward.Checkpoint, err error) {
	err = s.readRaw(ctx, "load checkpoints", func(c *conn) error {
		return c.query(`SELECT `+checkpointColumns+` FROM checkpoints `+where, bind, func(r *rower) error {
			k := onceward.Checkpoint{Number: r.int(), At: r.time()}
			r.fill(k.Hash[:])
			k.Key, k.Signature = r.blob(), r.blob()
			all = append(all, k)
			return nil
		})
	})
	return all, err
}

// Checkpoints reads checkpoints; see [onceward.AuditStore].
func (s *Store) Checkpoints(ctx context.Context, after int64, limit int) ([]onceward.Checkpoint, error) {
	return s.checkpoints(ctx, `WHERE number > ? ORDER BY number LIMIT ?`, func(b *binder) {
		b.int(after)
		b.int(int64(limit))
	})
}

// LastCheckpoint returns the newest checkpoint; see [onceward.AuditStore].
func (s *Store) LastCheckpoint(ctx context.Context) (*onceward.Checkpoint, error) {
	return oneOf(s.checkpoints(ctx, `ORDER BY number DESC LIMIT 1`, nil))
}

// PruneAudit removes the beginning of the trail; see [onceward.AuditStore].
func (s *Store) PruneAudit(ctx context.Context, anchor onceward.Seal, e onceward.AuditEvent) error {
	return s.write(ctx, "prune audit trail", func(c *conn) error {
		for _, d := range []struct {
			sql string
			to  int64
		}{
			{`DELETE FROM journal WHERE position <= ? AND position < (SELECT max(position) FROM journal)`, anchor.Journal.Position},
			{`DELETE FROM audit WHERE position <= ? AND position < (SELECT max(position) FROM audit)`, anchor.Events.Position},
			{`DELETE FROM seals WHERE number < ?`, anchor.Number},
			{`DELETE FROM checkpoints WHERE number < ?`, anchor.Number},
		} {
			if err := c.exec(d.sql, func(b *binder) { b.int(d.to) }); err != nil {
				return err
			}
		}
		return s.note(c, []onceward.AuditEvent{e})
	})
}

// AuditOperations walks the operations; see [onceward.AuditStore].
func (s *Store) AuditOperations(ctx context.Context, after onceward.OperationID, limit int) (ops []onceward.AuditOperation, err error) {
	err = s.read(ctx, "verify operations", func(c *conn) error {
		var rows []*store.Row
		err := c.query(`SELECT `+columns+` FROM operations o WHERE o.id > ? AND o.alias_of IS NULL ORDER BY o.id LIMIT ?`, func(b *binder) {
			b.id(after)
			b.int(int64(limit))
		}, func(r *rower) error {
			rows = append(rows, r.row())
			return nil
		})
		for i := 0; i < len(rows) && err == nil; i++ {
			var op onceward.AuditOperation
			op, err = c.verifiable(rows[i])
			ops = append(ops, op)
		}
		return err
	})
	return ops, err
}

func (c *conn) verifiable(row *store.Row) (onceward.AuditOperation, error) {
	var bodies []store.Body
	var records []store.RecordRow
	id := func(b *binder) { b.id(row.ID) }
	err := c.query(`SELECT part, bytes FROM bodies WHERE operation_id = ? ORDER BY part`, id, func(r *rower) error {
		bodies = append(bodies, store.Body{Part: store.Part(r.int()), Bytes: r.blob()})
		return nil
	})
	if err != nil {
		return onceward.AuditOperation{}, err
	}
	err = c.query(`SELECT version, seq, at, event, body FROM records WHERE operation_id = ? ORDER BY version, seq`, id, func(r *rower) error {
		records = append(records, store.RecordRow{Version: r.int(), Seq: int(r.int()), At: r.time(), Event: r.text(), Body: r.blob()})
		return nil
	})
	return store.Verifiable(row, bodies, records), err
}
