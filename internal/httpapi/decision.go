package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// DecisionRequest asks for what a step of a run decides.
type DecisionRequest struct {
	Run           string          `json:"run" doc:"The run's ID."`
	Step          string          `json:"step" doc:"The step's name. A step decides once for each run."`
	Input         json.RawMessage `json:"input,omitempty" doc:"What the step decides about. Its digest is kept, it is not."`
	InputDigest   *string         `json:"input_digest,omitempty" doc:"In place of input: SHA-256 over its canonical form, in hexadecimal."`
	Model         *string         `json:"model,omitempty" max:"label" doc:"Who decides."`
	PromptVersion *string         `json:"prompt_version,omitempty" max:"version" doc:"By what it was asked."`
	RuleVersion   *string         `json:"rule_version,omitempty" max:"version" doc:"Of the rules that follow. Where the workflow has a document it is that one's, and may be left out."`
	Confidence    *float64        `json:"confidence,omitempty" doc:"How sure the step is, from 0 to 1, if it says."`
	Schema        json.RawMessage `json:"schema,omitempty" doc:"JSON Schema of the output, where the workflow has no document."`
	Output        json.RawMessage `json:"output,omitempty" doc:"What the step decided, to be pinned. Absent: the request asks for what is pinned, or for the right to decide."`
	ClaimToken    *string         `json:"claim_token,omitempty" max:"label" doc:"To pin: the one of the claim. To claim: one of the caller's own, at least 16 characters, with which a lost answer is asked for again; one is made if absent."`
	Lease         *duration       `json:"lease,omitempty" doc:"How long a claim holds: 2m if absent, 15m at most. The same token again prolongs it."`
	Wait          *duration       `json:"wait,omitempty" doc:"How long to wait for somebody else who is deciding: 10s if absent, 60s at most."`
}

// DecisionAnswer answers a request for a decision.
type DecisionAnswer struct {
	State    string         `json:"state" enum:"decision_states" doc:"pinned: act on it. claimed: decide, and send the output with the token. pending: somebody else is deciding; ask again."`
	Decision *Decided       `json:"decision"`
	Claim    *DecisionClaim `json:"claim,omitempty" doc:"There if this request has the right to decide."`
	Answered string         `json:"answered" enum:"decisions" doc:"fresh: this request pinned or claimed it. replayed: it was pinned. joined: it was waited for."`
}

// DecisionClaim is the right to decide.
type DecisionClaim struct {
	Token      string    `json:"token"`
	LeaseUntil time.Time `json:"lease_until" doc:"Whoever asks after that gets a claim of its own."`
}

// DecisionState is one decision.
type DecisionState struct {
	Decision   *Decided     `json:"decision"`
	Operations []*Operation `json:"operations" doc:"The operations that it led to, oldest first."`
}

// Decided is what a step of a run decided, or is deciding.
type Decided struct {
	ID        string            `json:"id" doc:"Computed from run and step."`
	Run       string            `json:"run"`
	Step      string            `json:"step"`
	Version   int               `json:"version" doc:"Of the decision, from 1: each one after that was asked for with a reason."`
	State     string            `json:"state" enum:"decided_states" doc:"open: nobody decides it now."`
	ClaimedBy string            `json:"claimed_by,omitempty" doc:"Who is deciding."`
	LeaseEnds time.Time         `json:"lease_until,omitzero" doc:"Of the claim."`
	Versions  []DecisionVersion `json:"versions" doc:"Oldest first; the last one is in force."`
	SubjectID string            `json:"subject_id,omitempty" doc:"Whose data it is, as its run's."`
	Shredded  bool              `json:"shredded,omitempty" doc:"Outputs, confidence and reasons are gone with their data key. What was pinned stays pinned."`
}

// DecisionVersion is one time at which a step decided.
type DecisionVersion struct {
	Version       int             `json:"version"`
	OpenedAt      time.Time       `json:"opened_at"`
	OpenedBy      string          `json:"opened_by"`
	Reason        string          `json:"reason,omitempty" doc:"Why it is decided anew; absent in the first version."`
	InputDigest   string          `json:"input_digest,omitempty"`
	Model         string          `json:"model,omitempty"`
	PromptVersion string          `json:"prompt_version,omitempty"`
	Output        json.RawMessage `json:"output,omitempty" doc:"The validated fields; absent until it is pinned."`
	Confidence    *float64        `json:"confidence,omitempty"`
	RuleVersion   string          `json:"rule_version,omitempty"`
	Rule          string          `json:"rule,omitempty" doc:"Which rule chose the branch."`
	Branch        string          `json:"branch,omitempty"`
	PinnedAt      time.Time       `json:"pinned_at,omitzero"`
	PinnedBy      string          `json:"pinned_by,omitempty"`
}

// RedecideRequest asks that a step decides anew.
type RedecideRequest struct {
	Reason  string `json:"reason" max:"reason" doc:"Why what is pinned shall not hold any more."`
	Version *int   `json:"version,omitempty" doc:"The version that the caller has seen. Where that was decided anew already, nothing changes: so an answer that was lost can be asked for again."`
}

// OperationDecision is the chain from a step's input to the operation: inputs,
// validated fields, rule version; key and effect stand in the operation itself.
type OperationDecision struct {
	ID            string          `json:"id"`
	Version       int             `json:"version" doc:"Of the decision."`
	Step          string          `json:"step,omitempty" doc:"This and what follows only where one operation is read."`
	InputDigest   string          `json:"input_digest,omitempty"`
	Model         string          `json:"model,omitempty"`
	PromptVersion string          `json:"prompt_version,omitempty"`
	Output        json.RawMessage `json:"output,omitempty" doc:"The validated fields."`
	Confidence    *float64        `json:"confidence,omitempty"`
	RuleVersion   string          `json:"rule_version,omitempty"`
	Rule          string          `json:"rule,omitempty"`
	Branch        string          `json:"branch,omitempty"`
	EditedBy      string          `json:"edited_by,omitempty" doc:"An approver changed the input after the decision: the effect is not of these fields alone."`
	EditedFields  []string        `json:"edited_fields,omitempty" doc:"The fields of the input that were changed."`
}

var decisionRoutes = []route{
	{
		Method: http.MethodPut, Path: "/v1/decisions", Name: "putDecision", handle: putDecision, Action: onceward.ActionPinDecisions,
		Summary: "Decide a step once for each run: get what is pinned, or the right to decide, or pin an output. The first output wins.",
		Body:    DecisionRequest{},
		Answers: []answer{
			{http.StatusOK, DecisionAnswer{}, "It is pinned, or this request may decide it."},
			{http.StatusAccepted, DecisionAnswer{}, "Somebody else is deciding. Ask again after Retry-After."},
		},
		Refusals: []onceward.Code{onceward.CodeInvalidInput, onceward.CodeRunNotFound, onceward.CodeDecisionConflict, onceward.CodeOutputInvalid,
			onceward.CodeFenceLost, onceward.CodeStateForbids, onceward.CodeUnsupportedPolicy, onceward.CodeShredded, onceward.CodeMayBeRecorded},
	},
	{
		Method: http.MethodGet, Path: "/v1/decisions/{id}", Name: "getDecision", handle: getDecision, Action: onceward.ActionReadDecisions,
		Summary: "Read one decision with all of its versions and the operations that it led to.",
		Answers: []answer{{http.StatusOK, DecisionState{}, "The decision."}}, Refusals: []onceward.Code{onceward.CodeDecisionNotFound},
	},
	{
		Method: http.MethodPost, Path: "/v1/decisions/{id}/redecide", Name: "redecide", handle: redecide, Action: onceward.ActionRedecide,
		Summary: "Open the next version of a decision. The version before is kept, and so is what it led to.",
		Body:    RedecideRequest{}, Answers: []answer{{http.StatusOK, DecisionState{}, "The next request for the step decides it, under whatever input it then has."}},
		Refusals: []onceward.Code{onceward.CodeDecisionNotFound, onceward.CodeStateForbids, onceward.CodeEvidenceRequired, onceward.CodeShredded, onceward.CodeMayBeRecorded},
	},
}

// The states of a decision.
const (
	decidedPinned  = "pinned"
	decidedClaimed = "claimed"
	decidedOpen    = "open"
)

// decided shows a decision.
func decided(d *onceward.StepDecision) *Decided {
	out := &Decided{ID: d.ID.String(), Run: d.Run.String(), Step: d.Step, Version: d.Current().Number, State: decidedOpen, SubjectID: string(d.Subject), Shredded: d.Shredded}
	switch {
	case d.Pinned():
		out.State = decidedPinned
	case d.Claim.TokenHash != "":
		out.State, out.ClaimedBy, out.LeaseEnds = decidedClaimed, d.Claim.By, d.Claim.Until.UTC()
	}
	for i := range d.Versions {
		out.Versions = append(out.Versions, decisionVersion(&d.Versions[i]))
	}
	return out
}

func decisionVersion(v *onceward.DecisionVersion) DecisionVersion {
	return DecisionVersion{Version: v.Number, OpenedAt: v.OpenedAt.UTC(), OpenedBy: v.OpenedBy, Reason: v.Reason, InputDigest: digestText(v.InputDigest),
		Model: v.Model, PromptVersion: v.PromptVersion, Output: v.Output, Confidence: v.Confidence, RuleVersion: v.RuleVersion, Rule: v.Rule,
		Branch: v.Branch, PinnedAt: v.PinnedAt.UTC(), PinnedBy: v.PinnedBy}
}

func digestText(d onceward.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// operationDecision names the decision that led to an operation; nil: none did.
func operationDecision(op *onceward.Operation) *OperationDecision {
	if op.DecidedBy.IsZero() {
		return nil
	}
	by := &op.DecidedBy
	return &OperationDecision{ID: by.Decision.String(), Version: by.Version, Branch: by.Branch, RuleVersion: by.Rules,
		EditedBy: op.Approval.EditedBy, EditedFields: op.Approval.Edited}
}

// chain completes what led to an operation.
func (c *call) chain(op *onceward.Operation, o *Operation) {
	if op.DecidedBy.IsZero() {
		return
	}
	d, err := c.ledger.GetDecision(c.req.Context(), c.who, op.DecidedBy.Decision)
	if err != nil { // the answer holds without it
		c.log.WarnContext(c.req.Context(), "decision of an operation not read", "operation", o.ID, "error", err)
		return
	}
	if v := d.Version(op.DecidedBy.Version); v != nil {
		o.Decision = &OperationDecision{ID: d.ID.String(), Version: v.Number, Step: d.Step, InputDigest: digestText(v.InputDigest), Model: v.Model,
			PromptVersion: v.PromptVersion, Output: v.Output, Confidence: v.Confidence, RuleVersion: v.RuleVersion, Rule: v.Rule, Branch: v.Branch,
			EditedBy: op.Approval.EditedBy, EditedFields: op.Approval.Edited}
	}
}

// putDecision is PUT /v1/decisions.
func putDecision(c *call) error {
	var in DecisionRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	req, err := c.decisionRequest(&in)
	if err != nil {
		return err
	}
	a, err := c.ledger.PutDecision(c.req.Context(), req)
	if err != nil {
		return err
	}
	out := DecisionAnswer{State: string(a.State), Decision: decided(a.Step), Answered: string(a.Decision)}
	status := http.StatusOK
	switch a.State {
	case onceward.DecisionPinned:
	case onceward.DecisionClaimed:
		out.Claim = &DecisionClaim{Token: a.ClaimToken, LeaseUntil: a.LeaseUntil.UTC()}
	case onceward.DecisionPending:
		status = http.StatusAccepted
		c.w.Header()["Retry-After"] = []string{seconds(a.RetryAfter)}
	}
	c.w.Header()["Location"] = []string{"/v1/decisions/" + out.Decision.ID}
	writeJSON(c.w, status, mediaJSON, &out)
	return nil
}

// decisionRequest makes a request of the core of what was sent.
func (c *call) decisionRequest(in *DecisionRequest) (onceward.DecisionRequest, error) {
	req := onceward.DecisionRequest{Principal: c.who, Input: in.Input, Model: text(in.Model), PromptVersion: text(in.PromptVersion), RuleVersion: text(in.RuleVersion),
		Schema: in.Schema, Confidence: in.Confidence, Output: in.Output, ClaimToken: text(in.ClaimToken), Wait: -1}
	var err error
	if req.Run, err = onceward.ParseRunID(in.Run); err != nil {
		return req, err
	}
	if req.Step, err = onceward.ParseStepName(in.Step); err != nil {
		return req, err
	}
	if req.InputDigest, err = digestOf(in.InputDigest); err != nil {
		return req, err
	}
	if in.Lease != nil {
		req.Lease = time.Duration(*in.Lease)
	}
	if in.Wait != nil {
		req.Wait = time.Duration(*in.Wait)
	}
	return req, nil
}

// getDecision is GET /v1/decisions/{id}.
func getDecision(c *call) error {
	id, err := onceward.ParseDecisionID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	d, err := c.ledger.GetDecision(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	return c.decisionState(d)
}

// redecide is POST /v1/decisions/{id}/redecide.
func redecide(c *call) error {
	id, err := onceward.ParseDecisionID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	var in RedecideRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	version := 0
	if in.Version != nil {
		if version = *in.Version; version < 1 {
			return onceward.Errorf(onceward.CodeInvalidRequest, "version is less than 1")
		}
	}
	d, err := c.ledger.Redecide(c.req.Context(), c.who, id, version, in.Reason)
	if err != nil {
		return err
	}
	return c.decisionState(d)
}

func (c *call) decisionState(d *onceward.StepDecision) error {
	ops, err := c.ledger.OperationsOf(c.req.Context(), c.who, d)
	if err != nil {
		return err
	}
	out := DecisionState{Decision: decided(d), Operations: make([]*Operation, len(ops))}
	for i, op := range ops {
		out.Operations[i] = operation(op, c.who)
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &out)
	return nil
}
