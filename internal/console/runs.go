package console

import (
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// runsView is the list of runs.
type runsView struct {
	Runs        []*onceward.Run
	Workflow    string
	Correlation string
	State       string
	More        string
	At          string // the address of what is asked for
	First       bool
	Now         time.Time
}

// runs is GET /runs.
func runs(p *page) error {
	q := p.req.URL.Query()
	v := runsView{Workflow: strings.TrimSpace(q.Get("workflow")), Correlation: strings.TrimSpace(q.Get("correlation")), State: q.Get("state"), First: q.Get("after") == "", Now: p.now}
	f := onceward.RunFilter{Workflow: v.Workflow, CorrelationID: v.Correlation, Limit: ListPage}
	switch s := onceward.RunState(v.State); s {
	case onceward.RunOpen, onceward.RunFinished:
		f.State = s
	default:
		v.State = ""
	}
	if after := q.Get("after"); after != "" {
		micros, id, _ := strings.Cut(after, ".")
		at, err := strconv.ParseInt(micros, 10, 64)
		if err == nil {
			f.After.CreatedAt = time.UnixMicro(at).UTC()
			f.After.ID, err = onceward.ParseRunID(id)
		}
		if err != nil {
			return &onceward.Error{Code: onceward.CodeCursorInvalid, Message: word("error.cursor")}
		}
	}
	q.Del("after")
	q.Del("done")
	v.At = link("/runs", q.Encode())
	var err error
	if v.Runs, err = p.ledger.ListRuns(p.req.Context(), p.who, f); err != nil {
		return err
	}
	if n := len(v.Runs); n == ListPage {
		q.Set("after", strconv.FormatInt(v.Runs[n-1].CreatedAt.UnixMicro(), 10)+"."+v.Runs[n-1].ID.String())
		v.More = "/runs?" + q.Encode()
	}
	return p.show("runs", word("runs.title"), v)
}

// runView is the page of one run.
type runView struct {
	*onceward.RunView
	Input     string
	Decisions []decisionView
	SagaForms sagaForms
	Sees      map[onceward.OperationID]bool
	Now       time.Time
}

// decisionView is one step with its versions, the newest first.
type decisionView struct {
	*onceward.StepDecision
	Shown []versionView
}

type versionView struct {
	*onceward.DecisionVersion
	Text       string
	Confidence string
	InForce    bool
	Led        []*onceward.Operation // operations that it led to
}

// run is GET /runs/{id}.
func run(p *page) error {
	id, err := onceward.ParseRunID(p.req.PathValue("id"))
	if err != nil {
		return err
	}
	r, err := p.ledger.Run(p.req.Context(), p.who, id)
	if err != nil {
		return err
	}
	v := &runView{RunView: r, Input: pretty(r.Run.Input), Now: p.now, Sees: map[onceward.OperationID]bool{}}
	if r.Saga != nil {
		v.SagaForms = p.sagaForms(r.Saga)
	}
	for _, d := range r.Decisions {
		one := decisionView{StepDecision: d}
		for i := len(d.Versions) - 1; i >= 0; i-- {
			n := &d.Versions[i]
			shown := versionView{DecisionVersion: n, Text: pretty(n.Output), InForce: i == len(d.Versions)-1}
			if n.Confidence != nil {
				shown.Confidence = strconv.FormatFloat(*n.Confidence, 'f', -1, 64)
			}
			for _, op := range r.Operations {
				if op.DecidedBy.Decision == d.ID && op.DecidedBy.Version == n.Number {
					shown.Led = append(shown.Led, op)
				}
			}
			one.Shown = append(one.Shown, shown)
		}
		v.Decisions = append(v.Decisions, one)
	}
	return p.show("run", word("run.title", r.Run.Workflow), v)
}
