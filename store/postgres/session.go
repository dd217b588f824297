package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/store"
)

// Waits of the committer.
const (
	// reconnectFirst and reconnectMax bound the pause after a connection could
	// not be made; within it Commit fails at once.
	reconnectFirst = 20 * time.Millisecond
	reconnectMax   = 500 * time.Millisecond
	// idleMax is after how much idleness the connection is tried before it is
	// trusted with a batch: a dead one costs a round trip, not an unknown commit.
	idleMax = time.Second
)

// pins fixes what the statements of the committer rely on, for the session, or
// with $1 true for the transaction:
//
//   - Plans are generic and go through indexes. A fresh or fast growing table
//     has no useful statistics, and one bad plan would stop every caller.
//   - Warnings arrive: one of them says that a commit is not replicated.
//   - A commit is durable here and, where there is a synchronous standby, there.
//     What the administrator set stronger than that is left alone.
const pins = `select
    set_config('plan_cache_mode', 'force_generic_plan', $1::boolean),
    set_config('enable_seqscan', 'off', $1), set_config('enable_hashjoin', 'off', $1),
    set_config('enable_mergejoin', 'off', $1), set_config('jit', 'off', $1),
    set_config('client_min_messages', 'warning', $1),
    case when current_setting('synchronous_commit') in ('off', 'local', 'remote_write')
        then set_config('synchronous_commit', 'on', $1) end`

// session is the one connection that commits. It is made when it is needed, and
// made anew after it was lost.
type session struct {
	store *Store
	gate  chan struct{} // holds the right to use everything below

	conn     *pgx.Conn // nil: none
	server   string    // that the newest connection led to; see commitsTo
	deadline time.Time // of the connection's reads and writes
	usedAt   time.Time
	warned   *pgconn.Notice // the last warning of the running batch; nil: none
	room     *room          // of the connection's messages

	failure error // why the last connection could not be made
	pause   time.Duration
	until   time.Time
}

func newSession(s *Store) *session { return &session{store: s, gate: make(chan struct{}, 1)} }

// enter waits for the connection to be free; leave frees it.
func (s *session) enter(ctx context.Context, op string) error {
	select {
	case s.gate <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return store.Canceled(op, ctx.Err())
	}
}

func (s *session) leave() { <-s.gate }

// connect makes the connection, if there is none, and tries it, if it was idle.
func (s *session) connect(ctx context.Context) error {
	if s.conn != nil && (s.conn.IsClosed() || s.bound() != nil || s.idle() && s.conn.Ping(ctx) != nil) {
		s.drop()
	}
	if s.conn != nil {
		return nil
	}
	if s.failure != nil && time.Now().Before(s.until) {
		return s.failure
	}
	conn, err := s.dial(ctx)
	if err != nil {
		if ctx.Err() == nil { // it is the database, not the caller
			s.failure = err
			s.pause = min(max(2*s.pause, reconnectFirst), reconnectMax)
			s.until = time.Now().Add(s.pause)
		}
		return err
	}
	s.conn, s.room, s.failure, s.pause, s.usedAt, s.deadline = conn, &room{}, nil, 0, time.Now(), time.Time{}
	if err := s.bound(); err != nil {
		return err
	}
	return s.commitsTo(ctx, conn)
}

func (s *session) idle() bool { return time.Since(s.usedAt) > idleMax }

// bound gives the connection at least the store's timeout for its next answers.
// It looks ahead twice as far, so that a busy connection rarely sets a timer.
func (s *session) bound() error {
	now := time.Now()
	if s.deadline.Sub(now) >= s.store.timeout {
		return nil
	}
	s.deadline = now.Add(2 * s.store.timeout)
	return s.conn.PgConn().Conn().SetDeadline(s.deadline)
}

func (s *session) dial(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.store.timeout)
	defer cancel()
	config := s.store.config.ConnConfig.Copy()
	if s.store.named() {
		config.RuntimeParams["idle_session_timeout"] = "0"
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			s.warned = n
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if s.store.named() {
		if _, err = conn.Exec(ctx, pins, false); err != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
			return nil, err
		}
	}
	return conn, nil
}

// drop gives the connection up: what is on its way may arrive or not.
func (s *session) drop() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
	s.conn = nil
}

// call is one statement of a pipeline with its values.
type call struct {
	statement statement
	params    [][]byte
}

// fate is what is known of a batch that failed.
type fate uint8

const (
	unsent   fate = iota // there is no connection: nothing of it reached the server
	stale                // the connection was of no use: nothing of it is stored
	aborted              // the server said that it took everything back
	vanished             // it is committed, and what a change lost to is gone again
	lost                 // it may be committed
)

// run sends the calls as one transaction in one round trip and gives the last
// one's only row. The transaction is the implicit one of a pipeline: it commits
// when the server sees the end.
func (s *session) run(ctx context.Context, calls []call) (row [][]byte, what fate, err error) {
	if err = s.connect(ctx); err != nil {
		return nil, unsent, err
	}
	prepared, err := s.prepare(ctx, calls)
	if err != nil {
		if s.refused(err) {
			return nil, aborted, err
		}
		s.drop()
		return nil, stale, err
	}
	s.warned = nil
	pipeline := s.conn.PgConn().StartPipeline(ctx)
	s.send(pipeline, calls, prepared)
	if err = pipeline.Sync(); err == nil {
		row, err = receive(pipeline)
	}
	if closed := pipeline.Close(); err == nil {
		err = closed
	}
	s.usedAt = time.Now()
	switch {
	case err == nil && s.warned == nil:
		return row, 0, nil
	case err == nil:
		return nil, lost, &warningError{(*pgconn.PgError)(s.warned)}
	case s.refused(err) && outdated(err):
		s.drop()
		return nil, stale, err
	case s.refused(err):
		if sqlState(err) == stateReadOnly {
			s.drop() // a new connection may find the primary
		}
		return nil, aborted, err
	case pgconn.SafeToRetry(err):
		s.drop()
		return nil, stale, err
	}
	s.drop()
	return nil, lost, err
}

// prepare prepares the statements that this connection does not know yet; none
// are prepared behind a pooler.
func (s *session) prepare(ctx context.Context, calls []call) ([]*pgconn.StatementDescription, error) {
	if !s.store.named() {
		return nil, nil
	}
	prepared := make([]*pgconn.StatementDescription, len(calls))
	for i, c := range calls {
		var err error
		if prepared[i], err = s.conn.Prepare(ctx, c.statement.name, c.statement.sql); err != nil {
			return nil, err
		}
	}
	return prepared, nil
}

// binaryFormat is the format of all parameters and results.
var binaryFormat = []int16{pgx.BinaryFormatCode}

func (s *session) send(p *pgconn.Pipeline, calls []call, prepared []*pgconn.StatementDescription) {
	s.room.wanted = sizeOf(calls)
	s.conn.PgConn().Frontend().Send(s.room)
	if prepared != nil {
		for i, c := range calls {
			p.SendQueryStatement(prepared[i], c.params, binaryFormat, binaryFormat)
		}
		return
	}
	p.SendQueryParams(pins, [][]byte{{1}}, []uint32{kindBool.oid}, binaryFormat, binaryFormat)
	for _, c := range calls {
		p.SendQueryParams(c.statement.sql, c.params, c.statement.oids, binaryFormat, binaryFormat)
	}
}

// sizeOf is about how long the messages of the calls are: rather too much.
func sizeOf(calls []call) (size int) {
	for _, c := range calls {
		size += len(c.statement.sql) + 16*len(c.params)
		for _, v := range c.params {
			size += len(v)
		}
	}
	return size
}

// room is a message without a byte that makes room for those behind it, in a
// buffer that is kept. Why: the driver gives its own up after each long message,
// and lets a new one grow from 1 kB, again and again, for the next.
type room struct {
	wanted int
	kept   []byte
}

// Frontend implements [pgproto3.FrontendMessage].
func (r *room) Frontend() {}

// Decode implements [pgproto3.FrontendMessage]; no server sends one.
func (r *room) Decode([]byte) error { return errors.ErrUnsupported }

// Encode implements [pgproto3.FrontendMessage].
func (r *room) Encode(dst []byte) ([]byte, error) {
	if r.wanted > spaceMax {
		return slices.Grow(dst, r.wanted), nil
	}
	r.kept = slices.Grow(r.kept[:0], len(dst)+r.wanted)
	return append(r.kept, dst...), nil
}

// receive reads up to the end of the transaction and keeps the last row.
func receive(p *pgconn.Pipeline) (row [][]byte, err error) {
	for {
		results, err := p.GetResults()
		if err != nil {
			return nil, err
		}
		switch r := results.(type) {
		case *pgconn.PipelineSync:
			return row, nil
		case *pgconn.ResultReader:
			row = nil
			for r.NextRow() {
				row = row[:0]
				for _, v := range r.Values() {
					copied, _ := readBytes(v)
					row = append(row, copied)
				}
			}
			if _, err := r.Close(); err != nil {
				return nil, err
			}
		case nil:
			return nil, errors.New("the pipeline ended before its transaction")
		}
	}
}

// refused reports whether the server itself ended the transaction with an error
// and the connection lived on: then nothing of it is stored.
//
// Why not any error of the server: one that ends the connection may come while
// it waits for a standby, and then the commit is stored.
func (s *session) refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR" && !s.conn.IsClosed()
}

// close ends the session for good.
func (s *session) close() {
	s.gate <- struct{}{}
	s.drop()
	s.leave()
}
