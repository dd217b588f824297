package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/onceward/onceward"
)

// ReplayPlan says whether a new attempt under the same key is safe.
type ReplayPlan struct {
	Operation *Operation   `json:"operation" doc:"As the fresh look-up left it."`
	Verdict   string       `json:"verdict" enum:"verdicts"`
	Reasons   []string     `json:"reasons" doc:"Why, the deciding reason first."`
	Sentence  string       `json:"sentence,omitempty" doc:"What has to be confirmed word for word, with needs_confirmation."`
	Source    *SourceState `json:"source,omitempty" doc:"How the record that caused it stands now; absent: the contract does not say (source.was)."`
	Probe     string       `json:"probe" enum:"probes" doc:"What the fresh look-up saw; none: there was none."`
}

// SourceState is how the record that caused a write stands now.
type SourceState struct {
	Changed []string        `json:"changed" doc:"The paths that differ from what the input brought; an empty one is the whole value."`
	Unread  bool            `json:"unread,omitempty" doc:"It could not be read, or not be compared."`
	Then    json.RawMessage `json:"then,omitempty" doc:"What the input brought; for whoever may see the result."`
	Now     json.RawMessage `json:"now,omitempty" doc:"What stands there now; for whoever may see the result."`
}

func (c *call) source(p *onceward.ReplayPlan) *SourceState {
	if p.Source == nil {
		return nil
	}
	out := &SourceState{Changed: append([]string{}, p.Source.Changed...), Unread: p.Source.Unread}
	if c.who.SeesResult(p.Operation) {
		out.Then, out.Now = p.Source.Then, p.Source.Now
	}
	return out
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
		Sentence: p.Sentence, Probe: p.Probe, Source: c.source(p)})
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
