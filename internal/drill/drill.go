package drill

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// Launch says what a server process is started with.
type Launch struct {
	DB        string // --db
	Contracts string // --contracts
	Crash     string // the crash point at which it dies; empty: none
}

// Process is a server of our own.
type Process interface {
	URL() string // http://host:port
	Signal(sig os.Signal) error
	Done() <-chan struct{} // closed when it has ended
	End() string           // how it ended, in words; after Done
	Log() string           // the end of what it said
}

// Sandbox is a provider that lives as long as one scenario, such as the bundled
// one, and has books of its own.
type Sandbox struct {
	Origin string // http://host:port
	Count  func() int
	Close  func()
}

// Subject is one contract to be drilled.
type Subject struct {
	Tool     *contract.Tool
	Input    []byte   // an example input
	KeyField string   // the input field that carries the drill's mark; empty: found by trying
	Material string   // the input field that is changed as another intention would; empty: found by trying
	Volatile string   // the input field that is reworded; empty: found by trying
	Lateness Lateness // how late the provider's effects can appear
	// AnswerWithin is the provider's slowest normal answer: deadlines are not
	// scaled below it. 0: two seconds.
	AnswerWithin time.Duration
	Scale        float64 // by which waits are divided; 0: chosen
	// Open starts a provider for one scenario; nil: the contract's own hosts.
	Open func(ctx context.Context) (Sandbox, error)
}

// Lateness is what is known of a provider's worst lateness.
type Lateness struct {
	Worst time.Duration
	Known bool
}

// Options say what is drilled, and with what.
type Options struct {
	Subjects  []Subject
	Launch    func(ctx context.Context, l Launch) (Process, error)
	Ledger    func(ctx context.Context, dir string) (db string, drop func() error, err error) // one for each scenario
	LedgerIs  string                                                                          // "SQLite" or "PostgreSQL"
	Provider  onceward.Provider                                                               // for look-ups past the proxy
	Contracts contract.Options
	Parallel  int      // scenarios at a time; 0: four
	Only      []string // names of scenarios, or what comes before their slash; empty: all
	RunID     string   // names this run in keys: lower-case letters and digits
	Progress  func(done, of int, row Row)
	Now       func() time.Time // nil: the system's clock
}

const parallelDefault = 4

// runner is one run.
type runner struct {
	opts Options
	dir  string
}

// task is one scenario of one subject.
type task struct {
	subject  *subject
	scenario *Scenario
}

// Run drills. It fails only where nothing could be drilled at all; what went
// wrong in a scenario stands in its row. If ctx ends, there is a report of what
// was done until then beside its error.
func Run(ctx context.Context, opts Options) (*Report, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Parallel <= 0 {
		opts.Parallel = parallelDefault
	}
	scenarios, err := Select(opts.Only)
	if err != nil {
		return nil, err
	}
	subjects, err := newSubjects(opts)
	if err != nil {
		return nil, err
	}
	if err := reach(ctx, subjects); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "onceward-drill-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for drills: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &runner{opts: opts, dir: dir}
	report := &Report{Run: opts.RunID, Started: opts.Now().UTC(), Ledger: opts.LedgerIs}
	var tasks []task
	for _, s := range subjects {
		report.Tools = append(report.Tools, s.describe())
		for _, sc := range scenarios {
			tasks = append(tasks, task{s, sc})
		}
	}
	report.Rows = r.run(ctx, tasks)
	doubt(report.Rows)
	report.Ended = opts.Now().UTC()
	report.sum()
	return report, ctx.Err()
}

// Check finds out, before anything is written or asked, whether the subjects can
// be drilled with their inputs and with the fields that were named.
func Check(opts Options) error {
	_, err := newSubjects(opts)
	return err
}

func newSubjects(opts Options) ([]*subject, error) {
	var list []*subject
	for i := range opts.Subjects {
		s, err := newSubject(&opts.Subjects[i], opts)
		if err != nil {
			return nil, fmt.Errorf("drill %s: %w", opts.Subjects[i].Tool.Info().Name, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// run runs the tasks, some at a time and the long ones first, and returns their
// rows in order.
func (r *runner) run(ctx context.Context, tasks []task) []Row {
	rows := make([]Row, len(tasks))
	order := make([]int, len(tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return tasks[b].scenario.length - tasks[a].scenario.length })
	var mu sync.Mutex
	done := 0
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(r.opts.Parallel, len(tasks)) {
		workers.Go(func() {
			for i := range next {
				row := r.one(ctx, i, tasks[i])
				mu.Lock()
				rows[i] = row
				done++
				if r.opts.Progress != nil {
					r.opts.Progress(done, len(tasks), row)
				}
				mu.Unlock()
			}
		})
	}
	for _, i := range order {
		next <- i
	}
	close(next)
	workers.Wait()
	return rows
}

// doubt takes back what was called good because the provider answered one
// reference for several writes, where it answers that one for other intentions
// too: such a reference names no effect.
func doubt(rows []Row) {
	type name struct{ tool, reference string }
	keys := map[name]map[string]bool{}
	for i := range rows {
		for _, ref := range rows[i].References {
			n := name{rows[i].Tool, ref}
			if keys[n] == nil {
				keys[n] = map[string]bool{}
			}
			keys[n][strings.Join(rows[i].Keys, " ")] = true
		}
	}
	for i := range rows {
		row := &rows[i]
		if row.Verdict != Kept || row.CountedBy != byAnswersOnly || row.Confirmed < 2 || len(row.References) != 1 {
			continue
		}
		if len(keys[name{row.Tool, row.References[0]}]) > 1 {
			row.Verdict, row.Why = NotDrilled, uncountable
		}
	}
}

// one runs one scenario. What closing its stage tells goes into the row.
func (r *runner) one(ctx context.Context, n int, t task) (row Row) {
	row = Row{Tool: string(t.subject.info.Name), Class: t.subject.info.Policy.Effect.String(), Scenario: t.scenario.Name, Title: t.scenario.Title}
	if ctx.Err() != nil {
		row.Verdict, row.Why = NotDrilled, "the drill was stopped"
		return row
	}
	if f, found := t.subject.findings[t.scenario.Name]; found {
		row.Verdict, row.Why, row.Change = Broken, f.why, f.change
		return row
	}
	if t.scenario.needs != nil {
		if v, why := t.scenario.needs(t.subject); v != "" {
			row.Verdict, row.Why = v, why
			return row
		}
	}
	st := &stage{r: r, s: t.subject, sc: t.scenario, row: &row, mark: fmt.Sprintf("drill-%s-%d", r.opts.RunID, n+1)}
	defer st.close()
	err := st.play(ctx, filepath.Join(r.dir, fmt.Sprint(n)))
	if err == nil {
		err = st.outlast(ctx)
	}
	// What was written is counted also where the time is over, or somebody stopped
	// the drill: it is there.
	counting, cancel := context.WithTimeout(context.WithoutCancel(ctx), countWait)
	defer cancel()
	st.measure(counting)
	switch {
	case err == nil:
		st.judge()
	case ctx.Err() != nil:
		row.Verdict, row.Why = NotDrilled, "the drill was stopped in the middle of it"
	case row.Verdict == Broken:
	case row.Effects > 1 && !st.outside():
		st.judge()
	default:
		row.Verdict, row.Why, row.Log = Trouble, err.Error(), st.logs()
	}
	return row
}

// countWait bounds the counting after a scenario.
const countWait = time.Minute

// play opens the stage and plays the scenario.
func (st *stage) play(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, st.s.waits.whole()+st.s.lateness)
	defer cancel()
	if err := st.open(ctx, dir); err != nil {
		return err
	}
	return st.sc.run(ctx, st)
}

// Select finds scenarios by name, or by what stands before the slash of their
// names; all of them for an empty list.
func Select(names []string) ([]*Scenario, error) {
	if len(names) == 0 {
		return Scenarios, nil
	}
	var chosen []*Scenario
	for _, name := range names {
		found := false
		for _, sc := range Scenarios {
			if sc.Name == name || strings.HasPrefix(sc.Name, name+"/") {
				found = true
				if !slices.Contains(chosen, sc) {
					chosen = append(chosen, sc)
				}
			}
		}
		if !found {
			return nil, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: fmt.Sprintf("there is no scenario %q", name), Hint: "onceward drill --list shows them"}
		}
	}
	return chosen, nil
}
