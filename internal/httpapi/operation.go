package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// Operation is an operation as the API shows it.
type Operation struct {
	ID               string             `json:"id" doc:"Computed from tenant, tool and key."`
	Tenant           string             `json:"tenant" doc:"Whose data it is; from the credentials of the first request."`
	Tool             string             `json:"tool"`
	ContractVersion  string             `json:"contract_version" doc:"The contract version that holds for this operation to its end."`
	Key              string             `json:"key" doc:"What makes two requests the same intention."`
	Generation       int                `json:"generation,omitempty" doc:"Which use of the key it is: 0 is the first, or the time of it in seconds where the contract lets tombstones end; each use of the retired key adds 1."`
	Digest           string             `json:"digest" doc:"SHA-256 over the canonical material input."`
	State            string             `json:"state" enum:"states" doc:"docs/state-machine.md explains each."`
	Run              string             `json:"run,omitempty"`
	Decision         *OperationDecision `json:"decision,omitempty" doc:"What a step of the run decided, and led to it."`
	CorrelationID    string             `json:"correlation_id,omitempty"`
	Actor            string             `json:"actor" doc:"The principal of the first request."`
	Attempts         *int               `json:"attempts,omitempty" doc:"How many attempts were started; absent once that went with the record."`
	ProviderKey      string             `json:"provider_key,omitempty" doc:"The key or marker that the provider sees, equal on every attempt."`
	Reference        string             `json:"reference,omitempty" doc:"The provider's name of the effect."`
	ReferencePending bool               `json:"reference_pending,omitempty" doc:"The effect is proven, its reference could not be read."`
	Result           *Result            `json:"result,omitempty" doc:"The provider's answer."`
	ResultWithheld   bool               `json:"result_withheld,omitempty" doc:"There is a result, and it is another principal's."`
	OpenAttempts     *int               `json:"open_attempts,omitempty" doc:"Attempts that may have had their effect and that nothing has settled; absent once they went with the record."`
	CancelRequested  bool               `json:"cancel_requested" doc:"Somebody wants it not to happen; until it is settled that is a wish."`
	Parked           string             `json:"parked,omitempty" enum:"parked" doc:"Why it waits although it could start."`
	BlockedBy        string             `json:"blocked_by,omitempty" doc:"The operation that holds the resource which this one waits for; not in lists."`
	ReviewReason     string             `json:"review_reason,omitempty" doc:"Why a person is asked."`
	Error            *OperationError    `json:"error,omitempty" doc:"Why it is not done: of the last attempt that was not, or is unknown."`
	Approval         *Approval          `json:"approval,omitempty" doc:"There if the contract asks for one."`
	Documents        []DocumentRef      `json:"documents,omitempty" doc:"What supports the request; part of the digest."`
	SubjectID        string             `json:"subject_id,omitempty" doc:"Whose data its encrypted bodies are; absent: they are not encrypted."`
	Shredded         bool               `json:"shredded,omitempty" doc:"Its bodies are gone with their data key: input, result and messages cannot be read any more. State, reference and times hold."`
	Retired          bool               `json:"retired,omitempty" doc:"Slimmed to a tombstone: input, result and attempts are gone."`
	CreatedAt        time.Time          `json:"created_at"`
	UpdatedAt        time.Time          `json:"updated_at"`
	CompletedAt      time.Time          `json:"completed_at,omitzero" doc:"When it ended."`
	DueAt            time.Time          `json:"due_at,omitzero" doc:"When it is looked at again by itself."`
	AttemptList      []Attempt          `json:"attempt_list,omitzero" doc:"The attempts, oldest first; only where one operation is read."`
	Events           []Event            `json:"events,omitzero" doc:"The timeline, oldest first; only where one operation is read."`
}

// Result is the provider's answer as it is replayed.
type Result struct {
	Status       int                 `json:"status,omitempty" doc:"The provider's HTTP status; absent where there was none."`
	Headers      map[string][]string `json:"headers,omitempty" doc:"What of the answer's headers may be replayed; repeated ones stay a list."`
	Body         json.RawMessage     `json:"body,omitempty" doc:"The JSON value, if the body is one; else its text as a string."`
	BodyBase64   string              `json:"body_base64,omitempty" doc:"The body, if it is neither JSON nor UTF-8 text."`
	BodyKept     bool                `json:"body_kept" doc:"False: the effect is done, but its body was too large, cut or not to be kept. A body that is kept is whole."`
	BodyRedacted bool                `json:"body_redacted,omitempty" doc:"The body has the members of the provider's answer, and the names of their types in place of values."`
}

// OperationError says why an operation is not done.
type OperationError struct {
	Class                  string `json:"class,omitempty" enum:"classes" doc:"What kind of trouble; absent where no attempt met any."`
	Code                   string `json:"code" doc:"The provider's own code, or a short name of ours."`
	Message                string `json:"message"`
	Retryable              bool   `json:"retryable" doc:"Asking again with the same key may bring another answer."`
	SideEffectPossible     bool   `json:"side_effect_possible" doc:"The write may have had its effect though nothing proves it."`
	ReconciliationRequired bool   `json:"reconciliation_required" doc:"Somebody has to find out what happened before it is repeated."`
	Advice                 string `json:"advice" doc:"What to do now, in a sentence that an agent can follow."`
}

// operation shows an operation to a principal.
func operation(op *onceward.Operation, who onceward.Principal) *Operation {
	o := &Operation{
		ID: op.ID.String(), Tenant: string(op.Tenant), Tool: string(op.Tool), ContractVersion: op.Contract, Key: string(op.Key),
		Generation: int(op.Generation), Digest: op.Digest.String(), State: op.State.String(), Run: op.Run, Decision: operationDecision(op), CorrelationID: op.CorrelationID,
		Actor: op.Actor, ProviderKey: op.ProviderKey, Reference: op.Reference, ReferencePending: op.RefPending,
		CancelRequested: op.CancelRequested, Parked: string(op.Parked), ReviewReason: op.ReviewReason,
		Approval: approval(op), Documents: documents(op.Documents), SubjectID: string(op.Subject), Shredded: op.Shredded, Retired: op.Retired, Error: operationError(op),
		CreatedAt: op.CreatedAt.UTC(), UpdatedAt: op.UpdatedAt.UTC(), CompletedAt: op.CompletedAt.UTC(), DueAt: op.DueAt.UTC(),
	}
	if !op.Retired {
		counts := [...]int{op.Attempt(), op.OpenAttempts()}
		o.Attempts, o.OpenAttempts = &counts[0], &counts[1]
	}
	if op.Result != nil {
		if who.SeesResult(op) {
			o.Result = result(op.Result)
		} else {
			o.ResultWithheld = true
		}
	}
	return o
}

// operation shows an operation to whoever asks, with what it waits for.
func (c *call) operation(op *onceward.Operation) *Operation {
	o := operation(op, c.who)
	holder, err := c.ledger.BlockedBy(c.req.Context(), op)
	switch {
	case err != nil: // the answer holds without it
		c.log.WarnContext(c.req.Context(), "holder of a resource not found out", "operation", o.ID, "error", err)
	case !holder.IsZero():
		o.BlockedBy = holder.String()
	}
	return o
}

// operationError is there if an attempt failed, or if the end is not what was wanted.
func operationError(op *onceward.Operation) *OperationError {
	switch op.State {
	case onceward.StateSucceeded, onceward.StateCompensated:
		return nil
	case onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateEffectPending:
		if op.Failure.IsZero() {
			return nil
		}
	case onceward.StateOutcomeUnknown, onceward.StateNeedsReview, onceward.StateFailed, onceward.StateAbandoned, onceward.StateCancelled:
	}
	a := op.Advice()
	e := &OperationError{Class: op.Failure.Class.String(), Code: op.Failure.Code, Message: op.Failure.Message,
		Retryable: a.Retryable, SideEffectPossible: a.SideEffectPossible, ReconciliationRequired: a.ReconciliationRequired, Advice: a.Sentence}
	if e.Code == "" {
		e.Code = op.State.String()
	}
	if e.Message == "" {
		e.Message = "it is " + op.State.String()
	}
	return e
}

func result(r *onceward.Result) *Result {
	out := &Result{Status: r.Status, BodyKept: r.BodyKept, Headers: headers(r.Header)}
	if r.BodyKept || r.Body != nil {
		out.Body, out.BodyBase64 = body(r.Body)
		out.BodyRedacted = !r.BodyKept
	}
	return out
}

func headers(fields []onceward.HeaderField) map[string][]string {
	if len(fields) == 0 {
		return nil
	}
	h := make(map[string][]string, len(fields))
	for _, f := range fields {
		h[f.Name] = append(h[f.Name], f.Value)
	}
	return h
}

// body shows bytes as the JSON value that they are, else as text, else in base64.
func body(b []byte) (value json.RawMessage, base64Text string) {
	switch {
	case !utf8.Valid(b):
		return nil, base64.StdEncoding.EncodeToString(b)
	case embeddable(b):
		return b, ""
	}
	return quoted(string(b)), ""
}

// embedDepthMax is how deep a provider's JSON may be nested to stand in ours as
// a value: a reader of our answers must not be made to recurse by a third party.
const embedDepthMax = 64

func embeddable(b []byte) bool {
	if !json.Valid(b) {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > embedDepthMax {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return true
}
