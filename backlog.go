package onceward

import (
	"context"
	"sync"
	"time"
)

// BacklogSteps are the offsets from the time of a look at which a Backlog counts
// the rows whose time has come by then. Those ahead tell what is late while the
// ledger cannot be asked.
var BacklogSteps = [...]time.Duration{-StuckAfter, -StuckAfter / 2, 0, 10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// StuckAfter is how long after its time a due row is stuck.
const StuckAfter = 10 * time.Second

// BacklogAges are the bounds of age by which a Backlog counts its rows.
var BacklogAges = [...]time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// ageNames are the classes of age that BacklogAges bound.
var ageNames = [len(BacklogAges) + 1]string{"under_1h", "under_1d", "under_7d", "over_7d"}

// Backlog counts the rows of the due table of one tool in one state, those
// excepted that have ended.
type Backlog struct {
	Tool    ToolName
	State   State
	Count   int64
	Younger [len(BacklogAges)]int64  // created after now less each of BacklogAges
	Due     [len(BacklogSteps)]int64 // whose time has come by now plus each of BacklogSteps
	Oldest  time.Time                // creation of the oldest
}

// BacklogStore counts what waits.
type BacklogStore interface {
	// Backlog counts the rows of the due table that have not ended, by tool and
	// state, over all tenants, with the database's now.
	Backlog(ctx context.Context) ([]Backlog, time.Time, error)
	// Waiting returns at most limit operations of all tenants that the due table
	// has in a state, oldest first.
	Waiting(ctx context.Context, s State, limit int) ([]*Operation, error)
	// CountWaiting counts a tenant's rows of the due table in each of the states,
	// up to most of each, and names the oldest, in the order of the states.
	CountWaiting(ctx context.Context, t Tenant, states []State, most int) ([]Waiting, error)
}

// Waiting is how many operations of a tenant are in a state off the happy path.
type Waiting struct {
	State  State
	Count  int         // the most that were to be counted: that many or more
	Oldest OperationID // by creation; zero: none
	Since  time.Time   // creation of the oldest; zero: none
}

// overdueLooked is how many unknown outcomes are looked at one by one.
const overdueLooked = MaxPage

// backlog is what this process saw of the waiting operations when it last looked.
type backlog struct {
	mu      sync.Mutex
	rows    []Backlog
	overdue map[ToolName]int
	sagas   []SagaCount
	told    map[OperationID]time.Time // overdue ones that were told of: unknown since
	at      time.Time                 // local; zero: never
	now     time.Time                 // the database's
	down    bool                      // the last look failed
}

// LookAtBacklog counts what waits, for the gauges. A worker calls it now and
// then; a scrape only reads what it saw.
func (l *Ledger) LookAtBacklog(ctx context.Context) error {
	rows, now, err := l.store.Backlog(ctx)
	var overdue map[ToolName]int
	if err == nil {
		overdue, err = l.countOverdue(ctx, rows, now)
	}
	var sagas []SagaCount
	if err == nil {
		sagas, err = l.store.CountSagas(ctx)
	}
	b := &l.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down = err != nil; err != nil {
		return err
	}
	b.rows, b.overdue, b.sagas, b.at, b.now = rows, overdue, sagas, l.opts.Clock.Now(), now
	return nil
}

// countOverdue counts the unknown outcomes that should be settled by now.
func (l *Ledger) countOverdue(ctx context.Context, rows []Backlog, now time.Time) (map[ToolName]int, error) {
	overdue := map[ToolName]int{}
	for i := range rows {
		if rows[i].State == StateOutcomeUnknown {
			overdue[rows[i].Tool] = 0
		}
	}
	if len(overdue) == 0 {
		return overdue, nil
	}
	ops, err := l.store.Waiting(ctx, StateOutcomeUnknown, overdueLooked)
	if err != nil {
		return nil, err
	}
	told := make(map[OperationID]time.Time, len(l.backlog.told))
	for _, op := range ops {
		if _, err := l.hydrate(ctx, op); err != nil || !op.UnknownOverdue(now) {
			continue
		}
		overdue[op.Tool]++
		if since, known := l.backlog.told[op.ID]; !known || !since.Equal(op.UnknownSince) {
			if err := l.noteOverdue(ctx, op); err != nil {
				return nil, err
			}
		}
		told[op.ID] = op.UnknownSince
	}
	l.backlog.told = told // only this loop reads and writes it
	return overdue, nil
}

// UnknownOverdue reports whether the outcome is unknown for longer than its
// contract's recovery window, or than it takes to prove absence, and a minute.
func (o *Operation) UnknownOverdue(at time.Time) bool {
	return o.State == StateOutcomeUnknown && at.After(o.lookUntil().Add(time.Minute))
}

// Gauges tells a meter what is so now. It asks nobody: a scrape costs the ledger
// nothing, and is answered while the ledger is away.
func (l *Ledger) Gauges(m Meter) {
	m.Set(MetricRunning, []Sample{{Value: float64(l.running.count())}})
	m.Set(MetricStopped, l.switches.samples())
	up, age, waiting, oldest, overdue, due := l.backlog.samples(l.opts.Clock.Now())
	m.Set(MetricLedgerUp, up)
	m.Set(MetricBacklogAge, age)
	m.Set(MetricWaiting, waiting)
	m.Set(MetricWaitingAge, oldest)
	m.Set(MetricOverdue, overdue)
	open, opened := l.backlog.sagaSamples(l.opts.Clock.Now())
	m.Set(MetricSagas, open)
	m.Set(MetricSagasAge, opened)
	m.Set(MetricStuck, append(l.live.stuck(), due...))
}

func (b *backlog) samples(local time.Time) (up, age, waiting, oldest, overdue, due []Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := local.Sub(b.at)
	up = []Sample{{Value: 1}}
	if b.down || b.at.IsZero() {
		up[0].Value = 0
	}
	if b.at.IsZero() {
		return up, nil, nil, nil, nil, nil
	}
	age = []Sample{{Value: since.Seconds()}}
	late := map[ToolName]float64{}
	for i := range b.rows {
		r := &b.rows[i]
		tool, state := string(r.Tool), r.State.String()
		younger := int64(0)
		for class, name := range ageNames {
			n := r.Count
			if class < len(r.Younger) {
				n = r.Younger[class]
			}
			waiting = append(waiting, Sample{Labels{tool, state, name}, float64(n - younger)})
			younger = n
		}
		oldest = append(oldest, Sample{Labels{tool, state}, (b.now.Sub(r.Oldest) + since).Seconds()})
		late[r.Tool] += float64(r.late(since))
	}
	for tool, n := range b.overdue {
		overdue = append(overdue, Sample{Labels{string(tool)}, float64(n)})
	}
	for tool, n := range late {
		due = append(due, Sample{Labels{string(tool), "due"}, n})
	}
	return up, age, waiting, oldest, overdue, due
}

// sagaSamples has every state that is not final: none is 0.
func (b *backlog) sagaSamples(local time.Time) (open, oldest []Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.IsZero() {
		return nil, nil
	}
	for _, state := range AllSagaStates {
		if state.Final() {
			continue
		}
		n, age := 0.0, 0.0
		for _, c := range b.sagas {
			if c.State == state {
				n, age = float64(c.Count), max(0, (b.now.Sub(c.Oldest)+local.Sub(b.at)).Seconds())
			}
		}
		open, oldest = append(open, Sample{Labels{string(state)}, n}), append(oldest, Sample{Labels{string(state)}, age})
	}
	return open, oldest
}

// late is how many rows were due StuckAfter ago, so long after the look.
func (r *Backlog) late(since time.Duration) int64 {
	n := int64(0)
	for i, step := range BacklogSteps {
		if step <= since-StuckAfter {
			n = r.Due[i]
		}
	}
	return n
}
