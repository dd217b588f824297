package mcpgateway

import (
	"context"
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
	return &patientConnection{Connection: c, over: make(chan struct{}), closed: make(chan struct{})}, err
}

// patientConnection counts what was asked and not answered yet.
type patientConnection struct {
	mcp.Connection
	mu     sync.Mutex
	open   int
	ended  bool
	over   chan struct{} // closed once the input has ended and nothing is open
	once   sync.Once
	closed chan struct{}
}

// count changes what is open, and notes the end of the input.
func (c *patientConnection) count(by int, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = max(0, c.open+by)
	if c.ended = c.ended || ended; !c.ended || c.open > 0 {
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
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		c.count(1, false)
	}
	if errors.Is(err, io.EOF) {
		c.count(0, true)
		select {
		case <-c.over:
		case <-ctx.Done():
		case <-c.closed:
		}
	}
	return m, err
}

func (c *patientConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.count(-1, false)
	}
	return err
}

func (c *patientConnection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
