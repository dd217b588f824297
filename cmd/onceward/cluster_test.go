//go:build cluster

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
)

// launched starts a program of the recipe, whose output is told if the test fails,
// as the database's account where the test is root; all that it starts ends with
// the test.
func launched(t *testing.T, unprivileged bool, name string, args ...string) *exec.Cmd {
	t.Helper()
	if unprivileged && os.Getuid() == 0 {
		name, args = "setpriv", append([]string{"--reuid=postgres", "--regid=postgres", "--init-groups", name}, args...)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v (Debian: apt-get install haproxy patroni etcd-server)", err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), path, args...) // Cleanup ends it
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Dir = "/"
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killedWhole(cmd)
		if said, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("what %s said:\n%s", filepath.Base(name), said[max(0, len(said)-6<<10):])
		}
	})
	return cmd
}

// killedWhole kills a program and all that it started.
func killedWhole(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

// recipe writes a file of the recipe with other addresses, where every account
// can read it.
func recipe(t *testing.T, dir, name string, other ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(other); i += 2 {
		if !strings.Contains(string(text), other[i]) {
			t.Fatalf("%s has no %s", name, other[i])
		}
	}
	file := filepath.Join(dir, fmt.Sprintf("%d-%s", len(other)+rand.IntN(1<<30), filepath.Base(name)))
	if err := os.WriteFile(file, []byte(strings.NewReplacer(other...).Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func answers(t *testing.T, url string) bool {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// scaled is the recipe of docs/operating/scale.md: HAProxy before two replicas, and
// before two PostgreSQL under Patroni, of which one follows synchronously.
type scaled struct {
	*storm
	dir      string
	rest     [2]string    // the addresses at which Patroni says who is primary
	database [2]*exec.Cmd // Patroni with its PostgreSQL
	replicas []*proctest.Server
}

func newScaled(t *testing.T) *scaled {
	proctest.Binary(t)
	dir, err := os.MkdirTemp("", "onceward-scale-") // why not the test's: its parent is closed to the database's account
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s := &scaled{dir: dir, storm: &storm{t: t, provider: proctest.NewProvider(t), seed: uint64(time.Now().UnixNano()), keys: outageKeys, last: map[string]proctest.Operation{}}}
	etcd, peer := proctest.FreeAddress(t), proctest.FreeAddress(t)
	launched(t, true, "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", "http://"+etcd, "--advertise-client-urls", "http://"+etcd,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)
	becomes(t, "etcd is healthy", time.Minute, func() bool { return answers(t, "http://"+etcd+"/health") })
	sql := [2]string{proctest.FreeAddress(t), proctest.FreeAddress(t)}
	for i := range s.database {
		s.rest[i] = proctest.FreeAddress(t)
		file := recipe(t, dir, "patroni/patroni.yaml", "database-1", fmt.Sprintf("database-%d", i+1), "10.0.0.21:8008", s.rest[i], "10.0.0.21:5432", sql[i],
			"10.0.0.31:2379", etcd, "10.0.0.0/24", "127.0.0.1/32", "/var/lib/postgresql/15/onceward", filepath.Join(dir, fmt.Sprint("data", i)), "/usr/lib/postgresql/15/bin", testdb.Folder(t), "/var/lib/postgresql/onceward.pgpass", filepath.Join(dir, fmt.Sprint("pgpass", i)), "CHANGE-ME", "secret")
		t.Cleanup(func() { killPostgres(t, filepath.Join(dir, fmt.Sprint("data", i))) }) // once its Patroni is gone
		s.database[i] = launched(t, true, "patroni", file)
		becomes(t, "Patroni has made the database", 3*time.Minute, func() bool {
			return answers(t, "http://"+s.rest[0]+"/primary") && (i == 0 || answers(t, "http://"+s.rest[1]+"/synchronous"))
		})
	}
	front, primary := proctest.FreeAddress(t), proctest.FreeAddress(t)
	dsn := "postgres://postgres:secret@" + primary + "/postgres?sslmode=disable"
	for range 2 {
		s.replicas = append(s.replicas, simServer(t, dsn, s.provider, "ONCEWARD_HOSTS="+front))
	}
	checks := func(i int) string { _, port, _ := net.SplitHostPort(s.rest[i]); return port }
	launched(t, false, "haproxy", "-db", "-f", recipe(t, dir, "haproxy/haproxy.cfg", "10.0.0.10:8686", front, "10.0.0.10:5432", primary, "onceward.example", front,
		"10.0.0.11:8686", s.replicas[0].Listen, "10.0.0.12:8686", s.replicas[1].Listen,
		"10.0.0.21:5432 check port 8008", sql[0]+" check port "+checks(0), "10.0.0.22:5432 check port 8008", sql[1]+" check port "+checks(1)))
	for _, r := range s.replicas {
		becomes(t, "a replica reaches the primary", time.Minute, func() bool { return r.TryStart("") == nil })
	}
	balanced := proctest.NewServer(t, "", nil)
	balanced.Listen = front
	s.servers = []*proctest.Server{balanced}
	becomes(t, "the load balancer has a replica", time.Minute, func() bool { return answers(t, balanced.URL()+"/readyz") })
	return s
}

// The primary of the recipe dies under load, with Patroni beside it: the standby
// that has every commit takes its place, and nothing is lost or doubled. Nobody does
// anything to the replicas.
func TestPrimaryThatDiesUnderPatroniLosesAndDoublesNothing(t *testing.T) {
	s := newScaled(t)
	s.faults()
	died := false
	s.run(3, func(t *testing.T, _ *rand.Rand, _ *proctest.Server) error {
		pause(t, time.Second) // load before and after
		if died {
			return nil
		}
		died = true
		began := time.Now()
		killedWhole(s.database[0])
		killPostgres(t, filepath.Join(s.dir, "data0"))
		becomes(t, "the standby is promoted", time.Minute, func() bool { return answers(t, "http://"+s.rest[1]+"/primary") })
		t.Logf("the standby was primary %s after the primary's death", time.Since(began).Round(100*time.Millisecond))
		return nil
	})
	s.drained(t)
}

// killPostgres kills the server of a data folder: Patroni starts it in a session of
// its own.
func killPostgres(t *testing.T, data string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return // it went with Patroni
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// drained exchanges each replica behind the load balancer under load: no caller
// sees an error.
func (s *scaled) drained(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.provider.ClearFaults()
	var asked, next atomic.Int64
	done := make(chan struct{}, 8)
	for range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				w := writesOf(1000 + int(next.Add(1)))[0]
				a, err := s.servers[0].Call(t.Context(), w.tool, w.input, 10*time.Second)
				if err != nil || a.Status != http.StatusOK && a.Status != http.StatusAccepted {
					t.Errorf("%s: %d %s, %v", w.reference, a.Status, a.Code, err)
				}
				asked.Add(1)
			}
		}()
	}
	for _, r := range s.replicas {
		pause(t, 2*time.Second)
		r.Drain()
		r.Start("")
		becomes(t, "the load balancer has it again", time.Minute, func() bool { return answers(t, r.URL()+"/readyz") })
		pause(t, 3*time.Second) // it has to be seen up before the other goes
	}
	cancel()
	for range 8 {
		<-done
	}
	for n := range next.Load() {
		w := writesOf(1001 + int(n))[0]
		if e := s.provider.Effects(w.reference).Count; e != 1 {
			t.Errorf("%s has %d effects", w.reference, e)
		}
	}
	t.Logf("%d requests while each replica was exchanged, none refused", asked.Load())
}
