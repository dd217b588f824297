package mcpgateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// Lists tells clients that the list of tools is another one: contracts were
// loaded or signed, or a server behind lists others. It is a worker's loop.
type Lists struct {
	gateway *Gateway
	look    chan struct{}

	mu   sync.Mutex
	last [sha256.Size]byte // of what was listed; zero: nobody listed since the last session ended
}

// Lists is the gateway's.
func (g *Gateway) Lists() *Lists { return g.lists }

// Look has the list looked at soon. It does not block.
func (l *Lists) Look() {
	select {
	case l.look <- struct{}{}:
	default:
	}
}

// Name implements worker.Loop.
func (l *Lists) Name() string { return "mcp_lists" }

// Idle implements worker.Loop.
func (l *Lists) Idle() (time.Duration, <-chan struct{}) { return ListTTL, l.look }

// Step implements worker.Loop: it compares the list with what was listed, and
// tells every session if they differ. Without sessions there is nobody to tell,
// and no server is asked.
func (l *Lists) Step(ctx context.Context) (bool, error) {
	someone := false
	for range l.gateway.mcp.Sessions() {
		someone = true
		break
	}
	if !someone {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.last = [sha256.Size]byte{}
		return false, nil
	}
	l.mu.Lock()
	before := l.last
	l.mu.Unlock()
	now := l.gateway.digest(ctx)
	l.mu.Lock()
	told := l.last != before // by somebody who listed meanwhile
	if !told {
		l.last = now
	}
	l.mu.Unlock()
	if !told && before != now && before != [sha256.Size]byte{} {
		l.gateway.announce()
	}
	return false, nil
}

// listed notes what is listed, if nobody listed before.
func (l *Lists) listed(ctx context.Context) {
	l.mu.Lock()
	known := l.last != [sha256.Size]byte{}
	l.mu.Unlock()
	if known {
		return
	}
	now := l.gateway.digest(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == [sha256.Size]byte{} {
		l.last = now
	}
}

// digest is that of all tools, whoever may see them.
func (g *Gateway) digest(ctx context.Context) [sha256.Size]byte {
	h := sha256.New()
	for _, d := range g.definitions(ctx, onceward.Principal{}, "") {
		_, _ = h.Write(append(d, '\n')) // never fails (hash.Hash)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// announce tells every session of the older era, and whoever listens in the
// stateless one.
//
// Why a tool: the SDK announces changes of its own table, which has none of
// ours and is never shown (see intercept).
func (g *Gateway) announce() {
	g.mcp.AddTool(&mcp.Tool{Name: "onceward_list", InputSchema: json.RawMessage(anyObject)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, unknownTool("onceward_list") // intercept answers before
	})
}
