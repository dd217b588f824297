package onceward

import (
	"context"
	"slices"
	"sync"
	"time"
)

// TallyStep is how long one bucket of a tally is.
const TallyStep = time.Hour

// TallyEvery is how often a process writes its tallies: a process that is killed
// loses at most what it counted since.
const TallyEvery = 5 * time.Second

// tallyMax is how many buckets a process holds before it counts no new ones until
// they are written.
const tallyMax = 10_000

// Tally is how often requests of a tenant for a tool were answered with a
// decision within one hour.
type Tally struct {
	Hour     time.Time // UTC, the beginning
	Tenant   Tenant
	Tool     ToolName // empty: a refused request for a tool that is not known
	Decision Decision // or how long those that ended took, see EndSteps
	Count    int64
}

// EndSteps are the bounds of the times from claim to end by which operations are
// counted that end: in place of a decision, their tallies have "ended_1s",
// "ended_10s" and so on, and "ended_later".
var EndSteps = [...]time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}

var endNames = [len(EndSteps) + 1]Decision{"ended_1s", "ended_10s", "ended_1m", "ended_10m", "ended_1h", "ended_1d", "ended_later"}

// endStep is the place among EndSteps of what a tally has in place of a decision.
func endStep(d Decision) (step int, is bool) {
	step = slices.Index(endNames[:], d)
	return step, step >= 0
}

// countEnd counts an operation that ended for the first time.
func (l *Ledger) countEnd(op *Operation) {
	took, step := op.CompletedAt.Sub(op.CreatedAt), 0
	for step < len(EndSteps) && took > EndSteps[step] {
		step++
	}
	l.tallies.add(op.CompletedAt, tallyKey{tenant: op.Tenant, tool: op.Tool, decision: endNames[step]}, 1)
}

// TallyStore keeps tallies.
type TallyStore interface {
	// AddTallies adds counts to what is there, in one transaction. It is not safe
	// to repeat: whoever does not know whether it was done counts too much or too
	// little.
	AddTallies(ctx context.Context, add []Tally) error
	// Tallies returns the tallies of a tenant's hours that begin in [from, to), by
	// hour, tool and decision.
	Tallies(ctx context.Context, t Tenant, from, to time.Time) ([]Tally, error)
}

// tallies counts answers in this process until they are written. Why not a
// write a request: a duplicate is answered by a read, and shall stay so.
type tallies struct {
	mu     sync.Mutex
	counts map[tallyKey]int64
}

type tallyKey struct {
	hour     int64
	tenant   Tenant
	tool     ToolName
	decision Decision
}

func (t *tallies) add(at time.Time, k tallyKey, n int64) {
	if k.hour == 0 {
		k.hour = at.Truncate(TallyStep).Unix()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[tallyKey]int64{}
	}
	if _, known := t.counts[k]; known || len(t.counts) < tallyMax {
		t.counts[k] += n
	}
}

func (t *tallies) take() map[tallyKey]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.counts
	t.counts = nil
	return taken
}

// count counts how a request was answered; every refusal is blocked.
func (l *Ledger) count(p Principal, tool ToolName, a *Answer, err error) {
	d := DecisionBlocked
	switch {
	case Is(err, CodeCanceled):
		return // nobody heard an answer; the next request is counted
	case err == nil:
		d = a.Decision
	}
	if _, unknown := l.tools.Active(tool); unknown != nil {
		tool = "" // a stranger's words make no buckets
	}
	l.measureAnswer(tool, d, err)
	l.tallies.add(l.clock.now(), tallyKey{tenant: p.Tenant, tool: tool, decision: d}, 1)
}

// FlushTallies writes what this process counted. What could not be written is
// counted on; what may have been written is not counted twice.
func (l *Ledger) FlushTallies(ctx context.Context) error {
	taken := l.tallies.take()
	if len(taken) == 0 {
		return nil
	}
	add := make([]Tally, 0, len(taken))
	for k, n := range taken {
		add = append(add, Tally{Hour: time.Unix(k.hour, 0).UTC(), Tenant: k.tenant, Tool: k.tool, Decision: k.decision, Count: n})
	}
	err := l.store.AddTallies(ctx, add)
	if err != nil && !Is(err, CodeMayBeRecorded) {
		for k, n := range taken {
			l.tallies.add(time.Time{}, k, n)
		}
	}
	return err
}
