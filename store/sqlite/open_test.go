package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testneed"
	"github.com/onceward/onceward/store/sqlite"
)

// refused opens a file that must not open, and checks code and advice.
func refused(t *testing.T, path string, opts sqlite.Options, code onceward.Code, says string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts)
	if err == nil {
		_ = s.Close()
		t.Fatalf("it opens, want %q", code)
	}
	wantCode(t, "Open", err, code)
	if !strings.Contains(err.Error(), says) {
		t.Errorf("the error %q does not say %q", err, says)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is more than one line: %q", err)
	}
	var e *onceward.Error
	if !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("the error %v says nothing on what to do", err)
	}
}

// foreign makes an SQLite file of another application.
func foreign(t *testing.T, sql string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.db")
	raw(t, path, sql)
	return path
}

// raw runs SQL on a file past the store.
func raw(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec(sql), c.Close()); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// untouched runs fn and checks that the file is the same after it.
func untouched(t *testing.T, path string, fn func()) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fn()
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a file that was refused has changed (%v)", err)
	}
	files, err := filepath.Glob(path + "-*")
	if err != nil || len(files) > 0 {
		t.Errorf("beside a file that was refused lie %v (%v)", files, err)
	}
}

func TestALedgerWithoutAPathIsRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", ":memory:"} {
		refused(t, path, sqlite.Options{}, onceward.CodeConfigInvalid, "no path")
	}
}

func TestAFolderIsRefusedAsALedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused(t, dir, sqlite.Options{}, onceward.CodeConfigInvalid, dir+" is a folder")
}

func TestALedgerInNoFolderIsRefusedAndMakesNone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "absent")
	refused(t, filepath.Join(dir, "ledger.db"), sqlite.Options{}, onceward.CodeLedgerUnavailable, "no folder "+dir)
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was made")
	}
}

func TestALedgerBelowAFileIsRefused(t *testing.T) {
	t.Parallel()
	path := foreign(t, "CREATE TABLE customers (id)")
	refused(t, filepath.Join(path, "ledger.db"), sqlite.Options{}, onceward.CodeLedgerUnavailable, "no folder "+path)
}

func TestAFileOnAReadOnlyDiskIsRefusedAsReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := open(t, path, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	d := newDisk(t)
	d.set(func(d *disk) { d.readOnly = true })
	untouched(t, path, func() {
		refused(t, path, sqlite.Options{}.On(d.name), onceward.CodeLedgerReadOnly, "cannot be written")
	})
}

func TestOpenOfAnotherApplicationsDatabase(t *testing.T) {
	t.Parallel()
	for sql, says := range map[string]string{
		"CREATE TABLE customers (id)":                                                     "a table customers",
		"PRAGMA application_id = 7; CREATE TABLE migrations (number, name, sum)":          "application ID is 0x7",
		"PRAGMA application_id = 1332634469; CREATE TABLE customers (id)":                 "no table migrations",
		"CREATE TABLE migrations (number, name, sum); CREATE TABLE schema_version (x, y)": "a table migrations",
	} {
		path := foreign(t, sql)
		untouched(t, path, func() { refused(t, path, sqlite.Options{}, onceward.CodeLedgerForeign, says) })
	}
}

func TestOpenOfAFileThatIsNoDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, bytes.Repeat([]byte("no database at all\n"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	untouched(t, path, func() { refused(t, path, sqlite.Options{}, onceward.CodeLedgerForeign, "no SQLite database") })
}

func TestOpenOfAnEmptyFileMakesALedger(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	apply(t, open(t, path, sqlite.Options{}), onceward.Change{After: claim("k")})
}

// closedLedger is the path of a ledger that nobody has open.
func closedLedger(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := open(t, path, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenOfALedgerOfANewerRelease(t *testing.T) {
	t.Parallel()
	path := closedLedger(t)
	raw(t, path, "INSERT INTO migrations VALUES (9999, 'of_the_future', x'00', 0)")
	untouched(t, path, func() { refused(t, path, sqlite.Options{}, onceward.CodeLedgerTooNew, "9999_of_the_future") })
}

func TestOpenOfALedgerOfOtherMigrations(t *testing.T) {
	t.Parallel()
	path := closedLedger(t)
	raw(t, path, "UPDATE migrations SET sum = x'00' WHERE number = 1")
	untouched(t, path, func() { refused(t, path, sqlite.Options{}, onceward.CodeLedgerForeign, "other migrations") })
}

func TestOpenWhileAnotherProcessHoldsTheFile(t *testing.T) {
	t.Parallel()
	path := closedLedger(t)
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	refused(t, path, sqlite.Options{LockWait: 20 * time.Millisecond}, onceward.CodeLedgerUnavailable, "lock")
}

func TestWriteWhileAnotherProcessWritesTooLong(t *testing.T) {
	t.Parallel()
	path := closedLedger(t)
	s := open(t, path, sqlite.Options{LockWait: 20 * time.Millisecond})
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Commit(t.Context(), []onceward.Change{{After: claim("k")}})
	wantCode(t, "a commit behind another process", err, onceward.CodeLedgerUnavailable)
	if has(t, s, claim("k")) {
		t.Error("a commit that was refused is stored")
	}
	if err := c.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	apply(t, s, onceward.Change{After: claim("k")})
}

func TestOpenNeedsNoTurnAsTheWriter(t *testing.T) {
	t.Parallel()
	path := closedLedger(t)
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	open(t, path, sqlite.Options{LockWait: 20 * time.Millisecond})
}

func TestRacingOpensOfANewFileMakeOneLedger(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	errs := make(chan error)
	const racers = 8
	for i := range racers {
		go func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				op := claim(string(rune('a' + i)))
				_, err = s.Commit(t.Context(), []onceward.Change{{After: op}})
				err = errors.Join(err, s.Close())
			}
			errs <- err
		}()
	}
	for range racers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	s := open(t, path, sqlite.Options{})
	ops, err := s.List(t.Context(), onceward.Filter{Tenant: "default", Limit: onceward.MaxPage})
	if err != nil || len(ops) != racers {
		t.Errorf("%d operations are stored (%v), want %d", len(ops), err, racers)
	}
}

func TestDamagedRowHarmsNoNeighbour(t *testing.T) {
	t.Parallel()
	path := closedLedger(t)
	s := open(t, path, sqlite.Options{})
	bad, good := claim("bad"), claim("good")
	apply(t, s, onceward.Change{After: bad}, onceward.Change{After: good})
	raw(t, path, "UPDATE operations SET detail = x'00' WHERE key = 'bad'")
	_, err := s.Load(t.Context(), []onceward.OperationID{bad.ID})
	wantCode(t, "a load of the damaged row", err, onceward.CodeLedgerCorrupt)
	c, err := s.Commit(t.Context(), []onceward.Change{{After: claim("bad")}, {Before: 1, After: done(good)}})
	if err != nil || !c.Results[1].Applied {
		t.Fatalf("the neighbour of a damaged row: %+v, %v, want it applied", c.Results, err)
	}
	wantCode(t, "a claim of the damaged row", c.Results[0].Err, onceward.CodeLedgerCorrupt)
}

func TestFileMovedWhileOpenTakesNoMoreWrites(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-wal"} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		s := open(t, path, sqlite.Options{})
		before := claim("before")
		apply(t, s, onceward.Change{After: before})
		if !has(t, s, before) { // opens a connection that reads, too
			t.Fatal("a claim is not stored")
		}
		if err := os.Rename(path+suffix, path+".moved"); err != nil {
			t.Fatal(err)
		}
		_, err := s.Commit(t.Context(), []onceward.Change{{After: claim("after")}})
		wantCode(t, "a commit without "+suffix, err, onceward.CodeLedgerUnavailable)
		wantCode(t, "a check without "+suffix, s.Check(t.Context()), onceward.CodeLedgerUnavailable)
		if has(t, s, claim("after")) {
			t.Error("a commit that was refused is stored")
		}
		if err := os.Rename(path+".moved", path+suffix); err != nil {
			t.Fatal(err)
		}
		apply(t, s, onceward.Change{After: claim("after")})
	}
}

func TestFileReplacedWhileOpenTakesNoMoreWrites(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := open(t, path, sqlite.Options{})
	apply(t, s, onceward.Change{After: claim("k")})
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, path+".moved"+suffix); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Load(t.Context(), []onceward.OperationID{claim("k").ID})
	wantCode(t, "a first look into the file that was moved", err, onceward.CodeLedgerUnavailable)
	if _, err := os.Stat(path); err == nil {
		t.Fatal("the look made a new file")
	}
	other := open(t, path, sqlite.Options{}) // somebody makes a new ledger there
	apply(t, other, onceward.Change{After: claim("k")})
	_, err = s.Commit(t.Context(), []onceward.Change{{After: claim("another")}})
	wantCode(t, "a commit to the file that was moved", err, onceward.CodeLedgerUnavailable)
}

func TestALinkAndItsFileAreOneLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "ledger 100%?&+.db"), filepath.Join(dir, "link.db")
	if err := os.Symlink(real, link); err != nil {
		testneed.Missing(t, fmt.Sprintf("no symbolic links here: %v", err))
	}
	if err := open(t, real, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	s, other := open(t, link, sqlite.Options{}), open(t, real, sqlite.Options{})
	op := claim("k")
	apply(t, s, onceward.Change{After: op})
	if !has(t, other, op) {
		t.Error("what was written through the link is not in the file")
	}
}
