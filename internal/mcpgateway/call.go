package mcpgateway

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// call is one tools/call on its way.
type call struct {
	*Gateway
	req    *mcp.CallToolRequest
	who    onceward.Principal
	meta   map[string]any
	header http.Header // nil on streams
	modern bool        // the era without sessions
}

// callTool is the life of a call: who asks, what for, the operation, the answer.
func (g *Gateway) callTool(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	c := &call{Gateway: g, req: req, who: g.who(ctx, req.Extra), meta: req.Params.GetMeta(), modern: req.ProtocolVersion() >= versionModern}
	if req.Extra != nil {
		c.header = req.Extra.Header
	}
	out, err := c.answer(ctx)
	if err != nil {
		return nil, err
	}
	if c.modern && out.get("resultType") == nil {
		out.put("resultType", "complete")
	}
	return &rawResult{object: out}, nil
}

func (c *call) answer(ctx context.Context) (*object, error) {
	if c.req.Params.Name == StatusTool {
		return c.status(ctx)
	}
	tool, err := c.ledger.Tool(onceward.ToolName(c.req.Params.Name))
	if onceward.Is(err, onceward.CodeToolNotFound) || err == nil && !offered(tool.Info(), c.who) {
		return nil, unknownTool(c.req.Params.Name)
	}
	if err != nil {
		return c.refused(err)
	}
	if ctx.Err() != nil { // the caller went away before anything was claimed: nothing happens
		return nil, rpcError(onceward.Errorf(onceward.CodeCanceled, "the caller went away before anything was claimed"))
	}
	return c.operate(ctx, tool)
}

// operate makes the call an operation and waits for its end, not longer than
// the caller will.
//
// Why the context does not end the write: from the claim on the ledger works on
// a context of its own. A caller that hangs up ends only its waiting.
func (c *call) operate(ctx context.Context, tool onceward.Tool) (*object, error) {
	in, err := c.intent(tool)
	if err != nil {
		return c.refused(err)
	}
	stop := c.reportProgress(ctx)
	a, err := c.ledger.Submit(ctx, *in)
	stop()
	if err != nil {
		return c.refused(err)
	}
	return c.operation(a, tool.Info())
}

// arguments are the caller's, an empty object if there are none.
func (c *call) arguments() json.RawMessage {
	if raw := c.req.Params.Arguments; len(raw) > 0 && string(raw) != "null" {
		return raw
	}
	return json.RawMessage("{}")
}

// who says who sends a message: as the HTTP handler found out, else as the
// stream was opened for.
func (g *Gateway) who(ctx context.Context, extra *mcp.RequestExtra) onceward.Principal {
	if extra != nil && extra.TokenInfo != nil {
		if who, ok := extra.TokenInfo.Extra[tokenWho].(onceward.Principal); ok {
			return who
		}
	}
	if extra == nil || extra.Header == nil { // over HTTP, a session's context is its first request's
		if who, ok := ctx.Value(whoKey{}).(onceward.Principal); ok {
			return who
		}
	}
	return onceward.Principal{} // nobody: it has no rights
}
