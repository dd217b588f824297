package testneed

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// SmallDisk returns a folder that is a disk of its own, of that many bytes in
// memory; it goes when the test ends. Mounting needs the rights of root.
func SmallDisk(tb testing.TB, bytes int) string {
	tb.Helper()
	dir := tb.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", bytes))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		Missing(tb, fmt.Sprintf("this account may not mount a small disk (%v): run the test as root", err))
	}
	if err != nil {
		tb.Fatalf("mount a small disk: %v", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			tb.Errorf("unmount the small disk: %v", err)
		}
	})
	return dir
}

// MakeReadOnly turns a disk of SmallDisk into one that can only be read.
func MakeReadOnly(tb testing.TB, dir string) {
	tb.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		tb.Fatalf("make the small disk read-only: %v", err)
	}
}
