package mcpgateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
)

// tasker is an MCP server whose tool createTicket is answered with a task.
type tasker struct {
	modern bool

	mu     sync.Mutex
	calls  []string // the parameters of each tools/call
	looks  int      // tools/call of listTickets
	asked  int      // tasks/get
	named  []string // Mcp-Name of tasks/get
	status string   // of the task
	result string   // of the call, once it ended
	fail   string   // a JSON-RPC error in place of the task's state
}

func (d *tasker) set(status, result, fail string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status, d.result, d.fail = status, result, fail
}

func (d *tasker) seen() (calls, asked int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.calls), d.asked
}

func (d *tasker) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var m message
	_ = json.Unmarshal(body, &m)
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := func(kind, value string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%q:%s}`, m.ID, kind, value)
	}
	state := `"taskId":"T 7/ü","status":"` + d.status + `","createdAt":"2026-11-30T00:00:00Z","lastUpdatedAt":"2026-11-30T00:00:00Z","ttlMs":null,"ttl":null,"pollIntervalMs":5,"pollInterval":5`
	switch {
	case len(m.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "server/discover" && d.modern:
		answer("result", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"serverInfo":{"name":"tasker","version":"1"},"ttlMs":0,"cacheScope":"private"}`)
	case m.Method == "initialize":
		answer("result", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"tasker","version":"1"}}`)
	case m.Method == "tools/list":
		answer("result", `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"createTicket","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"listTickets","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
	case m.Method == "tools/call" && m.Params.Name == "listTickets":
		d.looks++
		answer("result", `{"resultType":"complete","content":[],"structuredContent":{"found":[{"id":"T-1"}]}}`)
	case m.Method == "tools/call":
		d.calls = append(d.calls, string(body))
		if d.modern {
			answer("result", `{"resultType":"task",`+state+`}`)
			return
		}
		answer("result", `{"task":{`+state+`}}`)
	case m.Params.TaskID != "T 7/ü":
		answer("error", `{"code":-32602,"message":"no such task"}`)
	case d.fail != "":
		answer("error", d.fail)
	case m.Method == "tasks/get":
		d.asked++
		d.named = append(d.named, req.Header.Get("Mcp-Name"))
		if d.modern && d.result != "" {
			state += `,"result":` + d.result
		}
		answer("result", `{"resultType":"complete",`+state+`}`)
	case m.Method == "tasks/result" && !d.modern:
		answer("result", d.result)
	default:
		answer("error", `{"code":-32601,"message":"no such method"}`)
	}
}

// taskWrites is a contract for it, in two classes.
func taskWrites(more string) string {
	return `
  tools:
    - tool: createTicket
      name: create
      key: [input.id]
      retry: {backoff: {initial: 2ms, max: 5ms}}
` + more
}

const (
	taskUnsafe = "      effect: unsafe_write\n"
	taskProbed = `      effect: probed_write
      probe: {tool: listTickets, arguments: {}, found: '${response.json.structuredContent.found}', reference: '${item.id}', settle: 1ms}
`
	taskEnd = `{"content":[{"type":"text","text":"made <&>","mood":"good"}],"structuredContent":{"id":"T-1","price":1.00},"novelty":{"b":1}}`
)

var operationID = regexp.MustCompile(`op_[0-9a-v]+`)

func TestServersTaskIsFollowedToItsEndAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	for era, modern := range map[string]bool{"with sessions": false, "stateless": true} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			d := &tasker{modern: modern, status: "working"}
			w := newBehind(t, d, taskWrites(taskUnsafe))
			stop := w.work()
			_, _, first := w.post("/mcp/desk", "ada", "", toolCall(1, "createTicket", `{"id":"a"}`))
			id := operationID.FindString(first)
			if id == "" || !strings.Contains(first, `"isError":true`) || strings.Contains(first, "structuredContent") {
				t.Fatalf("the call is answered %s", first)
			}
			op := w.settled(id, func(op *onceward.Operation) bool { return op.Probes > 1 })
			if op.State != onceward.StateOutcomeUnknown || op.Attempts[0].Handle != "T 7/ü" {
				t.Fatalf("while the task works, the operation is %s, its handle %q", op.State, op.Attempts[0].Handle)
			}
			stop()
			w.restart()
			w.work()
			d.set("completed", taskEnd, "")
			w.settled(id, func(op *onceward.Operation) bool { return op.State == onceward.StateSucceeded })
			_, _, again := w.post("/mcp/desk", "ada", "", toolCall(2, "createTicket", `{"id":"a"}`))
			for _, want := range []string{`{"type":"text","text":"made <&>","mood":"good"}`, `"structuredContent":{"id":"T-1","price":1.00}`, `"novelty":{"b":1}`, `"replayed":true`} {
				if !strings.Contains(again, want) {
					t.Errorf("the repeat lacks %s: %s", want, again)
				}
			}
			if calls, asked := d.seen(); calls != 1 || asked < 3 {
				t.Errorf("%d calls, %d questions about the task", calls, asked)
			}
			if asks := strings.Contains(d.calls[0], `"task":{"ttl":`); asks == modern {
				t.Errorf("the call was %s", d.calls[0])
			}
			if declares := strings.Contains(d.calls[0], `"io.modelcontextprotocol/tasks":{}`); declares != modern || modern && d.named[0] != "T 7/ü" {
				t.Errorf("the call was %s, the task's header %q", d.calls[0], d.named)
			}
		})
	}
}

func TestTaskThatEndsWithoutAWordOfItsEffectIsUnknown(t *testing.T) {
	t.Parallel()
	ends := map[string]struct{ status, result, fail string }{
		"cancelled":               {"cancelled", "", ""},
		"gone":                    {"working", "", `{"code":-32602,"message":"Task has expired"}`},
		"failed in the protocol":  {"failed", `null`, ""},
		"wants somebody's answer": {"input_required", "", ""},
		"with the tool's error":   {"completed", `{"content":[{"type":"text","text":"oh"}],"isError":true}`, ""},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for contract, want := range map[string]onceward.State{taskUnsafe: onceward.StateNeedsReview, taskProbed: onceward.StateSucceeded} {
				d := &tasker{modern: true, status: "working"}
				w := newBehind(t, d, taskWrites(contract))
				w.work()
				_, _, first := w.post("/mcp/desk", "ada", "", toolCall(1, "createTicket", `{"id":"a"}`))
				id := operationID.FindString(first)
				if d.looks > 0 {
					t.Error("an effect was looked for while the task worked")
				}
				d.set(end.status, end.result, end.fail)
				op := w.settled(id, func(op *onceward.Operation) bool { return op.State == want })
				if calls, _ := d.seen(); calls != 1 || op.Attempts[0].Handle != "" {
					t.Errorf("%d calls; the handle is %q", calls, op.Attempts[0].Handle)
				}
				if want == onceward.StateSucceeded && op.Reference != "T-1" {
					t.Errorf("the effect is %q", op.Reference)
				}
			}
		})
	}
}

func TestTaskThatEndsWithAnErrorOfAToolThatPromisesThenHasDoneNothing(t *testing.T) {
	t.Parallel()
	d := &tasker{status: "failed", result: `{"content":[{"type":"text","text":"no such folder"}],"isError":true}`}
	w := newBehind(t, d, taskWrites(taskUnsafe+"      tool_error: not_done\n"))
	w.work()
	_, _, answer := w.post("/mcp/desk", "ada", "", toolCall(1, "createTicket", `{"id":"a"}`))
	if !strings.Contains(answer, "no such folder") || !strings.Contains(answer, `"state":"failed"`) {
		t.Errorf("the call is answered %s", answer)
	}
	if calls, _ := d.seen(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func TestReadThatIsAnsweredWithATaskIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		d := &tasker{modern: modern, status: "completed", result: taskEnd}
		w := newBehind(t, d, "\n  tools:\n    - {tool: createTicket, name: create, effect: read}\n")
		_, answer := w.postModern(Path, "ada", "tools/call", "desk.create", `"name":"desk.create","arguments":{}`, nil, "")
		if !strings.Contains(answer, `"price":1.00`) {
			t.Errorf("the read is answered %s", answer)
		}
	}
}

func TestTaskIsNotStartedAgainThoughItsKeyWouldAllowIt(t *testing.T) {
	t.Parallel()
	d := &tasker{modern: true, status: "working"}
	w := newBehind(t, d, taskWrites("      effect: keyed_write\n      provider_key: {in: json, name: key, window: 24h, window_kind: guaranteed}\n      arguments: {id: '${input.id}'}\n"))
	w.work()
	_, _, first := w.post("/mcp/desk", "ada", "", toolCall(1, "createTicket", `{"id":"a"}`))
	id := operationID.FindString(first)
	w.settled(id, func(op *onceward.Operation) bool { return op.Probes > 2 })
	if calls, _ := d.seen(); calls != 1 {
		t.Errorf("%d calls while the task works", calls)
	}
	d.set("completed", taskEnd, "")
	w.settled(id, func(op *onceward.Operation) bool { return op.State == onceward.StateSucceeded })
	if calls, _ := d.seen(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
