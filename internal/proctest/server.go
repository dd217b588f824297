package proctest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/crashpoint"
	"github.com/onceward/onceward/internal/freeport"
)

// Server is one onceward process.
type Server struct {
	tb     testing.TB
	DB     string   // --db
	Listen string   // address
	Env    []string // besides the test's own
	Args   []string // contract paths
	Config string   // configuration file; empty: none
	// Program is the program's path; empty: that of this tree.
	Program string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
	log  *Said
}

// NewServer prepares a server on a free loopback port. Start starts it; it is
// killed when the test ends.
func NewServer(tb testing.TB, db string, contracts []string, env ...string) *Server {
	tb.Helper()
	s := &Server{tb: tb, DB: db, Listen: FreeAddress(tb), Env: env, Args: contracts}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			tb.Logf("the end of what %s said:\n%s", s.Listen, s.log)
		}
	})
	return s
}

// FreeAddress returns a loopback address that was free a moment ago.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	address, err := freeport.Address(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return address
}

// URL is the server's address.
func (s *Server) URL() string { return "http://" + s.Listen }

// Start starts the process, to die at a crash point if one is given, and waits
// until it is ready.
func (s *Server) Start(crash string) {
	s.tb.Helper()
	if err := s.TryStart(crash); err != nil {
		s.tb.Fatal(err)
	}
}

// TryStart is Start for goroutines other than the test's own.
func (s *Server) TryStart(crash string) error {
	s.tb.Helper()
	args := []string{"serve", "--db", s.DB, "--listen", s.Listen, "--log-level", "warn"}
	for _, c := range s.Args {
		args = append(args, "--contracts", c)
	}
	if s.Config != "" {
		args = append(args, "--config", s.Config)
	}
	bin := s.Program
	if bin == "" {
		var err error
		if bin, err = build(); err != nil {
			return fmt.Errorf("build onceward: %w", err)
		}
	}
	cmd := exec.CommandContext(context.Background(), bin, args...) // Cleanup kills it
	cmd.Env = append(append(os.Environ(), s.Env...), crashpoint.Variable+"="+crash)
	s.mu.Lock()
	if s.log == nil {
		s.log = &Said{}
	}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		s.mu.Unlock()
		return err
	}
	done := make(chan struct{})
	s.cmd, s.done = cmd, done
	s.mu.Unlock()
	go func() { _ = cmd.Wait(); close(done) }()
	return s.ready(done)
}

func (s *Server) ready(done chan struct{}) error {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/readyz", nil)
		if err != nil {
			cancel()
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		cancel()
		if err == nil && res.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("server %s ended before it was ready:\n%s", s.Listen, s.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("server %s is not ready:\n%s", s.Listen, s.log)
}

// Signal sends a signal to the process.
func (s *Server) Signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
	}
}

// Kill kills the process (SIGKILL) and waits for its end. It may be called at any time.
func (s *Server) Kill() {
	s.Signal(syscall.SIGKILL)
	s.Wait()
}

// Wait waits for the process's end and returns how it ended.
func (s *Server) Wait() string {
	s.mu.Lock()
	cmd, done := s.cmd, s.done
	s.mu.Unlock()
	if cmd == nil {
		return "never started"
	}
	<-done
	return cmd.ProcessState.String()
}

// Log is the end of what the processes said so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// AwaitDeath waits until the process has died at the crash point that it was
// started with.
func (s *Server) AwaitDeath(point string) {
	s.tb.Helper()
	if end := s.Wait(); !strings.Contains(end, "killed") {
		s.tb.Fatalf("the server did not die at %s: %s", point, end)
	}
}

// Drain ends the process as an operator does, and returns how long that took.
func (s *Server) Drain() time.Duration {
	s.tb.Helper()
	began := time.Now()
	s.Signal(syscall.SIGTERM)
	if end := s.Wait(); !strings.Contains(end, "exit status 0") {
		s.tb.Errorf("a server that was to drain ended with %s", end)
	}
	return time.Since(began)
}

// Said keeps the end of what a process says. It may be read meanwhile; the zero
// value has heard nothing.
type Said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (t *Said) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf.Len() > 64<<10 {
		t.buf.Next(t.buf.Len() - 32<<10)
	}
	return t.buf.Write(p)
}

// String returns what was kept.
func (t *Said) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}
