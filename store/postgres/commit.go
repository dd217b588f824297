package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// commitTries bounds how often a batch is run when others are in its way.
const commitTries = 20

const commitOp = "commit batch"

// Commit applies a batch in one transaction and one round trip; see
// [onceward.Store]. Deadlocks and serialization errors are run again inside.
// An error of the data (CodeInvalidInput, CodeTooLarge) concerns one of the
// changes, and none is stored: cut the batch in two to find it.
func (s *Store) Commit(ctx context.Context, changes []onceward.Change) (onceward.Commit, error) {
	if err := s.open(ctx, commitOp); err != nil {
		return onceward.Commit{}, err
	}
	out := onceward.Commit{Results: make([]onceward.Committed, len(changes))}
	b := newBatch(changes, out.Results)
	defer b.reuse()
	if len(b.all) == 0 {
		var err error
		out.Now, err = s.Now(ctx)
		return out, err
	}
	if err := b.check(); err != nil {
		return onceward.Commit{}, err
	}
	if err := s.session.enter(ctx, commitOp); err != nil {
		return onceward.Commit{}, err
	}
	defer s.session.leave()
	for try := 1; ; try++ {
		if err := s.servers.refused(); err != nil {
			return onceward.Commit{}, err
		}
		err := s.commit(ctx, b, &out)
		if err == nil {
			return out, nil
		}
		s.moved(err)
		if !again(err) || try == commitTries || ctx.Err() != nil {
			return onceward.Commit{}, s.failed(ctx, commitOp, err)
		}
	}
}

// commit runs a batch once and fills in its results.
func (s *Store) commit(ctx context.Context, b *batch, out *onceward.Commit) error {
	row, what, err := s.session.run(ctx, s.calls(b))
	if err != nil {
		return &commitError{what, err}
	}
	applied, err := readApplied(row, &out.Now, len(b.all))
	if err != nil {
		return &commitError{lost, err}
	}
	if applied == nil {
		for _, i := range b.place {
			out.Results[i] = onceward.Committed{Applied: true}
		}
		return nil
	}
	return s.settle(ctx, b, applied, out.Results)
}

// calls are the statements of a batch.
func (s *Store) calls(b *batch) []call {
	sh := b.shape()
	b.params = b.params.reused()
	main := call{s.statement(sh), b.values(sh)}
	if !sh.placed {
		return []call{main}
	}
	place, unplace := b.placeValues()
	return []call{{placeStatement(), place}, {unplaceStatement(), unplace}, main}
}

// readApplied reads the row that a commit returns: the time, and the IDs of
// the changes that were applied; nil for all of them.
func readApplied(row [][]byte, now *time.Time, all int) (map[onceward.OperationID]struct{}, error) {
	if len(row) != 2 {
		return nil, &malformedError{"row"}
	}
	var err error
	if *now, err = readTime(row[0]); err != nil {
		return nil, err
	}
	n := 0
	if err = readArray(row[1], func([]byte) error { n++; return nil }); err != nil || n == all {
		return nil, err
	}
	applied := make(map[onceward.OperationID]struct{}, n)
	err = readArray(row[1], func(v []byte) error {
		id, err := idOf(v)
		applied[id] = struct{}{}
		return err
	})
	return applied, err
}

var errVanished = errors.New("what a new operation lost to is gone again")

// settle finds out what became of the changes that the statement did not apply.
// The statement itself cannot tell: its snapshot is older than what it lost to.
func (s *Store) settle(ctx context.Context, b *batch, applied map[onceward.OperationID]struct{}, results []onceward.Committed) error {
	var ids []onceward.OperationID
	for i := range b.all {
		if _, ok := applied[b.all[i].Row.ID]; !ok {
			ids = append(append(ids, b.all[i].Row.ID), b.all[i].Aliases...)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	stored, err := s.load(bounded, s.session.conn, ids)
	if err != nil {
		return &commitError{lost, err}
	}
	before := false
	for i := range b.all {
		w := &b.all[i]
		if _, ok := applied[w.Row.ID]; ok {
			results[b.place[i]] = onceward.Committed{Applied: true}
			continue
		}
		lostTo, ok := w.lostTo(stored)
		if !ok && w.Change.Before == 0 {
			return &commitError{vanished, errVanished}
		}
		results[b.place[i]] = lostTo
		before = before || lostTo.Applied
	}
	if before && len(applied) == 0 {
		return s.confirm(ctx)
	}
	return nil
}

// lostTo is what a change gets that was not applied; false if there is no row.
func (w *write) lostTo(stored map[onceward.OperationID]found) (onceward.Committed, bool) {
	for i, id := range append([]onceward.OperationID{w.Row.ID}, w.Aliases...) {
		f, ok := stored[id]
		if !ok {
			continue
		}
		switch op := f.op; {
		case f.err != nil:
			return onceward.Committed{Err: f.err}, true
		case i == 0 && !f.alias && op.Token == w.Row.Token:
			return onceward.Committed{Applied: true}, true // run again
		case w.Change.Before == 0 && (string(op.Tenant) != w.Row.Tenant || string(op.Tool) != w.Row.Tool),
			w.Change.Before == 0 && i == 0 && !f.alias && string(op.Key) != w.Row.Key:
			return onceward.Committed{Err: store.Collision(w.Row.ID)}, true
		default:
			return onceward.Committed{Stored: op}, true
		}
	}
	return onceward.Committed{}, false
}

// confirm makes sure that a batch which turns out to be committed is so on the
// synchronous standby as well.
//
// Why a write: the first run was cut off while it may have waited for the
// standby, and a read waits for nothing. Whoever waits for a later write, waits
// for the earlier ones.
func (s *Store) confirm(ctx context.Context) error {
	if _, _, err := s.session.run(ctx, []call{{statement: confirmStatement}}); err != nil {
		return &commitError{lost, err}
	}
	return nil
}

var confirmStatement = statement{
	name: "onceward_confirm",
	sql: `insert into meta (name, value) values ('confirmed_at', clock_timestamp()::text)
on conflict (name) do update set value = excluded.value`,
}
