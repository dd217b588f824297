package explore

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

var states = flag.Int("states", 4000, "states to expand in each configuration; 0: all there are")

// TestEveryInvariantHoldsInEveryState explores every configuration of the plan
// and prints what was explored.
func TestEveryInvariantHoldsInEveryState(t *testing.T) {
	t.Parallel()
	plan := Plan()
	reports := make([]Report, len(plan))
	began := time.Now()
	t.Run("configurations", func(t *testing.T) {
		for i, c := range plan {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				reports[i] = Run(c, Real(), *states)
				if b := reports[i].Breach; b != nil {
					t.Errorf("%s: %s\n%s", b.Rule, b.How, strings.Join(reports[i].Trace, "\n"))
				}
			})
		}
	})
	t.Log(summary(reports, time.Since(began)))
}

// summary is the table of what was explored.
func summary(reports []Report, took time.Duration) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-46s %9s %10s %6s  %s\n", "configuration", "states", "steps", "depth", "all states")
	perClass := map[onceward.EffectClass]int{}
	reached := map[Cell]int{}
	all, steps := 0, 0
	for i := range reports {
		r := &reports[i]
		fmt.Fprintf(&out, "%-46s %9d %10d %6d  %v\n", r.Config.Name, r.States, r.Steps, r.Depth, r.Complete)
		perClass[r.Config.Effect] += r.States
		all, steps = all+r.States, steps+r.Steps
		for c, n := range r.Reached {
			reached[c] += n
		}
	}
	for _, effect := range onceward.AllEffectClasses {
		fmt.Fprintf(&out, "%-46s %9d\n", effect, perClass[effect])
	}
	fmt.Fprintf(&out, "%d distinct states, %d steps, in %s\n", all, steps, took.Round(time.Millisecond))
	fmt.Fprintf(&out, "upheld in all of them: %s\n", invariantList())
	missed := missedCells(reached)
	fmt.Fprintf(&out, "%d cells of the transition table were reached, %d were not: %s\n", len(reached), len(missed), strings.Join(missed, ", "))
	return out.String()
}

func invariantList() string {
	names := make([]string, 0, len(invariantNames))
	for _, i := range Invariants() {
		names = append(names, i.String())
	}
	return strings.Join(names, ", ")
}

// missedCells lists the cells of the table that no exploration reached.
func missedCells(reached map[Cell]int) []string {
	var missed []string
	for _, k := range onceward.AllEventKinds() {
		for _, from := range onceward.AllStates {
			for _, to := range onceward.TransitionCell(k, from).To {
				if reached[Cell{k, from, to}] == 0 {
					missed = append(missed, fmt.Sprintf("%s %s->%s", k, from, to))
				}
			}
		}
	}
	return missed
}

// TestABrokenAssumptionShowsItsHarm breaks each assumption of the guarantees by
// itself: the promise that stands on it must break. Otherwise the world would
// be too kind to show anything.
func TestABrokenAssumptionShowsItsHarm(t *testing.T) {
	t.Parallel()
	keyed, probed, unsafe := onceward.EffectKeyedWrite, onceward.EffectProbedWrite, onceward.EffectUnsafeWrite
	broken := []struct {
		name   string
		config Config
		breaks []Invariant
	}{
		{"an effect appears later than settle", basis("", probed, 1).with(func(c *Config) { c.LateCommits = true }), []Invariant{OneEffect, EndsAreTrue}},
		{"the provider forgets a key inside its window", basis("", keyed, 1).with(func(c *Config) { c.ForgetsKeys = true }), []Invariant{OneEffect}},
		{"a look-up does not see what exists", basis("", probed, 1).with(func(c *Config) { c.BlindLooks = true }), []Invariant{OneEffect, EndsAreTrue}},
		{"a person calls not performed what can still appear", basis("", unsafe, 1).with(func(c *Config) { c.HastyPeople, c.Resolves = true, 1 }), []Invariant{OneEffect, EndsAreTrue}},
		{"a process is frozen between its last check and the write", basis("", probed, 2).with(func(c *Config) { c.FrozenSends = true }), []Invariant{OneEffect, EndsAreTrue}},
	}
	lines := make([]string, len(broken))
	var all sync.WaitGroup
	for i, b := range broken {
		all.Go(func() {
			r := Run(b.config, Real(), plantedStates)
			if r.Breach == nil || !slices.Contains(b.breaks, r.Breach.Rule) {
				t.Errorf("%s: the breach is %+v, want one of %v", b.name, r.Breach, b.breaks)
				return
			}
			lines[i] = fmt.Sprintf("%s: %s, %s\n%s", b.name, r.Breach.Rule, r.Breach.How, strings.Join(r.Trace, "\n"))
		})
	}
	all.Wait()
	t.Log("assumptions, and what happens without each:\n" + strings.Join(lines, "\n"))
}

// TestEveryFieldIsFollowedOrNamed holds that no field of an operation, an
// attempt or a policy is forgotten: it is part of a state, or it stands here
// with the reason why no rule of the machine reads it.
func TestEveryFieldIsFollowedOrNamed(t *testing.T) {
	t.Parallel()
	const names, kept, outside = "it names the operation and never changes", "what is kept for answers and records", "the ledger's own, outside of the machine"
	for _, c := range []struct {
		of       any
		followed string
		left     map[string]string
	}{
		{onceward.Operation{}, `State Version Effect Generation DueAt Parked Attempts Reference Failure CancelRequested UnknownSince Probes Granted RefPending Broken
			ApprovalNeeded ApprovedUntil ApprovalSpent ResendConfirmed IntentAt Retired ReviewReason Request CompletedAt UpdatedAt Policy
			Digest Supersedes Approval`,
			map[string]string{
				"ID": names, "Tenant": names, "Tool": names, "Key": names, "Prints": names, "Contract": names, "Run": names, "CorrelationID": names,
				"TraceParent": names, "DecidedBy": names, "Actor": names, "CreatedAt": names, "SerialKey": outside, "ProviderKey": names, "Token": outside,
				"Result": kept, "Input": kept, "Documents": kept, "Forked": "it only takes the road of a repeated request away", "Assigned": "it says whose turn it is, and no rule asks",
				"Subject": kept, "DataKey": kept, "Sealed": kept, "Shredded": "it takes bodies away, and no rule asks", "Blind": kept,
			}},
		{onceward.Attempt{}, "Number Status StartedAt LeaseUntil EndedAt LastByteAt Free Resend Reference Settler",
			map[string]string{"Owner": outside, "Reach": kept, "Failure": kept, "ClaimToken": outside, "SecretHash": outside,
				"Handle": "while it stands, steps are taken away; what it leads to is a late answer of the attempt"}},
		{onceward.Policy{}, `Effect HasProbe RemoteExecutor Deadline Lease ByteTail Settle KeyWindow MaxAttempts BackoffInitial BackoffMax RecoveryWindow OnUnknown
			NotAfter ApprovalExpiry KeyReusable Quorum`,
			map[string]string{"EvidenceWithin": "it only keeps off the question to a person for a while", "SeparateRequester": "it forbids a yes of one person; every other person's is the same", "Reminders": "they change no state", "ReviewTeam": "it says whose turn it is, and no rule asks", "ReviewWithin": "a deadline of people changes no state", "ProbeDeadline": outside, "KeepInput": kept, "KeepResult": kept, "Rate": outside, "CallerCredentials": outside}},
	} {
		known := map[string]bool{}
		for name := range strings.FieldsSeq(c.followed) {
			known[name] = true
		}
		for name := range maps.Keys(c.left) {
			known[name] = true
		}
		typ := reflect.TypeOf(c.of)
		for i := range typ.NumField() {
			if name := typ.Field(i).Name; !known[name] {
				t.Errorf("%s.%s is neither followed by the exploration nor named with a reason", typ.Name(), name)
			} else {
				delete(known, name)
			}
		}
		for name := range known {
			t.Errorf("%s has no field %s any more", typ.Name(), name)
		}
	}
}

// TestARowLosesNothing reads rows back into operations and writes them again:
// what comes back is the same row.
func TestARowLosesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range Plan() {
		x := newExplorer(&c, Real())
		g := newGraph[state](x)
		g.walk(300)
		for i := range g.states[1:] {
			r := g.states[i+1].row
			op := x.unpack(&r)
			if back, ok := x.pack(&op); !ok || back != r {
				t.Fatalf("%s: %+v came back as %+v", c.Name, r, back)
			}
		}
	}
}

// TestTheSameExplorationVisitsTheSameStates holds that counts can be compared.
func TestTheSameExplorationVisitsTheSameStates(t *testing.T) {
	t.Parallel()
	c := basis("", onceward.EffectProbedWrite, 2)
	first, second := Run(c, Real(), 2000), Run(c, Real(), 2000)
	if cmp.Compare(first.States, second.States) != 0 || first.Steps != second.Steps || !maps.Equal(first.Reached, second.Reached) {
		t.Errorf("%d states and %d steps, then %d and %d", first.States, first.Steps, second.States, second.Steps)
	}
}
