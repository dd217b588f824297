package testdb

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// asStarter makes this test binary the process that starts a server and waits
// to be killed.
const asStarter = "TESTDB_AS_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv(asStarter) == "" {
		os.Exit(m.Run())
	}
	server, err := Open(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.proc.pid(), server.dir)
	select {}
}

func TestKilledServerKeepsCommittedWorkAndLosesTheRest(t *testing.T) {
	t.Parallel()
	server := Cluster(t)
	conn := connect(t, server.DSN())
	do(t, conn, "CREATE TABLE note (text text)")
	do(t, conn, "INSERT INTO note VALUES ('committed')")
	open := connect(t, server.DSN())
	do(t, open, "BEGIN")
	do(t, open, "INSERT INTO note VALUES ('open')")
	busy, busyEnded := computeForever(t, server)

	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && !gone(busy) {
		_, _ = killTree(busy) // or it computes for days; the failure is told by the next line
		t.Error("a backend in the middle of its work outlived the kill")
	}
	<-busyEnded
	if _, err := open.Exec(t.Context(), "COMMIT"); err == nil {
		t.Error("a transaction committed on a dead server")
	}
	if _, err := pgx.Connect(t.Context(), server.DSN()); err == nil {
		t.Error("a dead server took a connection")
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var text string
	after := connect(t, server.DSN()) // the same address
	if err := after.QueryRow(t.Context(), "SELECT string_agg(text, ',') FROM note").Scan(&text); err != nil || text != "committed" {
		t.Errorf("after recovery the table holds %q, %v; want the committed row alone", text, err)
	}
	if log := server.logTail(); !strings.Contains(log, "automatic recovery in progress") {
		t.Errorf("the server did not recover, so it was not killed; its log:%s", log)
	}
}

// computeForever keeps a backend of the server busy in such a way that it looks
// up from its work for nothing. It returns the backend's process id, and a
// channel that is closed when its client has seen the end.
func computeForever(t *testing.T, server *Server) (pid int, ended <-chan struct{}) {
	t.Helper()
	conn := connect(t, server.DSN())
	pid = int(conn.PgConn().PID())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := conn.Exec(t.Context(), "SELECT count(*) FROM generate_series(1, 1e12) AS n"); err == nil {
			t.Error("the endless statement ended by itself")
		}
	}()
	watcher := connect(t, server.DSN())
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for count(t, watcher, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active'", pid) == 0 {
		<-tick.C
	}
	return pid, done
}

func TestStoppedServerShutsDownInOrderAndLeavesNothing(t *testing.T) {
	t.Parallel()
	server := Cluster(t, "max_connections=17")
	idle := connect(t, server.DSN())
	var connections string
	if err := idle.QueryRow(t.Context(), "SHOW max_connections").Scan(&connections); err != nil || connections != "17" {
		t.Errorf("max_connections = %q, %v; want the caller's setting, 17", connections, err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if log := server.logTail(); !strings.Contains(log, "database system is shut down") {
		t.Errorf("no orderly shutdown in the log:%s", log)
	}
	for name, again := range map[string]func() error{"Stop": server.Stop, "Kill": server.Kill, "Close": server.Close} {
		if err := again(); err != nil {
			t.Errorf("%s of a stopped server = %v, want nil", name, err)
		}
	}
	if _, err := os.Stat(server.dir); !os.IsNotExist(err) {
		t.Errorf("the folder of a closed server is still there (%v)", err)
	}
}

func TestServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	Installed(t)
	_, err := Open(t.Context(), Options{Settings: []string{"no_such_setting=1"}})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("Open = %v, want the server's own reason", err)
	}
}
