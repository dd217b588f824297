package mcpgateway

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// marker is what every answer says of its operation, in _meta.
type marker struct {
	Operation  string  `json:"operation"`
	State      string  `json:"state"`
	Decision   string  `json:"decision,omitempty"`
	Replayed   bool    `json:"replayed,omitempty"`
	Reference  string  `json:"reference,omitempty"`
	FirstAt    string  `json:"first_at,omitempty"`
	RetryAfter float64 `json:"retry_after_seconds,omitempty"`
	advice
}

// advice is the root's, for programs.
type advice struct {
	Retryable              bool   `json:"retryable"`
	SideEffectPossible     bool   `json:"side_effect_possible"`
	ReconciliationRequired bool   `json:"reconciliation_required"`
	Advice                 string `json:"advice,omitempty"`
}

func adviceOf(a onceward.Advice) advice {
	return advice{Retryable: a.Retryable, SideEffectPossible: a.SideEffectPossible, ReconciliationRequired: a.ReconciliationRequired, Advice: a.Sentence}
}

func markerOf(op *onceward.Operation, d onceward.Decision, retryAfter time.Duration) *marker {
	return &marker{Operation: op.ID.String(), State: op.State.String(), Decision: string(d), Replayed: d == onceward.DecisionReplayed || d == onceward.DecisionJoined,
		Reference: op.Reference, FirstAt: op.CreatedAt.UTC().Format(time.RFC3339), RetryAfter: retryAfter.Seconds(), advice: adviceOf(op.Advice())}
}

// operation answers a call from its operation.
func (c *call) operation(a *onceward.Answer, o *offer) (*object, error) {
	op, m := a.Operation, markerOf(a.Operation, a.Decision, a.RetryAfter)
	if op.State == onceward.StateSucceeded || op.State == onceward.StateCompensated {
		return c.done(op, m, o)
	}
	if c.tasks && !op.State.Terminal() {
		return c.taskResult(op, m), nil
	}
	return failure(sentence(op), m), nil
}

// done shows the stored result: the same bytes each time, with a marker. A
// replay is never held to a schema again: it would make a done effect an error.
func (c *call) done(op *onceward.Operation, m *marker, o *offer) (*object, error) {
	var out *object
	switch {
	case op.Result == nil:
		return without(op, m, o, "there is no answer of the provider's to show"), nil
	case !op.Result.BodyKept:
		return without(op, m, o, "what the provider answered is not kept"), nil
	case !c.who.SeesResult(op):
		return without(op, m, o, "what the provider answered belongs to whoever asked first"), nil
	case o.info.MCP.Server != "":
		var err error
		if out, err = readObject(op.Result.Body); err != nil {
			return nil, rpcError(onceward.Errorf(onceward.CodeInternal, "stored result of %s: %v", op.ID, err))
		}
		out.drop("resultType")
	default:
		out = httpResult(op.Result.Body)
	}
	if m.Replayed {
		if err := out.addContent("[onceward] " + told(op, m)); err != nil {
			return nil, rpcError(onceward.Errorf(onceward.CodeInternal, "stored result of %s: %v", op.ID, err))
		}
	}
	return out, out.setMeta(MetaPrefix+"operation", mustMarshal(m))
}

// told says that nothing was sent again.
func told(op *onceward.Operation, m *marker) string {
	s := "This is the stored result of operation " + op.ID.String() + ", first asked for at " + m.FirstAt + "; nothing was sent again."
	if op.State == onceward.StateCompensated {
		s += " " + op.Advice().Sentence
	}
	return s
}

// without tells of a done effect whose result is not shown. Where the tool
// promises structured output, a client that misses it takes the answer for
// broken unless it is marked as an error.
func without(op *onceward.Operation, m *marker, o *offer, why string) *object {
	text := "Operation " + op.ID.String() + " " + op.State.String()
	if op.Reference != "" {
		text += ", reference " + op.Reference
	}
	out := &object{}
	text += "; " + why + ". " + op.Advice().Sentence
	if m.Replayed {
		text += " For this call nothing was sent again."
	}
	out.put("content", []content{textContent(text)})
	if o.promisesOutput() {
		out.put("isError", true)
	}
	out.set("_meta", metaWith(m))
	return out
}

// httpResult shows a provider's HTTP answer: as structured content if it is a
// JSON object, and as text.
func httpResult(body []byte) *object {
	out := &object{}
	trimmed := bytes.TrimSpace(body)
	text := string(trimmed)
	if !utf8.Valid(trimmed) {
		text = "The answer is no text."
	}
	out.put("content", []content{textContent(text)})
	if len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		out.set("structuredContent", trimmed)
	}
	return out
}

// sentence says what is known of an operation that is not done.
func sentence(op *onceward.Operation) string {
	a := op.Advice()
	parts := []string{"Operation " + op.ID.String() + " of " + string(op.Tool) + " is " + op.State.String() + "."}
	if !op.Failure.IsZero() && op.Failure.Message != "" {
		parts = append(parts, "Last: "+strings.TrimSuffix(op.Failure.Message, ".")+".")
	}
	parts = append(parts, a.Sentence)
	if !op.State.Terminal() {
		parts = append(parts, "Do not try it another way; "+StatusTool+" tells how it stands.")
	}
	return strings.Join(parts, " ")
}

// failure is an answer without a result. It never has structured content.
func failure(text string, m any) *object {
	out := &object{}
	out.put("content", []content{textContent(text)})
	out.put("isError", true)
	out.set("_meta", metaWith(m))
	return out
}

func metaWith(m any) json.RawMessage {
	return mustMarshal(map[string]json.RawMessage{MetaPrefix + "operation": mustMarshal(m)})
}

// mustMarshal marshals what always can be: texts, numbers and truth values.
func mustMarshal(v any) json.RawMessage {
	raw, err := marshal(v)
	if err != nil {
		panic("mcpgateway: a value does not marshal: " + err.Error())
	}
	return raw
}
