package postgres

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// InTx joins a transaction of the caller's own on the ledger's database: what the
// ledger does through it is stored if the caller commits. The transaction's
// connection sees the ledger's tables under its search_path, and its account may
// write them. The schema is the one that [Open], or onceward migrate, made.
//
// Use READ COMMITTED, the default: under a stricter level, whoever meets another
// transaction at the same intention or message fails with a serialization error
// and has to run the transaction again. An effect is as durable as the
// transaction: leave synchronous_commit on.
func InTx(tx pgx.Tx) onceward.Join { return &join{tx: pgxTx{tx}} }

// InSQL is [InTx] for a transaction of database/sql, with the driver of pgx
// (github.com/jackc/pgx/v5/stdlib) or any other that sends texts as PostgreSQL
// reads them.
func InSQL(tx *sql.Tx) onceward.Join { return &join{tx: sqlTx{tx}} }

// enlisted is a transaction that somebody else ends.
type enlisted interface {
	exec(ctx context.Context, sql string, args ...any) (int64, error)
	row(ctx context.Context, sql string, args []any, into ...any) error
}

type pgxTx struct{ tx pgx.Tx }

func (t pgxTx) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

func (t pgxTx) row(ctx context.Context, sql string, args []any, into ...any) error {
	return t.tx.QueryRow(ctx, sql, args...).Scan(into...)
}

type sqlTx struct{ tx *sql.Tx }

func (t sqlTx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	result, err := t.tx.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t sqlTx) row(ctx context.Context, text string, args []any, into ...any) error {
	return t.tx.QueryRowContext(ctx, text, args...).Scan(into...)
}

// join is a caller's transaction.
type join struct {
	tx   enlisted
	deep atomic.Int64 // savepoints so far
}

// Apply writes one change; see [onceward.Join]. What it lost to has committed, and
// is not read here.
func (j *join) Apply(ctx context.Context, change onceward.Change) (out onceward.Committed, err error) {
	changes, results := []onceward.Change{change}, make([]onceward.Committed, 1)
	b := newBatch(changes, results)
	if len(b.all) == 0 {
		return results[0], nil
	}
	if err := b.check(); err != nil {
		return onceward.Committed{Err: err}, nil
	}
	sh := b.shape()
	if sh.placed {
		if placed, err := j.place(ctx, b); err != nil || !placed {
			return out, joinFailure(ctx, "record operation", err)
		}
	}
	main := call{commitStatement(sh), b.values(sh)}
	text := strings.TrimSuffix(main.statement.sql, "array(select id from applied)") + "(select count(*) from applied)"
	// Under a savepoint rows bear another transaction's ID than the whole: the token,
	// which no other row has, tells them.
	text = strings.Replace(text, " and o.xmin = pg_current_xact_id()::xid", "", 1)
	var n int64
	err = j.tx.row(ctx, text, texts(main), &out.Now, &n)
	out.Applied = n == 1
	return out, joinFailure(ctx, "record operation", err)
}

var errGaveWay = errors.New("one of its names is taken")

// place puts a claim and its aliases in, all or none.
func (j *join) place(ctx context.Context, b *batch) (bool, error) {
	place, unplace := b.placeValues()
	members := int64(0)
	_ = readArray(unplace[0], func([]byte) error { members++; return nil }) // we wrote it
	err := j.Within(ctx, func() error {
		n, err := j.tx.exec(ctx, placeStatement().sql, texts(call{placeStatement(), place})...)
		if err == nil && n < members {
			err = errGaveWay
		}
		return err
	})
	if errors.Is(err, errGaveWay) {
		return false, nil
	}
	return err == nil, err
}

// AddOutbox appends events; see [onceward.Join].
func (j *join) AddOutbox(ctx context.Context, events []onceward.OutboxEvent) error {
	for i := range events {
		e := &events[i]
		_, err := j.tx.exec(ctx, addEventSQL, e.ID, string(e.Tenant), e.Type, e.Key, store.Stored(e.At), store.EncodeOutboxEvent(e))
		if err != nil {
			return joinFailure(ctx, "add events", err)
		}
	}
	return nil
}

const receiveSQL = `insert into receipts as r (consumer, message, drop_at) values ($1, $2, now() + $3::bigint * interval '1 microsecond')
on conflict (consumer, message) do update set drop_at = excluded.drop_at where r.drop_at <= now()`

// Receive marks a message as handled; see [onceward.Join]. The row of another
// transaction that handles the same message is waited for.
func (j *join) Receive(ctx context.Context, r onceward.Receipt) (bool, error) {
	if r.Patience > 0 {
		if err := j.patience(ctx, strconv.FormatInt(max(1, r.Patience.Milliseconds()), 10)+"ms"); err != nil {
			return false, err
		}
	}
	n, err := j.tx.exec(ctx, receiveSQL, r.Consumer, r.Message, r.Keep.Microseconds())
	switch {
	case sqlStateOf(err) == stateLockTimeout && r.Patience > 0:
		return false, &onceward.Error{Code: onceward.CodeStillRunning, Op: "receive message", Message: "another transaction is handling the message", Hint: "roll back, and take the message again later"}
	case err != nil:
		return false, joinFailure(ctx, "receive message", err)
	case r.Patience > 0:
		err = j.patience(ctx, "0")
	}
	return n == 1 && err == nil, err
}

// patience sets how long the transaction waits for a row.
func (j *join) patience(ctx context.Context, limit string) error {
	_, err := j.tx.exec(ctx, `select set_config('lock_timeout', $1, true)`, limit)
	return joinFailure(ctx, "receive message", err)
}

// Within runs work under a savepoint; see [onceward.Join].
func (j *join) Within(ctx context.Context, work func() error) error {
	name := "onceward_" + strconv.FormatInt(j.deep.Add(1), 10)
	if _, err := j.tx.exec(ctx, "savepoint "+name); err != nil {
		return joinFailure(ctx, "begin", err)
	}
	undo := func() error {
		ctx := context.WithoutCancel(ctx)
		_, err := j.tx.exec(ctx, "rollback to savepoint "+name)
		if err == nil {
			_, err = j.tx.exec(ctx, "release savepoint "+name)
		}
		return joinFailure(ctx, "undo", err)
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
	_, err = j.tx.exec(ctx, "release savepoint "+name)
	return joinFailure(ctx, "end", err)
}

const stateLockTimeout = "55P03"

// sqlStateOf is sqlState for any driver that tells the code by a method, as most do.
func sqlStateOf(err error) string {
	var other interface{ SQLState() string }
	if state := sqlState(err); state != "" || !errors.As(err, &other) {
		return state
	}
	return other.SQLState()
}

// joinFailure turns an error of the caller's connection into one of ours.
func joinFailure(ctx context.Context, op string, err error) error {
	var ours *onceward.Error
	switch {
	case err == nil || errors.As(err, &ours):
		return err
	case errors.Is(err, sql.ErrTxDone), errors.Is(err, pgx.ErrTxClosed):
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Op: op, Message: "the transaction has ended", Hint: "join an open one"}
	case ctx.Err() != nil:
		return store.Canceled(op, context.Cause(ctx))
	}
	if state := sqlStateOf(err); state != "" {
		r := reasonOf(state)
		var pg *pgconn.PgError
		if errors.As(err, &pg) {
			err = &sqlError{pg}
		} else {
			err = nil // another driver's text may quote what was to be stored
		}
		return &onceward.Error{Code: r.code, Op: op, Message: r.message, Hint: r.hint, Err: err}
	}
	return &onceward.Error{Code: onceward.CodeLedgerUnavailable, Op: op, Message: "the caller's connection failed", Hint: "roll back, and run the transaction again", Err: cause(ctx, err)}
}

// texts gives the parameters of a statement as PostgreSQL reads them in texts, so
// that any driver can send them; nil is NULL.
func texts(c call) []any {
	all := make([]any, len(c.params))
	for i, v := range c.params {
		switch {
		case v == nil:
		case isArray(c.statement.oids[i]):
			all[i] = arrayText(v)
		default:
			all[i] = elementText(c.statement.oids[i], v)
		}
	}
	return all
}

var kinds = []kind{kindUUID, kindText, kindBytes, kindInt2, kindInt4, kindInt8, kindBool, kindTime}

func isArray(oid uint32) bool {
	for _, k := range kinds {
		if k.array == oid {
			return true
		}
	}
	return false
}

func arrayText(v []byte) string {
	oid := binary.BigEndian.Uint32(v[8:])
	b := append(make([]byte, 0, len(v)), '{')
	_ = readArray(v, func(element []byte) error { // we wrote it
		if len(b) > 1 {
			b = append(b, ',')
		}
		if element == nil {
			b = append(b, "NULL"...)
			return nil
		}
		b = append(b, '"')
		for _, ch := range []byte(elementText(oid, element)) {
			if ch == '"' || ch == '\\' {
				b = append(b, '\\')
			}
			b = append(b, ch)
		}
		b = append(b, '"')
		return nil
	})
	return string(append(b, '}'))
}

// elementText is one value, which is not NULL.
func elementText(oid uint32, v []byte) string {
	switch oid {
	case kindUUID.oid:
		return hex.EncodeToString(v)
	case kindBytes.oid:
		return `\x` + hex.EncodeToString(v)
	case kindInt2.oid:
		return strconv.FormatInt(int64(int16(binary.BigEndian.Uint16(v))), 10)
	case kindInt4.oid:
		return strconv.FormatInt(int64(int32(binary.BigEndian.Uint32(v))), 10)
	case kindInt8.oid:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(v)), 10)
	case kindBool.oid:
		return strconv.FormatBool(v[0] == 1)
	case kindTime.oid:
		return time.UnixMicro(int64(binary.BigEndian.Uint64(v)) + epoch).UTC().Format("2006-01-02 15:04:05.999999Z07:00")
	}
	return string(v)
}
