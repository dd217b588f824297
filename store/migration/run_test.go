package migration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/migration"
)

func files(named ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for _, name := range named {
		fsys[name] = &fstest.MapFile{Data: []byte("-- " + name + "\n")}
	}
	return fsys
}

func steps(t *testing.T, named ...string) []migration.Step {
	t.Helper()
	s, err := migration.Read(files(named...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// database records what is run on it.
type database struct {
	state migration.State
	fail  int // number of the step that fails; 0: none
}

func (d *database) State(context.Context) (migration.State, error) { return d.state, nil }

func (d *database) Apply(_ context.Context, s migration.Step) error {
	if s.Number == d.fail {
		return errors.New("no space left")
	}
	d.state.Applied = append(d.state.Applied, migration.Applied{Number: s.Number, Name: s.Name, Sum: s.Sum})
	return nil
}

func TestNewDatabaseGetsEveryStepOnce(t *testing.T) {
	t.Parallel()
	all := steps(t, "0001_ledger.sql", "0002_more.sql")
	db := &database{}
	for _, want := range []int{2, 0} {
		if n, err := migration.Run(t.Context(), db, all); n != want || err != nil {
			t.Fatalf("Run ran %d steps (%v), want %d", n, err, want)
		}
	}
	if len(db.state.Applied) != 2 || db.state.Applied[1].Name != "more" {
		t.Errorf("the database has %v", db.state.Applied)
	}
}

func TestOldDatabaseGetsWhatItLacks(t *testing.T) {
	t.Parallel()
	db := &database{}
	if _, err := migration.Run(t.Context(), db, steps(t, "0001_ledger.sql")); err != nil {
		t.Fatal(err)
	}
	if n, err := migration.Run(t.Context(), db, steps(t, "0001_ledger.sql", "0002_more.sql")); n != 1 || err != nil {
		t.Errorf("Run ran %d steps (%v), want 1", n, err)
	}
}

func TestStepThatFailsKeepsTheOnesBefore(t *testing.T) {
	t.Parallel()
	all := steps(t, "0001_ledger.sql", "0002_more.sql")
	db := &database{fail: 2}
	n, err := migration.Run(t.Context(), db, all)
	if n != 1 || err == nil || !strings.Contains(err.Error(), "0002_more") {
		t.Fatalf("Run ran %d steps (%v), want 1 and an error that names 0002_more", n, err)
	}
	db.fail = 0
	if n, err := migration.Run(t.Context(), db, all); n != 1 || err != nil {
		t.Errorf("the second Run ran %d steps (%v), want 1", n, err)
	}
}

func TestDatabaseOfANewerReleaseIsTooNew(t *testing.T) {
	t.Parallel()
	db := &database{}
	if _, err := migration.Run(t.Context(), db, steps(t, "0001_ledger.sql", "0002_more.sql")); err != nil {
		t.Fatal(err)
	}
	n, err := migration.Run(t.Context(), db, steps(t, "0001_ledger.sql"))
	if n != 0 || !onceward.Is(err, onceward.CodeLedgerTooNew) || !strings.Contains(err.Error(), "0002_more") {
		t.Errorf("Run ran %d steps (%v), want ledger_too_new that names 0002_more", n, err)
	}
}

// A release finds a database that the next one only expanded, as in the middle of
// an upgrade: it serves, and changes nothing.
func TestDatabaseThatANewerReleaseOnlyExpandedIsServed(t *testing.T) {
	t.Parallel()
	old := steps(t, "0001_ledger.sql")
	db := &database{}
	if _, err := migration.Run(t.Context(), db, steps(t, "0001_ledger.sql", "0002_expand_more.sql")); err != nil {
		t.Fatal(err)
	}
	if n, err := migration.Run(t.Context(), db, old); n != 0 || err != nil {
		t.Errorf("Run ran %d steps (%v), want none", n, err)
	}
	if _, err := migration.Run(t.Context(), db, steps(t, "0001_ledger.sql", "0002_expand_more.sql", "0003_less.sql")); err != nil {
		t.Fatal(err)
	}
	if _, err := migration.Run(t.Context(), db, old); !onceward.Is(err, onceward.CodeLedgerTooNew) || !strings.Contains(err.Error(), "0003_less") {
		t.Errorf("Run gives %v, want ledger_too_new that names 0003_less", err)
	}
}

func TestDatabaseOfOtherStepsIsForeign(t *testing.T) {
	t.Parallel()
	db := &database{}
	if _, err := migration.Run(t.Context(), db, steps(t, "0001_ledger.sql")); err != nil {
		t.Fatal(err)
	}
	changed := files("0001_ledger.sql", "0002_more.sql")
	changed["0001_ledger.sql"].Data = []byte("-- something else")
	other, err := migration.Read(changed)
	if err != nil {
		t.Fatal(err)
	}
	n, err := migration.Run(t.Context(), db, other)
	if n != 0 || !onceward.Is(err, onceward.CodeLedgerForeign) || !strings.Contains(err.Error(), "0001_ledger") {
		t.Errorf("Run ran %d steps (%v), want ledger_foreign that names 0001_ledger", n, err)
	}
}

func TestDatabaseOfAnotherApplicationIsForeign(t *testing.T) {
	t.Parallel()
	db := &database{state: migration.State{Foreign: "it has a table customers"}}
	n, err := migration.Run(t.Context(), db, steps(t, "0001_ledger.sql"))
	if n != 0 || !onceward.Is(err, onceward.CodeLedgerForeign) || !strings.Contains(err.Error(), "customers") {
		t.Errorf("Run ran %d steps (%v), want ledger_foreign that names the table", n, err)
	}
	if len(db.state.Applied) != 0 {
		t.Error("a foreign database was changed")
	}
}

func TestFilesThatAreNoStepsAreRefused(t *testing.T) {
	t.Parallel()
	for name, named := range map[string][]string{
		"no number": {"ledger.sql"}, "a gap": {"0001_a.sql", "0003_b.sql"}, "twice": {"0001_a.sql", "0001_b.sql"},
		"no first": {"0002_a.sql"}, "another suffix": {"0001_a.txt"}, "capitals": {"0001_A.sql"},
	} {
		if _, err := migration.Read(files(named...)); !onceward.Is(err, onceward.CodeInternal) {
			t.Errorf("%s: Read gives %v, want an error", name, err)
		}
	}
}

func TestChecksumDoesNotDependOnLineEnds(t *testing.T) {
	t.Parallel()
	read := func(text string) migration.Step {
		s, err := migration.Read(fstest.MapFS{"0001_a.sql": &fstest.MapFile{Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return s[0]
	}
	if read("a;\r\nb;\r\n") != read("a;\nb;\n") {
		t.Error("a check-out with other line ends is another migration")
	}
}
