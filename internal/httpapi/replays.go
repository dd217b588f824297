package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// BulkFilter selects the operations of a bulk replay.
type BulkFilter struct {
	Tool          *string  `json:"tool,omitempty" max:"label" doc:"Of this tool."`
	States        []string `json:"states,omitempty" doc:"failed, needs_review, abandoned, outcome_unknown. Absent: the first three."`
	Run           *string  `json:"run,omitempty" max:"label" doc:"Of this run."`
	CorrelationID *string  `json:"correlation_id,omitempty" max:"label" doc:"Of this business event."`
	From          *string  `json:"from,omitempty" max:"label" doc:"Created at or after this time, as RFC 3339."`
	To            *string  `json:"to,omitempty" max:"label" doc:"Created before this time, as RFC 3339. Absent: the time of the request."`
}

// BulkRequest asks for a replay of many operations.
type BulkRequest struct {
	Filter  *BulkFilter `json:"filter,omitempty" doc:"Absent, without a plan: every dead letter of the tenant."`
	Plan    *string     `json:"plan,omitempty" max:"label" doc:"A finished dry run whose operations are replayed, in place of a filter."`
	Confirm *string     `json:"confirm,omitempty" max:"reason" doc:"The plan's sentence, word for word, to replay also what needs a confirmation."`
	DryRun  *bool       `json:"dry_run,omitempty" doc:"true: plan each, with a fresh look-up, and replay none."`
	Rate    *int        `json:"rate,omitempty" doc:"Operations a minute, 1 to 6000; absent: 60."`
	Reason  string      `json:"reason" max:"reason" doc:"Why the same intentions are tried again."`
	Key     *string     `json:"key,omitempty" max:"label" doc:"Names the replay: the same key is the same one. Absent: derived from who asks for what, and why."`
}

// BulkReplay is a replay of many operations.
type BulkReplay struct {
	ID         string         `json:"id"`
	State      string         `json:"state" enum:"bulk_states"`
	DryRun     bool           `json:"dry_run"`
	Plan       string         `json:"plan,omitempty"`
	Rate       int            `json:"rate" doc:"Operations a minute."`
	Reason     string         `json:"reason"`
	Actor      string         `json:"actor"`
	Counts     map[string]int `json:"counts" doc:"How many operations have had each outcome so far."`
	Results    []BulkResult   `json:"results,omitzero" doc:"Not in lists. In the order in which they were tried, the newest operation first."`
	Cut        bool           `json:"cut,omitempty" doc:"More are selected than the 1000 that one replay takes on: start another one for the rest."`
	Sentence   string         `json:"sentence,omitempty" doc:"Of a finished dry run: what has to be confirmed to replay also what needs it."`
	CreatedAt  time.Time      `json:"created_at"`
	FinishedAt time.Time      `json:"finished_at,omitzero"`
	Why        string         `json:"why,omitempty" doc:"Why the server cancelled it: whoever asked may not replay any more."`
}

// BulkPage is a page of bulk replays.
type BulkPage struct {
	Replays []*BulkReplay `json:"replays"`
	Next    string        `json:"next,omitempty" doc:"Give it as after to get the next page; absent on the last one."`
}

// BulkResult is what became of one operation.
type BulkResult struct {
	Operation string `json:"operation"`
	Attempt   int    `json:"attempt" doc:"The newest one when it was chosen."`
	Outcome   string `json:"outcome" enum:"bulk_outcomes" doc:"moved_on: somebody replayed or settled it since it was chosen."`
	Message   string `json:"message,omitempty" doc:"Why."`
}

// BulkAnswer is one bulk replay.
type BulkAnswer struct {
	Replay BulkReplay `json:"replay"`
}

var bulkAnswers = []answer{{http.StatusOK, BulkAnswer{}, "It has ended."}, {http.StatusAccepted, BulkAnswer{}, "It goes on: ask for it at Location."}}

var bulkRoutes = []route{
	{
		Method: http.MethodPost, Path: "/v1/replays", Name: "startReplay", handle: startReplay, Action: onceward.ActionReplay,
		Summary: "Replay many operations, one after the other. The same request again is the same replay; an operation is replayed at most once by it, whatever crashes.",
		Body:    BulkRequest{}, Answers: bulkAnswers,
		Refusals: []onceward.Code{onceward.CodeEvidenceRequired, onceward.CodeConfirmationNeeded, onceward.CodeReplayNotFound, onceward.CodeStateForbids, onceward.CodeKeyReused, onceward.CodeMayBeRecorded},
	},
	{
		Method: http.MethodGet, Path: "/v1/replays", Name: "listReplays", handle: listReplays, Action: onceward.ActionReplay,
		Summary: "List bulk replays, newest first, without what became of each operation.",
		Query: []param{
			{Name: "after", Schema: textSchema(), Doc: "The member next of the page before."},
			limitOf(onceward.BulkReplaysPage),
		},
		Answers:  []answer{{http.StatusOK, BulkPage{}, "A page. A last page may be empty."}},
		Refusals: []onceward.Code{onceward.CodeCursorInvalid},
	},
	{
		Method: http.MethodGet, Path: "/v1/replays/{id}", Name: "getReplay", handle: getReplay, Action: onceward.ActionReplay,
		Summary: "Read how far a bulk replay is, and what became of each operation.", Answers: bulkAnswers, Refusals: []onceward.Code{onceward.CodeReplayNotFound},
	},
	{
		Method: http.MethodPost, Path: "/v1/replays/{id}/cancel", Name: "cancelReplay", handle: cancelReplay, Action: onceward.ActionReplay,
		Summary: "Take on no further operation. What is replayed stays so.",
		Body:    struct{}{}, BodyOptional: true, Answers: bulkAnswers, Refusals: []onceward.Code{onceward.CodeReplayNotFound},
	},
}

func (in *BulkRequest) request() (out onceward.BulkRequest, err error) {
	out = onceward.BulkRequest{Key: text(in.Key), Confirm: text(in.Confirm), Reason: in.Reason, DryRun: in.DryRun != nil && *in.DryRun}
	if in.Rate != nil {
		if out.Rate = *in.Rate; out.Rate == 0 {
			return out, onceward.Errorf(onceward.CodeInvalidRequest, "the rate is not between 1 and %d a minute", onceward.BulkRateMax)
		}
	}
	if in.Plan != nil {
		if out.Plan, err = onceward.ParseBulkReplayID(*in.Plan); err != nil {
			return out, err
		}
	}
	if f := in.Filter; f != nil {
		out.Filter, err = f.filter()
	}
	return out, err
}

func (f *BulkFilter) filter() (out onceward.BulkFilter, err error) {
	out.Run, out.CorrelationID = text(f.Run), text(f.CorrelationID)
	if f.Tool != nil {
		if out.Tool, err = onceward.ParseToolName(*f.Tool); err != nil {
			return out, err
		}
	}
	for _, name := range f.States {
		s, err := onceward.ParseState(name)
		if err != nil {
			return out, err
		}
		out.States = append(out.States, s)
	}
	for name, t := range map[string]struct {
		text *string
		into *time.Time
	}{"from": {f.From, &out.From}, "to": {f.To, &out.To}} {
		if t.text == nil {
			continue
		}
		if *t.into, err = time.Parse(time.RFC3339, *t.text); err != nil {
			return out, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: name + " is not a time", Hint: "write it as in 2026-11-29T17:00:00Z"}
		}
	}
	return out, nil
}

// bulkReplay shows a bulk replay without its results.
func bulkReplay(b *onceward.BulkReplay) *BulkReplay {
	out := &BulkReplay{ID: b.ID.String(), State: string(b.State), DryRun: b.DryRun, Rate: b.Rate, Reason: b.Reason, Actor: b.By.String(), Cut: b.Cut, Sentence: b.Sentence(),
		Counts: map[string]int{}, CreatedAt: b.CreatedAt.UTC(), FinishedAt: b.FinishedAt.UTC(), Why: b.Why}
	if !b.Plan.IsZero() {
		out.Plan = b.Plan.String()
	}
	for i := range b.Results {
		out.Counts[string(b.Results[i].Outcome)]++
	}
	return out
}

func (c *call) bulkReplay(b *onceward.BulkReplay) error {
	out := bulkReplay(b)
	out.Results = make([]BulkResult, len(b.Results))
	for i := range b.Results {
		r := &b.Results[i]
		out.Results[i] = BulkResult{Operation: r.Operation.String(), Attempt: r.Attempt, Outcome: string(r.Outcome), Message: r.Message}
	}
	status := http.StatusOK
	if b.State == onceward.BulkRunning {
		status = http.StatusAccepted
	}
	c.w.Header()["Location"] = []string{"/v1/replays/" + out.ID}
	writeJSON(c.w, status, mediaJSON, &BulkAnswer{Replay: *out})
	return nil
}

// startReplay is POST /v1/replays.
func startReplay(c *call) error {
	var in BulkRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	b, err := c.ledger.StartBulkReplay(c.req.Context(), c.who, req)
	if err != nil {
		return err
	}
	return c.bulkReplay(b)
}

// listReplays is GET /v1/replays.
func listReplays(c *call) error {
	limit, after, err := c.page(onceward.BulkReplaysPage)
	if err != nil {
		return err
	}
	all, err := c.ledger.ListBulkReplays(c.req.Context(), c.who, onceward.BulkCursor{CreatedAt: after.CreatedAt, ID: onceward.BulkReplayID(after.ID)}, limit)
	if err != nil {
		return err
	}
	page := BulkPage{Replays: make([]*BulkReplay, len(all))}
	for i, b := range all {
		page.Replays[i] = bulkReplay(b)
	}
	page.Next = next(all, limit, func(b *onceward.BulkReplay) onceward.Cursor {
		return onceward.Cursor{CreatedAt: b.CreatedAt, ID: onceward.OperationID(b.ID)}
	})
	writeJSON(c.w, http.StatusOK, mediaJSON, &page)
	return nil
}

// getReplay is GET /v1/replays/{id}.
func getReplay(c *call) error {
	id, err := onceward.ParseBulkReplayID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	b, err := c.ledger.BulkReplay(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	return c.bulkReplay(b)
}

// cancelReplay is POST /v1/replays/{id}/cancel.
func cancelReplay(c *call) error {
	id, err := onceward.ParseBulkReplayID(c.req.PathValue("id"))
	if err != nil {
		return err
	}
	if err := c.read(&struct{}{}, false); err != nil {
		return err
	}
	b, err := c.ledger.CancelBulkReplay(c.req.Context(), c.who, id)
	if err != nil {
		return err
	}
	return c.bulkReplay(b)
}
