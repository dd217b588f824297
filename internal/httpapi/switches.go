package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// What a switch is for.
const (
	scopeTool       = "tool"
	scopeTenant     = "tenant"
	scopeEverything = "everything"
)

// Switch is a stop that stands.
type Switch struct {
	Scope  string    `json:"scope" enum:"scopes" doc:"tenant: every tool of it. everything: every tool of every tenant."`
	Tool   string    `json:"tool,omitempty"`
	Reason string    `json:"reason" doc:"auth: the provider refused the credential. effect_multiplied: an operation had two effects. Else a person's words."`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// SwitchList lists what is stopped.
type SwitchList struct {
	Switches []Switch `json:"switches"`
}

// StopRequest stops many tools at once.
type StopRequest struct {
	Scope  string `json:"scope" enum:"stop_scopes"`
	Reason string `json:"reason" max:"reason" doc:"Why, so that the next person knows when to resume."`
}

// StartRequest takes a stop back.
type StartRequest struct {
	Scope string `json:"scope" enum:"stop_scopes"`
}

// StartAnswer says that attempts may start again.
type StartAnswer struct {
	Released int `json:"released" doc:"How many waiting operations were let go. What is paused by itself stays so."`
}

var switchRoutes = []route{
	{
		Method: http.MethodGet, Path: "/v1/switches", Name: "listSwitches", handle: listSwitches, Action: onceward.ActionReadTools,
		Summary: "List what is stopped, by whom, when and why.",
		Answers: []answer{{http.StatusOK, SwitchList{}, "What is stopped, the widest first."}},
	},
	{
		Method: http.MethodPost, Path: "/v1/switches/stop", Name: "stop", handle: stop, Action: onceward.ActionSwitchTools,
		Summary: "Stop new attempts of every tool of the tenant, or of every tenant (for admins of the server's own tenant), on all replicas within a second. Running ones settle.",
		Body:    StopRequest{}, Answers: []answer{{http.StatusOK, SwitchList{}, "What is stopped now."}},
		Refusals: []onceward.Code{onceward.CodeEvidenceRequired, onceward.CodeUnsupportedPolicy},
	},
	{
		Method: http.MethodPost, Path: "/v1/switches/resume", Name: "resume", handle: resume, Action: onceward.ActionSwitchTools,
		Summary: "Take a stop back; what waited is let go in steps.",
		Body:    StartRequest{}, Answers: []answer{{http.StatusOK, StartAnswer{}, "It runs."}}, Refusals: []onceward.Code{onceward.CodeUnsupportedPolicy},
	},
}

// listSwitches is GET /v1/switches.
func listSwitches(c *call) error {
	stopped, err := c.ledger.Switches(c.req.Context(), c.who)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &SwitchList{Switches: switches(stopped)})
	return nil
}

// switches shows what is stopped.
func switches(stopped []onceward.ToolSwitch) []Switch {
	list := make([]Switch, len(stopped))
	for i, sw := range stopped {
		s := Switch{Scope: scopeTool, Tool: string(sw.Tool), Reason: sw.Reason, By: sw.By, At: sw.At.UTC()}
		switch {
		case sw.Tenant == onceward.EveryTenant:
			s.Scope = scopeEverything
		case sw.Tool == "":
			s.Scope = scopeTenant
		}
		list[i] = s
	}
	return list
}

func wrongScope() error {
	return &onceward.Error{Code: onceward.CodeUnsupportedPolicy, Message: "scope is neither tenant nor everything", Hint: "one tool is stopped at POST /v1/tools/{name}/pause"}
}

// stop is POST /v1/switches/stop.
func stop(c *call) error {
	var in StopRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	err := wrongScope()
	switch in.Scope {
	case scopeTenant:
		err = c.ledger.PauseTool(c.req.Context(), c.who, "", in.Reason)
	case scopeEverything:
		err = c.ledger.StopEverything(c.req.Context(), c.who, in.Reason)
	}
	if err != nil {
		return err
	}
	return listSwitches(c)
}

// resume is POST /v1/switches/resume.
func resume(c *call) error {
	var in StartRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	n, err := 0, wrongScope()
	switch in.Scope {
	case scopeTenant:
		n, err = c.ledger.ResumeTool(c.req.Context(), c.who, "")
	case scopeEverything:
		n, err = c.ledger.ResumeEverything(c.req.Context(), c.who)
	}
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &StartAnswer{Released: n})
	return nil
}
