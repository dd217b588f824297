package witness

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward"
)

// FuzzFile holds that no bytes in a witness make its reader panic or take a record
// for one that was not written, and that the next dispatch is noted all the same.
func FuzzFile(f *testing.F) {
	w := open(f, filepath.Join(f.TempDir(), "w"))
	for n := range 3 {
		if err := w.See(dispatched(n)); err != nil {
			f.Fatal(err)
		}
	}
	written, err := os.ReadFile(w.path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(written[:4*recordBytes], 0)
	f.Add([]byte("SQLite format 3"), 300)
	f.Add(bytes.Repeat([]byte{0xff}, recordBytes), fileBytes-recordBytes)
	path := filepath.Join(f.TempDir(), "w")
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		file := make([]byte, fileBytes)
		copy(file[(at&0x7fffffff)%fileBytes:], data)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := Open(path)
		if err != nil {
			if !onceward.Is(err, onceward.CodeConfigInvalid) {
				t.Fatal(err)
			}
			return
		}
		defer func() { _ = w.Close() }()
		if err := w.See(dispatched(7)); err != nil {
			t.Fatal(err)
		}
		all, err := w.Seen()
		if err != nil || len(all) == 0 || len(all) > Kept {
			t.Fatalf("%d dispatches, %v", len(all), err)
		}
	})
}
