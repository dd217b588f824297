package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// TakeDue hands out due rows; see [onceward.Store].
func (s *Store) TakeDue(ctx context.Context, limit int, hold time.Duration, except ...onceward.Workload) ([]onceward.Due, time.Time, error) {
	var taken []onceward.Due
	var now time.Time
	err := s.write(ctx, "take due rows", func(d *data) error {
		now = d.now()
		rows := d.dueWhere(limit, byTime, func(r *onceward.Due) bool {
			return !r.At.IsZero() && !r.At.After(now) && !slices.ContainsFunc(except, func(w onceward.Workload) bool { return w.Has(r.Tenant, r.Tool) })
		})
		for _, row := range rows {
			taken = append(taken, *row)
			row.At = now.Add(hold)
		}
		return nil
	})
	return taken, now, err
}

// Reschedule sets the time of a due row; see [onceward.Store].
func (s *Store) Reschedule(ctx context.Context, due onceward.Due) error {
	return s.write(ctx, "reschedule due row", func(d *data) error {
		if row := d.due[due.ID]; row != nil && row.State == due.State {
			row.At, row.Parked = store.Stored(due.At), due.Parked
		}
		return nil
	})
}

// NextDue is when the next due row comes up; see [onceward.Store].
func (s *Store) NextDue(ctx context.Context) (next, now time.Time, err error) {
	err = s.read(ctx, "read next due time", func(d *data) error {
		now = d.now()
		for _, row := range d.dueWhere(1, byTime, func(r *onceward.Due) bool { return !r.At.IsZero() }) {
			next = row.At
		}
		return nil
	})
	return next, now, err
}

// Unpark releases parked rows; see [onceward.Store].
func (s *Store) Unpark(
	ctx context.Context, t onceward.Tenant, tool onceward.ToolName, why onceward.ParkReason, limit int,
) (int, error) {
	n := 0
	err := s.write(ctx, "release parked rows", func(d *data) error {
		rows := d.dueWhere(limit, bySince, func(r *onceward.Due) bool {
			return r.Parked == why && (r.Tenant == t || t == onceward.EveryTenant) && (tool == "" || r.Tool == tool)
		})
		for _, row := range rows {
			row.Parked, row.At = onceward.NotParked, d.now()
		}
		n = len(rows)
		return nil
	})
	return n, err
}

func byTime(a, b *onceward.Due) int  { return a.At.Compare(b.At) }
func bySince(a, b *onceward.Due) int { return a.Since.Compare(b.Since) }

// dueWhere gives at most limit of the wanted rows, in order.
func (d *data) dueWhere(limit int, order func(a, b *onceward.Due) int, want func(*onceward.Due) bool) []*onceward.Due {
	var rows []*onceward.Due
	for _, row := range d.due {
		if want(row) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b *onceward.Due) int {
		if c := order(a, b); c != 0 {
			return c
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	return rows[:min(len(rows), limit)]
}
