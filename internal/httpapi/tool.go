package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// Tool is a contract in force.
type Tool struct {
	Name           string          `json:"name"`
	Version        string          `json:"version"`
	Description    string          `json:"description,omitempty"`
	BusinessOwner  string          `json:"business_owner,omitempty"`
	TechnicalOwner string          `json:"technical_owner,omitempty"`
	Effect         string          `json:"effect" enum:"effects" doc:"What the provider offers against a second effect; docs/guarantees.md explains each."`
	Executor       string          `json:"executor" enum:"executors" doc:"Who performs the write: onceward, or the caller (POST /v1/operations:claim)."`
	KeyFrom        string          `json:"key_from" enum:"key_sources" doc:"contract: derived from the input. caller: each request has to bring its key."`
	Input          json.RawMessage `json:"input,omitempty" doc:"JSON Schema of the input."`
	HasProbe       bool            `json:"has_probe" doc:"An unknown outcome can be looked up."`
	BlindSpots     string          `json:"blind_spots,omitempty" doc:"What the look-up cannot see, in words."`
	Deadline       duration        `json:"deadline,omitempty" doc:"Of one attempt."`
	Lease          duration        `json:"lease,omitempty"`
	Settle         duration        `json:"settle,omitempty" doc:"How long after an attempt its effect may still appear."`
	MaxAttempts    int             `json:"max_attempts"`
	NotAfter       duration        `json:"not_after,omitempty" doc:"An intent older than this is not started any more."`
	Horizon        duration        `json:"horizon,omitempty" doc:"The longest time in which a duplicate can still arrive."`
	Paused         *Pause          `json:"paused,omitempty" doc:"There while no attempt may start."`
	Held           *HeldVersion    `json:"held,omitempty" doc:"A newer version that waits for its owners' yes; this one is in force."`
}

// Pause says who stopped a tool, when and why.
type Pause struct {
	Reason string    `json:"reason" doc:"auth: the provider refused the credential. effect_multiplied: an operation had two effects. Else a person's words."`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// ToolList lists the contracts in force, by name.
type ToolList struct {
	Tools []Tool `json:"tools"`
}

// ToolAnswer is one contract in force.
type ToolAnswer struct {
	Tool Tool `json:"tool"`
}

// PauseRequest says why a tool is stopped.
type PauseRequest struct {
	Reason string `json:"reason" max:"reason" doc:"Why, so that the next person knows when to resume."`
}

// PauseAnswer says that a tool is stopped.
type PauseAnswer struct {
	Tool   string `json:"tool"`
	Paused Pause  `json:"paused"`
}

// ResumeAnswer says that a tool's attempts may start again.
type ResumeAnswer struct {
	Tool     string `json:"tool"`
	Released int    `json:"released" doc:"How many waiting operations were let go."`
}

func (c *call) tool(t onceward.Tool) Tool {
	i := t.Info()
	out := Tool{Name: string(i.Name), Version: i.Version, Description: i.Description, BusinessOwner: i.BusinessOwner, TechnicalOwner: i.TechnicalOwner,
		Effect: i.Policy.Effect.String(), Executor: "onceward", KeyFrom: "contract", Input: i.InputSchema, HasProbe: i.Policy.HasProbe, BlindSpots: i.BlindSpots,
		Deadline: duration(i.Policy.Deadline), Lease: duration(i.Policy.Lease), Settle: duration(i.Policy.Settle), MaxAttempts: i.Policy.MaxAttempts,
		NotAfter: duration(i.Policy.NotAfter), Horizon: duration(i.Horizon)}
	if i.Policy.RemoteExecutor {
		out.Executor = "caller"
	}
	if i.KeyFromCaller {
		out.KeyFrom = "caller"
	}
	if h, held := c.ledger.HeldVersion(i.Name); held {
		out.Held = &HeldVersion{Version: h.Next.Info().Version, Unsigned: stringsOf(onceward.Unsigned(h.Signed))}
	}
	if sw, paused := c.ledger.Paused(c.who.Tenant, i.Name); paused {
		out.Paused = &Pause{Reason: sw.Reason, By: sw.By, At: sw.At.UTC()}
	}
	return out
}

// listTools is GET /v1/tools.
func listTools(c *call) error {
	list := ToolList{Tools: []Tool{}}
	for _, t := range c.ledger.Tools() {
		list.Tools = append(list.Tools, c.tool(t))
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &list)
	return nil
}

// getTool is GET /v1/tools/{name}.
func getTool(c *call) error {
	name, err := onceward.ParseToolName(c.req.PathValue("name"))
	if err != nil {
		return err
	}
	t, err := c.ledger.Tool(name)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &ToolAnswer{Tool: c.tool(t)})
	return nil
}

// pauseTool is POST /v1/tools/{name}/pause.
func pauseTool(c *call) error {
	name, err := onceward.ParseToolName(c.req.PathValue("name"))
	if err != nil {
		return err
	}
	var in PauseRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	if err := c.ledger.PauseTool(c.req.Context(), c.who, name, in.Reason); err != nil {
		return err
	}
	sw, _ := c.ledger.Paused(c.who.Tenant, name)
	writeJSON(c.w, http.StatusOK, mediaJSON, &PauseAnswer{Tool: string(name), Paused: Pause{Reason: sw.Reason, By: sw.By, At: sw.At.UTC()}})
	return nil
}

// resumeTool is POST /v1/tools/{name}/resume.
func resumeTool(c *call) error {
	name, err := onceward.ParseToolName(c.req.PathValue("name"))
	if err != nil {
		return err
	}
	if err := c.read(&struct{}{}, false); err != nil {
		return err
	}
	n, err := c.ledger.ResumeTool(c.req.Context(), c.who, name)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &ResumeAnswer{Tool: string(name), Released: n})
	return nil
}
