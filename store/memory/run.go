package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// kept is a run or a decision as a database would keep it.
type kept struct {
	revision int64
	token    onceward.WriteToken
	body     []byte
	input    []byte
}

// replaces reports whether a row of this revision and token may be written over
// old, and whether it is there already.
func (k *kept) replaces(old *kept) (write, there bool) {
	if old == nil {
		return k.revision == 1, false
	}
	return old.revision == k.revision-1, old.revision == k.revision && old.token == k.token
}

// PutRun stores a run by compare-and-set; see [onceward.RunStore].
func (s *Store) PutRun(ctx context.Context, r onceward.Run, notes ...onceward.AuditEvent) (stored *onceward.Run, applied bool, err error) {
	body, err := store.EncodeRun(&r)
	if err != nil {
		return nil, false, err
	}
	err = s.write(ctx, "store run", func(d *data) error {
		next := &kept{r.Revision, r.Token, body, bytes.Clone(r.Input)}
		write, there := next.replaces(d.runs[r.ID])
		if write {
			d.runs[r.ID] = next
			d.note(notes)
		}
		applied = write || there
		stored, err = d.run(r.ID)
		return err
	})
	return stored, applied, err
}

func (d *data) run(id onceward.RunID) (*onceward.Run, error) {
	k := d.runs[id]
	if k == nil {
		return nil, nil
	}
	return store.DecodeRun(id, k.revision, k.token, k.body, bytes.Clone(k.input))
}

// LoadRun reads one run; see [onceward.RunStore].
func (s *Store) LoadRun(ctx context.Context, id onceward.RunID) (r *onceward.Run, err error) {
	err = s.read(ctx, "load run", func(d *data) error {
		r, err = d.run(id)
		return err
	})
	return r, err
}

// ListRuns returns a page; see [onceward.RunStore].
func (s *Store) ListRuns(ctx context.Context, f onceward.RunFilter) ([]*onceward.Run, error) {
	var runs []*onceward.Run
	err := s.read(ctx, "list runs", func(d *data) error {
		for id := range d.runs {
			r, err := d.run(id)
			if err != nil {
				return err
			}
			if store.SelectsRun(&f, r) {
				r.Input = nil
				runs = append(runs, r)
			}
		}
		return nil
	})
	slices.SortFunc(runs, func(a, b *onceward.Run) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.ID[:], a.ID[:]))
	})
	return runs[:min(len(runs), f.Limit)], err
}

// AgedRuns lists old runs; see [onceward.RunStore].
func (s *Store) AgedRuns(ctx context.Context, after onceward.RunCursor, before time.Time, limit int) (runs []*onceward.Run, err error) {
	older := func(a onceward.RunCursor, b *onceward.Run) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	}
	err = s.read(ctx, "list old runs", func(d *data) error {
		for id := range d.runs {
			r, err := d.run(id)
			if err != nil {
				return err
			}
			if r.CreatedAt.Before(before) && (after == onceward.RunCursor{} || older(after, r) < 0) {
				r.Input = nil
				runs = append(runs, r)
			}
		}
		return nil
	})
	slices.SortFunc(runs, func(a, b *onceward.Run) int { return older(onceward.RunCursor{CreatedAt: a.CreatedAt, ID: a.ID}, b) })
	return runs[:min(len(runs), limit)], err
}

// DropRun removes a run; see [onceward.RunStore].
func (s *Store) DropRun(ctx context.Context, r *onceward.Run, notes ...onceward.AuditEvent) (dropped bool, err error) {
	err = s.write(ctx, "drop run", func(d *data) error {
		k := d.runs[r.ID]
		if dropped = k != nil && k.revision == r.Revision; !dropped {
			return nil
		}
		for id := range d.decisions {
			one, err := d.decision(id)
			if err != nil {
				return err
			}
			if one.Run == r.ID {
				delete(d.decisions, id)
			}
		}
		delete(d.runs, r.ID)
		delete(d.sagas, onceward.SagaID(r.ID))
		d.note(notes)
		return nil
	})
	return dropped, err
}
