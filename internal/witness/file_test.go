package witness

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func open(t testing.TB, path string) *File {
	t.Helper()
	w, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func dispatched(n int) onceward.Dispatched {
	return onceward.Dispatched{Operation: onceward.NewOperationID("default", "t.write", onceward.Key(fmt.Sprint(n))), Generation: 3, Attempt: n, Tool: "t.write", At: time.UnixMicro(int64(n)).UTC()}
}

func numbers(t testing.TB, w *File) map[int]bool {
	t.Helper()
	all, err := w.Seen()
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]bool{}
	for _, d := range all {
		if d != dispatched(d.Attempt) {
			t.Errorf("read back as %+v", d)
		}
		out[d.Attempt] = true
	}
	return out
}

func see(t testing.TB, w *File, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := w.See(dispatched(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewestDispatchesAreThereForTheNextProcessThoughThisOneNeverClosed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "witness")
	see(t, open(t, path), 1, Kept+100)
	next := open(t, path)
	see(t, next, Kept+100, Kept+110)
	got := numbers(t, open(t, path))
	if len(got) != Kept || got[109] || !got[110] || !got[Kept+109] {
		t.Errorf("%d are remembered, want the newest %d: 110 to %d", len(got), Kept, Kept+109)
	}
}

func TestTornRecordIsNoneAndItsNeighboursStay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "witness")
	w := open(t, path)
	see(t, w, 1, 4)
	if _, err := w.file.WriteAt([]byte("torn"), 2*recordBytes+atTool); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, w); len(got) != 2 || !got[1] || !got[3] {
		t.Errorf("remembered are %v", got)
	}
}

func TestProcessesThatShareAWitnessLoseNoNewestDispatch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "witness")
	var all sync.WaitGroup
	files := []*File{open(t, path), open(t, path)}
	for i, w := range files {
		all.Go(func() { see(t, w, 1+i*1000, 100+i*1000) })
	}
	all.Wait()
	for n, w := range files {
		see(t, w, 5000+n, 5001+n)
		if got := numbers(t, files[1-n]); !got[5000+n] {
			t.Errorf("the newest dispatch, of process %d, is not remembered", n)
		}
	}
}

func TestWitnessThatWasMovedAwayLetsNothingPass(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "witness")
	w := open(t, path)
	see(t, w, 1, 2)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	w.tend()
	if err := w.See(dispatched(2)); !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Errorf("a dispatch is noted in a file that nobody will look at: %v", err)
	}
}

func TestWhatIsNoWitnessIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	letter := filepath.Join(dir, "letter")
	if err := os.WriteFile(letter, []byte("dear all"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{letter, dir, filepath.Join(dir, "no", "folder")} {
		if _, err := Open(path); !onceward.Is(err, onceward.CodeConfigInvalid) {
			t.Errorf("%s is opened: %v", path, err)
		}
	}
}

func BenchmarkSee(b *testing.B) {
	w := open(b, filepath.Join(b.TempDir(), "witness"))
	d := dispatched(1)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := w.See(d); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
