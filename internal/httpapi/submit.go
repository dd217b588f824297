package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// OperationRequest asks for one operation.
type OperationRequest struct {
	Tool          string          `json:"tool" doc:"The name of a contract in force."`
	Input         json.RawMessage `json:"input" doc:"What the contract's input schema takes. Numbers are kept digit by digit."`
	Key           *string         `json:"key,omitempty" doc:"The caller's key, 1 to 255 visible ASCII characters, raw or as a quoted string; ignored where the contract derives one. Must equal the Idempotency-Key header, if both are there."`
	Run           *string         `json:"run,omitempty" max:"label" doc:"The run that this belongs to: its ID, or a free label. Any text that has not the form of a run ID is a label."`
	Decision      *string         `json:"decision,omitempty" doc:"The ID of the decision that led to this. Its run is this one's; the tool has to be one of its branch."`
	Branch        *string         `json:"branch,omitempty" max:"label" doc:"The branch on which the caller takes itself to be. Another one than the pinned decision chose is refused."`
	CorrelationID *string         `json:"correlation_id,omitempty" max:"label" doc:"Follows one business event through all services."`
	Wait          *duration       `json:"wait,omitempty" doc:"How long to wait for the end: 10s if absent, 60s at most."`
	Documents     []DocumentRef   `json:"documents,omitempty" doc:"What supports the request, 16 at most; shown to approvers, and part of the digest."`
	OnDuplicate   *string         `json:"on_duplicate,omitempty" enum:"on_duplicate" doc:"What a second request with the same key wants; return if absent."`
}

// OperationAnswer answers a request for an operation.
type OperationAnswer struct {
	Operation *Operation `json:"operation"`
	Decision  string     `json:"decision" enum:"decisions" doc:"How the request was answered. fresh: it created the operation."`
	Advice    string     `json:"advice,omitempty" doc:"What to do now; absent once it has succeeded."`
}

// submit is POST /v1/operations.
func submit(c *call) error {
	var in OperationRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	key, err := callerKey(c.req.Header, in.Key)
	if err != nil {
		return err
	}
	return c.submit(&in, key)
}

func (c *call) submit(in *OperationRequest, key onceward.Key) error {
	intent, err := c.intent(in, key)
	if err != nil {
		return err
	}
	a, err := c.ledger.Submit(c.req.Context(), intent)
	if err != nil {
		return err
	}
	c.answer(a)
	return nil
}

// callTool is POST /v1/tools/{name}/call: the main job with the body as input.
func callTool(c *call) error {
	in := OperationRequest{Tool: c.req.PathValue("name"), Run: c.optional("run"), Decision: c.optional("decision"), Branch: c.optional("branch"), CorrelationID: c.optional("correlation_id"), OnDuplicate: c.optional("on_duplicate")}
	key, err := callerKey(c.req.Header, nil)
	if err != nil {
		return err
	}
	if s, given := c.param("wait"); given {
		d, err := parseDuration("wait", s)
		if err != nil {
			return err
		}
		in.Wait = (*duration)(&d)
	}
	for _, label := range []struct {
		name  string
		value *string
	}{{"run", in.Run}, {"branch", in.Branch}, {"correlation_id", in.CorrelationID}} {
		if err := checkLabel(label.name, label.value); err != nil {
			return err
		}
	}
	return c.body(func(body []byte) error {
		if body == nil {
			return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "the body is empty", Hint: "send the tool's input as JSON; {} if it takes none"}
		}
		in.Input = body
		return c.submit(&in, key)
	})
}

// optional is a query parameter that may be absent.
func (c *call) optional(name string) *string {
	if v, given := c.query[name]; given {
		return &v[0]
	}
	return nil
}

// checkLabel holds a query parameter to what the same member of a body may be.
func checkLabel(name string, value *string) error {
	if value == nil {
		return nil
	}
	return onceward.CheckLabel(name, *value)
}

// callerKey reads the caller's key from the header and from the body; empty if
// neither has one.
func callerKey(h http.Header, inBody *string) (onceward.Key, error) {
	var key onceward.Key
	if lines := h["Idempotency-Key"]; len(lines) > 0 {
		var err error
		if key, err = onceward.ParseCallerKey(lines); err != nil {
			return "", err
		}
	}
	if inBody == nil {
		return key, nil
	}
	k, err := onceward.ParseCallerKey([]string{*inBody}) // "abc" and abc are one key here too
	if err != nil {
		return "", err
	}
	if key != "" && key != k {
		return "", &onceward.Error{Code: onceward.CodeKeyAmbiguous, Message: "the Idempotency-Key header and the member key differ", Hint: "send the key in one of the two places"}
	}
	return k, nil
}

// intent makes an intent of a request. Nothing is looked up.
func (c *call) intent(in *OperationRequest, key onceward.Key) (onceward.Intent, error) {
	tool, err := onceward.ParseToolName(in.Tool)
	if err != nil {
		return onceward.Intent{}, err
	}
	out := onceward.Intent{Principal: c.who, Tool: tool, Input: in.Input, CallerKey: key, Run: text(in.Run), CorrelationID: text(in.CorrelationID),
		TraceParent: traceParent(c.req.Header), Wait: -1}
	if in.Wait != nil {
		out.Wait = time.Duration(*in.Wait)
	}
	if out.Documents, err = documentsOf(in.Documents); err != nil {
		return onceward.Intent{}, err
	}
	if in.Decision != nil {
		if out.Decision, err = onceward.ParseDecisionID(*in.Decision); err != nil {
			return onceward.Intent{}, err
		}
	}
	out.Branch = text(in.Branch)
	if in.OnDuplicate != nil {
		if out.OnDuplicate, err = onDuplicate(*in.OnDuplicate); err != nil {
			return onceward.Intent{}, err
		}
	}
	return out, nil
}

// onDuplicate refuses the empty word, which for the core is the default: what
// is there has to be one of the three.
func onDuplicate(s string) (onceward.OnDuplicate, error) {
	if s == "" {
		s = "empty"
	}
	return onceward.ParseOnDuplicate(s)
}

// text is what an optional member says; empty if it is absent.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// traceParent returns the W3C traceparent of a request. As the standard has it,
// an invalid one is ignored.
func traceParent(h http.Header) string {
	if v := h["Traceparent"]; len(v) == 1 && validTraceParent(v[0]) {
		return v[0]
	}
	return ""
}

// traceParentBytesMax bounds a traceparent of a version to come.
const traceParentBytesMax = 128

func validTraceParent(s string) bool {
	const version, trace, parent, flags = 2, 35, 52, 55 // the ends of the fields
	if len(s) < flags || len(s) > traceParentBytesMax || s[version] != '-' || s[trace] != '-' || s[parent] != '-' {
		return false
	}
	switch s[:version] {
	case "ff":
		return false
	case "00":
		if len(s) != flags {
			return false
		}
	default:
		if len(s) > flags && s[flags] != '-' || !visible(s) {
			return false
		}
	}
	for _, hex := range []string{s[:version], s[version+1 : trace], s[trace+1 : parent], s[parent+1 : flags]} {
		if strings.Trim(hex, "0123456789abcdef") != "" {
			return false
		}
	}
	return strings.Trim(s[version+1:trace], "0") != "" && strings.Trim(s[trace+1:parent], "0") != ""
}

// visible reports whether s is visible ASCII.
func visible(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// itemAnswer is the answer to a request for an operation: one of the two is nil.
func itemAnswer(a *onceward.Answer, op *Operation) (status int, ok *OperationAnswer, p *Problem) {
	switch a.Operation.State {
	case onceward.StateSucceeded:
		return http.StatusOK, &OperationAnswer{Operation: op, Decision: string(a.Decision)}, nil
	case onceward.StateCompensated:
		return http.StatusOK, &OperationAnswer{Operation: op, Decision: string(a.Decision), Advice: a.Operation.Advice().Sentence}, nil
	case onceward.StateFailed, onceward.StateCancelled, onceward.StateAbandoned:
		return http.StatusFailedDependency, nil, failedProblem(a, op)
	case onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateEffectPending, onceward.StateOutcomeUnknown, onceward.StateNeedsReview:
	}
	return http.StatusAccepted, &OperationAnswer{Operation: op, Decision: string(a.Decision), Advice: a.Operation.Advice().Sentence}, nil
}

// failedProblem is the problem of an operation that ended without its effect,
// or without anybody who knows.
func failedProblem(a *onceward.Answer, op *Operation) *Problem {
	p := problemOf(&onceward.Error{Code: onceward.CodeOperationFailed, OperationID: a.Operation.ID})
	p.Detail = "it is " + op.State
	if op.Error != nil && op.Error.Message != "" {
		p.Detail = op.Error.Message
	}
	p.advise(a.Operation.Advice())
	p.Decision, p.Operation = string(a.Decision), op
	return p
}

// answer writes the answer to a request for an operation.
func (c *call) answer(a *onceward.Answer) {
	c.operationHeaders(a.Operation, a.RetryAfter)
	status, ok, p := itemAnswer(a, c.operation(a.Operation))
	if p != nil {
		writeProblem(c.w, c.req, p)
		return
	}
	c.w.Header()["Onceward-Decision"] = []string{ok.Decision}
	writeJSON(c.w, status, mediaJSON, ok)
}

// operationHeaders names the operation and its newest attempt, and says where
// and when to ask again for what is not final.
func (c *call) operationHeaders(op *onceward.Operation, retryAfter time.Duration) {
	h := c.w.Header()
	id := op.ID.String()
	names := []string{id, ""}
	h["Onceward-Operation"] = names[:1:1]
	if n := op.Attempt(); n > 0 {
		names[1] = id + "." + strconv.Itoa(n)
		h["Onceward-Attempt"] = names[1:]
	}
	if !op.State.Terminal() {
		h["Location"] = []string{"/v1/operations/" + id}
	}
	if retryAfter > 0 {
		h["Retry-After"] = []string{seconds(retryAfter)}
	}
}
