//go:build upgrade

package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/proctest"
)

// before builds the program of the version before this one, whose commit
// testdata/before names, out of the history of this clone.
func before(t *testing.T) string {
	t.Helper()
	commit, err := os.ReadFile("testdata/before")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(in []byte, name string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Stdin, cmd.Env = bytes.NewReader(in), append(os.Environ(), "CGO_ENABLED=0")
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, &said)
		}
		return out.Bytes()
	}
	archive := run(nil, "git", "-C", "../..", "archive", "--format=tar", strings.TrimSpace(string(commit)))
	run(archive, "tar", "-x", "-C", dir)
	bin := filepath.Join(dir, "onceward-before")
	run(nil, "go", "build", "-C", dir, "-trimpath", "-o", bin, "./cmd/onceward") // trimpath: from the cache, wherever the folder is
	return bin
}

// upgrade is two replicas on one PostgreSQL under load, exchanged one after the
// other as a load balancer sees it.
type upgrade struct {
	*storm
	next    atomic.Int64 // the number of the next write
	callers sync.WaitGroup
	stop    context.CancelFunc
	told    sync.Map     // what callers were told beside operations: *atomic.Int64 by word
	drains  atomic.Int64 // replicas that drain now
}

// upgradePhase is how long each pair of versions works under load.
const upgradePhase = 4 * time.Second

func (u *upgrade) count(word string) {
	n, _ := u.told.LoadOrStore(word, &atomic.Int64{})
	n.(*atomic.Int64).Add(1)
}

// load has callers deliver every write at least twice, until stop.
func (u *upgrade) load(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	u.stop = cancel
	for range 8 {
		u.callers.Go(func() {
			for ctx.Err() == nil {
				n := int(u.next.Add(1) - 1)
				w := writesOf(n / 5)[n%5]
				u.ask(t, w, n)
				u.ask(t, w, n+1)
			}
		})
	}
}

// ask asks as a caller behind a load balancer does: whoever refuses the
// connection, or says that it goes away, is passed by.
func (u *upgrade) ask(t *testing.T, w write, at int) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); at++ {
		acknowledged := u.acknowledged(w)
		drains := u.drains.Load()
		a, err := u.servers[at%len(u.servers)].Call(t.Context(), w.tool, w.input, time.Second)
		var dial *net.OpError
		switch {
		case errors.As(err, &dial) && dial.Op == "dial":
			u.count("connection refused")
		case err != nil:
			u.count("connection closed")
		case a.Status == http.StatusServiceUnavailable:
			u.count("503 " + a.Code)
			if drains == 0 && u.drains.Load() == 0 || a.Code != string(onceward.CodeOverloaded) {
				t.Errorf("%s: %d %s %s, while nobody drains", w.reference, a.Status, a.Code, a.Detail)
				return
			}
		case a.Status != http.StatusOK && a.Status != http.StatusAccepted && a.Status != http.StatusFailedDependency:
			t.Errorf("%s %s: %d %s %s", w.tool, w.reference, a.Status, a.Code, a.Detail)
			return
		default:
			u.count("answered")
			if a.Operation.Final() {
				u.keep(w, a, acknowledged)
				return
			}
		}
		pause(t, 10*time.Millisecond)
	}
	t.Errorf("%s does not end", w.reference)
}

// exchange takes a replica out, lets it drain, and starts a program in its place.
func (u *upgrade) exchange(t *testing.T, i int, program string) {
	t.Helper()
	s := u.servers[i]
	u.drains.Add(1)
	began := time.Now()
	drained := s.Drain()
	u.drains.Add(-1)
	s.Program = program
	s.Start("")
	t.Logf("replica %d drained in %s; its place was empty for %s", i, drained.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// Two replicas of the version before are exchanged for this one, one after the
// other, while callers repeat themselves and the
// provider loses answers: nothing is lost, nothing doubled, and nobody is told of
// an error.
func TestRollingUpgradeAcrossOneVersionLosesAndDoublesNothing(t *testing.T) {
	old, dsn := before(t), onePostgres(t)
	u := &upgrade{storm: &storm{t: t, provider: proctest.NewProvider(t), seed: uint64(time.Now().UnixNano()), last: map[string]proctest.Operation{}}}
	proctest.Binary(t)
	u.faults()
	for i := range 2 {
		s := simServer(t, dsn(i), u.provider)
		s.Program = old
		s.Start("")
		u.servers = append(u.servers, s)
	}
	u.load(t)
	phase := func(name string) {
		from := u.next.Load()
		pause(t, upgradePhase)
		t.Logf("%s: %d new intentions", name, u.next.Load()-from)
	}
	phase("old and old")
	u.exchange(t, 0, "") // it migrates the ledger under the other
	phase("new and old")
	u.exchange(t, 1, "")
	phase("new and new")
	u.stop()
	u.callers.Wait()
	u.keys = int(u.next.Load()) / 5
	u.judge()
	u.repeated(t)
	u.told.Range(func(word, n any) bool { t.Logf("%s: %d", word, n.(*atomic.Int64).Load()); return true })
}

// repeated asks for everything once more: all is known.
func (u *upgrade) repeated(t *testing.T) {
	t.Helper()
	for i := range u.keys {
		for _, w := range writesOf(i) {
			a, err := u.servers[i%len(u.servers)].Call(t.Context(), w.tool, w.input, time.Second)
			if err != nil || a.Decision == "fresh" || a.Operation.ID != u.acknowledged(w).ID {
				t.Errorf("%s is answered %+v, %v", w.reference, a, err)
			}
		}
	}
}
