package contract

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// mcpTask is what a server says of a task: in 2025-11-25, and in the extension
// io.modelcontextprotocol/tasks, which writes the interval with its unit.
type mcpTask struct {
	TaskID         string  `json:"taskId"`
	Status         string  `json:"status"`
	StatusMessage  string  `json:"statusMessage"`
	PollInterval   float64 `json:"pollInterval"`
	PollIntervalMs float64 `json:"pollIntervalMs"`
}

// pollMax is the longest interval that is honoured.
const pollMax = 10 * time.Minute

func (t *mcpTask) interval() time.Duration {
	ms := min(max(t.PollInterval, t.PollIntervalMs, 0), float64(pollMax/time.Millisecond))
	return time.Duration(ms) * time.Millisecond
}

// goesOn is what an attempt means that was answered with a task.
func (t *mcpTask) goesOn() onceward.Judgement {
	return onceward.Judgement{Verdict: onceward.VerdictUnknown, Rule: "default: MCP task", Handle: t.TaskID, RetryAfter: t.interval(),
		Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: "task", Message: "the tool works on, as a task that is followed to its end", Retryable: true}}
}

// FollowRequest is onceward.Follower's: mcp://server/?task=ID.
func (t *Tool) FollowRequest(op *onceward.Operation, handle string) (*onceward.Request, error) {
	if !t.mcp || op.Request == nil {
		return nil, onceward.Errorf(onceward.CodeInternal, "the contract's attempts are no calls of an MCP server's tool")
	}
	server, _, _ := strings.Cut(strings.TrimPrefix(op.Request.URL, mcpScheme), "/")
	return &onceward.Request{Method: "POST", URL: mcpScheme + server + "/?task=" + url.QueryEscape(handle)}, nil
}

// Codes by which a server says that it has no such task, or no tasks.
var taskGone = map[int64]bool{-32601: true, -32602: true, -32002: true, -32021: true}

// JudgeFollow is onceward.Follower's. The answer is {task, result}, {task, error}
// or {error}, as provider/mcpcall writes it. A task that was cancelled, whoever
// did that, may have had its effect before.
func (t *Tool) JudgeFollow(_ *onceward.Operation, ev *onceward.Evidence) onceward.FollowJudgement {
	if ev.Status == 0 {
		return onceward.FollowJudgement{Failure: noAnswer(ev).Failure}
	}
	failure := func(code, message string) onceward.Failure {
		return onceward.Failure{Class: onceward.ClassProtocol, Code: code, Message: message, Retryable: true}
	}
	var answer struct {
		Task   *mcpTask              `json:"task"`
		Result json.RawMessage       `json:"result"`
		Error  *struct{ Code int64 } `json:"error"`
	}
	switch err := json.Unmarshal(ev.Body, &answer); {
	case err != nil || ev.Status < 200 || ev.Status > 299 || ev.BodyCut || ev.BodyTooBig:
		return onceward.FollowJudgement{Failure: failure("task_unread", "the server's answer about the task cannot be read"), RetryAfter: headerRetryAfter(ev)}
	case answer.Task == nil && answer.Error != nil && taskGone[answer.Error.Code]:
		return onceward.FollowJudgement{Lost: true, Failure: failure("task_gone", "the server knows the task no more; what became of it is not known")}
	case answer.Task == nil:
		return onceward.FollowJudgement{Failure: failure("task_unread", "the server answered with an error when asked about the task")}
	}
	switch answer.Task.Status {
	case "completed", "failed":
		if len(answer.Result) == 0 || string(answer.Result) == "null" {
			return onceward.FollowJudgement{Lost: true, Failure: failure("task_failed", "the task failed with an error of the protocol; what it did before is not known")}
		}
		end := *ev
		end.Body = answer.Result
		return onceward.FollowJudgement{Answer: &end}
	case "cancelled":
		return onceward.FollowJudgement{Lost: true, Failure: failure("task_cancelled", "the task was cancelled; what it did before is not known")}
	case "input_required":
		return onceward.FollowJudgement{Lost: true, Failure: failure("task_input_required", "the task asks for more input, which nobody here gives")}
	}
	return onceward.FollowJudgement{RetryAfter: answer.Task.interval(), Failure: failure("task", "the tool works on, as a task that is followed to its end")}
}

var _ onceward.Follower = (*Tool)(nil)
