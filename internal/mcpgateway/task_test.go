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
	"time"

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
			d.set("completed", taskEnd, "")
			// Not the loop: a row that the one before had taken waits for half a minute.
			_, err := w.ledger.Reconcile(t.Context(), onceward.LocalPrincipal(), op.ID)
			w.must(err)
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

const declaresTasks = `"extensions":{"io.modelcontextprotocol/tasks":{}}`

func TestCallIsAnsweredWithATaskWhereTheClientTakesOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.AnswerWithin = 50 * time.Millisecond })
	release := w.provider.Hold()
	arguments := fmt.Sprintf(`"name":%q,"arguments":{"id":"a"}`, tickets)
	get := func(id string) string {
		_, answer := w.postModern(Path, "ada", "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id), nil, declaresTasks)
		return answer
	}
	var ids []string
	for range 2 { // the answer of the first may have been lost
		_, answer := w.postModern(Path, "ada", "tools/call", tickets, arguments, nil, declaresTasks)
		if !strings.Contains(answer, `"resultType":"task"`) || !strings.Contains(answer, `"status":"working"`) || !strings.Contains(answer, `"ttlMs":null`) || strings.Contains(answer, "isError") {
			t.Fatalf("the call is answered %s", answer)
		}
		ids = append(ids, operationID.FindString(answer))
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("the repeat's task is %s, the first one's %s", ids[1], ids[0])
	}
	if _, plain := w.postModern(Path, "ada", "tools/call", tickets, arguments, nil, ""); !strings.Contains(plain, `"isError":true`) || strings.Contains(plain, "taskId") {
		t.Errorf("a client that takes no task is answered %s", plain)
	}
	if answer := get(ids[0]); !strings.Contains(answer, `"resultType":"complete"`) || !strings.Contains(answer, `"status":"working"`) {
		t.Errorf("while it works: %s", answer)
	}
	release()
	w.settled(ids[0], func(op *onceward.Operation) bool { return op.State == onceward.StateSucceeded })
	if answer := get(ids[0]); !strings.Contains(answer, `"status":"completed"`) || !strings.Contains(answer, `"result":{"content":[`) || strings.Contains(answer, `"replayed":true`) {
		t.Errorf("at its end: %s", answer)
	}
	if w.provider.Writes() != 1 {
		t.Errorf("%d writes", w.provider.Writes())
	}
}

func TestTaskIsToldToWhoeverMayAskAndToNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, answer := w.postModern(Path, "ada", "tools/call", payouts, fmt.Sprintf(`"name":%q,"arguments":{"id":"a"}`, payouts), map[string][]string{"Idempotency-Key": {"pay-1"}}, declaresTasks)
	id := operationID.FindString(answer)
	if !strings.Contains(answer, `"resultType":"task"`) {
		t.Fatalf("the call that waits for a person is answered %s", answer)
	}
	for name, c := range map[string]struct{ method, header, task, capabilities, want string }{
		"not declared":        {"tasks/get", id, id, "", "-32021"},
		"another in the head": {"tasks/get", "op_x", id, declaresTasks, "-32020"},
		"none of that ID":     {"tasks/get", "op_00000000000000000000000000", "op_00000000000000000000000000", declaresTasks, "-32602"},
		"no ID at all":        {"tasks/get", "7", "7", declaresTasks, "-32602"},
		"an answer":           {"tasks/update", id, id, declaresTasks, `"resultType":"complete"`},
	} {
		if _, got := w.postModern(Path, "ada", c.method, c.header, fmt.Sprintf(`"taskId":%q`, c.task), nil, c.capabilities); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for range 2 {
		if _, got := w.postModern(Path, "ada", "tasks/cancel", id, fmt.Sprintf(`"taskId":%q`, id), nil, declaresTasks); !strings.Contains(got, `"resultType":"complete"`) {
			t.Errorf("a cancellation is answered %s", got)
		}
	}
	if _, got := w.postModern(Path, "ada", "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id), nil, declaresTasks); !strings.Contains(got, `"status":"cancelled"`) {
		t.Errorf("the cancelled task is %s", got)
	}
	_, session, _ := w.post(Path, "ada", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	w.post(Path, "ada", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if _, _, got := w.post(Path, "ada", session, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":%q}}`, id)); !strings.Contains(got, "-32601") {
		t.Errorf("in the era of sessions: %s", got)
	}
	if w.provider.Writes() != 0 {
		t.Errorf("%d writes", w.provider.Writes())
	}
}

func TestServerBehindMayAnswerWithATaskOfOursAndKeepsItsOwn(t *testing.T) {
	t.Parallel()
	d := &tasker{modern: true, status: "working"}
	w := newBehind(t, d, taskWrites(taskUnsafe)+"    - {tool: listTickets, name: list, effect: read}\n")
	w.work()
	const path = "/mcp/desk"
	about := func(method, task, capabilities string) string {
		_, answer := w.postModern(path, "ada", method, task, fmt.Sprintf(`"taskId":%q`, task), nil, capabilities)
		return answer
	}
	if _, answer := w.postModern(path, "ada", "server/discover", "", `"x":1`, nil, ""); !strings.Contains(answer, `"io.modelcontextprotocol/tasks":{}`) {
		t.Errorf("the server is described by %s", answer)
	}
	var ids []string
	for range 2 {
		_, answer := w.postModern(path, "ada", "tools/call", "createTicket", `"name":"createTicket","arguments":{"id":"a"}`, nil, declaresTasks)
		if !strings.Contains(answer, `"resultType":"task"`) {
			t.Fatalf("the call is answered %s", answer)
		}
		ids = append(ids, operationID.FindString(answer))
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("the repeat's task is %q, the first one's %q", ids[1], ids[0])
	}
	if answer := about("tasks/cancel", ids[0], ""); !strings.Contains(answer, "-32021") {
		t.Errorf("whoever declares no tasks is answered %s", answer)
	}
	if answer := about("tasks/get", ids[0], declaresTasks); !strings.Contains(answer, `"status":"working"`) {
		t.Errorf("while it works: %s", answer)
	}
	d.set("completed", taskEnd, "")
	w.settled(ids[0], func(op *onceward.Operation) bool { return op.State == onceward.StateSucceeded })
	if answer := about("tasks/get", ids[0], declaresTasks); !strings.Contains(answer, `"status":"completed"`) || !strings.Contains(answer, `"price":1.00`) || !strings.Contains(answer, ids[0]) {
		t.Errorf("at its end: %s", answer)
	}
	if _, answer := w.postModern(path, "ada", "tasks/get", "T 7", `"taskId":"T 7"`, nil, declaresTasks); !strings.Contains(answer, "no such task") {
		t.Errorf("a task that the server does not know is answered %s", answer)
	}
	_, before := d.seen()
	own := about("tasks/get", "T 7/ü", declaresTasks)
	if _, after := d.seen(); after != before+1 || !strings.Contains(own, `"T 7/ü"`) || !strings.Contains(own, `"status":"completed"`) {
		t.Errorf("the server's own task was asked for %d times, and is answered %s", after-before, own)
	}
	for _, who := range []string{"ada", "ben"} { // the server would list everybody's: we are one client to it
		if _, _, answer := w.post(path, who, "", `{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`); !strings.Contains(answer, "-32601") || !strings.Contains(answer, "not listed") {
			t.Errorf("%s is shown tasks: %s", who, answer)
		}
	}
	if calls, _ := d.seen(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
