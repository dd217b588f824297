package sqlite

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/migration"
)

// applicationID stands in the head of a ledger's file ("Once"), so that
// file(1) and we know it.
const applicationID = 0x4f6e6365

// Settings of a connection.
const (
	// cacheKiB bounds the pages that a connection keeps.
	//
	// Why not more for the one that writes: each commit that moves entries between
	// pages of an index looks at every page that is kept. At 16 MiB a call took 6 % more
	// of the processor, and a page that is not kept is a copy from the system's cache.
	cacheKiB = 4 << 10
	// checkpointPages is how long the WAL grows, in pages, before it is copied
	// into the database and written over from its start.
	//
	// Why not more: a sync of a file that grew costs about twice a sync of bytes
	// written over (250 and 500 microseconds on ext4), and with many callers a
	// longer WAL gained nothing that could be measured.
	checkpointPages = 1000
	walBytesMax     = 64 << 20 // what the WAL shrinks to after a burst
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// Open opens the ledger in the file, and makes it if there is none. It says
// which it is, and what to do, if the file cannot be one: CodeConfigInvalid (no
// path, or the path of a folder), CodeLedgerUnavailable (no folder, no right,
// locked for too long), CodeLedgerReadOnly, CodeLedgerForeign (of another
// application, or no database), CodeLedgerTooNew. Whatever it refuses it leaves
// as it was.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.LockWait == 0 {
		opts.LockWait = DefaultLockWait
	}
	if opts.Readers == 0 {
		opts.Readers = DefaultReaders
	}
	path, err := findFile(path)
	if err != nil {
		return nil, err
	}
	s := &Store{
		opts: opts, files: files{path: path}, closed: make(chan struct{}),
		writer: newPool(1), readers: newPool(opts.Readers),
	}
	c, err := s.prepareFile(ctx, path)
	if err != nil {
		return nil, located(path, interrupted(ctx, "open ledger", err))
	}
	c.db.SetInterrupt(context.Background())
	s.writer.put(c)
	return s, nil
}

// located adds the path to the message of an error that Open returns.
func located(path string, err error) error {
	var e *onceward.Error
	if !errors.As(err, &e) {
		return err
	}
	where := *e
	where.Message = path + ": " + e.Message
	return &where
}

// findFile finds the file, or makes an empty one, and returns its path without
// links. It refuses what SQLite would say less about.
func findFile(path string) (string, error) {
	if path == "" || path == ":memory:" {
		return "", &onceward.Error{
			Code: onceward.CodeConfigInvalid, Op: "open ledger", Message: "the ledger has no path",
			Hint: "name a file, as in sqlite:onceward.db",
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "open ledger", Message: "the path cannot be resolved", Err: err}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", &onceward.Error{
			Code: onceward.CodeConfigInvalid, Op: "open ledger", Message: path + " is a folder",
			Hint: "name a file in it, as in " + filepath.Join(path, "onceward.db"),
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return "", &onceward.Error{
			Code: onceward.CodeLedgerUnavailable, Op: "open ledger", Message: "there is no folder " + filepath.Dir(path),
			Hint: "make it, or name a file in a folder that exists", Err: err,
		}
	}
	if err := makeFile(path); err != nil {
		return "", located(path, failure("open ledger", err))
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", located(path, failure("open ledger", err))
	}
	return path, nil
}

// makeFile makes an empty file, which is an empty database, if there is none.
// Nobody but its owner may read it: it holds what callers sent and got.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		return f.Close()
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return &onceward.Error{
		Code: onceward.CodeLedgerReadOnly, Op: "open ledger", Message: "the ledger's file cannot be made",
		Hint: "give this account the right to write its folder", Err: err,
	}
}

// prepareFile opens the first connection, looks at what the file is, and brings
// it to this release's schema.
func (s *Store) prepareFile(ctx context.Context, path string) (*conn, error) {
	c, err := s.open()
	if err != nil {
		return nil, err
	}
	c.db.SetInterrupt(ctx)
	if err = s.bringForward(ctx, c); err == nil {
		s.files.main, err = os.Stat(path)
	}
	if err != nil {
		_ = c.close() // the error that led here says more
		return nil, err
	}
	return c, nil
}

func (s *Store) bringForward(ctx context.Context, c *conn) error {
	if readOnly, _ := c.db.ReadOnly("main"); readOnly {
		return failure("open ledger", sqlite3.READONLY)
	}
	steps, err := readSteps()
	if err != nil {
		return err
	}
	d := &database{c: c, now: s.now}
	state, err := d.look(ctx) // before anything is written, for it may not be ours
	if errors.Is(err, sqlite3.NOTADB) {
		return &onceward.Error{
			Code: onceward.CodeLedgerForeign, Op: "open ledger", Message: "the file is no SQLite database",
			Hint: "name another file, or one that does not exist yet", Err: err,
		}
	}
	if err != nil {
		return err
	}
	pending, err := migration.Pending(state, steps)
	if err != nil {
		return err
	}
	if err := s.setUp(ctx, c, true); err != nil {
		return err
	}
	if len(pending) == 0 {
		return nil // the common case takes no lock
	}
	return d.migrate(ctx, steps)
}

func readSteps() ([]migration.Step, error) {
	dir, err := fs.Sub(migrationFiles, "migration")
	if err != nil {
		return nil, err
	}
	return migration.Read(dir)
}

// connect opens a further connection on a file that is known to be a ledger.
func (s *Store) connect(writer bool) (*conn, error) {
	c, err := s.open()
	if err != nil {
		return nil, err
	}
	if err = s.files.checkMain(); err == nil {
		err = s.setUp(context.Background(), c, writer)
	}
	if err != nil {
		_ = c.close() // the error that led here says more
		return nil, err
	}
	return c, nil
}

// open opens a connection on the file, which exists. Files that it makes beside
// it get its owner and mode.
func (s *Store) open() (*conn, error) {
	query := url.Values{"modeof": {s.files.path}, "vfs": {cmp.Or(s.opts.vfs, fullVFS)}}
	db, err := sqlite3.OpenFlags(fileURI(s.files.path, query), sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	if err != nil {
		return nil, err
	}
	if err := pollLock(db, s.opts.LockWait); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &conn{db: db, stmts: map[string]*sqlite3.Stmt{}}, nil
}

// setUp sets what SQLite keeps per connection, and WAL, which it keeps in the
// file.
func (s *Store) setUp(ctx context.Context, c *conn, writer bool) error {
	if err := s.writeAhead(ctx, c); err != nil {
		return err
	}
	for _, pragma := range []string{
		"synchronous = FULL", // Why: a claim that a power cut may lose is no claim
		"foreign_keys = ON",
		"trusted_schema = OFF",
		"temp_store = MEMORY",
		fmt.Sprintf("cache_size = -%d", cacheKiB),
		fmt.Sprintf("wal_autocheckpoint = %d", checkpointPages),
		fmt.Sprintf("journal_size_limit = %d", walBytesMax),
	} {
		if err := c.db.Exec("PRAGMA " + pragma); err != nil {
			return fmt.Errorf("set %s: %w", pragma, err)
		}
	}
	if writer {
		return nil
	}
	return c.db.Exec("PRAGMA query_only = ON")
}

// writeAhead switches to WAL. Why the loop: SQLite does not wait for another
// process that is switching the same new file at this moment.
func (s *Store) writeAhead(ctx context.Context, c *conn) error {
	deadline := time.Now().Add(s.opts.LockWait)
	for {
		var mode string
		err := c.query("PRAGMA journal_mode = WAL", nil, func(r *rower) error {
			mode = r.text()
			return nil
		})
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return &onceward.Error{
				Code: onceward.CodeLedgerUnavailable, Op: "open ledger", Message: "the file cannot be written ahead (journal mode " + mode + ")",
				Hint: "move the ledger to a local file system: WAL needs memory that processes share",
			}
		case !errors.Is(err, sqlite3.BUSY) || time.Now().After(deadline) || ctx.Err() != nil:
			return err
		}
	}
}

// database is the file as migrations see it.
type database struct {
	c   *conn
	now func() time.Time
}

// migrate runs what is missing in one transaction: processes that start at once
// wait for the first, and a crash leaves the file as it was.
func (d *database) migrate(ctx context.Context, steps []migration.Step) error {
	if err := d.c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	_, err := migration.Run(ctx, d, steps)
	if err == nil {
		if err = d.c.run("COMMIT"); err == nil {
			return nil
		}
	}
	if !d.c.db.GetAutocommit() {
		d.c.db.SetInterrupt(context.Background())
		err = errors.Join(err, d.c.run("ROLLBACK"))
	}
	return err
}

// look is State in a transaction of its own.
func (d *database) look(ctx context.Context) (migration.State, error) {
	if err := d.c.run("BEGIN"); err != nil {
		return migration.State{}, err
	}
	state, err := d.State(ctx)
	if err != nil {
		d.c.db.SetInterrupt(context.Background())
		return migration.State{}, errors.Join(err, d.c.run("ROLLBACK"))
	}
	return state, d.c.run("COMMIT")
}

// State reads what the file is; it writes nothing. The caller holds a
// transaction open: another process may be making the ledger between two reads.
func (d *database) State(context.Context) (migration.State, error) {
	var id, tables, ours int64
	var first string
	err := d.c.query("PRAGMA application_id", nil, func(r *rower) error { id = r.int(); return nil })
	if err != nil {
		return migration.State{}, err
	}
	err = d.c.query(`SELECT count(*), coalesce(min(name), ''), sum(name = 'migrations') FROM sqlite_schema WHERE type = 'table'`, nil,
		func(r *rower) error { tables, first, ours = r.int(), r.text(), r.int(); return nil })
	switch {
	case err != nil:
		return migration.State{}, err
	case id == 0 && tables == 0:
		return migration.State{}, nil
	case id == 0:
		return migration.State{Foreign: "it has a table " + first}, nil
	case id != applicationID:
		return migration.State{Foreign: fmt.Sprintf("its application ID is %#x", id)}, nil
	case ours == 0:
		return migration.State{Foreign: "it bears our application ID and has no table migrations"}, nil
	}
	var state migration.State
	err = d.c.query(`SELECT number, name, sum FROM migrations ORDER BY number`, nil, func(r *rower) error {
		a := migration.Applied{Number: int(r.int()), Name: r.text()}
		r.fill(a.Sum[:])
		state.Applied = append(state.Applied, a)
		return nil
	})
	return state, err
}

// Apply runs a step and records it; the transaction is the caller's.
func (d *database) Apply(_ context.Context, step migration.Step) error {
	if step.Number == 1 {
		err := d.c.db.Exec(fmt.Sprintf(`PRAGMA application_id = %d;
			CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, sum BLOB NOT NULL, at INTEGER NOT NULL) STRICT`, applicationID))
		if err != nil {
			return err
		}
	}
	if err := d.c.db.Exec(step.SQL); err != nil {
		return err
	}
	err := d.c.exec(`INSERT INTO migrations (number, name, sum, at) VALUES (?, ?, ?, ?)`, func(b *binder) {
		b.int(int64(step.Number))
		b.text(step.Name)
		b.blob(step.Sum[:])
		b.time(d.now())
	})
	if err != nil || step.Number != 1 {
		return err
	}
	return d.c.exec(`INSERT INTO meta (name, value) VALUES ('ledger_id', ?), ('created_at', ?)`, func(b *binder) {
		b.text(rand.Text())
		b.text(d.now().Format(time.RFC3339Nano))
	})
}
