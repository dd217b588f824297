package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// ClaimRequest claims an operation that the caller performs itself.
type ClaimRequest struct {
	Tool          string          `json:"tool" doc:"The name of a contract whose executor is the caller."`
	Input         json.RawMessage `json:"input"`
	ClaimToken    string          `json:"claim_token" max:"label" doc:"Random, 16 to 255 characters, new for each try. The same token gets the same attempt again, so that a lost answer is harmless."`
	Key           *string         `json:"key,omitempty" doc:"As for POST /v1/operations."`
	Run           *string         `json:"run,omitempty" max:"label"`
	Decision      *string         `json:"decision,omitempty" doc:"As for POST /v1/operations."`
	Branch        *string         `json:"branch,omitempty" max:"label" doc:"As for POST /v1/operations."`
	CorrelationID *string         `json:"correlation_id,omitempty" max:"label"`
	Wait          *duration       `json:"wait,omitempty" doc:"How long to wait for the end of somebody else's attempt."`
	OnDuplicate   *string         `json:"on_duplicate,omitempty" enum:"on_duplicate"`
}

// ClaimAnswer answers a claim.
type ClaimAnswer struct {
	Operation *Operation     `json:"operation"`
	Decision  string         `json:"decision" enum:"decisions"`
	Advice    string         `json:"advice,omitempty" doc:"What to do now."`
	Attempt   *RemoteAttempt `json:"attempt,omitempty" doc:"There if the caller is to perform the write, once."`
}

// RemoteAttempt is an attempt that the caller holds.
type RemoteAttempt struct {
	ID         string    `json:"id"`
	Fence      int       `json:"fence" doc:"The attempt's number: a system that keeps the highest one it saw can refuse a late write."`
	Secret     string    `json:"secret" doc:"For heartbeat and outcome."`
	LeaseUntil time.Time `json:"lease_until" doc:"Silence past it makes the outcome unknown."`
}

// secretHeader carries an attempt's secret.
const secretHeader = "Onceward-Attempt-Secret"

const performAdvice = "Perform the write once now, then report its outcome. Prolong the lease while it takes longer; stop when that is refused."

// claim is POST /v1/operations:claim.
func claim(c *call) error {
	var in ClaimRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	key, err := callerKey(c.req.Header, in.Key)
	if err != nil {
		return err
	}
	intent, err := c.intent(&OperationRequest{Tool: in.Tool, Input: in.Input, Run: in.Run, Decision: in.Decision, Branch: in.Branch, CorrelationID: in.CorrelationID, Wait: in.Wait, OnDuplicate: in.OnDuplicate}, key)
	if err != nil {
		return err
	}
	if !visible(in.ClaimToken) {
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "claim_token has a character that is not visible ASCII", Hint: "make a random one, such as 32 hexadecimal characters"}
	}
	g, err := c.ledger.Claim(c.req.Context(), intent, in.ClaimToken)
	if err != nil {
		return err
	}
	if g.Secret == "" {
		c.answer(&g.Answer)
		return nil
	}
	c.operationHeaders(g.Operation, 0)
	c.w.Header().Set("Onceward-Decision", string(g.Decision))
	writeJSON(c.w, http.StatusOK, mediaJSON, &ClaimAnswer{Operation: operation(g.Operation, c.who), Decision: string(g.Decision), Advice: performAdvice,
		Attempt: &RemoteAttempt{ID: g.Attempt.String(), Fence: g.Attempt.Number, Secret: g.Secret, LeaseUntil: g.LeaseUntil.UTC()}})
	return nil
}

// HeartbeatRequest prolongs the lease of a remote attempt.
type HeartbeatRequest struct {
	Secret *string `json:"secret,omitempty" max:"label" doc:"The attempt's secret, if it is not in the header Onceward-Attempt-Secret."`
}

// HeartbeatAnswer is the new end of the lease.
type HeartbeatAnswer struct {
	LeaseUntil time.Time `json:"lease_until"`
}

// heartbeat is POST /v1/attempts/{id}/heartbeat.
func heartbeat(c *call) error {
	id, err := onceward.ParseAttemptID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	var in HeartbeatRequest
	if err := c.read(&in, false); err != nil {
		return err
	}
	secret, err := attemptSecret(c.req.Header, in.Secret)
	if err != nil {
		return err
	}
	until, err := c.ledger.Heartbeat(c.req.Context(), c.who, id, secret)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &HeartbeatAnswer{LeaseUntil: until.UTC()})
	return nil
}

func attemptSecret(h http.Header, inBody *string) (string, error) {
	lines := h[secretHeader]
	switch {
	case len(lines) == 1 && (inBody == nil || *inBody == lines[0]):
		return lines[0], nil
	case len(lines) == 0 && inBody != nil:
		return *inBody, nil
	case len(lines) == 0:
		return "", &onceward.Error{Code: onceward.CodeAttemptNotFound, Message: "the attempt's secret is missing", Hint: "send it in the header " + secretHeader}
	}
	return "", &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "more than one attempt secret is given", Hint: "send it once, in the header " + secretHeader}
}

// OutcomeRequest says what the performer of a remote attempt knows.
type OutcomeRequest struct {
	Outcome   string         `json:"outcome" enum:"outcomes" doc:"done: the effect exists. not_done: it surely does not, and will not. unknown: anything else."`
	Reference *string        `json:"reference,omitempty" max:"reference" doc:"The provider's name of the effect, with done."`
	Result    *OutcomeResult `json:"result,omitempty" doc:"What later requests are answered with, with done."`
	Error     *OutcomeError  `json:"error,omitempty" doc:"Why not, with not_done and unknown."`
	Evidence  *Seen          `json:"evidence,omitempty" doc:"What was seen, for whoever has to settle it."`
	Secret    *string        `json:"secret,omitempty" max:"label" doc:"The attempt's secret, if it is not in the header Onceward-Attempt-Secret."`
}

// OutcomeResult is the provider's answer as the performer got it.
type OutcomeResult struct {
	Status     *int                `json:"status,omitempty" doc:"100 to 599."`
	Headers    map[string][]string `json:"headers,omitempty" max:"reason" doc:"At most 100 values, of 32 KiB with their names. Cookies, credentials and hop-by-hop headers are dropped."`
	Body       json.RawMessage     `json:"body,omitempty" doc:"A JSON value."`
	BodyBase64 *string             `json:"body_base64,omitempty" doc:"Any other body."`
}

// OutcomeError describes why a remote attempt is not done.
type OutcomeError struct {
	Class     *string `json:"class,omitempty" enum:"classes"`
	Code      *string `json:"code,omitempty" max:"label" doc:"The provider's own code."`
	Message   *string `json:"message,omitempty" max:"reason" doc:"One sentence without payloads or secrets."`
	Retryable *bool   `json:"retryable,omitempty" doc:"The same write may succeed later without a change."`
}

// Seen is evidence that a performer adds.
type Seen struct {
	Status *int    `json:"status,omitempty" doc:"The HTTP status, if an answer came."`
	Note   *string `json:"note,omitempty" max:"reason" doc:"What was seen, in words."`
}

// outcome is POST /v1/attempts/{id}/outcome.
func outcome(c *call) error {
	id, err := onceward.ParseAttemptID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	var in OutcomeRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	secret, err := attemptSecret(c.req.Header, in.Secret)
	if err != nil {
		return err
	}
	out, err := in.outcome(c.ledger.Now())
	if err != nil {
		return err
	}
	op, err := c.ledger.ReportOutcome(c.req.Context(), c.who, id, secret, *out)
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}

func (in *OutcomeRequest) outcome(at time.Time) (*onceward.RemoteOutcome, error) {
	verdict, ok := map[string]onceward.Verdict{"done": onceward.VerdictDone, "not_done": onceward.VerdictNotDone, "unknown": onceward.VerdictUnknown}[in.Outcome]
	if !ok {
		return nil, &onceward.Error{Code: onceward.CodeUnsupportedPolicy, Message: "outcome is neither done, not_done nor unknown", Hint: "say unknown unless you know better"}
	}
	out := &onceward.RemoteOutcome{Verdict: verdict, Reference: text(in.Reference)}
	var err error
	if in.Result != nil {
		if out.Result, err = in.Result.result(); err != nil {
			return nil, err
		}
	}
	if in.Error != nil {
		if out.Failure, err = in.Error.failure(); err != nil {
			return nil, err
		}
	}
	if in.Evidence != nil {
		out.Evidence = &onceward.Evidence{StartedAt: at, EndedAt: at, ErrorClass: out.Failure.Class, ErrorCode: out.Failure.Code, ErrorText: text(in.Evidence.Note)}
		if in.Evidence.Status != nil {
			out.Evidence.Status = *in.Evidence.Status
		}
	}
	return out, nil
}

func (r *OutcomeResult) result() (*onceward.Result, error) {
	out := &onceward.Result{BodyKept: r.Body != nil || r.BodyBase64 != nil, Body: r.Body}
	if r.Status != nil {
		out.Status = *r.Status
	}
	if r.BodyBase64 != nil {
		if r.Body != nil {
			return nil, onceward.Errorf(onceward.CodeInvalidRequest, "result has both body and body_base64")
		}
		b, err := base64.StdEncoding.Strict().DecodeString(*r.BodyBase64)
		if err != nil {
			return nil, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "result.body_base64 is not base64", Hint: "use the standard alphabet with padding (RFC 4648)"}
		}
		out.Body = b
	}
	var fields []onceward.HeaderField
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		for _, v := range r.Headers[name] {
			fields = append(fields, onceward.HeaderField{Name: name, Value: v})
		}
	}
	out.Header = fields
	return out, nil
}

func (e *OutcomeError) failure() (onceward.Failure, error) {
	f := onceward.Failure{Code: text(e.Code), Message: text(e.Message), Retryable: e.Retryable != nil && *e.Retryable}
	if e.Class == nil {
		if f.IsZero() {
			f.Code = "unspecified" // an error is there, and says only that the write may not be repeated
		}
		return f, nil
	}
	class, err := onceward.ParseErrorClass(*e.Class)
	if err != nil || class == onceward.ClassNone {
		return f, &onceward.Error{Code: onceward.CodeUnsupportedPolicy, Message: "error.class is not a class", Hint: "use validation, auth, rate_limited, conflict, unavailable, timeout, connection or protocol"}
	}
	f.Class = class
	return f, nil
}
