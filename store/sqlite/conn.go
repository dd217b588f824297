package sqlite

import (
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// conn is a connection with its prepared statements. It is used by one
// goroutine at a time. In a caller's transaction it has that in place of a
// connection of ours.
type conn struct {
	db    *sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
	tx    *callers
	binds binder // of the statement whose parameters are being bound
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	c.stmts = nil
	return errors.Join(append(errs, c.db.Close())...)
}

// prepare compiles a statement once a connection. There are a few dozen in all,
// so none is ever thrown away.
func (c *conn) prepare(sql string) (*sqlite3.Stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, tail, err := c.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, err
	}
	if tail != "" {
		return nil, errors.New("more than one statement: " + tail)
	}
	c.stmts[sql] = s
	return s, nil
}

// run executes a statement without parameters.
func (c *conn) run(sql string) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	return s.Exec()
}

// exec executes a statement that gives no rows.
func (c *conn) exec(sql string, bind func(b *binder)) error {
	if c.tx != nil {
		_, err := c.tx.exec(sql, bind)
		return err
	}
	s, large, err := c.bound(sql, bind)
	if err != nil {
		return err
	}
	err = s.Exec()
	if large {
		err = errors.Join(err, s.ClearBindings())
	}
	return err
}

// changed executes a statement and returns how many rows it wrote.
func (c *conn) changed(sql string, bind func(b *binder)) (int, error) {
	if c.tx != nil {
		return c.tx.exec(sql, bind)
	}
	if err := c.exec(sql, bind); err != nil {
		return 0, err
	}
	return int(c.db.Changes()), nil
}

// query executes a statement and gives each row to scan.
func (c *conn) query(sql string, bind func(b *binder), scan func(r *rower) error) error {
	if c.tx != nil {
		return c.tx.query(sql, bind, scan)
	}
	s, _, err := c.bound(sql, bind)
	if err != nil {
		return err
	}
	for s.Step() {
		if err := scan(&rower{stmt: s}); err != nil {
			_ = s.Reset() // gives the last error again, which is none
			return err
		}
	}
	if err := s.Err(); err != nil {
		_ = s.Reset() // gives the same error again
		return err
	}
	return s.Reset()
}

// largeBytes is from where on a parameter is not left bound: the connection
// keeps a copy of it until then.
const largeBytes = 64 << 10

func (c *conn) bound(sql string, bind func(b *binder)) (s *sqlite3.Stmt, large bool, err error) {
	if s, err = c.prepare(sql); err != nil {
		return nil, false, err
	}
	c.binds = binder{stmt: s}
	if bind != nil {
		bind(&c.binds)
	}
	return s, c.binds.large, c.binds.err
}

// binder binds parameters in the order of its calls, or collects them where there
// is no statement of ours.
type binder struct {
	stmt  *sqlite3.Stmt
	args  []any
	at    int
	large bool
	err   error
}

func (b *binder) bound(err error) {
	if err != nil && b.err == nil {
		b.err = err
	}
}

func (b *binder) next() int {
	b.at++
	return b.at
}

func (b *binder) int(v int64) {
	if b.stmt == nil {
		b.args = append(b.args, v)
		return
	}
	b.bound(b.stmt.BindInt64(b.next(), v))
}

func (b *binder) text(v string) {
	if b.stmt == nil {
		b.args = append(b.args, v)
		return
	}
	b.bound(b.stmt.BindText(b.next(), v))
}

// blob binds nil as NULL, and empty as a blob of no bytes.
func (b *binder) blob(v []byte) {
	if v == nil {
		b.null()
		return
	}
	if b.stmt == nil {
		b.args = append(b.args, v)
		return
	}
	b.large = b.large || len(v) >= largeBytes
	b.bound(b.stmt.BindBlob(b.next(), v))
}

func (b *binder) null() {
	if b.stmt == nil {
		b.args = append(b.args, nil)
		return
	}
	b.bound(b.stmt.BindNull(b.next()))
}

func (b *binder) id(id onceward.OperationID) { b.blob(id[:]) }

// time binds the zero time as NULL.
func (b *binder) time(t time.Time) {
	if t.IsZero() {
		b.null()
		return
	}
	b.int(store.Micros(t))
}

func (b *binder) bool(v bool) {
	if v {
		b.int(1)
		return
	}
	b.int(0)
}

// rower reads the columns of a row in the order of its calls.
type rower struct {
	stmt   *sqlite3.Stmt
	values []any // where there is no statement of ours
	at     int
}

func (r *rower) next() int {
	r.at++
	return r.at - 1
}

func (r *rower) int() int64 {
	at := r.next()
	if r.stmt == nil {
		v, _ := r.values[at].(int64)
		return v
	}
	return r.stmt.ColumnInt64(at)
}

func (r *rower) text() string {
	at := r.next()
	if r.stmt == nil {
		return textOf(r.values[at])
	}
	return r.stmt.ColumnText(at)
}

func (r *rower) bool() bool { return r.int() != 0 }

// raw is a blob for as long as the row is there; nil for NULL.
func (r *rower) raw() []byte {
	at := r.next()
	if r.stmt == nil {
		return bytesOf(r.values[at])
	}
	raw := r.stmt.ColumnRawBlob(at)
	if len(raw) == 0 && r.stmt.ColumnType(at) == sqlite3.NULL {
		return nil
	}
	if raw == nil {
		return []byte{}
	}
	return raw
}

// blob gives NULL as nil; what it gives is the caller's.
func (r *rower) blob() []byte {
	raw := r.raw()
	if raw == nil {
		return nil
	}
	return append(make([]byte, 0, len(raw)), raw...)
}

// fill copies a blob of a known length; another one leaves dst as it is.
func (r *rower) fill(dst []byte) {
	if raw := r.raw(); len(raw) == len(dst) {
		copy(dst, raw)
	}
}

func (r *rower) id() (id onceward.OperationID) {
	r.fill(id[:])
	return id
}

func (r *rower) time() time.Time {
	at := r.next()
	if r.stmt == nil {
		v, there := r.values[at].(int64)
		if !there {
			return time.Time{}
		}
		return store.Time(v)
	}
	v := r.stmt.ColumnInt64(at)
	if v == 0 && r.stmt.ColumnType(at) == sqlite3.NULL {
		return time.Time{}
	}
	return store.Time(v)
}
