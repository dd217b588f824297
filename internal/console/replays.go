package console

import (
	"strconv"

	"github.com/onceward/onceward"
)

// replaysView is the list of bulk replays, with the form for a new one.
type replaysView struct {
	Replays []*bulkView
	Tools   []string
	States  []stateChoice
	Tool    string
	Rate    int
}

// bulkView is one bulk replay.
type bulkView struct {
	*onceward.BulkReplay
	Counts  []outcomeCount
	Done    int
	Running bool
	MayRun  bool // what the dry run found may be carried out
	Ended   bool
	// Share is how much of it is done, of a hundred, where that is known: a replay
	// from a plan. A replay by filter finds its operations as it goes.
	Share    int
	Of       int // operations of the plan; 0: not known
	Sentence string
}

type outcomeCount struct {
	Outcome onceward.BulkOutcome
	N       int
}

func bulkOf(b *onceward.BulkReplay, of int) *bulkView {
	v := &bulkView{BulkReplay: b, Done: len(b.Results), Running: b.State == onceward.BulkRunning, Sentence: b.Sentence(), Of: of}
	v.Ended = !v.Running
	v.MayRun = b.DryRun && b.State == onceward.BulkFinished && v.Done > 0
	for _, o := range onceward.BulkOutcomes {
		if n := b.Count(o); n > 0 {
			v.Counts = append(v.Counts, outcomeCount{o, n})
		}
	}
	if of > 0 {
		v.Share = min(100, 100*v.Done/of)
	}
	if v.Ended {
		v.Share = 100
	}
	return v
}

// replays is GET /replays.
func replays(p *page) error {
	all, err := p.ledger.ListBulkReplays(p.req.Context(), p.who, onceward.BulkCursor{}, ListPage)
	if err != nil {
		return err
	}
	v := replaysView{Rate: onceward.BulkRate, Tool: p.req.URL.Query().Get("tool")}
	for _, b := range all {
		v.Replays = append(v.Replays, bulkOf(b, 0))
	}
	for _, t := range p.ledger.Tools() {
		v.Tools = append(v.Tools, string(t.Info().Name))
	}
	for _, s := range append([]onceward.State{onceward.StateOutcomeUnknown}, onceward.DeadStates...) {
		v.States = append(v.States, stateChoice{s.String(), s == onceward.StateFailed})
	}
	return p.show("replays", word("replays.title"), v)
}

// startReplay is POST /replays.
func startReplay(p *page) error {
	s := searchOf(p.req.PostForm)
	f, err := s.filter()
	if err != nil {
		return err
	}
	in := onceward.BulkRequest{DryRun: p.field("dry_run") != "", Reason: p.field("reason"), Filter: onceward.BulkFilter{Tool: f.Tool, States: f.States, Run: f.Run, CorrelationID: f.CorrelationID, From: f.From, To: f.To}}
	if in.Rate, err = p.rate(); err != nil {
		return err
	}
	b, err := p.ledger.StartBulkReplay(p.req.Context(), p.who, in)
	if err != nil {
		return err
	}
	return p.done("/replays/"+b.ID.String(), "replay_started")
}

func (p *page) rate() (int, error) {
	s := p.field("rate")
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.number", word("replays.rate"))}
	}
	return n, nil
}

// bulkReplay is GET /replays/{id}.
func bulkReplay(p *page) error {
	b, err := p.bulk()
	if err != nil {
		return err
	}
	of := 0
	if !b.Plan.IsZero() {
		if plan, err := p.ledger.BulkReplay(p.req.Context(), p.who, b.Plan); err == nil {
			of = len(plan.Results)
		}
	}
	return p.show("bulk", word("bulk.title"), bulkOf(b, of))
}

func (p *page) bulk() (*onceward.BulkReplay, error) {
	id, err := onceward.ParseBulkReplayID(p.req.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return p.ledger.BulkReplay(p.req.Context(), p.who, id)
}

// runPlan is POST /replays/{id}/run: what a finished dry run found is carried out.
func runPlan(p *page) error {
	plan, err := p.bulk()
	if err != nil {
		return err
	}
	in := onceward.BulkRequest{Plan: plan.ID, Confirm: p.field("confirm"), Reason: p.field("reason")}
	if in.Rate, err = p.rate(); err != nil {
		return err
	}
	b, err := p.ledger.StartBulkReplay(p.req.Context(), p.who, in)
	if err != nil {
		return err
	}
	return p.done("/replays/"+b.ID.String(), "replay_started")
}

// cancelReplay is POST /replays/{id}/cancel.
func cancelReplay(p *page) error {
	id, err := onceward.ParseBulkReplayID(p.req.PathValue("id"))
	if err != nil {
		return err
	}
	if _, err := p.ledger.CancelBulkReplay(p.req.Context(), p.who, id); err != nil {
		return err
	}
	return p.done("/replays/"+id.String(), "replay_cancelled")
}
