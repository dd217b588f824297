package memory

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Backlog counts what waits; see [onceward.Store].
func (s *Store) Backlog(ctx context.Context) (rows []onceward.Backlog, now time.Time, err error) {
	err = s.read(ctx, "count what waits", func(d *data) error {
		now = d.now()
		at := map[onceward.ToolName]map[onceward.State]int{}
		for id, due := range d.due {
			if due.Kind == onceward.DueEnded {
				continue
			}
			of := at[due.Tool]
			if of == nil {
				of = map[onceward.State]int{}
				at[due.Tool] = of
			}
			i, known := of[due.State]
			if !known {
				i = len(rows)
				of[due.State] = i
				rows = append(rows, onceward.Backlog{Tool: due.Tool, State: due.State})
			}
			count(&rows[i], due, d.rows[id].row.CreatedAt, now)
		}
		return nil
	})
	return rows, now, err
}

func count(b *onceward.Backlog, due *onceward.Due, created, now time.Time) {
	b.Count++
	for i, age := range onceward.BacklogAges {
		if created.After(now.Add(-age)) {
			b.Younger[i]++
		}
	}
	for i, step := range onceward.BacklogSteps {
		if !due.At.IsZero() && !due.At.After(now.Add(step)) {
			b.Due[i]++
		}
	}
	if b.Oldest.IsZero() || created.Before(b.Oldest) {
		b.Oldest = created
	}
}

// CountWaiting counts what waits of a tenant; see [onceward.BacklogStore].
func (s *Store) CountWaiting(ctx context.Context, t onceward.Tenant, states []onceward.State, most int) ([]onceward.Waiting, error) {
	out := make([]onceward.Waiting, len(states))
	err := s.read(ctx, "count what waits", func(d *data) error {
		for i, state := range states {
			w := onceward.Waiting{State: state}
			for id, due := range d.due {
				if due.Tenant != t || due.State != state {
					continue
				}
				w.Count = min(w.Count+1, most)
				if at := d.rows[id].row.CreatedAt; w.Since.IsZero() || at.Before(w.Since) {
					w.Oldest, w.Since = id, at
				}
			}
			out[i] = w
		}
		return nil
	})
	return out, err
}

// Waiting lists what waits in a state; see [onceward.Store].
func (s *Store) Waiting(ctx context.Context, state onceward.State, limit int) ([]*onceward.Operation, error) {
	waiting := map[onceward.OperationID]bool{}
	err := s.read(ctx, "list what waits", func(d *data) error {
		for id, due := range d.due {
			waiting[id] = due.State == state
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.scan(ctx, "list what waits", limit, func(r *store.Row) bool { return waiting[r.ID] && onceward.State(r.State) == state }, (*stored).decode)
}
