package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// trail is what is kept for the audit.
type trail struct {
	last        map[onceward.AuditSource]int64 // newest position
	rows        map[onceward.AuditSource][]onceward.AuditRow
	noted       map[onceward.WriteToken]bool
	seals       []onceward.Seal
	checkpoints []onceward.Checkpoint
}

func newTrail() trail {
	return trail{last: map[onceward.AuditSource]int64{}, rows: map[onceward.AuditSource][]onceward.AuditRow{}, noted: map[onceward.WriteToken]bool{}}
}

func (t *trail) append(r onceward.AuditRow) {
	t.rows[r.Source] = append(t.rows[r.Source], r)
	t.last[r.Source] = r.Place.Position
}

func (t *trail) next(source onceward.AuditSource) onceward.AuditPlace {
	return onceward.AuditPlace{Position: t.last[source] + 1}
}

// journaled appends the row of the journal of one commit.
func (d *data) journaled(token onceward.WriteToken, entries []store.Entry) {
	at := onceward.AuditRow{Place: d.trail.next(onceward.SourceJournal), At: d.now()}
	d.trail.append(store.JournalRow(at, token, store.EncodeJournal(entries), nil))
}

func (d *data) note(events []onceward.AuditEvent) {
	for _, e := range events {
		if d.trail.noted[e.ID] {
			continue
		}
		d.trail.noted[e.ID] = true
		e.Place, e.At = d.trail.next(onceward.SourceEvents), d.now()
		d.trail.append(store.EventRow(e))
	}
}

// Note appends events; see [onceward.AuditStore].
func (s *Store) Note(ctx context.Context, events ...onceward.AuditEvent) error {
	return s.write(ctx, "note audit event", func(d *data) error { d.note(events); return nil })
}

// AuditRows reads rows of the trail; see [onceward.AuditStore].
func (s *Store) AuditRows(ctx context.Context, q onceward.AuditQuery) ([]onceward.AuditRow, error) {
	var rows []onceward.AuditRow
	err := s.read(ctx, "read audit trail", func(d *data) error {
		for _, r := range d.trail.rows[q.Source] {
			if r.Place.Compare(q.After) > 0 && (q.To == onceward.AuditPlace{} || r.Place.Compare(q.To) <= 0) && len(rows) < q.Limit {
				rows = append(rows, copyRow(r))
			}
		}
		return nil
	})
	return rows, err
}

func copyRow(r onceward.AuditRow) onceward.AuditRow {
	r.Body, r.Entries = bytes.Clone(r.Body), slices.Clone(r.Entries)
	if r.Event != nil {
		e := *r.Event
		r.Event = &e
	}
	return r
}

// page gives the elements whose number is above after.
func page[T any](all []T, number func(*T) int64, after int64, limit int) []T {
	var out []T
	for i := range all {
		if number(&all[i]) > after && len(out) < limit {
			out = append(out, all[i])
		}
	}
	return out
}

func sealNumber(s *onceward.Seal) int64             { return s.Number }
func checkpointNumber(c *onceward.Checkpoint) int64 { return c.Number }

// LastSeal returns the newest seal; see [onceward.AuditStore].
func (s *Store) LastSeal(ctx context.Context) (last *onceward.Seal, err error) {
	err = s.read(ctx, "load seal", func(d *data) error {
		if n := len(d.trail.seals); n > 0 {
			seal := d.trail.seals[n-1]
			last = &seal
		}
		return nil
	})
	return last, err
}

// SealBefore returns the newest seal of before a time; see [onceward.AuditStore].
func (s *Store) SealBefore(ctx context.Context, at time.Time) (last *onceward.Seal, err error) {
	err = s.read(ctx, "load seal", func(d *data) error {
		for _, seal := range d.trail.seals {
			if seal.At.Before(at) {
				last = &seal
			}
		}
		return nil
	})
	return last, err
}

// Seals reads seals; see [onceward.AuditStore].
func (s *Store) Seals(ctx context.Context, after int64, limit int) (seals []onceward.Seal, err error) {
	err = s.read(ctx, "load seals", func(d *data) error {
		seals = page(d.trail.seals, sealNumber, after, limit)
		return nil
	})
	return seals, err
}

// AppendSeal stores a seal; see [onceward.AuditStore].
func (s *Store) AppendSeal(ctx context.Context, seal onceward.Seal) (applied bool, err error) {
	err = s.write(ctx, "store seal", func(d *data) error {
		if n := len(d.trail.seals); n > 0 && d.trail.seals[n-1].Number >= seal.Number {
			return nil
		}
		d.trail.seals, applied = append(d.trail.seals, seal), true
		return nil
	})
	return applied, err
}

// PutCheckpoint stores a checkpoint; see [onceward.AuditStore].
func (s *Store) PutCheckpoint(ctx context.Context, c onceward.Checkpoint) error {
	return s.write(ctx, "store checkpoint", func(d *data) error {
		same := func(o onceward.Checkpoint) bool { return o.Number == c.Number }
		if !slices.ContainsFunc(d.trail.checkpoints, same) {
			d.trail.checkpoints = append(d.trail.checkpoints, c)
		}
		return nil
	})
}

// Checkpoints reads checkpoints; see [onceward.AuditStore].
func (s *Store) Checkpoints(ctx context.Context, after int64, limit int) (all []onceward.Checkpoint, err error) {
	err = s.read(ctx, "load checkpoints", func(d *data) error {
		all = page(d.trail.checkpoints, checkpointNumber, after, limit)
		return nil
	})
	return all, err
}

// LastCheckpoint returns the newest checkpoint; see [onceward.AuditStore].
func (s *Store) LastCheckpoint(ctx context.Context) (last *onceward.Checkpoint, err error) {
	err = s.read(ctx, "load checkpoint", func(d *data) error {
		if n := len(d.trail.checkpoints); n > 0 {
			c := d.trail.checkpoints[n-1]
			last = &c
		}
		return nil
	})
	return last, err
}

// PruneAudit removes the beginning of the trail; see [onceward.AuditStore].
func (s *Store) PruneAudit(ctx context.Context, anchor onceward.Seal, e onceward.AuditEvent) error {
	return s.write(ctx, "prune audit trail", func(d *data) error {
		for source, to := range map[onceward.AuditSource]onceward.AuditPlace{onceward.SourceJournal: anchor.Journal, onceward.SourceEvents: anchor.Events} {
			d.trail.rows[source] = slices.DeleteFunc(d.trail.rows[source], func(r onceward.AuditRow) bool {
				return r.Place.Compare(to) <= 0 && r.Place.Position < d.trail.last[source]
			})
		}
		d.trail.seals = slices.DeleteFunc(d.trail.seals, func(s onceward.Seal) bool { return s.Number < anchor.Number })
		d.trail.checkpoints = slices.DeleteFunc(d.trail.checkpoints, func(c onceward.Checkpoint) bool { return c.Number < anchor.Number })
		d.note([]onceward.AuditEvent{e})
		return nil
	})
}

// AuditOperations walks the operations; see [onceward.AuditStore].
func (s *Store) AuditOperations(ctx context.Context, after onceward.OperationID, limit int) (ops []onceward.AuditOperation, err error) {
	err = s.read(ctx, "verify operations", func(d *data) error {
		ids := slices.SortedFunc(maps.Keys(d.rows), func(a, b onceward.OperationID) int { return bytes.Compare(a[:], b[:]) })
		for _, id := range ids {
			if bytes.Compare(id[:], after[:]) > 0 && len(ops) < limit {
				old := d.rows[id]
				ops = append(ops, store.Verifiable(&old.row, old.bodies, old.records))
			}
		}
		return nil
	})
	return ops, err
}
