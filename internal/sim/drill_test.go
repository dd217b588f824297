package sim

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "drill: the seed to try")
	fromFlag  = flag.Uint64("from", 0, "the first of the fresh seeds; 0: drawn from the clock")
	countFlag = flag.Int("count", 200, "how many fresh seeds")
	soakFlag  = flag.Duration("soak", 0, "soak: how long")
)

// idle are the steps of loops that find nothing; a trace for people leaves them out.
var idle = []string{" next due", " take due", " beat", " aged", " stranded of ", " switches switches", " is due"}

func readable(trace string) string {
	var b strings.Builder
	for line := range strings.Lines(trace) {
		if !slices.ContainsFunc(idle, func(s string) bool { return strings.Contains(line, s) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestDrill tries one seed, the first if none is given, and prints what happened, and the trace's hash: the
// same seed gives the same hash.
func TestDrill(t *testing.T) {
	p := NewPlan(max(*seedFlag, 1))
	r := run(t, p, bug{}, true)
	if r.Rule != "" {
		explain(t, p, r.Rule, bug{})
	}
	fmt.Printf("%s\n%s\nseed %d: %d steps, %s of virtual time, %d calls, %d effects, trace hash %016x\n",
		p.String(), readable(r.Trace), p.Seed, r.Steps, r.Virtual, r.Calls, r.Effects, r.Hash)
}

// shrinkTries bounds how many plans are tried to make a failing one small.
const shrinkTries = 600

// explain shrinks a failing plan and reports it, its seed first and last.
func explain(t *testing.T, p Plan, rule Rule, b bug) Plan {
	t.Helper()
	small := Shrink(p, shrinkTries, func(p Plan) bool { return run(t, p, b, false).Rule == rule })
	r := run(t, small, b, true)
	t.Errorf("seed %d breaks a rule: %s\n%s\nshrunk:\n%s\n%s\n%s: %s\nseed %d: make drill SEED=%d", p.Seed, rule, p.String(), small.String(), readable(r.Trace), r.Rule, r.How, p.Seed, p.Seed)
	return small
}

// TestKeptSeeds tries the seeds that once found something.
func TestKeptSeeds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for line := range strings.Lines(string(text)) {
		number, why, ok := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, "#") || number == "" {
			continue
		}
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil || !ok || len(why) < 20 {
			t.Fatalf("a line is no seed with a sentence: %q", line)
		}
		kept++
		if p := NewPlan(seed); run(t, p, bug{}, false).Rule != "" {
			t.Logf("kept because: %s", why)
			explain(t, p, run(t, p, bug{}, false).Rule, bug{})
		}
	}
	if kept == 0 {
		t.Fatal("no seed is kept")
	}
}

// TestFreshSeeds tries seeds that nobody tried before.
func TestFreshSeeds(t *testing.T) {
	t.Parallel()
	from := freshFrom()
	t.Logf("seeds %d to %d", from, from+uint64(*countFlag)-1)
	for i := range uint64(*countFlag) {
		if p := NewPlan(from + i); !holds(t, p) {
			return
		}
	}
}

func freshFrom() uint64 {
	if *fromFlag > 0 {
		return *fromFlag
	}
	return Wide + uint64(time.Now().Unix())*1000
}

func holds(t *testing.T, p Plan) bool {
	t.Helper()
	r := run(t, p, bug{}, false)
	if r.Rule != "" {
		explain(t, p, r.Rule, bug{})
	}
	return r.Rule == ""
}

func TestSameSeedGivesTheSameTrace(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 60; seed++ {
		first, again := run(t, NewPlan(seed), bug{}, seed%2 == 0), run(t, NewPlan(seed), bug{}, false)
		if first.Hash != again.Hash || first.Steps != again.Steps {
			t.Errorf("seed %d: trace hash %016x, then %016x", seed, first.Hash, again.Hash)
		}
		if other := run(t, NewPlan(seed+1_000_000), bug{}, false); other.Hash == first.Hash {
			t.Errorf("seeds %d and %d have one trace", seed, seed+1_000_000)
		}
		wide, wideAgain := run(t, NewPlan(Wide+seed), bug{}, seed%2 == 0), run(t, NewPlan(Wide+seed), bug{}, false)
		if wide.Hash != wideAgain.Hash || wide.Hash == first.Hash {
			t.Errorf("seed %d: trace hash %016x, then %016x; %016x without its features", Wide+seed, wide.Hash, wideAgain.Hash, first.Hash)
		}
	}
}

func TestWidePlansKeepWhatTheirSeedsMeant(t *testing.T) {
	t.Parallel()
	// Kept seeds below Wide name their plans for good: features must not touch them.
	for seed := range uint64(200) {
		p := NewPlan(seed)
		for i := range p.Ops {
			if p.Ops[i].Spec >= plainSpecs || p.Ops[i].Fork+p.Ops[i].Resource != "" {
				t.Fatalf("seed %d has %+v", seed, p.Ops[i])
			}
		}
		for i := range p.Calls {
			if p.Calls[i].Kind > CallResume || p.Calls[i].Slow > 0 {
				t.Fatalf("seed %d has %+v", seed, p.Calls[i])
			}
		}
	}
}

func TestFailingPlanIsShrunkToAReadableOne(t *testing.T) {
	t.Parallel()
	for i := range planted {
		b := planted[i]
		if b.name != "absence believed before settle" {
			continue
		}
		for seed := uint64(1); ; seed++ {
			p := NewPlan(seed)
			r := run(t, p, b.bug, false)
			if r.Rule != OneEffect {
				continue
			}
			small := Shrink(p, shrinkTries, func(p Plan) bool { return run(t, p, b.bug, false).Rule == OneEffect })
			t.Logf("seed %d shrunk to\n%s", seed, small.String())
			if len(small.Ops) != 1 || len(small.Calls)+len(small.Events) > 3 {
				t.Errorf("%d operations, %d calls and %d events are left", len(small.Ops), len(small.Calls), len(small.Events))
			}
			return
		}
	}
}

// total is what many schedules came to.
type total struct {
	schedules, operations, calls, effects, virtual, unknowns, left, settling, longest atomic.Int64
	faults                                                                            [faultCount]atomic.Int64
}

func (s *total) add(r *Result) {
	s.schedules.Add(1)
	s.operations.Add(int64(len(r.Rows)))
	s.calls.Add(int64(r.Calls))
	s.effects.Add(int64(r.Effects))
	s.virtual.Add(int64(r.Virtual))
	for f, n := range r.Thrown {
		s.faults[f].Add(int64(n))
	}
	for _, d := range r.Settled {
		s.unknowns.Add(1)
		s.settling.Add(int64(d))
		if int64(d) > s.longest.Load() {
			s.longest.Store(int64(d))
		}
	}
	for _, row := range r.Rows {
		if row.State == "needs_review" {
			s.left.Add(1)
		}
	}
}

func (s *total) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "schedules %d, operations %d, calls %d, effects %d, virtual time %s\n", s.schedules.Load(), s.operations.Load(), s.calls.Load(), s.effects.Load(), time.Duration(s.virtual.Load()).Round(time.Hour))
	n := s.unknowns.Load()
	fmt.Fprintf(&b, "unknown outcomes settled %d, in %s on average and %s at most (virtual); left to a person at the end %d\n",
		n, (time.Duration(s.settling.Load()) / time.Duration(max(n, 1))).Round(time.Millisecond), time.Duration(s.longest.Load()).Round(time.Millisecond), s.left.Load())
	for f := range s.faults {
		fmt.Fprintf(&b, "  %-22s %d\n", Fault(f), s.faults[f].Load())
	}
	return b.String()
}

// TestSoak tries fresh seeds for as long as it is told, on two cores; untold, for a second.
func TestSoak(t *testing.T) {
	length := *soakFlag
	if length == 0 {
		length = time.Second // make soak says how long
	}
	from, next, sums := freshFrom(), atomic.Uint64{}, &total{}
	began := time.Now()
	fmt.Printf("seeds from %d\n", from)
	t.Run("schedules", func(t *testing.T) {
		for worker := range 2 {
			t.Run(strconv.Itoa(worker+1), func(t *testing.T) {
				t.Parallel()
				for time.Since(began) < length && !t.Failed() {
					p := NewPlan(from + next.Add(1) - 1)
					r := run(t, p, bug{}, false)
					sums.add(&r)
					if r.Rule != "" {
						explain(t, p, r.Rule, bug{})
					}
				}
			})
		}
	})
	verdict := "duplicates 0, lost 0, broken rules 0"
	if t.Failed() {
		verdict = "a rule is broken: see above"
	}
	took := time.Since(began)
	fmt.Printf("%s%s\n%d schedules a minute; seeds %d to %d\n", sums, verdict, int64(float64(sums.schedules.Load())/took.Minutes()), from, from+next.Load()-1)
}
