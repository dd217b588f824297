package mcpgateway

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// MetaPrefix stands before every name of ours in _meta.
const MetaPrefix = "io.github.onceward/"

// listTools lists what the caller may use, in order of the names.
func (g *Gateway) listTools(ctx context.Context, req *mcp.ListToolsRequest) (mcp.Result, error) {
	who := g.who(ctx, req.Extra)
	if err := onceward.Authorize(who, onceward.ActionReadTools); err != nil {
		return nil, rpcError(err)
	}
	g.lists.listed(ctx)
	tools := g.definitions(ctx, who, scopeOf(req.Extra))
	out := &object{}
	if req.ProtocolVersion() >= versionModern {
		out.put("resultType", "complete")
		out.put("ttlMs", ListTTL.Milliseconds())
		out.put("cacheScope", "private")
	}
	out.put("tools", tools)
	return &rawResult{object: out}, nil
}

// definitions are the tools that a principal may call, and the status tool.
func (g *Gateway) definitions(ctx context.Context, who onceward.Principal, scope string) []json.RawMessage {
	tools := []json.RawMessage{}
	for _, o := range g.offers(ctx, who, scope) {
		if d := o.definition(); d != nil {
			tools = append(tools, d.append(nil))
		}
	}
	return append(tools, statusDefinition().append(nil))
}

// offered reports whether a principal is shown a tool. What its callers perform
// themselves, and what is made of a whole HTTP request, cannot be called here.
func offered(i *onceward.ToolInfo, who onceward.Principal) bool {
	return !i.Policy.RemoteExecutor && !i.Forwarded && who.Permits(i.Name, i.Policy.Effect) == nil
}

// definition is a tool as clients see it. The hints are ours, each written out:
// what is left out would be read as its default.
func definition(i *onceward.ToolInfo, name string) *object {
	o := &object{}
	o.put("name", name)
	if i.Description != "" {
		o.put("description", i.Description)
	}
	o.set("inputSchema", json.RawMessage(anyObject))
	if len(i.InputSchema) > 0 {
		o.set("inputSchema", json.RawMessage(i.InputSchema))
	}
	o.put("annotations", hints(i))
	o.put("_meta", toolMeta(i))
	return o
}

// hintSet are a tool's hints, none of them left out.
type hintSet struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// hints follow from the contract. A repeat adds nothing where the key comes from
// the arguments alone: then a client may repeat the call by itself.
func hints(i *onceward.ToolInfo) hintSet {
	writes := i.Policy.Effect.Writes()
	return hintSet{ReadOnly: !writes, Destructive: writes, Idempotent: !writes || i.KeyRule != "", OpenWorld: true}
}

// toolMeta says what a contract promises. Tools that ask a person say so to the
// clients that look for it.
func toolMeta(i *onceward.ToolInfo) map[string]any {
	meta := map[string]any{MetaPrefix + "effect": i.Policy.Effect.String(), MetaPrefix + "contract": i.Version}
	if i.Policy.ApprovalExpiry > 0 {
		meta["anthropic/requiresUserInteraction"] = true
	}
	return meta
}
