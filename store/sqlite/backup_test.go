package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

func openAt(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// commitNumbered claims operations one after another, each by its number.
func commitNumbered(t testing.TB, s *sqlite.Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := s.Commit(t.Context(), []onceward.Change{{After: claim("n" + strconv.Itoa(i))}}); err != nil {
			t.Error(err)
			return
		}
	}
}

// held is which of the numbered operations a ledger has: all below a number, and
// none from it on.
func held(t testing.TB, s *sqlite.Store, most int) int {
	t.Helper()
	n := 0
	for i := range most {
		op, err := s.Load(t.Context(), []onceward.OperationID{onceward.NewOperationID("default", "tickets.create", onceward.Key("n"+strconv.Itoa(i)))})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case op[0] != nil && n != i:
			t.Fatalf("operation %d is there, and %d is not", i, n)
		case op[0] != nil:
			n++
		}
	}
	return n
}

func TestBackupBesideWritersIsTheLedgerAsItWasAtOneMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "ledger.db"))
	const before, all = 300, 600
	commitNumbered(t, s, 0, before)
	var writers sync.WaitGroup
	writers.Go(func() { commitNumbered(t, s, before, all) })
	backup := filepath.Join(dir, "backup.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	restored := filepath.Join(dir, "restored.db")
	if err := sqlite.Restore(t.Context(), backup, restored, nil); err != nil {
		t.Fatal(err)
	}
	n := held(t, openAt(t, restored), all)
	if n < before || n > all {
		t.Errorf("the backup has %d operations; %d were there before it, and %d after", n, before, all)
	}
	if got := held(t, s, all); got != all {
		t.Errorf("the ledger has %d operations after its backup, want %d", got, all)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.part*"))
	if err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup's mode is %v, %v: nobody else may read it", info.Mode(), err)
	}
}

func TestBackupAndRestoreOverwriteNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "ledger.db"))
	commitNumbered(t, s, 0, 3)
	backup := filepath.Join(dir, "backup.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a second backup to the same file", s.Backup(t.Context(), backup), onceward.CodeConfigInvalid)
	wantCode(t, "a restore over the ledger", sqlite.Restore(t.Context(), backup, filepath.Join(dir, "ledger.db"), nil), onceward.CodeConfigInvalid)
	beside := filepath.Join(dir, "lost.db")
	if err := os.WriteFile(beside+"-wal", []byte("what was not copied yet"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a restore beside an old WAL", sqlite.Restore(t.Context(), backup, beside, nil), onceward.CodeConfigInvalid)
	if held(t, s, 3) != 3 {
		t.Error("the ledger was changed")
	}
}

func TestBrokenBackupIsNotRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "ledger.db"))
	commitNumbered(t, s, 0, 200)
	whole := filepath.Join(dir, "whole.db")
	if err := s.Backup(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for what, broken := range map[string][]byte{
		"cut":       data[:len(data)/2],
		"empty":     nil,
		"no ledger": []byte("this is a letter, and it is longer than a hundred bytes so that SQLite reads all of a header that is none of its own"),
		"torn":      append(append(append([]byte{}, data[:len(data)/3]...), make([]byte, 8192)...), data[len(data)/3+8192:]...),
	} {
		file, to := filepath.Join(dir, what), filepath.Join(dir, what+".db")
		if err := os.WriteFile(file, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := sqlite.Restore(t.Context(), file, to, nil); err == nil {
			t.Errorf("a file that is %s was restored", what)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("something stands where a file that is %s was to be restored", what)
		}
	}
	refused := onceward.Errorf(onceward.CodeLedgerCorrupt, "its trail is broken")
	err = sqlite.Restore(t.Context(), whole, filepath.Join(dir, "refused.db"), func(*sqlite.Store) error { return refused })
	wantCode(t, "a copy that its judge refuses", err, onceward.CodeLedgerCorrupt)
	if left, _ := filepath.Glob(filepath.Join(dir, "refused.db*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBackupThatIsCalledOffLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "ledger.db"))
	commitNumbered(t, s, 0, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, "a backup that is called off", s.Backup(ctx, filepath.Join(dir, "backup.db")), onceward.CodeCanceled)
	if left, _ := filepath.Glob(filepath.Join(dir, "backup.db*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
