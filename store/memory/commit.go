package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Commit applies a batch; see [onceward.Store].
func (s *Store) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	results := make([]onceward.Committed, len(batch))
	writes := make([]store.Write, len(batch))
	for i := range batch {
		writes[i], results[i].Err = store.Prepare(&batch[i])
	}
	commit := onceward.Commit{Results: results}
	err := s.write(ctx, "commit batch", func(d *data) error {
		var entries []store.Entry
		var token onceward.WriteToken
		for i := range writes {
			if results[i].Err != nil {
				continue
			}
			var wrote bool
			results[i], wrote = d.apply(&writes[i])
			if wrote {
				if len(entries) == 0 {
					token = writes[i].Row.Token
				}
				entries = append(entries, writes[i].Entry)
			}
		}
		if len(entries) > 0 {
			d.journaled(token, entries)
		}
		commit.Now = d.now()
		return nil
	})
	if err != nil {
		return onceward.Commit{}, err
	}
	return commit, nil
}

// apply runs one change; wrote is false where nothing was to be done.
func (d *data) apply(w *store.Write) (result onceward.Committed, wrote bool) {
	old := d.rows[w.Row.ID]
	switch {
	case old != nil && old.row.Token == w.Row.Token:
		return onceward.Committed{Applied: true}, false // run again
	case w.Change.Before == 0:
		if lost := d.conflict(w); lost != nil {
			return *lost, false
		}
	case old == nil:
		return onceward.Committed{}, false // lost to nothing: there is no such row
	case old.row.Version != w.Change.Before || old.row.Generation > w.Row.Generation:
		return old.loser(), false
	}
	d.put(w, old)
	return onceward.Committed{Applied: true}, true
}

// conflict is what an insert loses to: whatever stands under its own ID or
// under one of its aliases. Nil: nothing.
func (d *data) conflict(w *store.Write) *onceward.Committed {
	for i, id := range append([]onceward.OperationID{w.Row.ID}, w.Aliases...) {
		old, direct := d.follow(id)
		if old == nil {
			continue
		}
		same := old.row.Tenant == w.Row.Tenant && old.row.Tool == w.Row.Tool
		if i == 0 && direct {
			same = old.row.SameIdentity(&w.Row)
		}
		if !same {
			return &onceward.Committed{Err: store.Collision(w.Row.ID)}
		}
		lost := old.loser()
		return &lost
	}
	return nil
}

// follow finds the operation that an ID names; direct is false if it is an
// alias.
func (d *data) follow(id onceward.OperationID) (old *stored, direct bool) {
	if old, ok := d.rows[id]; ok {
		return old, true
	}
	if to, ok := d.aliases[id]; ok {
		return d.rows[to], false
	}
	return nil, false
}

// loser is what a change gets that lost to this row.
func (s *stored) loser() onceward.Committed {
	op, err := s.decode()
	return onceward.Committed{Stored: op, Err: err}
}

func (s *stored) decode() (*onceward.Operation, error) {
	row := s.row
	bodies := make([]store.Body, len(s.bodies))
	row.Input, row.Request, row.Result, row.Prints = bytes.Clone(row.Input), bytes.Clone(row.Request), bytes.Clone(row.Result), bytes.Clone(row.Prints)
	for i, b := range s.bodies {
		bodies[i] = store.Body{Part: b.Part, Bytes: bytes.Clone(b.Bytes)}
	}
	return store.Decode(&row, bodies)
}

// put writes an applied change. Nothing of it is shared with the caller.
func (d *data) put(w *store.Write, old *stored) {
	to := &stored{row: w.Row, bodies: slices.Clone(w.Bodies)}
	to.row.Input = bytes.Clone(w.Row.Input)
	for i, b := range to.bodies {
		to.bodies[i].Bytes = bytes.Clone(b.Bytes)
	}
	if old != nil {
		if old.row.Generation == w.Row.Generation {
			to.row.KeepImmutable(&old.row)
		}
		if !w.Change.Slim {
			to.records = old.records
		}
	}
	to.records = append(slices.Clip(to.records), w.Records...)
	d.rows[w.Row.ID] = to
	for _, id := range w.Aliases {
		d.aliases[id] = w.Row.ID
	}
	if w.Change.DueGone {
		delete(d.due, w.Row.ID)
	}
	if w.Change.Due != nil {
		due := *w.Change.Due
		due.ID, due.At, due.Since = w.Row.ID, store.Stored(due.At), store.Stored(due.Since)
		d.due[w.Row.ID] = &due
	}
	for _, digest := range w.Change.Unshown {
		delete(d.documents, documentKey{onceward.Tenant(w.Row.Tenant), digest})
	}
	d.addEvents(w.Change.Events)
	if w.Change.Tool != nil {
		d.setSwitch(*w.Change.Tool)
	}
	d.wakeSaga(w.Change.Saga)
}
