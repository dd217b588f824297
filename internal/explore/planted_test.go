package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
)

// planted is a deliberately broken machine: the real one behind a wrapper that
// breaks one rule. It has to be caught, by the invariant that stands for the
// rule. A checker that passes one of them is void.
type planted struct {
	name   string
	config Config
	caught []Invariant // any of these
	breaks func(m *Machine)
}

func plantedBugs() []planted {
	keyed := basis("keyed", onceward.EffectKeyedWrite, 2)
	probed := basis("probed", onceward.EffectProbedWrite, 1)
	unsafe := basis("unsafe", onceward.EffectUnsafeWrite, 1)
	return []planted{
		{"a later not-done hides an earlier open attempt", keyed, []Invariant{ProofPerAttempt, EndsAreTrue, EndsNeedEvidence}, hidesEarlierAttempts},
		{"lease expiry taken for nothing sent", probed, []Invariant{ProofPerAttempt, OneEffect}, expiryIsNotDone},
		{"a look-up before settle is trusted", probed, []Invariant{ProofPerAttempt, OneEffect}, trustsEarlyLooks},
		{"the last possible byte of an unknown attempt is forgotten", probed, []Invariant{ProofPerAttempt, OneEffect}, forgetsLastByte},
		{"the fence is not checked", keyed, []Invariant{LateIsFenced, LeasesLast, ProofPerAttempt}, checksNoFence},
		{"a late result overwrites the row", keyed, []Invariant{LateIsFenced, NumbersRise}, lateOverwrites},
		{"a late proof is thrown away", keyed, []Invariant{EvidenceIsKept}, throwsProofAway},
		{"unknown is treated as failed", unsafe, []Invariant{ProofPerAttempt, EndsAreTrue}, unknownIsFailed},
		{"a lease ends early", probed, []Invariant{LeasesLast}, endsLeasesEarly},
		{"retention purges live records", unsafe.with(withRecords), []Invariant{OnlyEndedRetire}, purgesLive},
		{"the key is used anew while an attempt is open", unsafe.with(withRecords), []Invariant{KeysStayTaken}, reusesOpenKeys},
		{"the approval is not checked again at the start", unsafe.with(withRules), []Invariant{NoWrongStart}, checksNoApproval},
		{"not_after is not checked at the start", unsafe.with(withRules), []Invariant{NoWrongStart}, startsTooLate},
		{"not_after is not checked at the moment of writing", unsafe.with(withRules), []Invariant{NoWrongSend}, sendsTooLate},
		{"sent again past the provider's key window", basis("keyed", onceward.EffectKeyedWrite, 1), []Invariant{NoWrongStart}, trustsKeysForEver},
		{"the lease of a re-send outlives the key window", basis("keyed", onceward.EffectKeyedWrite, 1).with(func(c *Config) { c.Lease = 4 }), []Invariant{OneEffect}, leasesOutliveKeys},
		{"sent again under no key at all", probed, []Invariant{NoWrongStart, OneEffect}, resendsAnything},
		{"an accepted risk is good for more than one start", unsafe.with(withPeople).with(func(c *Config) { c.Attempts = 3 }), []Invariant{NoWrongStart}, keepsConfirmation},
		{"a second effect is ignored", probed.with(func(c *Config) { c.Attempts, c.Replays, c.Callbacks = 1, 1, true }), []Invariant{SecondIsNotHidden}, ignoresSecond},
		{"a second effect is called broken, and nobody is asked", unsafe.with(withPeople), []Invariant{SecondIsNotHidden}, asksNobody},
		{"the effect of one attempt settles another", probed.with(func(c *Config) { c.Attempts, c.Replays, c.Callbacks, c.Workers = 1, 1, true, 2 }), []Invariant{ProofPerAttempt}, settlesAnother},
		{"cancel is final while the outcome is unknown", probed, []Invariant{EndsNeedEvidence, EndsAreTrue}, cancelIsFinal},
		{"cancel is forgotten by the next start", keyed, []Invariant{NoWrongStart}, forgetsCancel},
		{"a terminal operation is written again by recovery", probed, []Invariant{TerminalStays}, recoversTheEnded},
		{"a tombstone is made ready again", unsafe.with(withRecords), []Invariant{RequestIsKept}, revivesTombstones},
		{"an event leads out of its cell of the table", keyed, []Invariant{TableIsKept}, leavesItsCell},
		{"what nothing can settle is never handed to a person", unsafe, []Invariant{EveryScheduleEnds}, neverEscalates},
		{"an expired lease is not due", probed, []Invariant{EveryScheduleEnds}, expiryNeverDue},
		{"the budget is not checked", unsafe, []Invariant{BudgetIsKept}, spendsTooMuch},
		{"a refused credential does not pause the tool", unsafe.with(withRules), []Invariant{CredentialsPause}, pausesNothing},
		{"a write that was refused for good is sent again", unsafe, []Invariant{NoWrongStart}, repeatsRefused},
		{"attempt numbers begin anew", keyed, []Invariant{NumbersRise}, numbersAnew},
		{"an expired lease fails the operation", unsafe, []Invariant{EndsNeedEvidence}, expiryFails},
		{"a lease is prolonged after its end", unsafe.with(func(c *Config) { c.Remote = true }), []Invariant{LeasesLast}, prolongsTheOver},
		{"what one look-up more would show is never looked for", probed.with(func(c *Config) { c.Attempts, c.Replays, c.Cancel, c.Resolve, c.Crashes = 1, 1, false, false, false }), []Invariant{EveryScheduleEnds}, neverVerifies},
		{"done without a proof that it happened", probed, []Invariant{EndsNeedEvidence, DoneIsTrue}, inventsDone},
		{"a person's true answer is refused", unsafe, []Invariant{PeopleCanAnswer}, refusesAnswers},
		{"a row is left with two faces", probed, []Invariant{RowIsWhole}, forgetsCompletion},
	}
}

// plantedStates is how many states a planted bug may hide in.
const plantedStates = 60_000

// TestEveryPlantedBugIsCaught runs every broken machine until it is caught, by
// the rule that stands for what is broken; and every rule has to catch one.
func TestEveryPlantedBugIsCaught(t *testing.T) {
	t.Parallel()
	bugs := plantedBugs()
	table, rules := make([]string, len(bugs)), make([]Invariant, len(bugs))
	var all sync.WaitGroup
	for i, bug := range bugs {
		all.Go(func() {
			m := Real()
			bug.breaks(&m)
			r := Run(bug.config, m, plantedStates)
			switch {
			case r.Breach == nil:
				t.Errorf("not caught within %d states: %s", r.States, bug.name)
			case !slices.Contains(bug.caught, r.Breach.Rule):
				t.Errorf("%s: caught by %q (%s), want one of %v\n%s", bug.name, r.Breach.Rule, r.Breach.How, bug.caught, strings.Join(r.Trace, "\n"))
			case len(r.Trace) < 2:
				t.Errorf("%s: the trace is %q", bug.name, r.Trace)
			default:
				rules[i] = r.Breach.Rule
				table[i] = fmt.Sprintf("%-58s  %-34s  %2d steps, %6d states: %s", bug.name, r.Breach.Rule, len(r.Trace)-1, r.States, r.Breach.How)
			}
		})
	}
	all.Wait()
	for _, i := range Invariants() { // what catches nothing watches nothing
		if i != OneAtATime && !slices.Contains(rules, i) {
			t.Errorf("no planted bug is caught by %q", i)
		}
	}
	t.Logf("planted bugs, and by what each is caught:\n%s", strings.Join(table, "\n"))
}
