package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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

// apply wraps a machine's Apply. Before gets a copy that it may change.
func (m *Machine) apply(wrap func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error)) {
	inner := m.Apply
	m.Apply = func(op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		return wrap(inner, op.Clone(), ev, at)
	}
}

type applyFunc = func(onceward.Operation, onceward.Event, time.Time) (onceward.Operation, []onceward.Consequence, error)

// told wraps Apply so that events arrive changed.
func (m *Machine) told(change func(op *onceward.Operation, ev onceward.Event) onceward.Event) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		ev = change(&op, ev)
		return inner(op, ev, at)
	})
}

// late is an instant after everything.
var late = epoch.Add(1000 * Tick)

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
		{"done without a proof that it happened", probed, []Invariant{EndsNeedEvidence, DoneIsTrue}, inventsDone},
		{"a person's true answer is refused", unsafe, []Invariant{PeopleCanAnswer}, refusesAnswers},
		{"a row is left with two faces", probed, []Invariant{RowIsWhole}, forgetsCompletion},
	}
}

func hidesEarlierAttempts(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.AttemptNotDone); ok && e.Attempt == op.Attempt() {
			for i := range op.Attempts[:e.Attempt-1] {
				op.Attempts[i].Status = onceward.StatusNotDone
			}
		}
		return ev
	})
}

func expiryIsNotDone(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.LeaseExpired); ok && op.Running() != nil && !epoch.Before(op.Running().LeaseUntil) {
			return onceward.AttemptNotDone{Attempt: e.Attempt, Sent: onceward.Sent{Reach: onceward.ReachNotDialled}, Failure: onceward.Failure{Class: onceward.ClassTimeout, Code: "f", Retryable: true}}
		}
		return ev
	})
}

func trustsEarlyLooks(m *Machine) {
	m.told(func(_ *onceward.Operation, ev onceward.Event) onceward.Event {
		if _, ok := ev.(onceward.ProbeAbsent); ok {
			return onceward.ProbeAbsent{Began: late}
		}
		return ev
	})
}

func forgetsLastByte(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if _, ok := ev.(onceward.AttemptUnknown); ok && err == nil {
			for i := range after.Attempts {
				after.Attempts[i].LastByteAt = time.Time{}
			}
		}
		return after, out, err
	})
}

func checksNoFence(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		switch e := ev.(type) {
		case onceward.AttemptDone:
			e.Attempt = op.Attempt()
			return e
		case onceward.AttemptNotDone:
			e.Attempt = op.Attempt()
			return e
		case onceward.AttemptUnknown:
			e.Attempt = op.Attempt()
			return e
		}
		return ev
	})
}

func lateOverwrites(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.AttemptNotDone); ok && e.Attempt < op.Attempt() {
			op.Attempts = op.Attempts[:e.Attempt] // the holder writes the row as it knew it
		}
		return ev
	})
}

func throwsProofAway(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if e, ok := ev.(onceward.AttemptDone); ok && e.Attempt < op.Attempt() {
			return op, nil, nil
		}
		return inner(op, ev, at)
	})
}

func unknownIsFailed(m *Machine) {
	m.told(func(_ *onceward.Operation, ev onceward.Event) onceward.Event {
		if e, ok := ev.(onceward.AttemptUnknown); ok {
			return onceward.AttemptNotDone{Attempt: e.Attempt, Sent: e.Sent, Failure: onceward.Failure{Class: e.Failure.Class, Code: "f"}}
		}
		return ev
	})
}

func endsLeasesEarly(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if a := op.Running(); a != nil && ev.Kind() == onceward.KindLeaseExpired {
			a.LeaseUntil = at
		}
		return inner(op, ev, at)
	})
}

func purgesLive(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if ev.Kind() == onceward.KindRetired && op.State == onceward.StateNeedsReview {
			op.Retired, op.Attempts = true, nil
			return op, nil, nil
		}
		return inner(op, ev, at)
	})
}

func reusesOpenKeys(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if ev.Kind() == onceward.KindKeyTakenAnew {
			op.Retired = true
		}
		return ev
	})
}

func checksNoApproval(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if ev.Kind() == onceward.KindAttemptStarted {
			op.ApprovedUntil = late
		}
		return ev
	})
}

func startsTooLate(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if ev.Kind() == onceward.KindAttemptStarted {
			op.IntentAt = epoch
		}
		return ev
	})
}

func sendsTooLate(m *Machine) {
	m.MaySend = func(*onceward.Operation, time.Time) error { return nil }
}

func trustsKeysForEver(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		op.Policy.KeyWindow = onceward.KeyWindowForever
		return ev
	})
}

func leasesOutliveKeys(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if e, ok := ev.(onceward.AttemptStarted); ok && err == nil {
			after.Running().LeaseUntil = e.LeaseUntil
		}
		return after, out, err
	})
}

func resendsAnything(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if k := ev.Kind(); k == onceward.KindResendDue || k == onceward.KindAttemptStarted {
			op.Effect = onceward.EffectConditionalWrite
		}
		return ev
	})
}

func keepsConfirmation(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if op.State == onceward.StateOutcomeUnknown && op.ResendConfirmed && ev.Kind() == onceward.KindResendDue {
			op.State = onceward.StateReady
			return op, nil, nil
		}
		after, out, err := inner(op, ev, at)
		after.ResendConfirmed = after.ResendConfirmed || op.ResendConfirmed
		return after, out, err
	})
}

func ignoresSecond(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		switch e := ev.(type) {
		case onceward.ProbeFound:
			ev = onceward.ProbeFound{Began: e.Began, References: e.References[:1]}
		case onceward.EffectProven:
			if op.Reference != "" && op.Reference != e.Reference {
				return op, nil, nil
			}
		}
		return inner(op, ev, at)
	})
}

func asksNobody(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if after.Broken && after.State == onceward.StateNeedsReview && op.State != onceward.StateNeedsReview {
			after.State, after.ReviewReason, after.CompletedAt = onceward.StateSucceeded, "", at
		}
		return after, out, err
	})
}

func settlesAnother(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if e, ok := ev.(onceward.EffectProven); ok && err == nil {
			for i := range after.Attempts {
				if a := &after.Attempts[i]; a.Status == onceward.StatusOpen {
					a.Status, a.Reference = onceward.StatusDone, e.Reference
				}
			}
		}
		return after, out, err
	})
}

func cancelIsFinal(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if err == nil && ev.Kind() == onceward.KindCancelRequested && after.State == onceward.StateOutcomeUnknown {
			after.State, after.CompletedAt = onceward.StateCancelled, at
		}
		return after, out, err
	})
}

func forgetsCancel(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if k := ev.Kind(); k == onceward.KindResendDue || k == onceward.KindAttemptStarted || k == onceward.KindAttemptNotDone {
			op.CancelRequested = false
		}
		return ev
	})
}

func recoversTheEnded(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if ev.Kind() == onceward.KindLeaseExpired && op.State == onceward.StateSucceeded {
			op.State, op.CompletedAt, op.UnknownSince = onceward.StateOutcomeUnknown, time.Time{}, at
			return op, nil, nil
		}
		return inner(op, ev, at)
	})
}

func revivesTombstones(m *Machine) {
	m.told(func(op *onceward.Operation, ev onceward.Event) onceward.Event {
		if ev.Kind() == onceward.KindReplayRequested {
			op.Retired = false
		}
		return ev
	})
}

func leavesItsCell(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if err == nil && after.State == onceward.StateSucceeded && ev.Kind() == onceward.KindAttemptUnknown {
			return op, nil, &onceward.Error{Code: onceward.CodeInternal, Message: "led from effect_pending to succeeded, which the table does not have"}
		}
		return after, out, err
	})
}

func neverEscalates(m *Machine) { m.never(onceward.StepEscalate) }
func expiryNeverDue(m *Machine) { m.never(onceward.StepExpire) }

func (m *Machine) never(step onceward.Step) {
	inner := m.Next
	m.Next = func(o *onceward.Operation, at time.Time) onceward.Step {
		if s := inner(o, at); s != step {
			return s
		}
		return onceward.StepNone
	}
}

func inventsDone(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if err == nil && ev.Kind() == onceward.KindAttemptUnknown && after.State == onceward.StateOutcomeUnknown {
			after.State, after.CompletedAt = onceward.StateSucceeded, at
		}
		return after, out, err
	})
}

func refusesAnswers(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		if e, ok := ev.(onceward.Resolved); ok && e.Outcome == onceward.ResolvedNotPerformed {
			return op, nil, &onceward.Error{Code: onceward.CodeStateForbids, Message: "no"}
		}
		return inner(op, ev, at)
	})
}

func forgetsCompletion(m *Machine) {
	m.apply(func(inner applyFunc, op onceward.Operation, ev onceward.Event, at time.Time) (onceward.Operation, []onceward.Consequence, error) {
		after, out, err := inner(op, ev, at)
		if after.State == onceward.StateFailed {
			after.CompletedAt = time.Time{}
		}
		return after, out, err
	})
}

// plantedStates is how many states a planted bug may hide in.
const plantedStates = 60_000

// TestEveryPlantedBugIsCaught runs every broken machine until it is caught, and
// the real one under the same configurations, which must not be.
func TestEveryPlantedBugIsCaught(t *testing.T) {
	t.Parallel()
	bugs := plantedBugs()
	table := make([]string, len(bugs))
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
				table[i] = fmt.Sprintf("%-58s  %-34s  %2d steps, %6d states: %s", bug.name, r.Breach.Rule, len(r.Trace)-1, r.States, r.Breach.How)
			}
		})
	}
	all.Wait()
	t.Logf("planted bugs, and by what each is caught:\n%s", strings.Join(table, "\n"))
}
