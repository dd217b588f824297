package mcpcall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onceward/onceward"
)

// tasksExtension is that of servers which may answer a call with a task, from
// 2026-07-28 on; until 2025-11-25 a caller asks for one.
const tasksExtension = "io.modelcontextprotocol/tasks"

// versionModern is the first version of the protocol without sessions.
const versionModern = "2026-07-28"

// The methods about tasks. tasks/result is of 2025-11-25, where the state of a
// task does not hold its result.
const (
	methodTaskGet    = "tasks/get"
	methodTaskResult = "tasks/result"
)

// taskKept is how long a server of 2025-11-25 is asked to keep a task.
const taskKept = 24 * time.Hour

// Intervals between two questions about a task that a read waits for.
const (
	pollMin = 50 * time.Millisecond
	pollMax = 5 * time.Second
)

type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type taskResult struct{ mcp.ResultBase }

// task is what a server says of one, in either version.
type task struct {
	TaskID         string  `json:"taskId"`
	Status         string  `json:"status"`
	PollInterval   float64 `json:"pollInterval"`
	PollIntervalMs float64 `json:"pollIntervalMs"`
}

// taskIn reads the task that a call was answered with; nil: it was not.
func taskIn(body []byte) *task {
	var answer struct {
		ResultType string          `json:"resultType"`
		Content    json.RawMessage `json:"content"`
		Task       *task           `json:"task"`
		task
	}
	switch err := json.Unmarshal(body, &answer); {
	case err != nil:
		return nil
	case answer.ResultType == "task":
		return &answer.task
	case answer.Content == nil:
		return answer.Task
	}
	return nil
}

// allowTasks registers what is asked about tasks.
func allowTasks(c *mcp.Client) error {
	for _, method := range []string{methodTaskGet, methodTaskResult} {
		if err := mcp.AddSendingCustomMethod[*taskParams, *taskResult](c, method); err != nil {
			return fmt.Errorf("register %s: %w", method, err)
		}
	}
	return nil
}

// asTask adds to the parameters of a call that a task is wanted, as servers of
// 2025-11-25 demand it for some tools.
func asTask(params json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(params)
	if len(trimmed) < 2 || trimmed[0] != '{' {
		return params
	}
	head := fmt.Appendf(nil, `{"task":{"ttl":%d}`, taskKept.Milliseconds())
	if rest := bytes.TrimSpace(trimmed[1:]); rest[0] != '}' {
		head = append(head, ',')
	}
	return append(head, trimmed[1:]...)
}

// wantsTask reports whether a tool is called as a task only, by the server's list.
func (u *upstream) wantsTask(s *session, tool string) bool {
	if s.InitializeResult().ProtocolVersion >= versionModern {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.now[tool]
	return d != nil && d.taskOnly
}

// follow asks how a task stands. The body of the evidence is {task, result},
// {task, error} or {error}.
func (u *upstream) follow(ctx context.Context, id string, opts *onceward.SendOptions) onceward.Evidence {
	s, err := u.connected(ctx)
	if err != nil {
		return unreachable(err).evidence(time.Now())
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opts.Deadline, DefaultDeadline))
	defer cancel()
	ev, state := u.askAbout(ctx, s, methodTaskGet, id)
	if ev.Status != 200 {
		u.forgetIfGone(s)
		return ev
	}
	var refused struct {
		Error json.RawMessage `json:"error"`
		task
	}
	if json.Unmarshal(state, &refused) != nil || refused.Status == "" {
		return ev // {"error": …}, or what nobody can read
	}
	out := map[string]json.RawMessage{"task": state}
	var whole struct{ Result, Error json.RawMessage }
	_ = json.Unmarshal(state, &whole) // it was read above
	ended := refused.Status == "completed" || refused.Status == "failed"
	if ended && whole.Result == nil && whole.Error == nil && s.InitializeResult().ProtocolVersion < versionModern {
		got, result := u.askAbout(ctx, s, methodTaskResult, id)
		if got.Status != 200 {
			u.forgetIfGone(s)
			return got // it is asked again
		}
		whole.Result, whole.Error = result, nil
		var failed struct{ Error json.RawMessage }
		if json.Unmarshal(result, &failed) == nil && failed.Error != nil {
			whole.Result, whole.Error = nil, failed.Error
		}
	}
	if ended && whole.Result != nil {
		out["result"] = whole.Result
	}
	if ended && whole.Error != nil {
		out["error"] = whole.Error
	}
	if ev.Body, err = asIs(out); err != nil {
		ev.Body = []byte(`{}`)
	}
	return ev
}

// asIs marshals an object whose members stay as they came.
func asIs(members map[string]json.RawMessage) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(members); err != nil {
		return nil, fmt.Errorf("write message: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}

// askAbout sends one request about a task, and returns its result as it came, or
// {"error": …}.
func (u *upstream) askAbout(ctx context.Context, s *session, method, id string) (onceward.Evidence, json.RawMessage) {
	f := &flight{method: method, opts: onceward.SendOptions{Hosts: []string{hostOf(u.server.URL)}}}
	f.ev.Reach, f.ev.StartedAt = onceward.ReachNotDialled, time.Now()
	_, err := mcp.CallCustomMethod[*taskParams, *taskResult](context.WithValue(ctx, flightKey{}, f), s.ClientSession, method, &taskParams{TaskID: id})
	ev := f.landed(err)
	return ev, ev.Body
}

// forgetIfGone takes a session out of use that got no answer over HTTP: it may
// have ended, or its credential.
func (u *upstream) forgetIfGone(s *session) {
	if len(u.server.Command) == 0 {
		u.forget(s)
	}
}

// awaited is the result of a read that was answered with a task, once it has
// ended.
func (u *upstream) awaited(ctx context.Context, first *task, within time.Duration) onceward.Evidence {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	unfinished := onceward.Evidence{ErrorClass: onceward.ClassTimeout, ErrorCode: "task_unfinished", ErrorText: "the server's task did not end in time"}
	interval := first.PollInterval + first.PollIntervalMs
	for {
		select {
		case <-time.After(min(max(time.Duration(interval)*time.Millisecond, pollMin), pollMax)):
		case <-ctx.Done():
			return unfinished
		}
		ev := u.follow(ctx, first.TaskID, &onceward.SendOptions{})
		var got struct {
			Task   task            `json:"task"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		switch {
		case ev.Status != 200 || json.Unmarshal(ev.Body, &got) != nil:
			continue // until the time is over
		case got.Result != nil:
			ev.Body = got.Result
			return ev
		case got.Error != nil:
			ev.Body = body(nil, rpcError{got.Error})
			return ev
		case got.Task.Status != "working":
			return onceward.Evidence{ErrorClass: onceward.ClassProtocol, ErrorCode: "task_" + got.Task.Status, ErrorText: "the server's task ended without a result"}
		}
		interval = got.Task.PollInterval + got.Task.PollIntervalMs
	}
}

// withTask is asTask for a whole message.
func withTask(message []byte) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	m["params"] = asTask(m["params"])
	return asIs(m)
}

// nameTask repeats the ID of a task in the header that proxies route by, as
// 2026-07-28 demands. The SDK knows no tasks.
func nameTask(out *onceward.Request, method string) {
	if method != methodTaskGet || !hasField(out.Header, "Mcp-Method") {
		return
	}
	var m struct{ Params taskParams }
	if json.Unmarshal(out.Body, &m) == nil {
		out.Header = append(out.Header, onceward.HeaderField{Name: "Mcp-Name", Value: m.Params.TaskID})
	}
}

func hasField(fields []onceward.HeaderField, name string) bool {
	return slices.ContainsFunc(fields, func(f onceward.HeaderField) bool { return strings.EqualFold(f.Name, name) })
}
