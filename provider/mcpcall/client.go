package mcpcall

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// Scheme is that of the requests which this provider takes.
const Scheme = "mcp"

// Times and limits.
const (
	DefaultDeadline = 30 * time.Second // of a call whose options name none, and of connecting
	definitionsAge  = time.Second      // how old a list of tools may be under which a write is sent
	listPagesMax    = 100              // of one list of tools
	terminateWithin = 2 * time.Second  // a command whose input was closed, before it is told to end
)

// Server says how one server is reached. Either Command or URL is given.
type Server struct {
	Name      string
	Command   []string
	Dir       string                                 // empty: this program's
	Env       func() ([]string, error)               // NAME=value, besides PATH and HOME; may be nil
	SecretEnv []string                               // names of the variables that hold secrets: what a command says of them is not handed on
	URL       string                                 // of streamable HTTP
	Headers   func() ([]onceward.HeaderField, error) // credentials of ours, read anew each time; may be nil
}

// Options make a Client.
type Options struct {
	Wire    onceward.Provider // puts HTTP requests on the wire; needed for servers with a URL
	Version string            // of this program, as servers are told
	Log     *slog.Logger      // what commands say on standard error, at level debug; nil: discards
	// CheckOutput holds a value to a JSON Schema (contract.CheckOutput); nil: results
	// are not compared with what their tools promise.
	CheckOutput func(schema, output []byte) error
	Changed     func() // a command says that its tools are others; nil: nobody wants to know. It must not block
}

// Client performs calls of tools. It is safe for concurrent use.
type Client struct {
	opts Options
	mu   sync.Mutex
	by   map[string]*upstream
}

var _ onceward.Provider = (*Client)(nil)

// New makes a client that knows no server yet. It connects to nothing.
func New(o Options) *Client {
	o.Version = cmp.Or(o.Version, "devel")
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Client{opts: o, by: map[string]*upstream{}}
}

// Serve puts servers in place of those that were known. A session with a server
// that is reached as before goes on.
func (c *Client) Serve(servers []Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := make(map[string]*upstream, len(servers))
	for _, s := range servers {
		if u := c.by[s.Name]; u != nil && u.sameAs(&s) {
			u.update(s)
			next[s.Name] = u
			continue
		}
		next[s.Name] = &upstream{client: c, server: s, seen: map[string]*Definition{}}
	}
	for name, u := range c.by {
		if next[name] != u {
			go u.drop(nil)
		}
	}
	c.by = next
}

// Close ends every session.
func (c *Client) Close() {
	c.mu.Lock()
	old := c.by
	c.by = map[string]*upstream{}
	c.mu.Unlock()
	var all sync.WaitGroup
	for _, u := range old {
		all.Go(func() { u.drop(nil) })
	}
	all.Wait()
}

func (c *Client) upstream(name string) *upstream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[name]
}

// Send performs one attempt, or one look-up, by one tools/call; or it asks how a
// task stands that such a call was answered with (mcp://server/?task=ID).
func (c *Client) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	started := time.Now()
	u, tool, task, f := c.target(req)
	if f == nil && task == "" {
		f = u.ready(ctx, tool, req, &opts)
	}
	if f != nil {
		return f.evidence(started)
	}
	if task != "" {
		ev := u.follow(ctx, task, &opts)
		ev.StartedAt = started
		return ev
	}
	ev := u.call(ctx, tool, req.Body, &opts)
	ev.StartedAt = started
	return ev
}

// target reads whom a request is for, and which tool, or which task.
func (c *Client) target(req *onceward.Request) (u *upstream, tool, task string, f *fault) {
	address, err := url.Parse(req.URL)
	if err != nil || address.Scheme != Scheme {
		return nil, "", "", &fault{class: onceward.ClassValidation, code: "not_mcp", text: "the request is no call of a tool"}
	}
	if u = c.upstream(address.Host); u == nil {
		return nil, "", "", &fault{class: onceward.ClassUnavailable, code: "server_missing", text: "no MCP server of the name " + address.Host + " is configured here"}
	}
	if tool = strings.TrimPrefix(address.Path, "/"); tool == "" {
		task = address.Query().Get("task")
	}
	return u, tool, task, nil
}

// fault is why nothing was sent.
type fault struct {
	class onceward.ErrorClass
	code  string
	text  string
}

func (f *fault) evidence(started time.Time) onceward.Evidence {
	return onceward.Evidence{Reach: onceward.ReachNotDialled, StartedAt: started, EndedAt: time.Now(), ErrorClass: f.class, ErrorCode: f.code, ErrorText: f.text}
}

// upstream is one server and the session with it, if there is one.
type upstream struct {
	client *Client

	mu      sync.Mutex
	server  Server // Env, SecretEnv and Headers under mu; everything else stays as it is
	session *session
	opening chan struct{} // closed once whoever connects is done; nil: nobody does
	listed  time.Time
	now     map[string]*Definition // by name, as the server lists them
	order   []string
	seen    map[string]*Definition // the first definition that this process saw
}

// session is a connection that was negotiated.
type session struct {
	*mcp.ClientSession
	end func() // what the SDK's Close leaves running
}

func (u *upstream) sameAs(s *Server) bool {
	return u.server.URL == s.URL && u.server.Dir == s.Dir && slices.Equal(u.server.Command, s.Command)
}

// update takes over what may change while sessions go on.
func (u *upstream) update(s Server) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.server.Env, u.server.SecretEnv, u.server.Headers = s.Env, s.SecretEnv, s.Headers
}

func (u *upstream) name() string { return u.server.Name }

// connected returns the session, which one caller opens for all.
func (u *upstream) connected(ctx context.Context) (*session, error) {
	for {
		u.mu.Lock()
		s, opening := u.session, u.opening
		if s == nil && opening == nil {
			opening = make(chan struct{})
			u.opening = opening
			u.mu.Unlock()
			return u.open(ctx, opening)
		}
		u.mu.Unlock()
		if s != nil {
			return s, nil
		}
		select {
		case <-opening:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// open connects. The one who waits may go away: the session is everybody's.
func (u *upstream) open(ctx context.Context, opening chan struct{}) (*session, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DefaultDeadline)
	defer cancel()
	s, err := u.connect(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.opening = nil
	close(opening)
	if err != nil {
		return nil, err
	}
	u.session, u.listed = s, time.Time{}
	return s, nil
}

// forget takes a session out of use, and ends it beside us.
func (u *upstream) forget(s *session) {
	u.mu.Lock()
	if u.session == s {
		u.session, u.listed = nil, time.Time{}
	}
	u.mu.Unlock()
	go u.drop(s)
}

// drop ends a session; nil: whichever there is. A call that is under way ends
// without an answer then.
func (u *upstream) drop(s *session) {
	u.mu.Lock()
	if s == nil {
		s = u.session
	}
	if u.session == s {
		u.session, u.listed = nil, time.Time{}
	}
	u.mu.Unlock()
	if s != nil {
		_ = s.Close() // a server that is gone cannot be told
		s.end()
	}
}

// clientOptions declare no capability but tasks: nobody here could answer a
// question.
//
// Why multiple rounds are off: the SDK would send the call again.
func clientOptions() *mcp.ClientOptions {
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]any{tasksExtension: map[string]any{}}}, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}}
}

// call performs one tools/call and tells what was seen.
func (u *upstream) call(ctx context.Context, tool string, arguments []byte, opts *onceward.SendOptions) onceward.Evidence {
	deadline := cmp.Or(opts.Deadline, DefaultDeadline)
	if !opts.NotAfter.IsZero() {
		deadline = min(deadline, time.Until(opts.NotAfter))
	}
	ev, stale := u.once(ctx, tool, arguments, opts, deadline)
	if stale { // its session had ended before: nothing was sent
		ev, _ = u.once(ctx, tool, arguments, opts, deadline)
	}
	return ev
}

// once is call on the session that there is. stale says that the session had
// ended, so that the call was not even begun.
func (u *upstream) once(ctx context.Context, tool string, arguments []byte, opts *onceward.SendOptions, deadline time.Duration) (_ onceward.Evidence, stale bool) {
	s, err := u.connected(ctx)
	if err != nil {
		return unreachable(err).evidence(time.Now()), false
	}
	f := &flight{method: "tools/call", opts: *opts, asTask: u.wantsTask(s, tool)}
	f.ev.Reach = onceward.ReachNotDialled
	callCtx, cancel := context.WithTimeout(context.WithValue(ctx, flightKey{}, f), deadline)
	defer cancel()
	params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
	if opts.OnProgress != nil {
		f.token = rand.Text()
		params.SetProgressToken(f.token)
	}
	_, err = s.CallTool(callCtx, params)
	ev := f.landed(err)
	u.checkOutput(tool, &ev)
	// Over HTTP the next call starts with a session of its own: this one may have
	// ended, or its credential. A command's session ends with the command: others
	// may still wait for answers on it.
	if stale = !f.begun(); stale || len(u.server.Command) == 0 && (ev.Status != 200 || ev.ErrorClass != onceward.ClassNone) {
		u.forget(s)
	}
	return ev, stale
}

func unreachable(err error) *fault {
	var refused *statusError
	if errors.As(err, &refused) && (refused.status == 401 || refused.status == 403) {
		return &fault{onceward.ClassAuth, "connect_refused", "the server refused our credential when a session was opened"}
	}
	return &fault{onceward.ClassConnection, "connect_failed", "no session could be opened with the server"}
}

// Call calls a tool that only reads, and returns its result as it came, or
// {"error": …} of the protocol. CodeProviderUnreachable: there was no answer.
func (c *Client) Call(ctx context.Context, server, tool string, arguments []byte, within time.Duration) (json.RawMessage, error) {
	u := c.upstream(server)
	if u == nil {
		return nil, onceward.Errorf(onceward.CodeProviderUnreachable, "no MCP server of the name %s is configured here", server)
	}
	until := time.Now().Add(within)
	ev := u.call(ctx, tool, arguments, &onceward.SendOptions{Deadline: within})
	if t := taskIn(ev.Body); ev.Status == 200 && t != nil {
		ev = u.awaited(ctx, t, time.Until(until))
	}
	if ev.Status != 200 {
		return nil, onceward.Errorf(onceward.CodeProviderUnreachable, "the MCP server %s did not answer: %s", server, cmp.Or(ev.ErrorCode, "status "+strconv.Itoa(ev.Status)))
	}
	return ev.Body, nil
}
