package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/store/sqlite"
)

// envWriter makes this test program a process that writes into the ledger in
// its value, "path name", and prints each key after its commit.
const envWriter = "ONCEWARD_TEST_SQLITE_WRITER"

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(envWriter); ok {
		path, name, _ := strings.Cut(args, " ")
		if err := writeForEver(context.Background(), path, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writeForEver claims and ends operations until it is killed, or its output is
// closed.
func writeForEver(ctx context.Context, path, name string) error {
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		op := claim(fmt.Sprintf("%s-%d", name, i))
		for _, c := range []onceward.Change{{After: op}, {Before: 1, After: done(op)}} {
			r, err := s.Commit(ctx, []onceward.Change{c})
			if err != nil || !r.Results[0].Applied {
				return fmt.Errorf("change of %s: %+v: %w", op.Key, r, err)
			}
			if _, err := fmt.Println(op.Key, c.After.Version); err != nil {
				return err
			}
		}
	}
}

// writer is a process that writes.
type writer struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	acked map[string]int64 // the version that was acknowledged for each key
}

func startWriter(t *testing.T, path, name string) *writer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envWriter+"="+path+" "+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &writer{cmd: cmd, lines: bufio.NewScanner(out), acked: map[string]int64{}}
}

// read reads n more acknowledgements, or what is left of them if n is negative.
func (w *writer) read(t *testing.T, n int) {
	t.Helper()
	for ; n != 0 && w.lines.Scan(); n-- {
		var key string
		var version int64
		if _, err := fmt.Sscan(w.lines.Text(), &key, &version); err != nil {
			t.Fatalf("a line %q: %v", w.lines.Text(), err)
		}
		w.acked[key] = version
	}
	if n > 0 {
		t.Fatalf("the writer ended by itself, %d acknowledgements early", n)
	}
}

// kill ends the process where it stands, and reads what it still said.
func (w *writer) kill(t *testing.T) {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	w.read(t, -1)
	var exit *exec.ExitError
	if err := w.cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the writer ended with %v, want that it was killed", err)
	}
}

// check fails the test unless everything that was acknowledged is stored.
func (w *writer) check(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for key, version := range w.acked {
		op := claim(key)
		ops, err := s.Load(t.Context(), []onceward.OperationID{op.ID})
		if err != nil {
			t.Fatal(err)
		}
		if ops[0] == nil || ops[0].Version < version {
			t.Fatalf("version %d of %s was acknowledged, and %+v is stored", version, key, ops[0])
		}
	}
}

func TestProcessKilledWhileWritingLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	for round := range 3 {
		w := startWriter(t, path, fmt.Sprintf("round%d", round))
		w.read(t, 30+round*17)
		w.kill(t)
		s := open(t, path, sqlite.Options{})
		w.check(t, s)
		apply(t, s, onceward.Change{After: claim(fmt.Sprintf("after%d", round))})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProcessesShareOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	var writers []*writer
	for i := range 3 { // they make the ledger at once, too
		writers = append(writers, startWriter(t, path, fmt.Sprintf("process%d", i)))
	}
	for range 5 {
		for _, w := range writers {
			w.read(t, 6)
		}
	}
	writers[0].kill(t) // the others go on
	for _, w := range writers[1:] {
		w.read(t, 20)
	}
	s := open(t, path, sqlite.Options{})
	apply(t, s, onceward.Change{After: claim("beside them")})
	for _, w := range writers[1:] {
		w.kill(t)
	}
	for _, w := range writers {
		w.check(t, s)
	}
}

func TestProcessAmongOthersSeesTheOnlyWinner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	w := startWriter(t, path, "key")
	w.read(t, 10)
	s := open(t, path, sqlite.Options{})
	c, err := s.Commit(t.Context(), []onceward.Change{{After: claim("key-0")}})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Results[0]; r.Applied || r.Stored == nil || r.Stored.State != onceward.StateSucceeded {
		t.Errorf("a claim of another process's key gives %+v, want its end", r)
	}
	w.kill(t)
}
