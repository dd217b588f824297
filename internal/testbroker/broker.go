package testbroker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/freeport"
)

// startWithin bounds how long a broker may take to come up.
const startWithin = 60 * time.Second

// Broker is a running broker.
type Broker struct {
	URL  string // as its clients want it
	Addr string // host:port

	tb    testing.TB
	start func() (*child, error)
	mu    sync.Mutex
	child *child
}

// Kill ends the broker as a power cut ends its process.
func (b *Broker) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.child != nil {
		b.child.kill()
		b.child = nil
	}
}

// Start starts it again, on the same address with the same data. It returns once
// the broker takes connections.
func (b *Broker) Start() {
	b.tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.child, err = b.start(); err != nil {
		b.tb.Fatalf("start broker: %v", err)
	}
}

func run(tb testing.TB, b *Broker) *Broker {
	tb.Helper()
	b.tb = tb
	b.Start()
	tb.Cleanup(b.Kill)
	return b
}

func port(tb testing.TB) int {
	tb.Helper()
	p, err := freeport.Find(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// NATS starts a NATS server with JetStream.
func NATS(tb testing.TB) *Broker {
	tb.Helper()
	b := brokerd(tb, "nats")
	b.URL = "nats://" + b.Addr
	return b
}

// Kafka starts kfake, which is no Kafka. It has the topic "events".
func Kafka(tb testing.TB) *Broker {
	tb.Helper()
	b := brokerd(tb, "kafka")
	b.URL = b.Addr
	return b
}

func brokerd(tb testing.TB, kind string) *Broker {
	tb.Helper()
	bin, err := build()
	if err != nil {
		tb.Fatalf("build brokerd: %v\n%s", err, bin)
	}
	p, dir := port(tb), tb.TempDir()
	return run(tb, &Broker{Addr: address(p), start: func() (*child, error) {
		cmd := exec.CommandContext(context.Background(), bin, kind, strconv.Itoa(p), dir) // Kill ends it
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		c, err := startChild(cmd)
		if err != nil {
			return nil, err
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || line != "ready\n" {
			c.kill()
			return nil, errors.Join(fmt.Errorf("%s did not come up: it says %q", kind, line), err)
		}
		return c, nil
	}})
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// build builds brokerd once a test process, into the module's bin folder, from
// where the next one takes what has not changed.
var build = sync.OnceValues(func() (string, error) {
	root, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/onceward/onceward").Output()
	if err != nil {
		return "", err
	}
	dir := strings.TrimSpace(string(root))
	bin := filepath.Join(dir, "bin", "brokerd")
	// Why a name of its own first: test processes that build at once never run a
	// half-written file.
	own := bin + "." + strconv.Itoa(os.Getpid())
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", own, ".")
	cmd.Dir = filepath.Join(dir, "internal", "testbroker", "brokerd")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return string(out), err
	}
	return bin, os.Rename(own, bin)
})

// child is a process that is watched.
type child struct {
	cmd     *exec.Cmd
	done    chan struct{}
	unguard func() // nil: it has no guard
}

func (c *child) kill() {
	if c.unguard != nil {
		c.unguard()
	}
	killGroup(c.cmd)
	<-c.done
}

// listening waits until somebody listens on the address.
func listening(ctx context.Context, addr string, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-c.done:
			return fmt.Errorf("it ended: %s", c.cmd.ProcessState)
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// discard is where a broker's own words go: its log file has them.
var discard io.Writer = io.Discard
