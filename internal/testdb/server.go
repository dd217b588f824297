package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/freeport"
)

// Limits of a server's life.
const (
	// startWait bounds a start, crash recovery included.
	startWait = 60 * time.Second
	// stopWait bounds a fast shutdown; after it the server is killed.
	stopWait = 30 * time.Second
	// killWait bounds how long the kernel may take to end killed processes.
	killWait = 10 * time.Second
	// startTries is how many ports are tried for a new server.
	startTries = 3
	// pollEvery is the pause between two looks at a condition of the server.
	pollEvery = 20 * time.Millisecond
	// logTailBytes is how much of the server's log an error quotes.
	logTailBytes = 4 << 10
)

// superuser is the server's only account at first, and its owner.
const superuser = "onceward"

// defaultSettings stand before the caller's, which win.
var defaultSettings = []string{
	"fsync=off", // see the package's comment
	"max_connections=200",
	"listen_addresses=127.0.0.1",
	"unix_socket_directories=",
	"log_line_prefix=%m [%p] %a ",
	"log_lock_waits=on",
	"timezone=UTC",
}

// Options say how a server is set up. The zero value is a good server.
type Options struct {
	// Settings are PostgreSQL settings, "name=value"; they win over this
	// package's own.
	Settings []string
	// Env is further environment of the server's programs, "NAME=value".
	Env []string
	// LogPath is the file to which the server's log is appended. Empty: a file
	// in the server's folder, which Close removes.
	LogPath string
}

// Server is a PostgreSQL server of our own, in a temporary folder, on a free
// loopback port that stays its own over stop and start. Its methods may be
// called from any goroutine and wait for one another.
type Server struct {
	programs binaries
	as       *account
	dir      string // holds data/ and, by default, the log
	logPath  string
	settings []string
	env      []string
	password string
	port     int

	mu   sync.Mutex
	proc *process // nil while stopped
}

// Open creates a cluster and starts its server. Close it. It fails with
// ErrNoBinaries where PostgreSQL is not installed.
func Open(ctx context.Context, options Options) (*Server, error) {
	programs, err := findBinaries(os.Getenv(EnvBinaries))
	if err != nil {
		return nil, err
	}
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	s := &Server{programs: programs, as: as, env: options.Env, password: rand.Text()}
	s.settings = append(append(s.settings, defaultSettings...), options.Settings...)
	if err := s.create(ctx, options.LogPath); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for try := 1; ; try++ {
		if s.port, err = freeport.Find(ctx); err == nil {
			err = s.Start(ctx)
		}
		if err == nil {
			return s, nil
		}
		if try == startTries || ctx.Err() != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
}

// makeFolder makes the server's folder, for its account.
func (s *Server) makeFolder(logPath string) error {
	// Why not a test's own folder: its parent is closed to the server's account.
	dir, err := os.MkdirTemp("", "onceward-pg-")
	if err != nil {
		return fmt.Errorf("create cluster folder: %w", err)
	}
	s.dir = dir
	s.logPath = logPath
	if logPath == "" {
		s.logPath = filepath.Join(dir, "postgres.log")
	}
	if err := giveTo(dir, s.as); err != nil {
		return fmt.Errorf("give %s to the server's account: %w", dir, err)
	}
	return nil
}

// create makes the folder and the files of an empty cluster in it.
func (s *Server) create(ctx context.Context, logPath string) error {
	if err := s.makeFolder(logPath); err != nil {
		return err
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.password+"\n"), 0o600); err != nil {
		return fmt.Errorf("write cluster password: %w", err)
	}
	if err := giveTo(secret, s.as); err != nil {
		return fmt.Errorf("give %s to the server's account: %w", secret, err)
	}
	// Why a password: whoever may connect as superuser can run programs as the
	// server's account.
	initdb := s.command(s.programs.initdb, "--pgdata", s.dataDir(), "--username", superuser, "--pwfile", secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync")
	return s.runLogged(ctx, initdb)
}

// runLogged runs a program to its end, or kills it when ctx is done first.
func (s *Server) runLogged(ctx context.Context, cmd *exec.Cmd) error {
	p, err := s.launch(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		_, err := killTree(p.pid())
		<-p.done
		return errors.Join(ctx.Err(), err)
	}
	if p.err != nil {
		return fmt.Errorf("run %s: %w%s", filepath.Base(cmd.Path), p.err, s.logTail())
	}
	return nil
}

// command prepares a program of the server: as its account, in its folder, and
// with nothing of our environment that could change what it does.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	// Why no context: the program outlives the call that starts it.
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir = s.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "LC_ALL=C", "TZ=UTC"}, s.env...)
	isolate(cmd, s.as)
	return cmd
}

// launch starts a program with its output going to the log.
func (s *Server) launch(cmd *exec.Cmd) (*process, error) {
	log, err := os.OpenFile(s.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open server log: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own handle
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	return p, nil
}

// Start starts the stopped server on its old files and port and waits until it
// answers. Starting a running server does nothing.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil && s.proc.running() {
		return nil
	}
	args := []string{"-D", s.dataDir(), "-p", strconv.Itoa(s.port)}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	proc, err := s.launch(s.command(s.programs.postgres, args...))
	if err != nil {
		return err
	}
	s.proc = proc
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := s.waitReady(ctx); err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL on port %d: %w%s", s.port, err, s.logTail()), s.kill())
	}
	return nil
}

// waitReady asks until the server answers, has ended, or ctx is done.
func (s *Server) waitReady(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.DSN())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.proc.done:
			return fmt.Errorf("it ended while starting: %w", s.proc.err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// Stop shuts the server down in order, closing its connections, and waits for
// its end; one that does not end in time is killed, which is an error. Stopping
// a stopped server does nothing.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || !s.proc.running() {
		s.proc = nil
		return nil
	}
	if err := s.proc.cmd.Process.Signal(syscall.SIGINT); err != nil { // "fast shutdown"
		return errors.Join(fmt.Errorf("signal PostgreSQL: %w", err), s.kill())
	}
	limit := time.NewTimer(stopWait)
	defer limit.Stop()
	select {
	case <-s.proc.done:
		s.proc = nil
		return nil
	case <-limit.C:
		return errors.Join(fmt.Errorf("stop PostgreSQL: still there after %s%s", stopWait, s.logTail()), s.kill())
	}
}

// Kill ends every process of the server with SIGKILL, as a crash does: no
// goodbye to the clients, no shutdown, recovery at the next Start. When it
// returns, they are gone. Killing a stopped server does nothing.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

func (s *Server) kill() error {
	if s.proc == nil || !s.proc.running() {
		s.proc = nil
		return nil
	}
	children, err := killTree(s.proc.pid())
	if err != nil {
		return fmt.Errorf("kill PostgreSQL: %w", err)
	}
	<-s.proc.done
	s.proc = nil
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	limit := time.NewTimer(killWait)
	defer limit.Stop()
	for _, pid := range children {
		for !gone(pid) {
			select {
			case <-tick.C:
			case <-limit.C:
				return fmt.Errorf("kill PostgreSQL: process %d still there after %s", pid, killWait)
			}
		}
	}
	return nil
}

// Close stops the server and removes its files. A log at Options.LogPath stays.
func (s *Server) Close() error {
	err := s.Stop()
	if s.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// DSN is the address of the server's database as a postgres:// URL, for its
// superuser; it stays the same over stop and start.
func (s *Server) DSN() string { return s.dsn("postgres") }

func (s *Server) dsn(database string) string {
	dsn := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     s.Addr(),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return dsn.String()
}

// Addr is the server's TCP address, "127.0.0.1:port", to put a proxy before it.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }

// logTail is the end of the server's log on lines of its own, for an error.
func (s *Server) logTail() string {
	log, err := os.Open(s.logPath)
	if err != nil {
		return ""
	}
	defer func() { _ = log.Close() }()
	if size, err := log.Seek(0, io.SeekEnd); err == nil {
		_, _ = log.Seek(max(0, size-logTailBytes), io.SeekStart) // a log quoted from its start is fine too
	}
	tail, err := io.ReadAll(log)
	if err != nil || len(tail) == 0 {
		return ""
	}
	return "\nits log ends with:\n" + string(tail)
}
