package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// InTx joins a transaction of the caller's own on the ledger's file: what the
// ledger does through it is stored if the caller commits. The file has to be one
// that [Open] made or brought to this version's schema; the caller's own tables
// are made in it afterwards.
//
// Any driver of SQLite will do, on two conditions. A driver that takes POSIX locks
// (modernc.org/sqlite, mattn/go-sqlite3) must not have the file open in the same
// process as a ledger: closing either one's file gives up the locks of both. And
// the caller's connection sets PRAGMA synchronous = FULL where it was not built
// so, or a power cut may take what was committed.
//
// Begin with BEGIN IMMEDIATE: a transaction that read first, and writes after
// another one did, fails with SQLITE_BUSY and has to be run again.
func InTx(tx *sql.Tx) onceward.Join { return &join{conn: &conn{tx: &callers{tx: tx}}} }

// join is a caller's transaction.
type join struct {
	conn *conn
	deep atomic.Int64 // savepoints so far
}

func (j *join) on(ctx context.Context) *conn {
	return &conn{tx: &callers{tx: j.conn.tx.tx, ctx: ctx}}
}

// Apply writes one change; see [onceward.Join].
func (j *join) Apply(ctx context.Context, change onceward.Change) (out onceward.Committed, err error) {
	w, err := store.Prepare(&change)
	if err != nil {
		return onceward.Committed{Err: err}, nil
	}
	t := transaction{conn: j.on(ctx), now: store.Stored(time.Now()), entries: make([]store.Entry, 0, 1)}
	err = j.Within(ctx, func() error {
		if out, err = t.apply(&w); err != nil {
			return err
		}
		return t.finish()
	})
	out.Now = t.now
	return out, joinFailure(ctx, "record operation", err)
}

// AddOutbox appends events; see [onceward.Join].
func (j *join) AddOutbox(ctx context.Context, events []onceward.OutboxEvent) error {
	return joinFailure(ctx, "add events", j.on(ctx).addEvents(events))
}

// Receive marks a message as handled; see [onceward.Join]. There is one writer at
// a time: whoever handles the same message elsewhere has committed, or waits for
// this transaction.
func (j *join) Receive(ctx context.Context, r onceward.Receipt) (bool, error) {
	first, err := j.on(ctx).receive(r, store.Stored(time.Now()))
	return first, joinFailure(ctx, "receive message", err)
}

// Within runs work under a savepoint; see [onceward.Join].
func (j *join) Within(ctx context.Context, work func() error) error {
	name := "onceward_" + strconv.FormatInt(j.deep.Add(1), 10)
	c := j.on(ctx)
	if err := c.exec("SAVEPOINT "+name, nil); err != nil {
		return joinFailure(ctx, "begin", err)
	}
	undo := func() error {
		c := j.on(context.WithoutCancel(ctx))
		return joinFailure(ctx, "undo", errors.Join(c.exec("ROLLBACK TO "+name, nil), c.exec("RELEASE "+name, nil)))
	}
	returned := false
	defer func() {
		if !returned { // a panic, which goes on: whoever stops it may commit
			_ = undo()
		}
	}()
	err := work()
	returned = true
	if err != nil {
		if undone := undo(); undone != nil {
			return errors.Join(err, undone)
		}
		return err
	}
	return joinFailure(ctx, "end", c.exec("RELEASE "+name, nil))
}

// joinFailure is failure for a driver that is the caller's own: what it says is
// known by SQLite's words where its type is not.
func joinFailure(ctx context.Context, op string, err error) error {
	var ours *onceward.Error
	if err == nil || errors.As(err, &ours) {
		return err
	}
	var known sqlite3.ErrorCode
	switch {
	case ctx.Err() != nil:
		return store.Canceled(op, ctx.Err())
	case errors.Is(err, sql.ErrTxDone):
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Op: op, Message: "the transaction has ended", Hint: "join an open one", Err: err}
	case errors.Is(err, sqlite3.BUSY), strings.Contains(err.Error(), "SQLITE_BUSY"), strings.Contains(err.Error(), "database is locked"):
		return &onceward.Error{Code: onceward.CodeStillRunning, Op: op, Message: "another transaction writes the file", Hint: "roll back, and come again later; begin with BEGIN IMMEDIATE and a busy timeout", Err: err}
	case strings.Contains(err.Error(), "no such table"):
		return &onceward.Error{Code: onceward.CodeLedgerForeign, Op: op, Message: "the transaction's file is no ledger of this version", Hint: "open it once with sqlite.Open, or run onceward migrate", Err: err}
	case errors.As(err, &known):
		return failure(op, err)
	}
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: op, Message: "the caller's driver refused a statement", Hint: "roll back, and see the cause", Err: err}
}

// callers runs our statements in a transaction of database/sql.
type callers struct {
	tx  *sql.Tx
	ctx context.Context
}

func (t *callers) exec(text string, bind func(b *binder)) (int, error) {
	b := binder{}
	if bind != nil {
		bind(&b)
	}
	result, err := t.tx.ExecContext(t.ctx, text, b.args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func (t *callers) query(text string, bind func(b *binder), scan func(r *rower) error) error {
	b := binder{}
	if bind != nil {
		bind(&b)
	}
	rows, err := t.tx.QueryContext(t.ctx, text, b.args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	// Why all rows first: what scan asks next needs the connection.
	var all [][]any
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		all = append(all, values)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, values := range all {
		if err := scan(&rower{values: values}); err != nil {
			return err
		}
	}
	return nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func bytesOf(v any) []byte {
	switch v := v.(type) {
	case []byte:
		if v == nil {
			return []byte{}
		}
		return v
	case string:
		return []byte(v)
	}
	return nil
}
