package mcpgateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/onceward/onceward"
)

// Upstream is one MCP server behind the gateway.
type Upstream struct {
	Name string
	// PassReads lets tools through that have no contract and that the server calls
	// read-only; AskFirst lets all others through once a person said yes.
	PassReads, AskFirst bool
	// URL is the address of a server on streamable HTTP; empty: it is a command.
	URL string
	// Headers are our credentials for it; nil: none.
	Headers func() ([]onceward.HeaderField, error)
}

// UpstreamTool is what a server says of one of its tools.
type UpstreamTool struct {
	Name     string
	Raw      json.RawMessage
	ReadOnly bool // as the server says
}

// Upstreams are the MCP servers behind the gateway.
type Upstreams interface {
	Servers() []Upstream
	// Tools lists a server's tools, in its order.
	Tools(ctx context.Context, server string) ([]UpstreamTool, error)
	// Read calls a tool that only reads, and returns its result as it came, or
	// {"error": …} of the protocol.
	Read(ctx context.Context, server, tool string, arguments []byte) (json.RawMessage, error)
}

// unlistedSuffix names, behind a server's name, the contract by which tools
// without one are called.
const unlistedSuffix = ".unlisted"

// offer is one tool that may be called here.
type offer struct {
	name   string                                          // as it is called
	info   *onceward.ToolInfo                              // nil: it has no contract, and is passed through
	server string                                          // of an MCP server's tool; else empty
	tool   string                                          // its name at the server
	raw    json.RawMessage                                 // its definition at the server; nil: none is known
	input  func(arguments json.RawMessage) json.RawMessage // of the operation; nil: the arguments
	pass   bool                                            // it only reads, and goes through as it is
}

// offers lists what a principal may call, by name. A scope is the name of a
// server whose tools alone are meant, under their own names; empty: everything.
func (g *Gateway) offers(ctx context.Context, who onceward.Principal, scope string) []offer {
	listed := map[onceward.MCPTool]*onceward.ToolInfo{}
	var out []offer
	contracts := map[string]*onceward.ToolInfo{}
	for _, t := range g.ledger.Tools() {
		i := t.Info()
		contracts[string(i.Name)] = i
		switch {
		case i.MCP.Server == "":
			if scope == "" && offered(i, who) {
				out = append(out, offer{name: string(i.Name), info: i})
			}
		case i.MCP.Tool != "":
			listed[i.MCP] = i
		}
	}
	for _, s := range g.servers() {
		if scope == "" || scope == s.Name {
			out = append(out, g.offersOf(ctx, who, &s, scope, listed, contracts)...)
		}
	}
	slices.SortFunc(out, func(a, b offer) int { return strings.Compare(a.name, b.name) })
	return out
}

func (g *Gateway) servers() []Upstream {
	if g.opts.Upstreams == nil {
		return nil
	}
	return g.opts.Upstreams.Servers()
}

// offersOf lists the tools of one server. Where it cannot be asked, those with a
// contract are offered all the same: what was done is answered from the record.
func (g *Gateway) offersOf(ctx context.Context, who onceward.Principal, s *Upstream, scope string, listed map[onceward.MCPTool]*onceward.ToolInfo, contracts map[string]*onceward.ToolInfo) []offer {
	tools, err := g.opts.Upstreams.Tools(ctx, s.Name)
	if err != nil {
		g.log.Warn("an MCP server does not list its tools", "server", s.Name, "error", err)
	}
	var out []offer
	known := map[string]bool{}
	name := func(own, full string) string {
		if scope != "" {
			return own
		}
		return full
	}
	for _, t := range tools {
		known[t.Name] = true
		if t.Name == StatusTool && scope != "" {
			continue // the name is taken
		}
		o := offer{server: s.Name, tool: t.Name, raw: t.Raw}
		unlisted := contracts[s.Name+unlistedSuffix]
		switch i := listed[onceward.MCPTool{Server: s.Name, Tool: t.Name}]; {
		case i != nil:
			o.name, o.info, o.pass = name(t.Name, string(i.Name)), i, passes(i)
		case scope == "" && contracts[s.Name+"."+t.Name] != nil:
			continue // by this name a contract is called, which is for another tool
		case t.ReadOnly && (s.PassReads || s.AskFirst):
			o.name, o.pass = name(t.Name, s.Name+"."+t.Name), true
		case s.AskFirst && unlisted != nil:
			o.name, o.info = name(t.Name, s.Name+"."+t.Name), unlisted
			o.input = func(arguments json.RawMessage) json.RawMessage {
				return mustMarshal(map[string]json.RawMessage{"tool": mustMarshal(t.Name), "arguments": arguments})
			}
		default:
			continue
		}
		if o.info == nil && who.Permits(onceward.ToolName(s.Name+"."+t.Name), onceward.EffectRead) == nil || o.info != nil && offered(o.info, who) {
			out = append(out, o)
		}
	}
	for at, i := range listed {
		if at.Server == s.Name && !known[at.Tool] && offered(i, who) && err != nil {
			out = append(out, offer{name: name(at.Tool, string(i.Name)), info: i, server: s.Name, tool: at.Tool})
		}
	}
	return out
}

// passes reports whether a tool of an MCP server is passed through as it is: its
// contract says that it only reads, and asks for nothing else.
func passes(i *onceward.ToolInfo) bool {
	return i.MCP.Server != "" && !i.Policy.Effect.Writes() && i.KeyRule == "" && i.Policy.ApprovalExpiry == 0 && i.Policy.Rate.Count == 0
}

// find looks an offer up by its name.
func (g *Gateway) find(ctx context.Context, who onceward.Principal, scope, name string) *offer {
	// A contract of our own needs no server to be asked.
	if t, err := g.ledger.Tool(onceward.ToolName(name)); scope == "" && err == nil && t.Info().MCP.Server == "" {
		if i := t.Info(); offered(i, who) {
			return &offer{name: name, info: i}
		}
		return nil
	}
	all := g.offers(ctx, who, scope)
	if i, found := slices.BinarySearchFunc(all, name, func(o offer, name string) int { return strings.Compare(o.name, name) }); found {
		return &all[i]
	}
	return nil
}

// definition is the offer as clients see it.
func (o *offer) definition() *object {
	if o.raw == nil {
		return definition(o.info, o.name)
	}
	out, err := readObject(o.raw)
	if err != nil {
		return nil
	}
	out.put("name", o.name)
	out.drop("execution") // of tasks, which are followed here and not handed on
	i := o.info
	if i == nil {
		return out // a read, which the operator lets the server vouch for
	}
	if len(i.InputSchema) > 0 && string(i.InputSchema) != anyObject && o.input == nil {
		out.set("inputSchema", json.RawMessage(i.InputSchema))
	}
	ours := hints(i)
	annotations, err := readObject(out.get("annotations"))
	if err != nil {
		annotations = &object{}
	}
	annotations.put("readOnlyHint", ours.ReadOnly)
	annotations.put("destructiveHint", ours.Destructive)
	annotations.put("idempotentHint", ours.Idempotent)
	if annotations.get("openWorldHint") == nil {
		annotations.put("openWorldHint", ours.OpenWorld)
	}
	out.set("annotations", annotations.append(nil))
	for name, value := range toolMeta(i) {
		if err := out.setMeta(name, mustMarshal(value)); err != nil {
			return nil
		}
	}
	return out
}

// anyObject is the input schema of a contract that names none.
const anyObject = `{"type":"object"}`

// promisesOutput reports whether clients hold the tool's results to a schema.
func (o *offer) promisesOutput() bool {
	if o.raw == nil {
		return false
	}
	out, err := readObject(o.raw)
	return err == nil && out.get("outputSchema") != nil
}

// read passes a call through that changes nothing.
func (c *call) read(ctx context.Context, o *offer) (*object, error) {
	if err := onceward.Authorize(c.who, onceward.ActionSubmit); err != nil {
		return c.refused(err)
	}
	raw, err := c.opts.Upstreams.Read(ctx, o.server, o.tool, c.arguments())
	if err != nil {
		c.log.Warn("a read of an MCP server failed", "server", o.server, "tool", o.tool, "error", err)
		return failure("The server of "+o.name+" could not be asked. It is a read: ask again.", refusalMark{Code: string(onceward.CodeProviderUnreachable), advice: advice{Retryable: true}}), nil
	}
	out, err := readObject(raw)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server's answer is no result"}
	}
	if refusal := out.get("error"); refusal != nil && out.get("content") == nil {
		var e jsonrpc.Error
		if err := json.Unmarshal(refusal, &e); err != nil {
			e = jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server answered with an error"}
		}
		return nil, &e
	}
	return out, nil
}
