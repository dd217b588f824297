package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

func TestABatchReachesTheLogInOneWrite(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	s := open(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{}.On(d.name))
	apply(t, s, onceward.Change{After: claim("warm")})
	before, synced := d.writeCount(), d.syncCount()
	var batch []onceward.Change
	for i := range 64 {
		batch = append(batch, onceward.Change{After: claim(fmt.Sprint(i))})
	}
	apply(t, s, batch...)
	if writes, syncs := d.writeCount()-before, d.syncCount()-synced; writes != 1 || syncs != 1 {
		t.Errorf("a batch took %d writes to the log and %d syncs, want one of each", writes, syncs)
	}
}

// A transaction that does not fit the page cache writes frames before its end,
// and reads some of them back.
func TestABatchLargerThanTheCacheIsStoredWhole(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := open(t, path, sqlite.Options{}.On(d.name))
	var ops []onceward.Operation
	var batch []onceward.Change
	for i := range 48 {
		op := claim(fmt.Sprint(i))
		op.Input = append([]byte(`{"text":"`), make([]byte, 1<<20)...)
		for j := 9; j < len(op.Input); j++ {
			op.Input[j] = 'a' + byte(i%26)
		}
		op.Input = append(op.Input, `"}`...)
		ops, batch = append(ops, op), append(batch, onceward.Change{After: op})
	}
	before := d.writeCount()
	apply(t, s, batch...)
	if writes := d.writeCount() - before; writes < 2 {
		t.Errorf("%d writes to the log: the batch fits the cache, and the test tests nothing", writes)
	}
	left := open(t, d.afterPowerCut(t, path), sqlite.Options{})
	for i, op := range ops {
		if !has(t, left, op) {
			t.Errorf("operation %d is not on the disk", i)
		}
	}
}
