package testdb

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/freeport"
	"github.com/onceward/onceward/internal/testneed"
)

// BouncerProgram is where PgBouncer is. Without it the test ends as [testneed]
// has it; one whose parts share a pooler asks for it before them.
func BouncerProgram(tb testing.TB) string {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // not in everybody's PATH on Debian
		if _, err := os.Stat(program); err != nil {
			testneed.Missing(tb, "no PgBouncer (Debian: apt-get install pgbouncer)")
		}
	}
	return program
}

// Bouncer starts a PgBouncer that hands each transaction to any of its few
// connections (pool_mode=transaction) before the database of a DSN that Postgres
// returned, and returns the DSN that leads through it. It ends with the test.
func Bouncer(tb testing.TB, dsn string) string {
	tb.Helper()
	program := BouncerProgram(tb)
	direct, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	port, err := freeport.Find(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	as, err := serverAccount()
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "onceward-bouncer-") // the test's own folder is closed to the account
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	ini := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(ini, bouncerConfig(direct, port), 0o600); err != nil {
		tb.Fatal(err)
	}
	for _, path := range []string{dir, ini} {
		if err := giveTo(path, as); err != nil {
			tb.Fatal(err)
		}
	}
	cmd := exec.CommandContext(context.Background(), program, ini)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	isolate(cmd, as)
	p, err := startProcess(cmd)
	if err != nil {
		tb.Fatalf("start PgBouncer: %v", err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
		if tb.Failed() {
			tb.Logf("PgBouncer said: %s", &said)
		}
	})
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	awaitListener(tb, p, address)
	through := url.URL{Scheme: "postgres", User: direct.User, Host: address, Path: "/ledger", RawQuery: "sslmode=disable"}
	return through.String()
}

// bouncerConfig serves one database under the name ledger. Why connect_query:
// PgBouncer passes no search_path on.
func bouncerConfig(direct *url.URL, port int) []byte {
	password, _ := direct.User.Password()
	return fmt.Appendf(nil, `[databases]
ledger = host=%s port=%s dbname=%s user=%s password=%s connect_query='set search_path to %s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
`, direct.Hostname(), direct.Port(), filepath.Base(direct.Path), direct.User.Username(), password, direct.Query().Get("search_path"), port)
}

// awaitListener waits until somebody listens at an address, or the process ends.
func awaitListener(tb testing.TB, p *process, address string) {
	tb.Helper()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for until := time.Now().Add(startWait); ; {
		if c, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-p.done:
			tb.Fatalf("PgBouncer ended while starting: %v", p.err)
		case <-tick.C:
		}
		if time.Now().After(until) {
			tb.Fatal("PgBouncer does not listen")
		}
	}
}
