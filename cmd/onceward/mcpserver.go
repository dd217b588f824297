package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
	"github.com/onceward/onceward/internal/mcpgateway"
	"github.com/onceward/onceward/provider/mcpcall"
)

// switchboard gives a request to the provider that speaks its protocol.
type switchboard struct{ http, mcp onceward.Provider }

// Send implements onceward.Provider.
func (s switchboard) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	if strings.HasPrefix(req.URL, mcpcall.Scheme+"://") {
		return s.mcp.Send(ctx, req, opts)
	}
	return s.http.Send(ctx, req, opts)
}

// mcpServers are the MCP servers of the contracts in force.
type mcpServers struct {
	client *mcpcall.Client

	mu      sync.RWMutex
	servers []*contract.MCPServer
}

// serve puts servers in place of those that were known.
func (u *mcpServers) serve(servers []*contract.MCPServer) {
	out := make([]mcpcall.Server, len(servers))
	for i, s := range servers {
		out[i] = mcpcall.Server{Name: s.Name(), Command: s.Command(), Dir: s.Dir(), Env: s.Env, SecretEnv: s.SecretEnv(), URL: s.URL(), Headers: s.Headers}
	}
	u.client.Serve(out)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.servers = servers
}

// Servers implements mcpgateway.Upstreams.
func (u *mcpServers) Servers() []mcpgateway.Upstream {
	u.mu.RLock()
	defer u.mu.RUnlock()
	out := make([]mcpgateway.Upstream, len(u.servers))
	for i, s := range u.servers {
		out[i] = mcpgateway.Upstream{Name: s.Name(), PassReads: s.Unlisted() == contract.UnlistedToolsPassReads, AskFirst: s.Unlisted() == contract.UnlistedToolsReview, URL: s.URL(), Headers: s.Headers}
	}
	return out
}

// Tools implements mcpgateway.Upstreams.
func (u *mcpServers) Tools(ctx context.Context, server string) ([]mcpgateway.UpstreamTool, error) {
	list, err := u.client.Definitions(ctx, server)
	out := make([]mcpgateway.UpstreamTool, len(list))
	for i, d := range list {
		out[i] = mcpgateway.UpstreamTool{Name: d.Name, Raw: d.Raw, ReadOnly: d.ReadOnly}
	}
	return out, err
}

// readWithin bounds a call of a tool that is passed through.
const readWithin = 55 * time.Second

// Read implements mcpgateway.Upstreams.
func (u *mcpServers) Read(ctx context.Context, server, tool string, arguments []byte) (json.RawMessage, error) {
	return u.client.Call(ctx, server, tool, arguments, readWithin)
}
