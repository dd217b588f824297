package mcpgateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// ServeStream serves one client over a pair of streams, such as standard input
// and output, until the client closes it and has its answers, or the context
// ends. Everybody who can reach the streams is who.
func (g *Gateway) ServeStream(ctx context.Context, in io.ReadCloser, out io.WriteCloser, who onceward.Principal) error {
	return g.mcp.Run(context.WithValue(ctx, whoKey{}, who), &patient{Transport: &mcp.IOTransport{Reader: in, Writer: out}})
}

// patient is a transport whose end of input is told only once everything that
// was asked before it is answered: a client may close its side and read on.
type patient struct{ mcp.Transport }

func (t *patient) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &patientConnection{Connection: c, open: map[jsonrpc.ID]bool{}, over: make(chan struct{}), closed: make(chan struct{})}, err
}

// methodCancelled is the notification by which a client takes a request back.
const methodCancelled = "notifications/cancelled"

// patientConnection knows what was asked and not answered yet. What the client
// took back is not answered any more: the SDK would answer it with an error.
type patientConnection struct {
	mcp.Connection
	mu     sync.Mutex
	open   map[jsonrpc.ID]bool // what was asked; true: and taken back
	ended  bool
	over   chan struct{} // closed once the input has ended and nothing is open
	once   sync.Once
	closed chan struct{}
}

// note changes what is known, and closes over at the end.
func (c *patientConnection) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	if !c.ended || len(c.open) > 0 {
		return
	}
	select {
	case <-c.over:
	default:
		close(c.over)
	}
}

func (c *patientConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if req, ok := m.(*jsonrpc.Request); ok {
		c.note(func() { c.asked(req) })
	}
	if errors.Is(err, io.EOF) {
		c.note(func() { c.ended = true })
		select {
		case <-c.over:
		case <-ctx.Done():
		case <-c.closed:
		}
	}
	return m, err
}

// asked notes a request, or that one is taken back.
func (c *patientConnection) asked(req *jsonrpc.Request) {
	if req.IsCall() {
		c.open[req.ID] = false
		return
	}
	var p struct {
		RequestID any `json:"requestId"`
	}
	if req.Method != methodCancelled || json.Unmarshal(req.Params, &p) != nil {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if _, there := c.open[id]; err == nil && there {
		c.open[id] = true
	}
}

func (c *patientConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	answer, ok := m.(*jsonrpc.Response)
	if !ok {
		return c.Connection.Write(ctx, m)
	}
	defer c.note(func() { delete(c.open, answer.ID) })
	c.mu.Lock()
	silent := c.open[answer.ID]
	c.mu.Unlock()
	if silent {
		return nil
	}
	return c.Connection.Write(ctx, m)
}

func (c *patientConnection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
