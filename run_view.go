package onceward

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// RunView is a run with everything that hangs off it.
type RunView struct {
	Run        *Run
	Decisions  []*StepDecision // oldest first
	Operations []*Operation    // oldest first, with input and result
	More       bool            // there are more than MaxPage of one of them
	Timeline   []RunEvent      // in the order of time
	Saga       *Saga           // whose steps its operations are; nil: none
	Next       []RunStep       // what the workflow's document has left to do; empty without one
}

// The kinds of things in a run's timeline.
const (
	RunEventRun       = "run"
	RunEventDecision  = "decision"
	RunEventOperation = "operation"
	RunEventApproval  = "approval"
	RunEventSaga      = "saga"
)

// RunEvent is a line of a run's timeline.
type RunEvent struct {
	At     time.Time
	Kind   string // run, decision, operation, approval or saga
	Event  string // started, finished; claimed, pinned, opened_anew; created, ended; an approval's own; of a saga's step its state
	ID     string // of the run, decision, operation or saga
	Name   string // of the workflow, step or tool
	What   string // outcome, branch or state; may be empty
	Actor  string // may be empty
	Reason string // may be empty
}

// RunStep is something that a run may do next.
type RunStep struct {
	Step   string
	Branch string   // empty: the step is to be decided
	Tool   ToolName // empty: the step is to be decided
}

// RunItems are decisions and operations of a run.
type RunItems struct {
	Decisions  []*StepDecision
	Operations []*Operation
}

// RunResume is what a program needs to go on with a run.
type RunResume struct {
	Done    RunItems // decided, or happened: to be used, not to be done again
	Waiting RunItems // being decided, or not final: to be asked for again
	Ended   RunItems // without its effect, or nobody knows: to be judged
}

// Resume sorts what hangs off the run by what is left to do about it.
func (v *RunView) Resume() RunResume {
	var r RunResume
	for _, d := range v.Decisions {
		to := &r.Waiting
		if d.Pinned() {
			to = &r.Done
		}
		to.Decisions = append(to.Decisions, d)
	}
	for _, op := range v.Operations {
		to := &r.Waiting
		switch op.State {
		case StateSucceeded, StateCompensated:
			to = &r.Done
		case StateFailed, StateCancelled, StateAbandoned:
			to = &r.Ended
		case StateAwaitingApproval, StateReady, StateEffectPending, StateOutcomeUnknown, StateNeedsReview:
		}
		to.Operations = append(to.Operations, op)
	}
	return r
}

// Run returns one run of the tenant with its decisions, operations, timeline,
// and what is left to do: all that a program needs to go on after a pause, or a
// crash, without doing again what is done.
func (l *Ledger) Run(ctx context.Context, p Principal, id RunID) (*RunView, error) {
	if err := Authorize(p, ActionReadRuns); err != nil {
		return nil, err
	}
	r, err := l.run(ctx, p.Tenant, id)
	if err != nil {
		return nil, err
	}
	v := &RunView{Run: r}
	if v.Decisions, err = l.store.ListDecisions(ctx, id, MaxPage+1); err != nil {
		return nil, err
	}
	v.More = len(v.Decisions) > MaxPage
	v.Decisions = v.Decisions[:min(len(v.Decisions), MaxPage)]
	if err := l.runOperations(ctx, v); err != nil {
		return nil, err
	}
	if v.Saga, err = l.store.LoadSaga(ctx, SagaID(id)); err != nil {
		return nil, err
	}
	if v.Saga != nil {
		v.Saga.explained()
	}
	if err := l.runTimeline(ctx, v); err != nil {
		return nil, err
	}
	return v, l.runNext(ctx, v)
}

// runOperations reads the operations of a run.
func (l *Ledger) runOperations(ctx context.Context, v *RunView) error {
	listed, err := l.store.List(ctx, Filter{Tenant: v.Run.Tenant, Run: v.Run.ID.String(), Limit: MaxPage})
	if err != nil || len(listed) == 0 {
		return err
	}
	v.More = v.More || len(listed) == MaxPage
	ids := make([]OperationID, len(listed))
	for i, op := range listed {
		ids[len(listed)-1-i] = op.ID
	}
	ops, err := l.store.Load(ctx, ids)
	if err != nil {
		return err
	}
	for _, op := range ops {
		if op == nil {
			continue // dropped meanwhile
		}
		if _, err := l.hydrate(ctx, op); err != nil {
			l.log.Warn("contract of an operation cannot be loaded", about(op, "error", err)...)
		}
		v.Operations = append(v.Operations, op)
	}
	return nil
}

// runTimeline puts what happened in the order of time.
func (l *Ledger) runTimeline(ctx context.Context, v *RunView) error {
	r := v.Run
	line := RunEvent{At: r.CreatedAt, Kind: RunEventRun, Event: "started", ID: r.ID.String(), Name: r.Workflow, What: r.Version, Actor: r.Actor}
	v.Timeline = append(v.Timeline, line)
	if r.State == RunFinished {
		line.At, line.Event, line.What, line.Actor, line.Reason = r.FinishedAt, "finished", string(r.Outcome), r.FinishedBy, r.Reason
		v.Timeline = append(v.Timeline, line)
	}
	for _, d := range v.Decisions {
		v.Timeline = append(v.Timeline, decisionEvents(d)...)
	}
	if v.Saga != nil {
		v.Timeline = append(v.Timeline, v.Saga.events()...)
	}
	for _, op := range v.Operations {
		line := RunEvent{At: op.CreatedAt, Kind: RunEventOperation, Event: "created", ID: op.ID.String(), Name: string(op.Tool), What: op.DecidedBy.Branch, Actor: op.Actor}
		v.Timeline = append(v.Timeline, line)
		if op.State.Terminal() {
			line.At, line.Event, line.What, line.Actor = op.CompletedAt, "ended", op.State.String(), ""
			v.Timeline = append(v.Timeline, line)
		}
		if !op.ApprovalNeeded {
			continue
		}
		detail, err := l.store.LoadDetail(ctx, op.ID)
		if err != nil {
			return err
		}
		for _, rec := range detail.Records {
			if strings.HasPrefix(rec.Event, "approval") {
				v.Timeline = append(v.Timeline, RunEvent{At: rec.At, Kind: RunEventApproval, Event: rec.Event, ID: op.ID.String(), Name: string(op.Tool), What: rec.To.String(), Actor: rec.Actor, Reason: rec.Reason})
			}
		}
	}
	slices.SortStableFunc(v.Timeline, func(a, b RunEvent) int { return a.At.Compare(b.At) })
	return nil
}

func decisionEvents(d *StepDecision) []RunEvent {
	var events []RunEvent
	for i := range d.Versions {
		n := &d.Versions[i]
		line := RunEvent{At: n.OpenedAt, Kind: RunEventDecision, Event: "claimed", ID: d.ID.String(), Name: d.Step, Actor: n.OpenedBy, Reason: n.Reason}
		if n.Number > 1 {
			line.Event = "opened_anew"
		}
		events = append(events, line)
		if !n.PinnedAt.IsZero() {
			line.At, line.Event, line.Actor, line.What, line.Reason = n.PinnedAt, "pinned", n.PinnedBy, n.Branch, ""
			events = append(events, line)
		}
	}
	return events
}

// runNext lists what the workflow's document has left: the first step that is
// not decided, and the tools of chosen branches that no operation was made with.
func (l *Ledger) runNext(ctx context.Context, v *RunView) error {
	if v.Run.Rules == "" || v.Run.State == RunFinished {
		return nil
	}
	w, err := l.tools.WorkflowVersion(ctx, v.Run.Workflow, v.Run.Rules)
	if err != nil {
		return err
	}
	for _, s := range w.Info().Steps {
		i := slices.IndexFunc(v.Decisions, func(d *StepDecision) bool { return d.Step == s.Name })
		if i < 0 || !v.Decisions[i].Pinned() {
			v.Next = append(v.Next, RunStep{Step: s.Name})
			break
		}
		d := v.Decisions[i]
		branch := s.Branch(d.Current().Branch)
		if branch == nil {
			continue
		}
		for _, tool := range branch.Tools {
			made := slices.ContainsFunc(v.Operations, func(op *Operation) bool {
				return op.Tool == tool && op.DecidedBy.Decision == d.ID && op.DecidedBy.Version == d.Current().Number
			})
			if !made {
				v.Next = append(v.Next, RunStep{Step: s.Name, Branch: branch.Name, Tool: tool})
			}
		}
	}
	return nil
}

// OperationsOf lists the operations of a run that a decision led to, oldest
// first: the other end of the chain that begins with the step's input.
func (l *Ledger) OperationsOf(ctx context.Context, p Principal, d *StepDecision) ([]*Operation, error) {
	ops, err := l.List(ctx, p, Filter{Run: d.Run.String(), Limit: MaxPage})
	if err != nil {
		return nil, err
	}
	ops = slices.DeleteFunc(ops, func(op *Operation) bool { return op.DecidedBy.Decision != d.ID })
	slices.SortFunc(ops, func(a, b *Operation) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(string(a.ID[:]), string(b.ID[:])))
	})
	return ops, nil
}
