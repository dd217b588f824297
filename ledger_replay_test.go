package onceward_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func (r *replica) plan(op *onceward.Operation) *onceward.ReplayPlan {
	r.t.Helper()
	plan, err := r.ledger.PlanReplay(r.t.Context(), onceward.LocalPrincipal(), op.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return plan
}

func (r *replica) replay(op *onceward.Operation, sentence string) error {
	_, err := r.ledger.Replay(r.t.Context(), onceward.LocalPrincipal(), op.ID, "the customer waits", sentence)
	return err
}

// A plan says whether a new attempt under the same key is safe, and why; a
// replay does what the plan allows and nothing else.
func TestAReplayDoesWhatItsPlanAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		effect  onceward.EffectClass
		fault   oncewardtest.Fault
		wait    time.Duration // until it stands as it shall be replayed
		verdict onceward.ReplayVerdict
		reason  string
		effects int // in the end, with the sentence that is asked for
	}{
		{"Succeeded", onceward.EffectUnsafeWrite, oncewardtest.FaultNone, 0, onceward.ReplayRefuse, "fork", 1},
		{"Failed", onceward.EffectUnsafeWrite, oncewardtest.FaultInvalid, 0, onceward.ReplaySafe, "no effect", 1},
		{"UnknownAndThere", onceward.EffectProbedWrite, oncewardtest.FaultAnswerLost, 0, onceward.ReplayRefuse, "eff_1", 1},
		{"UnknownAndAbsent", onceward.EffectProbedWrite, oncewardtest.FaultRequestLost, 0, onceward.ReplayConfirm, "may still appear", 1},
		{"UnknownInsideTheWindow", onceward.EffectKeyedWrite, oncewardtest.FaultErrorAfter, 0, onceward.ReplaySafe, "recognises the key", 1},
		{"ReviewedPastTheWindow", onceward.EffectKeyedWrite, oncewardtest.FaultErrorAfter, 25 * time.Hour, onceward.ReplayConfirm, "nothing can prove", 1},
		{"ReviewedUnsafe", onceward.EffectUnsafeWrite, oncewardtest.FaultAnswerLost, time.Second, onceward.ReplayConfirm, "nothing can prove", 2},
		{"BacksOff", onceward.EffectUnsafeWrite, oncewardtest.FaultRateLimited, 0, onceward.ReplayRefuse, "by itself", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", c.effect), func(t *testing.T, w *world) {
				w.provider.Script(c.fault)
				a := w.ask(`{"id":"a"}`)
				if c.wait > 0 {
					w.pass(c.wait)
				}
				plan := w.plan(a.Operation)
				if plan.Verdict != c.verdict || !strings.Contains(strings.Join(plan.Reasons, "; "), c.reason) || (plan.Sentence != "") != (c.verdict == onceward.ReplayConfirm) {
					t.Fatalf("the plan is %s because %q, to be confirmed with %q", plan.Verdict, plan.Reasons, plan.Sentence)
				}
				before := w.provider.Writes()
				switch c.verdict {
				case onceward.ReplayRefuse:
					wantCode(t, w.replay(a.Operation, ""), onceward.CodeReplayRefused)
				case onceward.ReplayConfirm:
					wantCode(t, w.replay(a.Operation, ""), onceward.CodeConfirmationNeeded)
					wantCode(t, w.replay(a.Operation, plan.Sentence+"!"), onceward.CodeConfirmationNeeded)
					w.wantWrites(before)
					wantCode(t, w.replay(a.Operation, plan.Sentence), "")
				case onceward.ReplaySafe:
					wantCode(t, w.replay(a.Operation, ""), "")
				}
				w.passSlowly(20*time.Second, 2*time.Second)
				w.want(a.Operation, onceward.StateSucceeded, c.effects)
			})
		})
	}
}

func TestAReplayNeedsAReason(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultInvalid)
		a := w.ask(`{"id":"a"}`)
		_, err := w.ledger.Replay(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, "", "")
		wantCode(t, err, onceward.CodeEvidenceRequired)
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateFailed, 0)
	})
}

// Two people click replay, each with the plan that was true a moment ago.
func TestAReplayClickedTwiceMakesOneAttempt(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultInvalid, oncewardtest.FaultInvalid)
		a := w.ask(`{"id":"a"}`)
		other := w.another()
		for _, ranMeanwhile := range []bool{false, true} {
			writes := w.provider.Writes()
			other.store.BeforeCommit(func([]onceward.Change) {
				other.store.BeforeCommit(nil)
				if err := w.replay(a.Operation, ""); err != nil {
					t.Error(err)
				}
				if ranMeanwhile {
					w.pass(time.Second)
				}
			})
			wantCode(t, other.replay(a.Operation, ""), onceward.CodeReplayRefused)
			w.pass(time.Second)
			w.wantWrites(writes + 1)
			w.provider.Script(oncewardtest.FaultInvalid)
		}
		w.want(a.Operation, onceward.StateFailed, 0)
	})
}

// A person who accepted an open attempt did so for one new attempt.
func TestAConfirmationIsSpentByOneAttempt(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRequestLost, oncewardtest.FaultRequestLost)
		a := w.ask(`{"id":"a"}`)
		w.pass(time.Second)
		wantCode(t, w.replay(a.Operation, w.plan(a.Operation).Sentence), "")
		w.passSlowly(time.Minute, time.Second)
		w.want(a.Operation, onceward.StateNeedsReview, 0)
		w.wantWrites(2)
	})
}

func (r *replica) resolve(op *onceward.Operation, word onceward.Resolved) error {
	_, err := r.ledger.Resolve(r.t.Context(), onceward.LocalPrincipal(), op.ID, word)
	return err
}

func TestAResolutionWithoutEvidenceIsRefused(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRequestLost)
		a := w.ask(`{"id":"a"}`)
		w.pass(time.Second)
		before := w.get(a.Operation.ID)
		for _, word := range []onceward.Resolved{
			{Outcome: onceward.ResolvedNotPerformed}, {Outcome: onceward.ResolvedSucceeded}, {Outcome: onceward.ResolvedAbandoned},
			{Outcome: onceward.ResolvedSucceeded, Reason: "the clerk says so"}, {Outcome: onceward.ResolvedAbandoned, Reference: "eff_1"},
		} {
			wantCode(t, w.resolve(a.Operation, word), onceward.CodeEvidenceRequired)
		}
		wantCode(t, w.resolve(a.Operation, onceward.Resolved{Reason: "no outcome"}), onceward.CodeInvalidRequest)
		if after := w.get(a.Operation.ID); after.Version != before.Version {
			t.Fatalf("refused words changed it\n%s", w.timeline(after))
		}
	})
}

func TestAResolutionDoesWhatItSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		word   onceward.Resolved
		state  onceward.State
		writes int
	}{
		{"Succeeded", onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Reference: "eff_7"}, onceward.StateSucceeded, 1},
		{"NotPerformedThenRetry", onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Retry: true, Reason: "asked the clerk"}, onceward.StateSucceeded, 2},
		{"NotPerformedThenFail", onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Reason: "asked the clerk"}, onceward.StateFailed, 1},
		{"Abandoned", onceward.Resolved{Outcome: onceward.ResolvedAbandoned, Reason: "a cent"}, onceward.StateAbandoned, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
				w.provider.Script(oncewardtest.FaultRequestLost)
				a := w.ask(`{"id":"a"}`)
				w.pass(time.Second)
				wantCode(t, w.resolve(a.Operation, c.word), "")
				w.pass(time.Hour)
				w.want(a.Operation, c.state, c.writes-1)
				w.wantWrites(c.writes)
				if !w.recorded(a.Operation, "resolved") {
					t.Fatal("nobody can see who settled it")
				}
				if c.state == onceward.StateSucceeded || c.state == onceward.StateFailed {
					wantCode(t, w.resolve(a.Operation, c.word), onceward.CodeStateForbids)
				}
			})
		})
	}
}

func TestOfTwoResolversOneWins(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRequestLost)
		a := w.ask(`{"id":"a"}`)
		w.work()
		words := []onceward.Resolved{
			{Outcome: onceward.ResolvedSucceeded, Reference: "eff_7"},
			{Outcome: onceward.ResolvedNotPerformed, Reason: "asked the clerk"},
		}
		processes := []*replica{w.replica, w.another()}
		errs := make([]error, 10)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = processes[i%2].resolve(a.Operation, words[i%2]) })
		}
		all.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won < 0:
				won = i
			default:
				wantCode(t, err, onceward.CodeStateForbids)
			}
		}
		if won < 0 {
			t.Fatal("nobody won")
		}
		want := []onceward.State{onceward.StateSucceeded, onceward.StateFailed}[won%2]
		w.want(a.Operation, want, 0)
	})
}
