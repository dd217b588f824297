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

// PutRun stores a run by compare-and-set; see [onceward.RunStore].
func (s *Store) PutRun(ctx context.Context, r onceward.Run, notes ...onceward.AuditEvent) (stored *onceward.Run, applied bool, err error) {
	body, err := store.EncodeRun(&r)
	if err != nil {
		return nil, false, err
	}
	return put(ctx, s, "store run", r.ID, &kept{revision: r.Revision, token: r.Token, body: body, input: bytes.Clone(r.Input)}, s.data.runs, (*data).run, notes)
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
	return load(ctx, s, "load run", id, (*data).run)
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
