package mcpgateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// tasksExtension is the extension by which clients of the stateless era say that
// a call may be answered with a task (SEP-2663). A task is an operation, and has
// its ID.
const tasksExtension = "io.modelcontextprotocol/tasks"

// The methods about tasks.
const (
	methodTaskGet    = "tasks/get"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
	methodTaskList   = "tasks/list" // of 2025-11-25
)

// codeMissingCapability is the protocol's.
const codeMissingCapability = -32021

// Intervals at which a client is told to ask.
const (
	pollMin = time.Second
	pollMax = time.Minute
)

// isTaskMethod reports whether a method is one about tasks that there is here.
func isTaskMethod(method string) bool {
	return method == methodTaskGet || method == methodTaskUpdate || method == methodTaskCancel
}

// taskParams are those of every method about tasks.
type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type taskRequest = mcp.ServerRequest[*taskParams]

// allowTasks has the SDK let the methods through to intercept.
func (g *Gateway) allowTasks() error {
	for _, method := range []string{methodTaskGet, methodTaskUpdate, methodTaskCancel} {
		err := mcp.AddReceivingCustomMethod(g.mcp, method, func(context.Context, *mcp.ServerSession, *taskParams) (*rawResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"} // intercept answers before
		})
		if err != nil {
			return fmt.Errorf("register %s: %w", method, err)
		}
	}
	return nil
}

// takesTasks reports whether a client said that it takes them.
func takesTasks(caps *mcp.ClientCapabilities) bool {
	if caps == nil {
		return false
	}
	_, declared := caps.Extensions[tasksExtension]
	return declared
}

// capabilitiesKey is where a request of the stateless era declares what its
// client can.
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"

// takesTasks reports whether a message's client said that it takes them.
func (m *message) takesTasks() bool {
	caps, _ := m.Params.Meta[capabilitiesKey].(map[string]any)
	extensions, _ := caps["extensions"].(map[string]any)
	_, declared := extensions[tasksExtension]
	return declared
}

// errNoTask is that no operation has the task's ID.
var errNoTask = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such task"}

// tasksNotDeclared refuses a method about tasks of a client that declared none.
func tasksNotDeclared() error {
	return &jsonrpc.Error{Code: codeMissingCapability, Message: "the request does not declare the extension " + tasksExtension,
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`)}
}

// aboutTask answers the methods about tasks.
func (g *Gateway) aboutTask(ctx context.Context, method string, req *taskRequest) (mcp.Result, error) {
	switch {
	case req.ProtocolVersion() < versionModern: // the tasks of 2025-11-25 are others, and not offered
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"}
	case !takesTasks(req.ClientCapabilities()):
		return nil, tasksNotDeclared()
	}
	c := &call{Gateway: g, who: g.who(ctx, req.Extra), scope: scopeOf(req.Extra), modern: true}
	out, err := c.aboutTask(ctx, method, req.Params.TaskID)
	if err != nil {
		return nil, err
	}
	return &rawResult{object: out}, nil
}

// aboutTask answers a method about the operation that is a task. errNoTask: there
// is none of the ID.
func (c *call) aboutTask(ctx context.Context, method, task string) (*object, error) {
	id, err := onceward.ParseOperationID(task)
	if err != nil {
		return nil, errNoTask
	}
	op, err := c.ledger.Get(ctx, c.who, id, 0)
	if err == nil && method == methodTaskCancel && !op.State.Terminal() {
		_, err = c.ledger.Cancel(ctx, c.who, id, "asked by an MCP client")
	}
	switch {
	case onceward.Is(err, onceward.CodeOperationNotFound):
		return nil, errNoTask
	case err != nil:
		return nil, rpcError(err)
	}
	out := &object{}
	if method == methodTaskGet {
		if out, err = c.taskState(ctx, op); err != nil {
			return nil, err
		}
	}
	out.put("resultType", "complete")
	return out, nil
}

// taskResult answers a call with a task: its operation goes on. Whoever repeats
// the call gets the same one.
func (c *call) taskResult(op *onceward.Operation, m *marker) *object {
	out := c.task(op, "working")
	out.put("resultType", "task")
	out.set("_meta", metaWith(m))
	return out
}

// task is what is said of an operation as a task. It has no end of its own: the
// ledger keeps it as its contract says.
func (c *call) task(op *onceward.Operation, status string) *object {
	out := &object{}
	out.put("taskId", op.ID.String())
	out.put("status", status)
	out.put("statusMessage", sentence(op))
	out.put("createdAt", op.CreatedAt.UTC().Format(time.RFC3339Nano))
	out.put("lastUpdatedAt", op.UpdatedAt.UTC().Format(time.RFC3339Nano))
	out.put("ttlMs", nil)
	out.put("pollIntervalMs", min(max(c.ledger.RetryAfter(op), pollMin), pollMax).Milliseconds())
	return out
}

// taskState is the whole state of an operation as a task. What ended without an
// effect has completed with a result that says so: a model reads it.
func (c *call) taskState(ctx context.Context, op *onceward.Operation) (*object, error) {
	switch {
	case !op.State.Terminal():
		return c.task(op, "working"), nil
	case op.State == onceward.StateCancelled && op.CancelRequested:
		return c.task(op, "cancelled"), nil
	}
	result, err := c.operation(&onceward.Answer{Operation: op}, c.offerOf(ctx, op))
	if err != nil {
		return nil, err
	}
	result.put("resultType", "complete")
	out := c.task(op, "completed")
	out.set("result", result.append(nil))
	return out, nil
}

// offerOf is the offer under which an operation was called, as far as it is known.
func (c *call) offerOf(ctx context.Context, op *onceward.Operation) *offer {
	if o := c.find(ctx, c.who, "", string(op.Tool)); o != nil {
		return o
	}
	if t, err := c.ledger.Tool(op.Tool); err == nil {
		return &offer{name: string(op.Tool), info: t.Info()}
	}
	return &offer{name: string(op.Tool), info: &onceward.ToolInfo{Name: op.Tool}}
}
