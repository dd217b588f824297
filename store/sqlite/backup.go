package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/migration"
)

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// Backup writes a copy of the ledger to a file that is not there yet, as it is at
// the moment of the call: writers go on meanwhile, and nothing of what they write
// is in it. The copy is whole and on the disk once Backup returns; before that
// nothing stands at the path.
//
// Why one read transaction over all pages: a copy that follows the writers begins
// again after each commit. The price is a WAL that is not written over meanwhile.
func (s *Store) Backup(ctx context.Context, path string) error {
	return s.read(ctx, "back up ledger", func(c *conn) error {
		if err := c.query(`SELECT 1 FROM meta LIMIT 1`, nil, func(*rower) error { return nil }); err != nil {
			return err // the snapshot begins with the first read
		}
		return copyLedger(ctx, c.db, path)
	})
}

// Restore writes a copy of a backup to a file that is not there yet, once it is
// proven to be a ledger that this release can open, with every page and reference
// whole: CodeLedgerForeign, CodeLedgerTooNew and CodeLedgerCorrupt otherwise. check,
// if not nil, sees the opened copy before it stands at the path, and can refuse
// it. The backup is read only. Nothing is overwritten.
func Restore(ctx context.Context, backup, path string, check func(*Store) error) error {
	if err := isLedger(ctx, backup); err != nil {
		return located(backup, err)
	}
	for _, there := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		if _, err := os.Lstat(there); !errors.Is(err, fs.ErrNotExist) {
			return inTheWay(there, err)
		}
	}
	db, err := openReadOnly(backup)
	if err != nil {
		return located(backup, failure("restore ledger", err))
	}
	db.SetInterrupt(ctx)
	tried := path + ".restoring-" + rand.Text()[:8]
	err = copyLedger(ctx, db, tried)
	if err = errors.Join(err, db.Close()); err != nil {
		return interrupted(ctx, "restore ledger", err)
	}
	defer removeFiles(tried) // what is left of it
	if err := checkCopy(ctx, tried, check); err != nil {
		return err
	}
	return publish(tried, path)
}

// checkCopy opens the copy, which brings it to this release's schema, and lets
// check judge it. Closed, all of it is in its one file again.
func checkCopy(ctx context.Context, path string, check func(*Store) error) error {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	if check != nil {
		err = check(s)
	}
	return errors.Join(err, s.Close())
}

// copyLedger copies the database of a connection into a new file, proves that each
// page and reference of the copy is whole, and puts it at the path.
func copyLedger(ctx context.Context, db *sqlite3.Conn, path string) error {
	part := path + ".part-" + rand.Text()[:8]
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return inTheWay(path, err)
	}
	if err := makeFile(part); err != nil {
		return located(path, err)
	}
	defer removeFiles(part)
	if err := copyPages(ctx, db, part); err != nil {
		return err
	}
	if err := isLedger(ctx, part); err != nil {
		return located(path, err)
	}
	return publish(part, path)
}

func copyPages(ctx context.Context, db *sqlite3.Conn, path string) (err error) {
	b, err := db.BackupInit("main", fileURI(path, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done, err = b.Step(backupPages); err != nil {
			return err
		}
	}
	return nil
}

// publish syncs a file that is closed, and gives it its name without overwriting
// what has it.
func publish(from, to string) error {
	if err := syncFile(from); err != nil {
		return failure("write ledger", err)
	}
	if err := os.Link(from, to); err != nil {
		return inTheWay(to, err)
	}
	return failure("write ledger", errors.Join(os.Remove(from), syncFolder(filepath.Dir(to))))
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func inTheWay(path string, cause error) error {
	if cause == nil || errors.Is(cause, fs.ErrExist) {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "write ledger", Message: path + " is there already", Hint: "nothing is overwritten: name another file, or move that one away", Err: cause}
	}
	return &onceward.Error{Code: onceward.CodeLedgerReadOnly, Op: "write ledger", Message: path + " cannot be made", Hint: "name a file in a folder that exists, and that this account may write", Err: cause}
}

func removeFiles(path string) {
	for _, end := range []string{"", "-journal", "-wal", "-shm"} {
		_ = os.Remove(path + end)
	}
}

// isLedger proves that a file is a ledger of this release or an older one, and
// that each page, index and reference in it is whole.
func isLedger(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "read backup", Message: "there is no such file", Hint: "name a file that onceward backup wrote", Err: err}
	}
	db, err := openReadOnly(path)
	if err != nil {
		return failure("read backup", err)
	}
	db.SetInterrupt(ctx)
	c := &conn{db: db, stmts: map[string]*sqlite3.Stmt{}}
	return errors.Join(interrupted(ctx, "read backup", examineFile(ctx, c)), c.close())
}

func examineFile(ctx context.Context, c *conn) error {
	steps, err := readSteps()
	if err != nil {
		return err
	}
	state, err := (&database{c: c}).look(ctx)
	if errors.Is(err, sqlite3.NOTADB) || err == nil && len(state.Applied) == 0 && state.Foreign == "" {
		return &onceward.Error{Code: onceward.CodeLedgerForeign, Op: "read backup", Message: "the file is no ledger", Hint: "name a file that onceward backup wrote", Err: err}
	}
	if err != nil {
		return err
	}
	if _, err := migration.Pending(state, steps); err != nil {
		return err
	}
	for _, pragma := range []string{"PRAGMA integrity_check(1)", "PRAGMA foreign_key_check"} {
		broken := ""
		err := c.query(pragma, nil, func(r *rower) error {
			if found := r.text(); found != "ok" && broken == "" {
				broken = found
			}
			return nil
		})
		if err != nil || broken != "" {
			return &onceward.Error{Code: onceward.CodeLedgerCorrupt, Op: "read backup", Message: "the file is broken: " + strings.ReplaceAll(broken, "\n", " "), Hint: "use another backup", Err: err}
		}
	}
	return nil
}

func openReadOnly(path string) (*sqlite3.Conn, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	query := url.Values{"mode": {"ro"}}
	if info, err := os.Stat(abs + "-wal"); err != nil || info.Size() == 0 {
		query.Set("immutable", "1") // it may lie where nothing can be written beside it
	}
	db, err := sqlite3.OpenFlags(fileURI(abs, query), sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

// fileURI is SQLite's name of a file.
func fileURI(path string, query url.Values) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive
	}
	// SQLite does not read a plus sign as a space.
	name := url.URL{Scheme: "file", Path: path, RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20")}
	return name.String()
}
