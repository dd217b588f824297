package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

// apply commits changes that must apply.
func apply(t testing.TB, s *sqlite.Store, batch ...onceward.Change) {
	t.Helper()
	c, err := s.Commit(t.Context(), batch)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	for i, r := range c.Results {
		if !r.Applied {
			t.Fatalf("change %d was not applied: %+v", i, r)
		}
	}
}

// has reports whether the operation is stored at this version.
func has(t testing.TB, s *sqlite.Store, op onceward.Operation) bool {
	t.Helper()
	ops, err := s.Load(t.Context(), []onceward.OperationID{op.ID})
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return ops[0] != nil && ops[0].Version == op.Version && ops[0].Token == op.Token
}

func TestLoneClaimAndOutcomeAreTwoSyncs(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	s := open(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{}.On(d.name))
	warm := claim("warm")
	apply(t, s, onceward.Change{After: warm})
	before := d.syncCount()
	for i := range 10 {
		op := claim(fmt.Sprint(i))
		apply(t, s, onceward.Change{After: op})
		apply(t, s, onceward.Change{Before: 1, After: done(op)})
	}
	if got := d.syncCount() - before; got != 20 {
		t.Errorf("ten operations took %d syncs, want 20: one for each claim and one for each outcome", got)
	}
	before = d.syncCount()
	if _, err := s.Commit(t.Context(), []onceward.Change{{After: claim("warm")}}); err != nil {
		t.Fatal(err)
	}
	has(t, s, warm)
	if got := d.syncCount() - before; got != 0 {
		t.Errorf("a duplicate and a read took %d syncs, want none", got)
	}
}

func TestAcknowledgedCommitSurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := open(t, path, sqlite.Options{}.On(d.name))
	for i := range 5 {
		op := claim(fmt.Sprint(i))
		apply(t, s, onceward.Change{After: op})
		if left := open(t, d.afterPowerCut(t, path), sqlite.Options{}); !has(t, left, op) {
			t.Fatalf("claim %d was acknowledged and is lost", i)
		}
		end := done(op)
		apply(t, s, onceward.Change{Before: 1, After: end})
		if left := open(t, d.afterPowerCut(t, path), sqlite.Options{}); !has(t, left, end) {
			t.Fatalf("outcome %d was acknowledged and is lost", i)
		}
	}
}

func TestFullDiskRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	s := open(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{}.On(d.name))
	first, second := claim("first"), claim("second")
	apply(t, s, onceward.Change{After: first})
	d.set(func(d *disk) { d.write = sqlite3.FULL })
	_, err := s.Commit(t.Context(), []onceward.Change{{After: second}})
	wantCode(t, "a commit on a full disk", err, onceward.CodeLedgerUnavailable)
	wantCode(t, "a check on a full disk", s.Check(t.Context()), onceward.CodeLedgerUnavailable)
	if has(t, s, second) || !has(t, s, first) {
		t.Error("a commit that was refused is stored, or an earlier one is lost")
	}
	d.set(func(d *disk) { d.write = nil })
	apply(t, s, onceward.Change{After: second})
}

func TestDiskThatFailsAtCommitMayHaveRecorded(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := open(t, path, sqlite.Options{}.On(d.name))
	apply(t, s, onceward.Change{After: claim("first")})
	op := claim("k")
	batch := []onceward.Change{{After: op}}
	d.set(func(d *disk) { d.sync = sqlite3.IOERR_FSYNC })
	_, err := s.Commit(t.Context(), batch)
	wantCode(t, "a commit whose sync fails", err, onceward.CodeMayBeRecorded)
	d.set(func(d *disk) { d.sync = nil })
	apply(t, s, batch...) // the same batch again
	if left := open(t, d.afterPowerCut(t, path), sqlite.Options{}); !has(t, left, op) {
		t.Error("the batch that was run again is not on the disk")
	}
	if n := len(sqlite.Journal(t, s)); n != 2 {
		t.Errorf("the journal has %d rows, want 2", n)
	}
}

func TestBatchFoundAppliedIsSyncedBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	s := open(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{}.On(d.name))
	batch := []onceward.Change{{After: claim("k")}}
	apply(t, s, batch...)
	before := d.syncCount()
	apply(t, s, batch...)
	if got := d.syncCount() - before; got != 1 {
		t.Errorf("a batch that is run again takes %d syncs, want 1", got)
	}
}

func TestFileGoneReadOnlyIsNamed(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	s := open(t, filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{}.On(d.name))
	d.set(func(d *disk) { d.write = sqlite3.READONLY })
	_, err := s.Commit(t.Context(), []onceward.Change{{After: claim("k")}})
	wantCode(t, "a commit on a disk gone read-only", err, onceward.CodeLedgerReadOnly)
	d.set(func(d *disk) { d.write = nil })
}
