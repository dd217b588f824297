package mcpcall

import (
	"encoding/json"
	"errors"

	"github.com/onceward/onceward"
)

// warningBytesMax is how much is said of a result that breaks its schema.
const warningBytesMax = 300

// checkOutput compares a result with what the tool's own definition promises.
//
// Why a warning, and no failure: the effect is done. A result that is refused
// here would have its caller send the write again.
func (u *upstream) checkOutput(tool string, ev *onceward.Evidence) {
	u.mu.Lock()
	d := u.now[tool]
	u.mu.Unlock()
	if u.client.opts.CheckOutput == nil || d == nil || d.output == nil || ev.Status != 200 {
		return
	}
	var result struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if json.Unmarshal(ev.Body, &result) != nil || result.IsError || result.Content == nil {
		return // a tool's error promises nothing; a task has no result yet
	}
	how := "it has no structuredContent"
	if len(result.Structured) > 0 {
		err := u.client.opts.CheckOutput(d.output, result.Structured)
		if err == nil {
			return
		}
		if onceward.Is(err, onceward.CodeInvalidRequest) {
			return // the schema is none: nothing was promised
		}
		how = err.Error()
		var e *onceward.Error
		if errors.As(err, &e) {
			how = e.Message
		}
	}
	ev.Warning = "the result breaks the tool's own output schema: " + how
	ev.Warning = onceward.Visible(ev.Warning[:min(len(ev.Warning), warningBytesMax)])
}
