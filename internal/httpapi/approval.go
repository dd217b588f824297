package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// Approval is what is known of the people who must say yes.
type Approval struct {
	Needed     bool        `json:"needed" doc:"A person must say yes before the first attempt."`
	State      string      `json:"state" enum:"approvals" doc:"spent: the first attempt used it, and it covers the later ones. expired: the next request asks anew."`
	Quorum     int         `json:"quorum" doc:"How many people must say yes."`
	Yeses      []Yes       `json:"yeses" doc:"Who said yes to what stands now, oldest first."`
	ExpiresAt  time.Time   `json:"expires_at,omitzero" doc:"When the question, or the yes that no attempt spent, lapses."`
	RejectedBy string      `json:"rejected_by,omitempty"`
	EditedBy   string      `json:"edited_by,omitempty" doc:"Whose edit the present input is."`
	Edited     []string    `json:"edited_fields,omitempty" doc:"The fields that edits have touched."`
	Superseded []string    `json:"superseded_digests,omitempty" doc:"Digests of inputs that edits replaced: a request with one of them is answered with the edited effect."`
	Assigned   *Assignment `json:"assigned,omitempty" doc:"Whose turn it is."`
}

// Yes is one person's yes.
type Yes struct {
	Actor string    `json:"actor"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until" doc:"It is void after it, if no attempt has spent it."`
}

// Assignment says whose turn it is.
type Assignment struct {
	To   string    `json:"to,omitempty" doc:"A principal: issuer:subject."`
	Team string    `json:"team,omitempty" doc:"A group."`
	Due  time.Time `json:"due,omitzero"`
}

// ApprovalList are open questions, oldest first.
type ApprovalList struct {
	Approvals []*Operation `json:"approvals"`
}

// ApprovalShowing is what an approver has to look at, and answers for.
type ApprovalShowing struct {
	Operation       *Operation      `json:"operation"`
	Digest          string          `json:"digest" doc:"To be sent with the answer."`
	ContractVersion string          `json:"contract_version" doc:"To be sent with a yes."`
	Showing         json.RawMessage `json:"showing" doc:"What is asked: tool, owners, input, request, documents, who asks, and the decision that led to it. Invisible characters of texts are written as ⟦U+200B⟧; input is the exact value."`
	Shown           string          `json:"shown" doc:"SHA-256 of the showing, under which it is kept as a document once somebody answers."`
	Groups          []string        `json:"groups,omitempty" doc:"Who may answer; absent: every approver."`
	May             []string        `json:"may" enum:"answers" doc:"How you may answer; nothing while no answer is taken."`
	Refused         string          `json:"refused,omitempty" doc:"Why you may not say yes."`
	Changed         string          `json:"changed,omitempty" doc:"Why no answer is taken: somebody answered, or what was asked has changed."`
}

// ApproveRequest is a person's yes.
type ApproveRequest struct {
	Digest          string        `json:"digest" doc:"The one that was shown."`
	ContractVersion string        `json:"contract_version" doc:"The one that was shown."`
	Reason          *string       `json:"reason,omitempty" max:"reason"`
	Edit            *ApprovalEdit `json:"edit,omitempty" doc:"Replaces the input before any attempt. No field of the key can be edited."`
	Tool            *string       `json:"tool,omitempty" doc:"Of an operation that does not exist yet: the yes is kept until it is claimed."`
}

// ApprovalEdit is an edited input.
type ApprovalEdit struct {
	Input json.RawMessage `json:"input" doc:"The whole input."`
}

// ApproveAnswer answers a yes: with the operation, or without one where it does
// not exist yet.
type ApproveAnswer struct {
	Operation   *Operation `json:"operation,omitempty"`
	Advice      string     `json:"advice,omitempty" doc:"What to do now; absent once it has succeeded."`
	OperationID string     `json:"operation_id"`
	Early       bool       `json:"early,omitempty" doc:"There is no such operation yet. The yes is kept, and counts once it is claimed with this digest under this contract version."`
}

// RejectRequest is a person's no.
type RejectRequest struct {
	Digest string `json:"digest" doc:"The one that was shown."`
	Reason string `json:"reason" max:"reason"`
}

// approval shows what people were asked; nil if nobody is.
func approval(op *onceward.Operation) *Approval {
	state, until := op.ApprovalStanding()
	if state == "" {
		return nil
	}
	a := &Approval{Needed: true, State: string(state), ExpiresAt: until.UTC(), Quorum: op.Quorum(), Yeses: make([]Yes, len(op.Approval.Yeses)), RejectedBy: op.Approval.RejectedBy, EditedBy: op.Approval.EditedBy, Edited: op.Approval.Edited}
	for i, y := range op.Approval.Yeses {
		a.Yeses[i] = Yes{Actor: y.Actor, At: y.At.UTC(), Until: y.Until.UTC()}
	}
	for _, s := range op.Supersedes {
		a.Superseded = append(a.Superseded, s.Digest.String())
	}
	if as := op.Assigned; !as.IsZero() && op.State == onceward.StateAwaitingApproval {
		a.Assigned = &Assignment{To: as.To, Team: as.Team, Due: as.Due.UTC()}
	}
	return a
}

// listApprovals is GET /v1/approvals.
func listApprovals(c *call) error {
	var q onceward.ApprovalQuery
	if s, given := c.param("tool"); given {
		tool, err := onceward.ParseToolName(s)
		if err != nil {
			return err
		}
		q.Tool = tool
	}
	if s, given := c.param("for"); given {
		switch s {
		case "me":
			q.Mine = true
		case "named":
			q.Named = true
		default:
			return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "for is neither me nor named", Hint: "leave it out for all of the tenant"}
		}
	}
	var err error
	if q.Limit, err = c.limit(onceward.MaxPage); err != nil {
		return err
	}
	ops, err := c.ledger.Approvals(c.req.Context(), c.who, q)
	if err != nil {
		return err
	}
	out := ApprovalList{Approvals: make([]*Operation, len(ops))}
	for i, op := range ops {
		out.Approvals[i] = operation(op, c.who)
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &out)
	return nil
}

// showApproval is GET /v1/operations/{id}/approval.
func showApproval(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	s, err := c.ledger.ShowApproval(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	may := make([]string, len(s.May))
	for i, a := range s.May {
		may[i] = string(a)
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &ApprovalShowing{May: may, Operation: operation(s.Operation, c.who), Digest: s.Operation.Digest.String(),
		ContractVersion: s.Operation.Contract, Showing: s.Text, Shown: s.Digest.String(), Groups: s.Groups, Refused: s.Refused, Changed: s.Changed})
	return nil
}

// approve is POST /v1/operations/{id}/approve.
func approve(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var in ApproveRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	a := onceward.ApprovalAnswer{Contract: in.ContractVersion, Reason: text(in.Reason)}
	if a.Digest, err = onceward.ParseDigest(in.Digest); err != nil {
		return err
	}
	if in.Edit != nil {
		a.Edit = in.Edit.Input
	}
	if in.Tool != nil {
		if a.Tool, err = onceward.ParseToolName(*in.Tool); err != nil {
			return err
		}
	}
	op, err := c.ledger.Approve(c.req.Context(), c.who, id, a)
	switch {
	case err != nil:
		return err
	case op == nil:
		writeJSON(c.w, http.StatusAccepted, mediaJSON, &ApproveAnswer{OperationID: id.String(), Early: true})
		return nil
	}
	c.operationHeaders(op, c.ledger.RetryAfter(op))
	writeJSON(c.w, http.StatusAccepted, mediaJSON, &ApproveAnswer{Operation: c.operation(op), Advice: adviceUnlessDone(op), OperationID: id.String()})
	return nil
}

// reject is POST /v1/operations/{id}/reject.
func reject(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var in RejectRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	digest, err := onceward.ParseDigest(in.Digest)
	if err != nil {
		return err
	}
	op, err := c.ledger.Reject(c.req.Context(), c.who, id, digest, in.Reason)
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}
