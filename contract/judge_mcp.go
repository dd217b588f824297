package contract

import (
	"encoding/json"
	"strconv"

	"github.com/onceward/onceward"
)

// Codes by which JSON-RPC, and MCP on top of it, refuse a call before any tool
// was run.
var refusedBefore = map[int64]bool{
	-32700: true, // parse error
	-32600: true, // invalid request
	-32601: true, // no such method
	-32602: true, // invalid parameters, or no such tool
	-32020: true, // headers and body differ
	-32021: true, // a capability of the client is missing
	-32022: true, // unsupported protocol version
}

// byMCPDefault judges the answer of an MCP server when the contract says
// nothing. Whatever is not a result, or a refusal before the tool was run, may
// have had its effect: a status of HTTP says nothing about the tool behind it.
func (t *Tool) byMCPDefault(ev *onceward.Evidence) onceward.Judgement {
	unknown := func(code, message string) onceward.Judgement {
		return onceward.Judgement{Verdict: onceward.VerdictUnknown, Rule: "default: MCP " + code, Failure: onceward.Failure{Class: onceward.ClassProtocol, Code: code, Message: message, Retryable: true}}
	}
	var answer struct {
		Error      *struct{ Code int64 } `json:"error"`
		Content    json.RawMessage       `json:"content"`
		IsError    bool                  `json:"isError"`
		ResultType string                `json:"resultType"`
		Task       *mcpTask              `json:"task"` // of 2025-11-25
		mcpTask                          // of the extension io.modelcontextprotocol/tasks
	}
	err := json.Unmarshal(ev.Body, &answer)
	refused := err == nil && answer.Error != nil && answer.Content == nil
	switch success := ev.Status >= 200 && ev.Status < 300; {
	case !success && !(refused && (ev.Status == 400 || ev.Status == 404)): // with these, a stateless server refuses in JSON-RPC
		return onceward.Judgement{Verdict: onceward.VerdictUnknown, Failure: statusFailure(ev.Status), Rule: "default: MCP over HTTP " + strconv.Itoa(ev.Status), RetryAfter: headerRetryAfter(ev)}
	case err != nil || ev.BodyCut || ev.BodyTooBig:
		return unknown("no_result", "the server's answer is no result of a tool, or too long to be read")
	}
	switch {
	case refused:
		code := "rpc_" + strconv.FormatInt(answer.Error.Code, 10)
		if !refusedBefore[answer.Error.Code] {
			return unknown(code, "the server answered with an error of the protocol")
		}
		return onceward.Judgement{Verdict: onceward.VerdictNotDone, Rule: "default: MCP " + code,
			Failure: onceward.Failure{Class: onceward.ClassValidation, Code: code, Message: "the server refused the call before the tool was run"}}
	case answer.ResultType == "input_required":
		return unknown("input_required", "the tool asks for more input, which nobody here gives")
	case answer.ResultType == "task":
		return answer.mcpTask.goesOn()
	case answer.Task != nil && answer.Content == nil:
		return answer.Task.goesOn()
	case answer.IsError && t.info.Policy.Effect.Writes():
		return unknown("tool_error", "the tool reported an error; the contract does not say that it did nothing then")
	}
	return onceward.Judgement{Verdict: onceward.VerdictDone, Rule: "default: MCP result"}
}

// failedLook reports whether the answer of a look-up by a tool is a failure,
// which says nothing about what exists.
func failedLook(body []byte) bool {
	var answer struct {
		Error   json.RawMessage `json:"error"`
		Content json.RawMessage `json:"content"`
		IsError bool            `json:"isError"`
	}
	return json.Unmarshal(body, &answer) != nil || answer.IsError || answer.Content == nil
}
