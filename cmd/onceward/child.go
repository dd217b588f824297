package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/onceward/onceward/internal/crashpoint"
)

// child is a server process of our own.
type child struct {
	cmd  *exec.Cmd
	log  *tailBuffer
	done chan struct{}
}

type serverArgs struct {
	db, contracts, listen, crash string
	withParent                   bool   // it is killed when this process dies, where the system can do that (Linux)
	config                       string // a configuration of its own: neither onceward.yaml nor ONCEWARD_* variables are read; empty: as any command
	env                          []string
}

// startServer starts this program as a server and waits until it is ready.
func startServer(ctx context.Context, cl *client, args serverArgs) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{log: &tailBuffer{}, done: make(chan struct{})}
	// Why no cancellation by ctx: it would kill the server where it should drain.
	c.cmd = exec.CommandContext(context.WithoutCancel(ctx), self, "serve", "--db", args.db, "--contracts", args.contracts, "--listen", args.listen, "--log-level", "info")
	environ := os.Environ()
	if args.config != "" {
		c.cmd.Args = append(c.cmd.Args, "--config", args.config)
		environ = slices.DeleteFunc(environ, func(v string) bool { return strings.HasPrefix(v, "ONCEWARD_") })
	}
	c.cmd.Env = append(append(environ, args.env...), crashpoint.Variable+"="+args.crash)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if args.withParent {
		c.cmd.SysProcAttr = diesWithParent
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = c.cmd.Wait(); close(c.done) }()
	if args.listen == anyAddress {
		if cl.base, err = c.address(ctx); err != nil {
			return c, err
		}
	}
	return c, c.ready(ctx, cl)
}

// anyAddress lets the server choose its address: one that was free a moment ago
// may be another's by now.
const anyAddress = "127.0.0.1:0"

var servingLine = regexp.MustCompile(`"msg":"serving","address":"(http://[^"]+)"`)

// address waits until the server has said where it listens.
func (c *child) address(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for {
		if found := servingLine.FindStringSubmatch(c.tail()); found != nil {
			return found[1], nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-c.done:
			return "", fmt.Errorf("the server ended (%s):\n%s", c.cmd.ProcessState, c.tail())
		case <-ctx.Done():
			return "", fmt.Errorf("the server does not say where it listens after %s:\n%s", readyWait, c.tail())
		}
	}
}

// readyWait is how long a server of ours may take to listen, to be ready and to
// end. One that died is known at once: the time is for a machine that is busy.
const readyWait = time.Minute

func (c *child) ready(ctx context.Context, cl *client) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for {
		if _, err := cl.do(ctx, http.MethodGet, "/readyz", nil); err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.done:
			return fmt.Errorf("the server ended (%s):\n%s", c.cmd.ProcessState, c.tail())
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready after %s:\n%s", readyWait, c.tail())
		}
	}
}

// wait returns how the process ended.
func (c *child) wait() string {
	<-c.done
	return c.cmd.ProcessState.String()
}

// stop ends the process gracefully, and waits for it. It is safe to call twice.
func (c *child) stop() error {
	if c == nil {
		return nil
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-c.done:
		return nil
	case <-time.After(readyWait):
		return errors.Join(c.cmd.Process.Kill(), errors.New("the server did not stop"))
	}
}

func (c *child) tail() string {
	if c == nil {
		return ""
	}
	return c.log.String()
}

func httpClient(timeout time.Duration) *http.Client { return &http.Client{Timeout: timeout} }

// tailBuffer keeps the end of what a process says.
type tailBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailBytes = 16 << 10

// Write implements io.Writer.
func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf.Len() > tailBytes {
		t.buf.Next(t.buf.Len() - tailBytes/2)
	}
	return t.buf.Write(p)
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
