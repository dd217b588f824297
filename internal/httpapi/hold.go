package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// Hold is a legal hold that stands.
type Hold struct {
	ID        string    `json:"id"`
	Operation string    `json:"operation,omitempty" doc:"It covers that operation; absent: any."`
	SubjectID string    `json:"subject_id,omitempty" doc:"It covers the operations of that subject; absent: of any. The subject's name is not kept."`
	Tool      string    `json:"tool,omitempty" doc:"It covers the operations of that tool; absent: of any."`
	From      time.Time `json:"from,omitzero" doc:"It covers what was created then or later."`
	Until     time.Time `json:"until,omitzero" doc:"It covers what was created before; absent: whatever comes."`
	Reason    string    `json:"reason"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
}

// HoldRequest asks for a legal hold.
type HoldRequest struct {
	Operation *string `json:"operation,omitempty" doc:"That operation alone."`
	Subject   *string `json:"subject,omitempty" max:"label" doc:"The operations of that subject, by the name that its contract's keep.subject gives."`
	Tool      *string `json:"tool,omitempty" doc:"The operations of that tool."`
	From      *string `json:"from,omitempty" doc:"Created then or later, as 2026-01-02T15:04:05Z."`
	Until     *string `json:"until,omitempty" doc:"Created before."`
	Reason    string  `json:"reason" max:"reason" doc:"What it is held for; noted in the audit trail."`
}

// LiftRequest takes a hold away.
type LiftRequest struct {
	Reason string `json:"reason" max:"reason" doc:"Why it is over; noted in the audit trail."`
}

// HoldAnswer is one hold.
type HoldAnswer struct {
	Hold Hold `json:"hold"`
}

// HoldList is every hold of the tenant that stands.
type HoldList struct {
	Holds []Hold `json:"holds"`
}

var holdRoutes = []route{
	{
		Method: http.MethodGet, Path: "/v1/holds", Name: "listHolds", handle: listHolds, Action: onceward.ActionReadHolds,
		Summary: "List the legal holds that stand, the oldest first.", Answers: []answer{{http.StatusOK, HoldList{}, "The holds."}},
	},
	{
		Method: http.MethodPost, Path: "/v1/holds", Name: "setHold", handle: setHold, Action: onceward.ActionHold,
		Summary: "Hold records: what a legal hold covers is neither retired nor dropped nor shredded. Without any condition it covers everything of the tenant.",
		Body:    HoldRequest{}, Answers: []answer{{http.StatusCreated, HoldAnswer{}, "It is held."}},
		Refusals: []onceward.Code{onceward.CodeEvidenceRequired, onceward.CodeOperationNotFound, onceward.CodeTooLarge, onceward.CodeKeysMissing},
	},
	{
		Method: http.MethodPost, Path: "/v1/holds/{id}/lift", Name: "liftHold", handle: liftHold, Action: onceward.ActionHold,
		Summary: "Lift a legal hold: what it covered goes when its time is over.",
		Body:    LiftRequest{}, Answers: []answer{{http.StatusOK, HoldAnswer{}, "It is lifted."}},
		Refusals: []onceward.Code{onceward.CodeEvidenceRequired, onceward.CodeHoldNotFound},
	},
}

func showHold(h *onceward.Hold) Hold {
	out := Hold{ID: string(h.ID), SubjectID: string(h.Subject), Tool: string(h.Tool), From: h.From.UTC(), Until: h.Until.UTC(), Reason: h.Reason, By: h.By, At: h.At.UTC()}
	if !h.Operation.IsZero() {
		out.Operation = h.Operation.String()
	}
	return out
}

// listHolds is GET /v1/holds.
func listHolds(c *call) error {
	all, err := c.ledger.ListHolds(c.req.Context(), c.who)
	if err != nil {
		return err
	}
	list := HoldList{Holds: make([]Hold, len(all))}
	for i := range all {
		list.Holds[i] = showHold(&all[i])
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &list)
	return nil
}

// setHold is POST /v1/holds.
func setHold(c *call) error {
	var in HoldRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	r := onceward.HoldRequest{Subject: text(in.Subject), Reason: in.Reason}
	var err error
	if in.Operation != nil {
		if r.Operation, err = onceward.ParseOperationID(*in.Operation); err != nil {
			return err
		}
	}
	if in.Tool != nil {
		if r.Tool, err = onceward.ParseToolName(*in.Tool); err != nil {
			return err
		}
	}
	for _, t := range []struct {
		name string
		in   *string
		out  *time.Time
	}{{"from", in.From, &r.From}, {"until", in.Until, &r.Until}} {
		if t.in == nil {
			continue
		}
		if *t.out, err = parseTime(t.name, *t.in); err != nil {
			return err
		}
	}
	h, err := c.ledger.SetHold(c.req.Context(), c.who, r)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, mediaJSON, &HoldAnswer{Hold: showHold(h)})
	return nil
}

// liftHold is POST /v1/holds/{id}/lift.
func liftHold(c *call) error {
	var in LiftRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	h, err := c.ledger.LiftHold(c.req.Context(), c.who, onceward.HoldID(c.req.PathValue("id")), in.Reason)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &HoldAnswer{Hold: showHold(h)})
	return nil
}
