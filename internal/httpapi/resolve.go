package httpapi

import "github.com/onceward/onceward"

// ResolveRequest is what a person found out.
type ResolveRequest struct {
	Outcome   string  `json:"outcome" enum:"resolutions" doc:"succeeded: the effect exists. not_performed: it does not, and will not. abandoned: nobody will look any further."`
	Then      *string `json:"then,omitempty" enum:"then" doc:"What follows from not_performed: retry or fail. Needed with it, refused with the others."`
	Reference *string `json:"reference,omitempty" max:"reference" doc:"The provider's name of the effect; a write that succeeded needs it."`
	Reason    *string `json:"reason,omitempty" max:"reason" doc:"How it is known. Reference or reason is needed."`
	Attempt   *int    `json:"attempt,omitempty" doc:"The newest attempt that the person saw: if another one was made since, nothing is settled. Absent: that of the moment in which the request arrives."`
}

// resolve is POST /v1/operations/{id}/resolve.
func resolve(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var in ResolveRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	r, err := in.resolved()
	if err != nil {
		return err
	}
	op, err := c.ledger.Resolve(c.req.Context(), c.who, id, r)
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}

func (in *ResolveRequest) resolved() (onceward.Resolved, error) {
	outcome, err := onceward.ParseResolution(in.Outcome)
	if err != nil {
		return onceward.Resolved{}, err
	}
	r := onceward.Resolved{Outcome: outcome, Reference: text(in.Reference), Reason: text(in.Reason)}
	if in.Attempt != nil {
		if r.Attempt = *in.Attempt; r.Attempt < 1 {
			return r, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "attempt is not the number of an attempt", Hint: "give the number of the newest attempt that you saw, or leave it out"}
		}
	}
	switch {
	case outcome != onceward.ResolvedNotPerformed && in.Then != nil:
		return r, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "then goes with the outcome not_performed only", Hint: "leave it out"}
	case outcome != onceward.ResolvedNotPerformed:
	case in.Then == nil:
		return r, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "then is missing", Hint: "say retry to try again under the same key, or fail to end it"}
	case *in.Then == "retry":
		r.Retry = true
	case *in.Then != "fail":
		return r, &onceward.Error{Code: onceward.CodeUnsupportedPolicy, Message: "then is neither retry nor fail", Hint: "say retry to try again under the same key, or fail to end it"}
	}
	return r, nil
}
