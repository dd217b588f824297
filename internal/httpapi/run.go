package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// RunRequest asks for a run.
type RunRequest struct {
	Workflow      string          `json:"workflow" max:"label" doc:"The workflow that handles the business event."`
	Version       *string         `json:"version,omitempty" max:"version" doc:"The workflow's version; the one in force, if a document describes the workflow. Not part of the run's identity."`
	TriggerKey    string          `json:"trigger_key" doc:"Names the business event: 1 to 255 visible ASCII characters. It starts one run of the workflow, whatever its version."`
	Input         json.RawMessage `json:"input,omitempty" doc:"What the event says; kept with the run. Another input under the same trigger key is refused."`
	InputDigest   *string         `json:"input_digest,omitempty" doc:"In place of input, where that must not be kept: SHA-256 over its canonical form, in hexadecimal."`
	CorrelationID *string         `json:"correlation_id,omitempty" max:"label" doc:"Follows one business event through all services; the run's operations take it over."`
	Subject       *string         `json:"subject,omitempty" max:"label" doc:"Whose data the input is: it, and what the run's steps decide, is made unreadable when that subject is shredded. Needs master keys; not part of what a repeat is compared by."`
	OnDuplicate   *string         `json:"on_duplicate,omitempty" enum:"on_duplicate" doc:"What a second request with the same trigger key wants; return if absent."`
}

// RunAnswer answers a request for a run.
type RunAnswer struct {
	Run      *Run   `json:"run"`
	Decision string `json:"decision" enum:"decisions" doc:"fresh: this request started it. joined: it was there, and is open. replayed: it was there, and is finished."`
	Advice   string `json:"advice,omitempty" doc:"What to do now."`
}

// Run is a run as the API shows it.
type Run struct {
	ID            string          `json:"id" doc:"Computed from tenant, workflow and trigger key."`
	Workflow      string          `json:"workflow"`
	Version       string          `json:"version" doc:"The workflow's version that the run started under, and stays under."`
	RuleVersion   string          `json:"rule_version,omitempty" doc:"The version of the workflow's document that holds for the run to its end; absent where there is none."`
	TriggerKey    string          `json:"trigger_key"`
	Input         json.RawMessage `json:"input,omitempty" doc:"Not in lists."`
	InputDigest   string          `json:"input_digest,omitempty"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	Actor         string          `json:"actor" doc:"The principal that started it."`
	State         string          `json:"state" enum:"run_states" doc:"finished: what is there is answered, nothing new joins it."`
	Outcome       string          `json:"outcome,omitempty" enum:"run_outcomes" doc:"How it ended, by the word of whoever handled it. What happened outside is told by its operations."`
	Reason        string          `json:"reason,omitempty"`
	FinishedBy    string          `json:"finished_by,omitempty"`
	SubjectID     string          `json:"subject_id,omitempty" doc:"Whose data it is, by the ledger's name of that subject."`
	Shredded      bool            `json:"shredded,omitempty" doc:"Input and reason are gone with their data key."`
	CreatedAt     time.Time       `json:"created_at"`
	FinishedAt    time.Time       `json:"finished_at,omitzero"`
}

// RunPage is a page of runs.
type RunPage struct {
	Runs []*Run `json:"runs"`
	Next string `json:"next,omitempty" doc:"Give it as after to get the next page; absent on the last one."`
}

// RunDetail is a run with everything that hangs off it.
type RunDetail struct {
	Run        *Run         `json:"run"`
	Timeline   []RunEvent   `json:"timeline" doc:"What happened, in the order of time."`
	Decisions  []*Decided   `json:"decisions" doc:"What its steps decided, oldest first."`
	Operations []*Operation `json:"operations" doc:"Its operations, oldest first."`
	Saga       *Saga        `json:"saga,omitempty" doc:"The saga whose steps its operations are; absent where it is none."`
	More       bool         `json:"more,omitempty" doc:"There are more than are shown here: list the operations by run."`
}

// RunEvent is a line of a run's timeline.
type RunEvent struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind" enum:"run_events"`
	Event  string    `json:"event" doc:"Of a run: started, finished. Of a decision: claimed, pinned, opened_anew. Of an operation: created, ended. Of an approval: its own. Of a saga's step: its state."`
	ID     string    `json:"id" doc:"Of the run, the decision, the operation or the saga."`
	Name   string    `json:"name" doc:"Of the workflow, the step or the tool."`
	What   string    `json:"what,omitempty" doc:"The version, outcome, branch or state."`
	Actor  string    `json:"actor,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// RunResume is what a program needs to go on with a run after a pause or a crash.
type RunResume struct {
	Run     *Run      `json:"run"`
	Done    RunItems  `json:"done" doc:"Decided, or happened: to be used, not to be done again."`
	Waiting RunItems  `json:"waiting" doc:"Being decided, or not final: to be asked for again."`
	Ended   RunItems  `json:"ended" doc:"Ended without its effect, or nobody knows: for the program, or a person, to judge."`
	Next    []RunStep `json:"next" doc:"What the workflow's document has left to do: the first step that is not decided, and the tools of chosen branches that were not called. Empty without a document."`
	More    bool      `json:"more,omitempty" doc:"There are more than are shown here: list the operations by run."`
}

// RunItems are decisions and operations of a run.
type RunItems struct {
	Decisions  []*Decided   `json:"decisions"`
	Operations []*Operation `json:"operations"`
}

// RunStep is something that a run may do next.
type RunStep struct {
	Step   string `json:"step"`
	Branch string `json:"branch,omitempty" doc:"That the step chose; absent where it is to be decided."`
	Tool   string `json:"tool,omitempty" doc:"That may be called on the branch; absent where the step is to be decided."`
}

// FinishRequest ends a run.
type FinishRequest struct {
	Outcome string  `json:"outcome" enum:"run_outcomes" doc:"How it ended."`
	Reason  *string `json:"reason,omitempty" max:"reason" doc:"Why it ended so."`
}

// RunState is one run.
type RunState struct {
	Run *Run `json:"run"`
}

var runRoutes = []route{
	{
		Method: http.MethodPost, Path: "/v1/runs", Name: "startRun", handle: startRun, Action: onceward.ActionStartRuns,
		Summary: "Start a run once for each trigger key and workflow, or get the one that is there.",
		Body:    RunRequest{}, Answers: []answer{{http.StatusOK, RunAnswer{}, "The run, now or earlier."}},
		Refusals: []onceward.Code{onceward.CodeInvalidInput, onceward.CodeKeyInvalid, onceward.CodeKeyReused, onceward.CodeDuplicate, onceward.CodeStillRunning,
			onceward.CodeUnsupportedPolicy, onceward.CodeWorkflowMismatch, onceward.CodeKeysMissing, onceward.CodeMayBeRecorded},
	},
	{
		Method: http.MethodGet, Path: "/v1/runs", Name: "listRuns", handle: listRuns, Action: onceward.ActionReadRuns,
		Summary: "List runs, newest first, without inputs.",
		Query: []param{
			{Name: "workflow", Schema: textSchema(), Doc: "Of this workflow."},
			{Name: "state", Schema: enumSchema("run_states"), Doc: "In this state."},
			{Name: "correlation_id", Schema: textSchema(), Doc: "Of this business event."},
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitParam,
		},
		Answers:  []answer{{http.StatusOK, RunPage{}, "A page. A last page may be empty."}},
		Refusals: []onceward.Code{onceward.CodeCursorInvalid},
	},
	{
		Method: http.MethodGet, Path: "/v1/runs/{id}", Name: "getRun", handle: getRun, Action: onceward.ActionReadRuns,
		Summary: "Read one run with its timeline, decisions and operations.",
		Answers: []answer{{http.StatusOK, RunDetail{}, "The run."}}, Refusals: []onceward.Code{onceward.CodeRunNotFound},
	},
	{
		Method: http.MethodGet, Path: "/v1/runs/{id}/resume", Name: "resumeRun", handle: resumeRun, Action: onceward.ActionReadRuns,
		Summary: "Read what of a run is done, what is waited for, and what is next. It changes nothing.",
		Answers: []answer{{http.StatusOK, RunResume{}, "What is needed to go on without doing again what is done."}}, Refusals: []onceward.Code{onceward.CodeRunNotFound},
	},
	{
		Method: http.MethodPost, Path: "/v1/runs/{id}/finish", Name: "finishRun", handle: finishRun, Action: onceward.ActionStartRuns,
		Summary: "End a run: nothing new joins it. The same end again changes nothing; another one is refused.",
		Body:    FinishRequest{}, Answers: []answer{{http.StatusOK, RunState{}, "It is finished."}},
		Refusals: []onceward.Code{onceward.CodeRunNotFound, onceward.CodeStateForbids, onceward.CodeUnsupportedPolicy, onceward.CodeMayBeRecorded},
	},
}

// run shows a run.
func run(r *onceward.Run) *Run {
	out := &Run{ID: r.ID.String(), Workflow: r.Workflow, Version: r.Version, RuleVersion: r.Rules, TriggerKey: string(r.TriggerKey), Input: r.Input,
		CorrelationID: r.CorrelationID, Actor: r.Actor, State: string(r.State), Outcome: string(r.Outcome), Reason: r.Reason, FinishedBy: r.FinishedBy,
		SubjectID: string(r.Subject), Shredded: r.Shredded, CreatedAt: r.CreatedAt.UTC(), FinishedAt: r.FinishedAt.UTC()}
	if !r.InputDigest.IsZero() {
		out.InputDigest = r.InputDigest.String()
	}
	return out
}

// digestOf reads an optional digest.
func digestOf(s *string) (onceward.Digest, error) {
	if s == nil {
		return onceward.Digest{}, nil
	}
	return onceward.ParseDigest(*s)
}

// startRun is POST /v1/runs.
func startRun(c *call) error {
	var in RunRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	req := onceward.RunRequest{Principal: c.who, Version: text(in.Version), Input: in.Input, CorrelationID: text(in.CorrelationID), Subject: text(in.Subject)}
	var err error
	if req.Workflow, err = onceward.ParseWorkflowName(in.Workflow); err != nil {
		return err
	}
	if req.TriggerKey, err = onceward.ParseCallerKey([]string{in.TriggerKey}); err != nil {
		return err
	}
	if req.InputDigest, err = digestOf(in.InputDigest); err != nil {
		return err
	}
	if in.OnDuplicate != nil {
		if req.OnDuplicate, err = onDuplicate(*in.OnDuplicate); err != nil {
			return err
		}
	}
	a, err := c.ledger.StartRun(c.req.Context(), req)
	if err != nil {
		return err
	}
	c.w.Header()["Onceward-Decision"] = []string{string(a.Decision)}
	c.w.Header()["Location"] = []string{"/v1/runs/" + a.Run.ID.String()}
	writeJSON(c.w, http.StatusOK, mediaJSON, &RunAnswer{Run: run(a.Run), Decision: string(a.Decision), Advice: a.Advice})
	return nil
}

// listRuns is GET /v1/runs.
func listRuns(c *call) error {
	limit, after, err := c.page(onceward.MaxPage)
	if err != nil {
		return err
	}
	f := onceward.RunFilter{Limit: limit, After: onceward.RunCursor{CreatedAt: after.CreatedAt, ID: onceward.RunID(after.ID)}}
	if s, given := c.param("workflow"); given {
		if f.Workflow, err = onceward.ParseWorkflowName(s); err != nil {
			return err
		}
	}
	if s, given := c.param("state"); given {
		f.State = onceward.RunState(s)
		if f.State != onceward.RunOpen && f.State != onceward.RunFinished {
			return onceward.Errorf(onceward.CodeInvalidRequest, "a run is open or finished")
		}
	}
	id := c.optional("correlation_id")
	if err := checkLabel("correlation_id", id); err != nil {
		return err
	}
	f.CorrelationID = text(id)
	runs, err := c.ledger.ListRuns(c.req.Context(), c.who, f)
	if err != nil {
		return err
	}
	page := RunPage{Runs: make([]*Run, len(runs))}
	for i, r := range runs {
		page.Runs[i] = run(r)
	}
	page.Next = next(runs, f.Limit, func(r *onceward.Run) onceward.Cursor {
		return onceward.Cursor{CreatedAt: r.CreatedAt, ID: onceward.OperationID(r.ID)}
	})
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

// view reads the run of the path with everything that hangs off it.
func (c *call) view() (*onceward.RunView, error) {
	id, err := onceward.ParseRunID(c.req.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return c.ledger.Run(c.req.Context(), c.who, id)
}

// getRun is GET /v1/runs/{id}.
func getRun(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	out := RunDetail{Run: run(v.Run), Timeline: make([]RunEvent, len(v.Timeline)), Decisions: []*Decided{}, Operations: []*Operation{}, More: v.More}
	for i, e := range v.Timeline {
		out.Timeline[i] = RunEvent(e)
		out.Timeline[i].At = e.At.UTC()
	}
	for _, d := range v.Decisions {
		out.Decisions = append(out.Decisions, decided(d))
	}
	for _, op := range v.Operations {
		out.Operations = append(out.Operations, operation(op, c.who))
	}
	if v.Saga != nil {
		out.Saga = saga(v.Saga)
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &out)
	return nil
}

// resumeRun is GET /v1/runs/{id}/resume.
func resumeRun(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	r := v.Resume()
	out := RunResume{Run: run(v.Run), Done: c.runItems(&r.Done), Waiting: c.runItems(&r.Waiting), Ended: c.runItems(&r.Ended), Next: []RunStep{}, More: v.More}
	for _, s := range v.Next {
		out.Next = append(out.Next, RunStep{Step: s.Step, Branch: s.Branch, Tool: string(s.Tool)})
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &out)
	return nil
}

func (c *call) runItems(in *onceward.RunItems) RunItems {
	out := RunItems{Decisions: make([]*Decided, len(in.Decisions)), Operations: make([]*Operation, len(in.Operations))}
	for i, d := range in.Decisions {
		out.Decisions[i] = decided(d)
	}
	for i, op := range in.Operations {
		out.Operations[i] = operation(op, c.who)
	}
	return out
}

// finishRun is POST /v1/runs/{id}/finish.
func finishRun(c *call) error {
	id, err := onceward.ParseRunID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	var in FinishRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	outcome, err := onceward.ParseRunOutcome(in.Outcome)
	if err != nil {
		return err
	}
	r, err := c.ledger.FinishRun(c.req.Context(), c.who, id, outcome, text(in.Reason))
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &RunState{Run: run(r)})
	return nil
}
