package mcpcall

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// connectCommand starts the server and opens a session with it. A server that
// died is started anew for the next call; nothing that it had is sent to the new
// one.
func (u *upstream) connectCommand(ctx context.Context) (*session, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), u.server.Command[0], u.server.Command[1:]...)
	cmd.Dir = u.server.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	u.mu.Lock()
	env, names := u.server.Env, u.server.SecretEnv
	u.mu.Unlock()
	if env != nil {
		ours, err := env()
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, ours...)
	}
	given := secretsOf(cmd.Env, names)
	cmd.Stderr = &lines{log: u.client.opts.Log, server: u.name(), secrets: given}
	alone(cmd)
	t := &tap{Transport: &mcp.CommandTransport{Command: cmd, TerminateDuration: terminateWithin}, secrets: given}
	opts := clientOptions()
	opts.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { u.changed() }
	s, err := u.client.implementation(opts).Connect(ctx, t, nil)
	if err != nil {
		if cmd.Process != nil {
			_ = cmd.Process.Kill() // it may be gone already
		}
		return nil, fmt.Errorf("start the MCP server %s: %w", u.name(), err)
	}
	out := &session{ClientSession: s, end: func() {}}
	go func() { // a server that ends by itself ends its session
		_ = s.Wait()
		u.drop(out)
	}()
	return out, nil
}

// changed takes a command's word that its tools are others: they are listed anew.
//
// Why commands alone: over HTTP a stream of its own would have to stay open for
// that; those servers are asked now and then.
func (u *upstream) changed() {
	u.mu.Lock()
	u.listed = time.Time{}
	u.mu.Unlock()
	if u.client.opts.Changed != nil {
		u.client.opts.Changed()
	}
}

// tap is a transport that sees messages as they are, but for credentials of ours.
type tap struct {
	mcp.Transport
	secrets secrets
}

// Connect implements mcp.Transport.
func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	out := &tapped{Connection: c, secrets: t.secrets, flying: map[string]*flight{}, in: make(chan incoming), stopped: make(chan jsonrpc.Message, 1), closed: make(chan struct{})}
	go out.pump()
	return out, nil
}

// tapped follows flights over a stream.
type tapped struct {
	mcp.Connection
	secrets secrets
	mu      sync.Mutex
	flying  map[string]*flight   // by the ID of the request
	in      chan incoming        // what the server says
	stopped chan jsonrpc.Message // what we answer in its place
	once    sync.Once
	closed  chan struct{}
}

// incoming is one message of the server, or the end.
type incoming struct {
	message jsonrpc.Message
	err     error
}

// pump reads the server's messages until the end.
func (c *tapped) pump() {
	for {
		m, err := c.Connection.Read(context.Background()) // ended by Close
		c.secrets.scrubMessage(m)
		select {
		case c.in <- incoming{m, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Write puts a message on the stream: a call of an attempt once, directly after
// the fence was checked.
//
// Why a call that was stopped is answered and no error: the SDK takes an error
// for the end of the stream, on which others wait.
func (c *tapped) Write(ctx context.Context, m jsonrpc.Message) error {
	req, ok := m.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return c.Connection.Write(ctx, m)
	}
	f := flightOf(ctx, req.Method)
	if f == nil {
		return c.Connection.Write(ctx, m)
	}
	err := f.start()
	if err == nil && f.opts.BeforeWrite != nil {
		f.reached(onceward.ReachConnected)
		err = f.opts.BeforeWrite()
	}
	if err != nil {
		select {
		case c.stopped <- &jsonrpc.Response{ID: req.ID, Error: err}:
		case <-c.closed:
		}
		return nil
	}
	c.mu.Lock()
	c.flying[key(req.ID)] = f
	c.mu.Unlock()
	if f.asTask {
		req.Params = asTask(req.Params)
	}
	f.reached(onceward.ReachHeadersWritten) // before the write: from here on a byte may be out
	if err = c.Connection.Write(ctx, m); err == nil {
		f.reached(onceward.ReachBodyWritten)
	}
	return err
}

// Close implements mcp.Connection.
func (c *tapped) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// Read takes the response of a flight as it came.
func (c *tapped) Read(ctx context.Context) (jsonrpc.Message, error) {
	var m jsonrpc.Message
	var err error
	select {
	case m = <-c.stopped:
	case got := <-c.in:
		m, err = got.message, got.err
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if note, ok := m.(*jsonrpc.Request); ok && note.Method == methodProgress {
		c.mu.Lock()
		flying := slices.Collect(maps.Values(c.flying))
		c.mu.Unlock()
		for _, f := range flying {
			f.heard(note.Params)
		}
	}
	if res, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		f := c.flying[key(res.ID)]
		delete(c.flying, key(res.ID))
		c.mu.Unlock()
		if f != nil {
			f.answer(res.Result, res.Error)
		}
	}
	return m, err
}

func key(id jsonrpc.ID) string { return fmt.Sprint(id.Raw()) }

// lines logs what a command says, line by line.
type lines struct {
	log     *slog.Logger
	server  string
	secrets secrets
	mu      sync.Mutex
	rest    []byte
}

// lineBytesMax is the longest line that is logged whole.
const lineBytesMax = 4 << 10

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) < lineBytesMax {
			return len(p), nil
		}
		end := i
		if i < 0 {
			end = len(l.rest)
		}
		l.log.Debug("an MCP server says", "server", l.server, "line", string(l.secrets.scrub(l.rest[:min(end, lineBytesMax)])))
		l.rest = append([]byte(nil), l.rest[min(end+1, len(l.rest)):]...)
	}
}
