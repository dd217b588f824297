package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Commit applies a batch in one durable transaction; see [onceward.Store]. One
// writer at a time needs no order among the changes of a batch.
func (s *Store) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	results := make([]onceward.Committed, len(batch))
	sp := spaces.Get().(*space)
	defer sp.reuse()
	sp.writes = slices.Grow(sp.writes, len(batch))[:len(batch)]
	writes := sp.writes
	for i := range batch { // before the lock is taken
		writes[i], results[i].Err = store.Prepare(&batch[i])
	}
	commit := onceward.Commit{Results: results}
	err := s.write(ctx, "commit batch", func(c *conn) error {
		commit.Now = s.now()
		t := transaction{conn: c, now: commit.Now, entries: sp.entries}
		defer func() { sp.entries = t.entries }()
		for i := range writes {
			if results[i].Err != nil {
				continue
			}
			var err error
			if results[i], err = t.apply(&writes[i]); err != nil {
				return err
			}
		}
		return t.finish()
	})
	if err != nil {
		return onceward.Commit{}, err
	}
	return commit, nil
}

// space is what a batch takes while it is written, which is much for each change.
type space struct {
	writes  []store.Write
	entries []store.Entry
}

var spaces = sync.Pool{New: func() any { return new(space) }}

func (s *space) reuse() {
	clear(s.writes)
	clear(s.entries)
	s.writes, s.entries = s.writes[:0], s.entries[:0]
	spaces.Put(s)
}

// transaction is a batch while it is being applied.
type transaction struct {
	*conn
	now     time.Time
	entries []store.Entry
	token   onceward.WriteToken // of the first change that was applied
	again   bool                // a change was found applied by an earlier run
}

// apply runs one change.
func (t *transaction) apply(w *store.Write) (onceward.Committed, error) {
	wrote, err := t.put(w)
	if err != nil {
		return onceward.Committed{}, err
	}
	if !wrote {
		return t.lost(w)
	}
	if err := t.beside(w); err != nil {
		return onceward.Committed{}, err
	}
	if len(t.entries) == 0 {
		t.token = w.Row.Token
	}
	t.entries = append(t.entries, w.Entry)
	return onceward.Committed{Applied: true}, nil
}

// put writes the row if the compare-and-set holds.
func (t *transaction) put(w *store.Write) (wrote bool, err error) {
	if w.Change.Before == 0 {
		return t.insert(w)
	}
	n, err := t.changed(updateRow, func(b *binder) {
		b.mutable(&w.Row)
		b.id(w.Row.ID)
		b.int(w.Change.Before)
		b.int(w.Row.Generation)
	})
	if err != nil || n == 1 {
		return n == 1, err
	}
	return t.renew(w)
}

// insert writes a new operation and its aliases, all or none.
func (t *transaction) insert(w *store.Write) (wrote bool, err error) {
	for _, id := range w.Aliases {
		taken := false
		err := t.query(`SELECT 1 FROM operations WHERE id = ?`,
			func(b *binder) { b.id(id) }, func(*rower) error { taken = true; return nil })
		if err != nil || taken {
			return false, err
		}
	}
	n, err := t.changed(insertRow, func(b *binder) {
		b.identity(&w.Row)
		b.use(&w.Row)
		b.mutable(&w.Row)
	})
	if err != nil || n == 0 {
		return false, err
	}
	for _, id := range w.Aliases {
		err := t.exec(`INSERT INTO operations (id, alias_of, tenant, tool, created_at) VALUES (?, ?, ?, ?, ?)`, func(b *binder) {
			b.id(id)
			b.id(w.Row.ID)
			b.text(w.Row.Tenant)
			b.text(w.Row.Tool)
			b.time(w.Row.CreatedAt)
		})
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// renew writes a row whose generation is a later one than the stored row's.
func (t *transaction) renew(w *store.Write) (wrote bool, err error) {
	n, err := t.changed(renewRow, func(b *binder) {
		b.use(&w.Row)
		b.mutable(&w.Row)
		b.id(w.Row.ID)
		b.int(w.Change.Before)
		b.int(w.Row.Generation)
	})
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.exec(`UPDATE due SET created_at = ? WHERE operation_id = ?`, func(b *binder) {
		b.time(w.Row.CreatedAt)
		b.id(w.Row.ID)
	})
}

// lost finds out what a change that was not written lost to: nothing, itself
// in an earlier run of the same batch, or another row.
func (t *transaction) lost(w *store.Write) (onceward.Committed, error) {
	for i, id := range append([]onceward.OperationID{w.Row.ID}, w.Aliases...) {
		stored, direct, err := t.find(id)
		if err != nil {
			return onceward.Committed{}, err
		}
		if stored == nil {
			continue
		}
		if stored.ID == w.Row.ID && stored.Token == w.Row.Token {
			t.again = true
			return onceward.Committed{Applied: true}, nil
		}
		same := stored.Tenant == w.Row.Tenant && stored.Tool == w.Row.Tool
		if i == 0 && direct {
			same = stored.SameIdentity(&w.Row)
		}
		if !same {
			return onceward.Committed{Err: store.Collision(w.Row.ID)}, nil
		}
		op, err := t.decode(stored)
		if onceward.Is(err, onceward.CodeLedgerCorrupt) || onceward.Is(err, onceward.CodeLedgerTooNew) {
			return onceward.Committed{Err: err}, nil // a row that cannot be read harms no neighbour
		}
		return onceward.Committed{Stored: op}, err
	}
	return onceward.Committed{}, nil
}

// beside writes what goes with an applied row into the other tables.
func (t *transaction) beside(w *store.Write) error {
	if w.Change.Slim {
		err := t.exec(`DELETE FROM records WHERE operation_id = ?`, func(b *binder) { b.id(w.Row.ID) })
		if err != nil {
			return err
		}
	}
	for _, d := range w.Change.Unshown {
		err := t.exec(`DELETE FROM documents WHERE tenant = ? AND sha256 = ?`, func(b *binder) {
			b.text(w.Row.Tenant)
			b.blob(d[:])
		})
		if err != nil {
			return err
		}
	}
	if err := t.putBodies(w); err != nil {
		return err
	}
	if err := t.putRecords(w); err != nil {
		return err
	}
	if err := t.putDue(w); err != nil {
		return err
	}
	if err := t.addEvents(w.Change.Events); err != nil {
		return err
	}
	if w.Change.Tool != nil {
		if err := t.putSwitch(*w.Change.Tool); err != nil {
			return err
		}
	}
	if !w.Change.Saga.IsZero() {
		return t.wakeSaga(w.Change.Saga, t.now)
	}
	return nil
}

// putBodies makes the side table hold the row's long parts and no others. A
// part that is there already is not written again.
func (t *transaction) putBodies(w *store.Write) error {
	if w.Change.Before != 0 {
		err := t.exec(`DELETE FROM bodies WHERE operation_id = ? AND (? >> part) & 1 = 0`, func(b *binder) {
			b.id(w.Row.ID)
			b.int(int64(w.Row.Side))
		})
		if err != nil {
			return err
		}
	}
	for _, body := range w.Bodies {
		err := t.exec(`INSERT INTO bodies (operation_id, part, bytes) VALUES (?, ?, ?)
			ON CONFLICT (operation_id, part) DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes`, func(b *binder) {
			b.id(w.Row.ID)
			b.int(int64(body.Part))
			b.blob(body.Bytes)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) putRecords(w *store.Write) error {
	for i := range w.Records {
		r := &w.Records[i]
		err := t.exec(`INSERT INTO records (operation_id, version, seq, at, event, body) VALUES (?, ?, ?, ?, ?, ?)`, func(b *binder) {
			b.id(w.Row.ID)
			b.int(r.Version)
			b.int(int64(r.Seq))
			b.time(r.At)
			b.text(r.Event)
			b.blob(r.Body)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// finish writes the batch's one row of the journal.
func (t *transaction) finish() error {
	if len(t.entries) > 0 {
		return t.journaled(t.now, t.token, t.entries)
	}
	if !t.again {
		return nil
	}
	// Why a write: that the rows can be read does not say that the disk has
	// them. The commit that they came by may have failed on the disk after they
	// were in the WAL; this one ends with a sync that covers them.
	return t.exec(`INSERT INTO meta (name, value) VALUES ('batch_again_at', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		func(b *binder) { b.text(t.now.Format(time.RFC3339Nano)) })
}

// journaled appends the row of the journal of one commit.
func (c *conn) journaled(now time.Time, token onceward.WriteToken, entries []store.Entry) error {
	return c.exec(`INSERT INTO journal (at, token, entries) VALUES (?, ?, ?)`, func(b *binder) {
		b.time(now)
		b.blob(token[:])
		b.blob(store.EncodeJournal(entries))
	})
}
