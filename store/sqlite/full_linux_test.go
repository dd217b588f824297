package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

// A real disk that is full: the driver's own file layer takes it for one that
// fails, so that a refused claim would be one that may be recorded.
func TestClaimOnARealFullDiskIsRefusedAndNotRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("skipped where this account may not mount a small disk (%v): run it as root", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
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
