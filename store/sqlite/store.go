package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store"
)

// Defaults of Options.
const (
	DefaultLockWait = 5 * time.Second
	DefaultReaders  = 4
)

// Options configure a store. The zero value is ready to use.
type Options struct {
	// Now is the ledger's clock; nil: the wall clock.
	Now func() time.Time
	// LockWait is how long a write waits for another process to finish its own,
	// before it fails with CodeLedgerUnavailable; 0: DefaultLockWait.
	LockWait time.Duration
	// Readers is how many connections read at once; 0: DefaultReaders.
	Readers int

	vfs string // of the driver; for tests that break the disk
}

// Store is one handle on a ledger in a file. It is safe for concurrent use.
type Store struct {
	path    string
	opts    Options
	writer  chan *conn // the one connection that writes; nil in it: to be opened
	turn    turn       // of whoever has taken the writer
	readers chan *conn // the connections that read; nil among them: to be opened
	closing sync.Once
	closed  chan struct{}
}

var _ onceward.Store = (*Store)(nil)

// Now is this process's wall clock, to the microsecond.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, store.Canceled("read clock", err)
	}
	return s.now(), nil
}

func (s *Store) now() time.Time { return store.Stored(s.opts.Now()) }

// Check writes and commits one row: a full disk, a file gone read-only and a
// lock that nobody gives back are found before a caller meets them.
func (s *Store) Check(ctx context.Context) error {
	return s.write(ctx, "check ledger", func(c *conn) error {
		return c.exec(`INSERT INTO meta (name, value) VALUES ('checked', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
			func(b *binder) { b.text(s.now().Format(time.RFC3339Nano)) })
	})
}

// Close waits for what runs, and closes the file. It is safe to call twice;
// everything after it fails with CodeLedgerUnavailable.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		for range cap(s.readers) {
			err = closeConn(<-s.readers, err)
		}
		err = closeConn(<-s.writer, err)
	})
	return err
}

func closeConn(c *conn, before error) error {
	if c == nil {
		return before
	}
	if err := c.close(); err != nil && before == nil {
		return failure("close ledger", err)
	}
	return before
}

// take waits for a connection of a pool, and opens it if need be.
func (s *Store) take(ctx context.Context, pool chan *conn, op string) (*conn, error) {
	select {
	case <-s.closed:
		return nil, store.Closed(op)
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, store.Canceled(op, err)
	}
	select {
	case <-s.closed:
		return nil, store.Closed(op)
	case <-ctx.Done():
		return nil, store.Canceled(op, ctx.Err())
	case c := <-pool:
		if c != nil {
			return c, nil
		}
		c, err := s.connect(pool == s.writer)
		if err != nil {
			pool <- nil
			return nil, failure(op, err)
		}
		return c, nil
	}
}

// give puts a connection back; one that is stuck in a transaction is replaced.
func give(pool chan *conn, c *conn) {
	c.db.SetInterrupt(context.Background())
	if !c.db.GetAutocommit() {
		if err := c.run("ROLLBACK"); err != nil {
			_ = c.close() // the error that led here was given to the caller
			c = nil
		}
	}
	pool <- c
}

// read runs fn on a connection that reads, in one snapshot of the database.
func (s *Store) read(ctx context.Context, op string, fn func(c *conn) error) error {
	return s.readRaw(ctx, op, func(c *conn) error {
		if err := c.run("BEGIN"); err != nil {
			return err
		}
		if err := fn(c); err != nil {
			return err // give rolls back
		}
		return c.run("COMMIT")
	})
}

// readRaw runs fn on a connection that reads; each statement is a snapshot of
// its own.
func (s *Store) readRaw(ctx context.Context, op string, fn func(c *conn) error) error {
	c, err := s.take(ctx, s.readers, op)
	if err != nil {
		return err
	}
	defer give(s.readers, c)
	c.db.SetInterrupt(ctx)
	if err := fn(c); err != nil {
		return interrupted(ctx, op, err)
	}
	return nil
}

// write runs fn in one durable transaction, alone among all processes. Nothing
// of it is stored if it, or the context, fails before the commit begins.
func (s *Store) write(ctx context.Context, op string, fn func(c *conn) error) error {
	c, err := s.take(ctx, s.writer, op)
	if err != nil {
		return err
	}
	defer give(s.writer, c)
	defer func() { s.turn.ended(time.Now()) }()
	wait(ctx, s.turn.next(time.Now()))
	c.db.SetInterrupt(ctx)
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return interrupted(ctx, op, err)
	}
	if err := fn(c); err != nil {
		return interrupted(ctx, op, err)
	}
	if err := ctx.Err(); err != nil {
		return store.Canceled(op, err)
	}
	// Why without the context: from here on the answer is whether the disk has
	// it, and a caller that hangs up must not leave that open.
	c.db.SetInterrupt(context.Background())
	if err := c.run("COMMIT"); err != nil {
		return commitFailure(op, err)
	}
	return nil
}
