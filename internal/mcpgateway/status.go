package mcpgateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/onceward/onceward"
)

// StatusTool tells how an operation stands.
const StatusTool = "onceward_operation_status"

// statusWaitMax is the longest that the status tool waits for an end.
const statusWaitMax = 30 * time.Second

func statusDefinition() *object {
	o := &object{}
	o.put("name", StatusTool)
	o.put("title", "How an operation stands")
	o.put("description", "Tells how an operation stands that an earlier answer named, and its result once it is done. It changes nothing. Use it instead of repeating a call in another way.")
	o.set("inputSchema", json.RawMessage(`{"type":"object","required":["operation_id"],"additionalProperties":false,"properties":{`+
		`"operation_id":{"type":"string","description":"The ID that an answer named: op_…"},`+
		`"wait_seconds":{"type":"number","minimum":0,"maximum":30,"description":"How long to wait for the end; 0 if absent."}}}`))
	o.put("annotations", hintSet{ReadOnly: true, Idempotent: true})
	return o
}

// standing is the structured answer of the status tool.
type standing struct {
	Operation string          `json:"operation"`
	Tool      string          `json:"tool"`
	State     string          `json:"state"`
	Final     bool            `json:"final"`
	Reference string          `json:"reference,omitempty"`
	FirstAt   string          `json:"first_at"`
	Result    json.RawMessage `json:"result,omitempty"`
	advice
}

// status answers the status tool.
func (c *call) status(ctx context.Context) (*object, error) {
	var in struct {
		ID   string  `json:"operation_id"`
		Wait float64 `json:"wait_seconds"`
	}
	if err := json.Unmarshal(c.arguments(), &in); err != nil {
		return c.refused(onceward.Errorf(onceward.CodeInvalidInput, "operation_id is a text and wait_seconds a number"))
	}
	id, err := onceward.ParseOperationID(in.ID)
	if err != nil {
		return c.refused(&onceward.Error{Code: onceward.CodeInvalidInput, Message: "operation_id is no operation's ID", Hint: "give the ID that an answer named: op_…"})
	}
	wait := min(time.Duration(max(in.Wait, 0)*float64(time.Second)), statusWaitMax)
	op, err := c.ledger.Get(ctx, c.who, id, wait)
	if err != nil {
		return c.refused(err)
	}
	s := standing{Operation: op.ID.String(), Tool: string(op.Tool), State: op.State.String(), Final: op.State.Terminal(), Reference: op.Reference,
		FirstAt: op.CreatedAt.UTC().Format(time.RFC3339), advice: adviceOf(op.Advice())}
	text := sentence(op)
	if op.State == onceward.StateSucceeded || op.State == onceward.StateCompensated {
		text = "Operation " + s.Operation + " " + s.State + ". " + op.Advice().Sentence
		s.Result = c.storedResult(op)
	}
	out := &object{}
	out.put("content", []content{textContent(text)})
	out.put("structuredContent", s)
	out.put("isError", false)
	out.set("_meta", metaWith(markerOf(op, "", c.ledger.RetryAfter(op))))
	return out, nil
}

// storedResult is what the provider answered, as a JSON value, if the caller may see it.
func (c *call) storedResult(op *onceward.Operation) json.RawMessage {
	if op.Result == nil || !op.Result.BodyKept || !c.who.SeesResult(op) {
		return nil
	}
	if json.Valid(op.Result.Body) {
		return op.Result.Body
	}
	return mustMarshal(string(op.Result.Body))
}
