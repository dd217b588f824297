package httpapi

import "net/http"

// ReplayPlan says whether a new attempt under the same key is safe.
type ReplayPlan struct {
	Operation *Operation `json:"operation" doc:"As the fresh look-up left it."`
	Verdict   string     `json:"verdict" enum:"verdicts"`
	Reasons   []string   `json:"reasons" doc:"Why, the deciding reason first."`
	Sentence  string     `json:"sentence,omitempty" doc:"What has to be confirmed word for word, with needs_confirmation."`
	Probe     string     `json:"probe" enum:"probes" doc:"What the fresh look-up saw; none: there was none."`
}

// ReplayRequest asks for a new attempt under the same key.
type ReplayRequest struct {
	Reason  string  `json:"reason" max:"reason" doc:"Why the same intention is tried again."`
	Confirm *string `json:"confirm,omitempty" max:"reason" doc:"The plan's sentence, word for word, if it has one."`
}

// planReplay is GET /v1/operations/{id}/replay.
func planReplay(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	p, err := c.ledger.PlanReplay(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	c.operationHeaders(p.Operation, 0)
	writeJSON(c.w, http.StatusOK, mediaJSON, &ReplayPlan{Operation: c.operation(p.Operation), Verdict: string(p.Verdict), Reasons: p.Reasons,
		Sentence: p.Sentence, Probe: p.Probe})
	return nil
}

// replay is POST /v1/operations/{id}/replay.
func replay(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	var in ReplayRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	op, err := c.ledger.Replay(c.req.Context(), c.who, id, in.Reason, text(in.Confirm))
	if err != nil {
		return err
	}
	c.changed(op)
	return nil
}
