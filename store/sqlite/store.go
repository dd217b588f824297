package sqlite

import (
	"context"
	"errors"
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
	opts    Options
	writer  *pool // of the one connection that writes
	readers *pool
	files   files // as the writer sees them
	turn    turn  // of the writer among processes
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
		err = failure("close ledger", errors.Join(s.readers.close(), s.writer.close()))
	})
	return err
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
	defer s.readers.give(c)
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
	defer s.writer.give(c)
	defer func() { s.turn.ended(time.Now()) }()
	wait(ctx, s.turn.next(time.Now()))
	c.db.SetInterrupt(ctx)
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return interrupted(ctx, op, err)
	}
	if err := s.files.check(); err != nil {
		return err
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
