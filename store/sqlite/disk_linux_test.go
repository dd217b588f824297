package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testneed"
	"github.com/onceward/onceward/store/sqlite"
)

// A real disk that is full: the driver's own file layer takes it for one that
// fails, so that a refused claim would be one that may be recorded.
func TestClaimOnARealFullDiskIsRefusedAndNotRecorded(t *testing.T) {
	t.Parallel()
	dir := testneed.SmallDisk(t, 2<<20)
	s := open(t, filepath.Join(dir, "ledger.db"), sqlite.Options{})
	first := claim("first")
	apply(t, s, onceward.Change{After: first})
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	big := claim("second")
	big.Input = make([]byte, 256<<10) // more than what is left in the log's last page
	_, err := s.Commit(t.Context(), []onceward.Change{{After: big}})
	wantCode(t, "a commit on a full disk", err, onceward.CodeLedgerUnavailable)
	if has(t, s, big) || !has(t, s, first) {
		t.Error("a commit that was refused is stored, or an earlier one is lost")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	apply(t, s, onceward.Change{After: big})
}

// Root may write whatever the mode of a file says, but not on such a disk; for
// any other account the mode is enough.
func TestAFileThatMayOnlyBeReadIsRefusedAsReadOnly(t *testing.T) {
	t.Parallel()
	root := os.Geteuid() == 0
	dir := ""
	if root {
		dir = testneed.SmallDisk(t, 2<<20)
	} else {
		dir = t.TempDir()
	}
	path := filepath.Join(dir, "ledger.db")
	if err := open(t, path, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if root {
		testneed.MakeReadOnly(t, dir)
	} else if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	refused(t, path, sqlite.Options{}, onceward.CodeLedgerReadOnly, "cannot be written")
}
