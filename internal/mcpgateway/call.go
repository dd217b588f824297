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
	name   string
	args   json.RawMessage // as they came; may be nil
	who    onceward.Principal
	meta   map[string]any
	header http.Header                                          // nil on streams
	scope  string                                               // the server whose tools alone are meant; empty: all tools
	modern bool                                                 // the era without sessions
	tasks  bool                                                 // the client takes a task for an answer
	report func(ctx context.Context, p onceward.Progress) error // nil: nobody asked for progress
	ask    *mcp.CallToolRequest                                 // nil: its client cannot be asked anything
}

// callTool is the life of a call: who asks, what for, the operation, the answer.
func (g *Gateway) callTool(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	c := &call{Gateway: g, name: req.Params.Name, args: req.Params.Arguments, who: g.who(ctx, req.Extra), meta: req.Params.GetMeta(), scope: scopeOf(req.Extra),
		modern: req.ProtocolVersion() >= versionModern, ask: req}
	c.tasks = c.modern && takesTasks(req.ClientCapabilities())
	if req.Extra != nil {
		c.header = req.Extra.Header
	}
	if token := req.Params.GetProgressToken(); token != nil {
		c.report = func(ctx context.Context, p onceward.Progress) error {
			return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: p.Done, Total: p.Total, Message: p.Message})
		}
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
	if c.name == StatusTool {
		return c.status(ctx)
	}
	o := c.find(ctx, c.who, c.scope, c.name)
	if o == nil {
		return nil, unknownTool(c.name)
	}
	if o.pass {
		return c.read(ctx, o)
	}
	tool, err := c.ledger.Tool(o.info.Name) // another version may be in force elsewhere
	if err != nil {
		return c.refused(err)
	}
	if ctx.Err() != nil { // the caller went away before anything was claimed: nothing happens
		return nil, rpcError(onceward.Errorf(onceward.CodeCanceled, "the caller went away before anything was claimed"))
	}
	return c.operate(ctx, tool, o)
}

// operate makes the call an operation and waits for its end, not longer than
// the caller will.
//
// Why the context does not end the write: from the claim on the ledger works on
// a context of its own. A caller that hangs up ends only its waiting.
func (c *call) operate(ctx context.Context, tool onceward.Tool, o *offer) (*object, error) {
	in, err := c.intent(tool, o)
	if err != nil {
		return c.refused(err)
	}
	q, err := c.brought()
	if err != nil {
		return c.refused(err)
	}
	listen, stop := c.reportProgress(ctx)
	in.OnProgress = listen
	a, err := c.ledger.Submit(ctx, *in)
	stop()
	if err != nil {
		return c.refused(err)
	}
	if q != nil && a.Operation.State == onceward.StateAwaitingApproval {
		return c.answered(ctx, a, o, q)
	}
	if c.asksHere(ctx, a.Operation) {
		return c.askPerson(ctx, a, o)
	}
	return c.operation(a, o)
}

// arguments are the caller's, an empty object if there are none.
func (c *call) arguments() json.RawMessage {
	if len(c.args) > 0 && string(c.args) != "null" {
		return c.args
	}
	return json.RawMessage("{}")
}

// scopeOf is the server whose tools alone a request is about, by its path.
func scopeOf(extra *mcp.RequestExtra) string {
	if extra == nil || extra.TokenInfo == nil {
		return ""
	}
	scope, _ := extra.TokenInfo.Extra[tokenScope].(string)
	return scope
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
