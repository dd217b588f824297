//go:build unix

package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

func TestLedgerIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	apply(t, open(t, path, sqlite.Options{}), onceward.Change{After: claim("k")})
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the mode of %s is %v (%v), want 0600", path+suffix, info.Mode(), err)
		}
	}
}
