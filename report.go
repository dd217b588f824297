package onceward

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Limits of reports.
const (
	// ReportSpanMax is the longest time that a report covers.
	ReportSpanMax = 400 * 24 * time.Hour
	// ReportRowsMax is how many rows of the trail a report reads.
	ReportRowsMax = 1_000_000
	// ReportLinesMax is how many lines of the trail a report quotes.
	ReportLinesMax = 500
	// reportListed is how many waiting operations of a kind are counted one by one.
	reportListed = MaxPage
)

// Report is what happened in a tenant within a time, and what of it waits.
type Report struct {
	Tenant   Tenant
	From, To time.Time
	MadeAt   time.Time
	Cut      bool // the trail of the time has more than ReportRowsMax rows: what is behind them is missing

	Total   Answered
	Tools   []ToolReport   // by name, with those that were asked for and have no contract any more
	Teams   []TeamReport   // by owner
	Sources []SourceReport // by name: events that senders delivered; no part of the total
	Times   []TimeReport   // by the hour, or by the day where it is more than two days

	Approvals Waits
	Reviews   Waits
	Unknowns  Waits
	Events    map[string]int // how often each event stands in the journal
	Lines     []AuditLine    // what people did that is no change of an operation: oldest first
	LinesCut  bool           // there are more than ReportLinesMax
	Stopped   []ToolSwitch   // in force now, as Switches lists them
	Chain     AuditState
}

// Answered is how requests were answered.
type Answered struct{ Fresh, Replayed, Joined, Blocked, Escalated int64 }

// Sum is the number of requests.
func (a Answered) Sum() int64 { return a.Fresh + a.Replayed + a.Joined + a.Blocked + a.Escalated }

func (a *Answered) add(d Decision, n int64) {
	switch d {
	case DecisionFresh:
		a.Fresh += n
	case DecisionReplayed:
		a.Replayed += n
	case DecisionJoined:
		a.Joined += n
	case DecisionBlocked:
		a.Blocked += n
	case DecisionEscalated:
		a.Escalated += n
	}
}

// ToolReport is a tool's part.
type ToolReport struct {
	Tool ToolName
	Info *ToolInfo // nil: no contract of that name is in force
	Answered
	Unknown int // operations whose outcome became unknown within the time
}

// TeamReport is the part of the tools of one owner.
type TeamReport struct {
	Team  string // empty: no owner is named
	Tools []ToolName
	Answered
	Unknown int
}

// SourceReport is how deliveries of a source were answered: fresh and replayed
// count events, blocked counts deliveries.
type SourceReport struct {
	Source string
	Answered
}

// TimeReport is the part of one hour or day.
type TimeReport struct {
	From time.Time
	Answered
}

// Waits is how operations waited in one state.
type Waits struct {
	Began   int           // that came into the state within the time
	Ended   int           // that left it within the time
	Median  time.Duration // of those that came and left within the time
	Longest time.Duration
	Waiting int           // now; reportListed: that many or more
	Oldest  time.Duration // of those, since its last change
}

// Report tells what happened from a time until another.
func (l *Ledger) Report(ctx context.Context, p Principal, from, to time.Time) (*Report, error) {
	if err := Authorize(p, ActionReadReports); err != nil {
		return nil, err
	}
	now, err := l.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	if !from.Before(to) || to.Sub(from) > ReportSpanMax {
		return nil, &Error{Code: CodeInvalidRequest, Op: "report", Message: "from is not before to, or more than 400 days before it", Hint: "ask for a shorter time"}
	}
	r := &Report{Tenant: p.Tenant, From: from.UTC(), To: to.UTC(), MadeAt: now, Events: map[string]int{}}
	if err := l.FlushTallies(ctx); err != nil {
		return nil, err
	}
	w := &reportWalk{report: r, waits: map[State]*waiting{StateAwaitingApproval: {}, StateNeedsReview: {}, StateOutcomeUnknown: {}}}
	if err := w.walk(ctx, l.store); err != nil {
		return nil, err
	}
	unknown, err := l.toolsOf(ctx, w.unknown)
	if err != nil {
		return nil, err
	}
	if err := l.reportAnswers(ctx, r, unknown); err != nil {
		return nil, err
	}
	for _, k := range []struct {
		state State
		to    *Waits
	}{{StateAwaitingApproval, &r.Approvals}, {StateNeedsReview, &r.Reviews}, {StateOutcomeUnknown, &r.Unknowns}} {
		*k.to = w.waits[k.state].sum()
		if err := l.reportWaiting(ctx, p.Tenant, k.state, k.to, now); err != nil {
			return nil, err
		}
	}
	all, err := l.store.Switches(ctx)
	if err != nil {
		return nil, err
	}
	r.Stopped = stoppedIn(all, p.Tenant)
	r.Chain, err = LoadAuditState(ctx, l.store)
	return r, err
}

// reportWalk reads the trail of a report's time.
type reportWalk struct {
	report  *Report
	waits   map[State]*waiting
	unknown []OperationID
}

// waiting follows the operations in one state.
type waiting struct {
	began, ended int
	since        map[OperationID]time.Time
	lasted       []time.Duration
}

func (w *waiting) enter(id OperationID, at time.Time) bool {
	if w.since == nil {
		w.since = map[OperationID]time.Time{}
	}
	if _, there := w.since[id]; there {
		return false
	}
	w.since[id] = at
	w.began++
	return true
}

func (w *waiting) leave(id OperationID, at time.Time, from bool) {
	since, there := w.since[id]
	switch {
	case there:
		w.lasted = append(w.lasted, at.Sub(since))
		delete(w.since, id)
		w.ended++
	case from: // it came before the time
		w.ended++
	}
}

func (w *waiting) sum() Waits {
	out := Waits{Began: w.began, Ended: w.ended}
	if n := len(w.lasted); n > 0 {
		slices.Sort(w.lasted)
		out.Median, out.Longest = w.lasted[n/2], w.lasted[n-1]
	}
	return out
}

func (w *reportWalk) walk(ctx context.Context, s AuditStore) error {
	r := w.report
	seal, err := s.SealBefore(ctx, r.From)
	if err != nil {
		return err
	}
	reader := &trailReader{store: s, budget: 2 * ReportRowsMax}
	if seal != nil {
		reader.at = AuditCursor{Journal: seal.Journal, Events: seal.Events}
	}
	for n := 0; ; n++ {
		row, err := reader.next(ctx)
		if err != nil || row == nil {
			r.Cut = err == nil && !reader.done()
			return err
		}
		if !row.At.Before(r.To) {
			return nil
		}
		if n == ReportRowsMax {
			r.Cut = true
			return nil
		}
		if !row.At.Before(r.From) {
			w.take(row)
		}
	}
}

func (w *reportWalk) take(row *AuditRow) {
	if e := row.Event; e != nil && (e.Tenant == w.report.Tenant || e.Tenant == "") {
		if len(w.report.Lines) < ReportLinesMax {
			w.report.Lines = append(w.report.Lines, AuditLine{AuditEvent: *e, Source: SourceEvents})
		} else {
			w.report.LinesCut = true
		}
	}
	for i := range row.Entries {
		e := &row.Entries[i]
		if e.Tenant != w.report.Tenant {
			continue
		}
		if e.Event != "" {
			w.report.Events[e.Event]++
		}
		for state, waits := range w.waits {
			switch {
			case e.To != state:
				waits.leave(e.ID, row.At, e.From == state)
			case e.From != state && waits.enter(e.ID, row.At) && state == StateOutcomeUnknown:
				w.unknown = append(w.unknown, e.ID)
			}
		}
	}
}

// toolsOf counts operations by tool.
func (l *Ledger) toolsOf(ctx context.Context, ids []OperationID) (map[ToolName]int, error) {
	counts := map[ToolName]int{}
	for page := range slices.Chunk(ids, MaxPage) {
		ops, err := l.store.Load(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, op := range ops {
			if op != nil {
				counts[op.Tool]++
			}
		}
	}
	return counts, nil
}

// reportAnswers fills in how requests were answered, by tool, team and time.
func (l *Ledger) reportAnswers(ctx context.Context, r *Report, unknown map[ToolName]int) error {
	tallies, err := l.store.Tallies(ctx, r.Tenant, r.From.Truncate(TallyStep), r.To)
	if err != nil {
		return err
	}
	tools := map[ToolName]*ToolReport{}
	tool := func(name ToolName) *ToolReport {
		if tools[name] == nil {
			tools[name] = &ToolReport{Tool: name}
		}
		return tools[name]
	}
	for _, t := range l.tools.All() {
		tool(t.Info().Name).Info = t.Info()
	}
	step := TallyStep
	if r.To.Sub(r.From) > 48*time.Hour {
		step = 24 * time.Hour
	}
	for _, t := range tallies {
		if _, ended := endStep(t.Decision); ended || r.delivered(&t) {
			continue
		}
		r.Total.add(t.Decision, t.Count)
		tool(t.Tool).add(t.Decision, t.Count)
		at := t.Hour.Truncate(step)
		if n := len(r.Times); n == 0 || !r.Times[n-1].From.Equal(at) {
			r.Times = append(r.Times, TimeReport{From: at})
		}
		r.Times[len(r.Times)-1].add(t.Decision, t.Count)
	}
	for name, n := range unknown {
		tool(name).Unknown = n
	}
	teams := map[string]*TeamReport{}
	for _, t := range tools {
		r.Tools = append(r.Tools, *t)
		for _, team := range owners(t.Info) {
			if teams[team] == nil {
				teams[team] = &TeamReport{Team: team}
			}
			teams[team].take(t)
		}
	}
	slices.SortFunc(r.Tools, func(a, b ToolReport) int { return strings.Compare(string(a.Tool), string(b.Tool)) })
	for _, t := range teams {
		slices.Sort(t.Tools)
		r.Teams = append(r.Teams, *t)
	}
	slices.SortFunc(r.Teams, func(a, b TeamReport) int { return strings.Compare(a.Team, b.Team) })
	return nil
}

// delivered counts a tally of a source, and reports whether it is one. Tallies
// come by hour.
func (r *Report) delivered(t *Tally) bool {
	name, is := strings.CutPrefix(string(t.Tool), sourcePrefix)
	if !is {
		return false
	}
	i, found := slices.BinarySearchFunc(r.Sources, name, func(s SourceReport, name string) int { return strings.Compare(s.Source, name) })
	if !found {
		r.Sources = slices.Insert(r.Sources, i, SourceReport{Source: name})
	}
	r.Sources[i].add(t.Decision, t.Count)
	return true
}

func (t *TeamReport) take(r *ToolReport) {
	t.Tools = append(t.Tools, r.Tool)
	t.Unknown += r.Unknown
	for d, n := range map[Decision]int64{DecisionFresh: r.Fresh, DecisionReplayed: r.Replayed, DecisionJoined: r.Joined, DecisionBlocked: r.Blocked, DecisionEscalated: r.Escalated} {
		t.add(d, n)
	}
}

// owners are the teams that a contract names, each once; one empty name for none.
func owners(i *ToolInfo) []string {
	if i == nil || i.BusinessOwner == "" && i.TechnicalOwner == "" {
		return []string{""}
	}
	var teams []string
	for _, t := range []string{i.BusinessOwner, i.TechnicalOwner} {
		if t != "" && !slices.Contains(teams, t) {
			teams = append(teams, t)
		}
	}
	return teams
}

// reportWaiting counts what is in a state now.
func (l *Ledger) reportWaiting(ctx context.Context, t Tenant, s State, to *Waits, now time.Time) error {
	ops, err := l.store.List(ctx, Filter{Tenant: t, States: []State{s}, Limit: reportListed})
	if err != nil {
		return err
	}
	to.Waiting = len(ops)
	for _, op := range ops {
		to.Oldest = max(to.Oldest, now.Sub(op.UpdatedAt))
	}
	return nil
}
