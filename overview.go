package onceward

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Limits of an overview.
const (
	// OverviewSpanMax is the longest time of which an overview draws the answers.
	OverviewSpanMax = 8 * 24 * time.Hour
	// OverviewCountMax is how many waiting operations of a state are counted.
	OverviewCountMax = 10_000
	// overviewBroken is how many reviews are looked at for a broken invariant.
	overviewBroken = 100
)

// Overview is how a tenant stands: what must be looked at first, then what was
// answered lately. What the principal may not read is empty.
type Overview struct {
	Now     time.Time
	Waiting []Waiting    // outcome_unknown, needs_review, awaiting_approval, ready: those that it may read
	Broken  []*Operation // reviews of operations with more than one effect, the newest first, of the newest 100
	Stopped []ToolSwitch // in force now, the widest first

	From  time.Time // since when requests were counted for the rest
	Hours []TimeReport
	Tools []ToolReport // Unknown is not counted
	Ends  []EndReport  // by the hour
	Any   bool         // there was ever an operation
}

// EndReport is how long operations that ended within an hour took from their
// claim to their end.
type EndReport struct {
	From   time.Time
	Within [len(EndSteps) + 1]int64 // by EndSteps; the last: longer than each of them
}

// Overview tells how the principal's tenant stands, at a cost that does not grow
// with the ledger. The answers are those of the last span.
func (l *Ledger) Overview(ctx context.Context, p Principal, span time.Duration) (*Overview, error) {
	if err := Authorize(p, ActionReadTools); err != nil {
		return nil, err
	}
	if span <= 0 || span > OverviewSpanMax {
		return nil, Errorf(CodeInvalidRequest, "the span of an overview is not between 0 and %s", OverviewSpanMax)
	}
	o := &Overview{Now: l.clock.now()}
	var err error
	if o.Stopped, err = l.Switches(ctx, p); err != nil {
		return nil, err
	}
	if err := l.overviewWaiting(ctx, p, o); err != nil {
		return nil, err
	}
	if Authorize(p, ActionReadReports) != nil {
		return o, nil
	}
	o.From = o.Now.Add(-span).Truncate(TallyStep)
	return o, l.overviewAnswers(ctx, p, o)
}

// Waiting counts what of the principal's tenant waits: outcome_unknown,
// needs_review, awaiting_approval and ready, those that it may read.
func (l *Ledger) Waiting(ctx context.Context, p Principal) ([]Waiting, error) {
	var states []State
	for _, s := range []struct {
		action Action
		state  State
	}{{ActionRead, StateOutcomeUnknown}, {ActionReadReviews, StateNeedsReview}, {ActionReadApprovals, StateAwaitingApproval}, {ActionRead, StateReady}} {
		if Authorize(p, s.action) == nil {
			states = append(states, s.state)
		}
	}
	if len(states) == 0 {
		return nil, nil
	}
	return l.store.CountWaiting(ctx, p.Tenant, states, OverviewCountMax)
}

func (l *Ledger) overviewWaiting(ctx context.Context, p Principal, o *Overview) (err error) {
	if o.Waiting, err = l.Waiting(ctx, p); err != nil || Authorize(p, ActionRead) != nil {
		return err
	}
	reviews, err := l.List(ctx, p, Filter{States: []State{StateNeedsReview}, Limit: overviewBroken})
	if err != nil {
		return err
	}
	for _, op := range reviews {
		if op.Broken {
			o.Broken = append(o.Broken, op)
		}
	}
	newest, err := l.store.List(ctx, Filter{Tenant: p.Tenant, Limit: 1})
	o.Any = len(newest) > 0
	return err
}

func (l *Ledger) overviewAnswers(ctx context.Context, p Principal, o *Overview) error {
	if err := l.FlushTallies(ctx); err != nil {
		return err
	}
	tallies, err := l.store.Tallies(ctx, p.Tenant, o.From, o.Now)
	if err != nil {
		return err
	}
	tools := map[ToolName]*ToolReport{}
	for i := range tallies {
		t := &tallies[i]
		if strings.HasPrefix(string(t.Tool), sourcePrefix) {
			continue
		}
		if step, is := endStep(t.Decision); is {
			if n := len(o.Ends); n == 0 || !o.Ends[n-1].From.Equal(t.Hour) {
				o.Ends = append(o.Ends, EndReport{From: t.Hour})
			}
			o.Ends[len(o.Ends)-1].Within[step] += t.Count
			continue
		}
		if n := len(o.Hours); n == 0 || !o.Hours[n-1].From.Equal(t.Hour) {
			o.Hours = append(o.Hours, TimeReport{From: t.Hour})
		}
		o.Hours[len(o.Hours)-1].add(t.Decision, t.Count)
		if tools[t.Tool] == nil {
			tools[t.Tool] = &ToolReport{Tool: t.Tool}
			if tool, err := l.tools.Active(t.Tool); err == nil {
				tools[t.Tool].Info = tool.Info()
			}
		}
		tools[t.Tool].add(t.Decision, t.Count)
	}
	for _, t := range tools {
		o.Tools = append(o.Tools, *t)
	}
	slices.SortFunc(o.Tools, func(a, b ToolReport) int {
		if n, m := a.Sum(), b.Sum(); n != m {
			return int(m - n)
		}
		return strings.Compare(string(a.Tool), string(b.Tool))
	})
	return nil
}

// AuditStanding says how far the chain of the trail is.
func (l *Ledger) AuditStanding(ctx context.Context, p Principal) (AuditState, error) {
	if err := Authorize(p, ActionReadAudit); err != nil {
		return AuditState{}, err
	}
	return LoadAuditState(ctx, l.store)
}
