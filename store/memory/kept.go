package memory

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// kept is a run, a decision, a saga or a bulk replay as a database would keep it.
type kept struct {
	revision int64
	token    onceward.WriteToken
	body     []byte
	input    []byte    // of a run
	next     time.Time // of a saga: when it is looked at; zero: not again
}

// replaces reports whether a row of this revision and token may be written over
// old, and whether it is there already.
func (k *kept) replaces(old *kept) (write, there bool) {
	if old == nil {
		return k.revision == 1, false
	}
	return old.revision == k.revision-1, old.revision == k.revision && old.token == k.token
}

// put writes a row by compare-and-set, and notes in the trail that it did. It
// gives back what stands then, which is another's row where it was not applied.
func put[ID comparable, T any](ctx context.Context, s *Store, op string, id ID, row *kept, rows map[ID]*kept, one func(*data, ID) (*T, error), notes []onceward.AuditEvent) (stored *T, applied bool, err error) {
	err = s.write(ctx, op, func(d *data) error {
		write, there := row.replaces(rows[id])
		if write {
			rows[id] = row
			d.note(notes)
		}
		applied = write || there
		stored, err = one(d, id)
		return err
	})
	return stored, applied, err
}

// load reads one row, nil if there is none.
func load[ID comparable, T any](ctx context.Context, s *Store, op string, id ID, one func(*data, ID) (*T, error)) (found *T, err error) {
	err = s.read(ctx, op, func(d *data) error {
		found, err = one(d, id)
		return err
	})
	return found, err
}
