package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

var attemptPoints = []string{
	"claim.before_commit", "claim.after_commit", "dispatch.before_send", "dispatch.after_send", "dispatch.after_response", "record.before_commit", "record.after_commit",
}

// A process dies at a named place of its attempt. Another one, which watched or
// was started afterwards, settles what it left.
func TestACrashAtAnyPointOfAnAttemptDoublesAndLosesNothing(t *testing.T) {
	t.Parallel()
	for _, point := range attemptPoints {
		for _, effect := range []onceward.EffectClass{onceward.EffectKeyedWrite, onceward.EffectConditionalWrite, onceward.EffectProbedWrite, onceward.EffectUnsafeWrite} {
			t.Run(point+"/"+effect.String(), func(t *testing.T) {
				t.Parallel()
				onEachStore(t, oncewardtest.NewTool("t.write", effect), func(t *testing.T, w *world) {
					w.provider.HonoursKeys = effect == onceward.EffectKeyedWrite || effect == onceward.EffectConditionalWrite
					w.crash(point, `{"id":"a"}`)
					w.restart()
					w.passSlowly(time.Minute, 3*time.Second)
					a := w.ask(`{"id":"a"}`)
					settled := point == "claim.before_commit" || point == "record.after_commit" || effect != onceward.EffectUnsafeWrite
					if settled {
						w.want(a.Operation, onceward.StateSucceeded, 1)
						return
					}
					if a.Operation.State != onceward.StateNeedsReview || w.provider.Effects() > 1 {
						t.Fatalf("it is %s with %d effects\n%s", a.Operation.State, w.provider.Effects(), w.timeline(a.Operation))
					}
				})
			})
		}
	}
}

func TestACrashDuringALookUpLosesNothing(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"probe.before_send", "probe.after_response", "probe.before_commit"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
				w.provider.Script(oncewardtest.FaultAnswerLost)
				a := w.ask(`{"id":"a"}`)
				dying := w.doomed(point)
				dying.step(1)
				if !dying.dead.Load() {
					t.Fatalf("the process never came to %s", point)
				}
				w.want(a.Operation, onceward.StateOutcomeUnknown, 1)
				w.passSlowly(time.Minute, 3*time.Second)
				w.want(a.Operation, onceward.StateSucceeded, 1)
				w.wantWrites(1)
			})
		})
	}
}

// What waited before its first attempt was created long before the process that
// starts it last beat: the attempt has to be found all the same.
func TestAFirstAttemptThatStartedLateIsFoundAfterACrash(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "maintenance"); err != nil {
			t.Fatal(err)
		}
		a := w.ask(`{"id":"a"}`)
		w.pass(time.Hour)
		if _, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil {
			t.Fatal(err)
		}
		dying := w.doomed("dispatch.before_send")
		dying.step(1)
		dying.ledger.WaitIdle()
		if !dying.dead.Load() {
			t.Fatal("the process started nothing")
		}
		w.passSlowly(time.Minute, 3*time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

// A process beats while one of its claims is between its creation time and its
// commit, and dies right after the commit: what the beat said of the process's
// oldest work must not leave that claim out.
func TestAClaimThatABeatOvertookIsFoundAfterACrash(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
	tool.SerializeBy = "account"
	onEachStore(t, tool, func(t *testing.T, w *world) {
		dying := w.doomed("claim.after_commit")
		beaten := false
		dying.store.BeforeCommit(func(batch []onceward.Change) {
			if batch[0].After.Tool == "t.write" || beaten {
				return
			}
			beaten = true // the resource is being taken; the claim's own commit comes next
			w.clock.Advance(time.Second)
			if _, _, err := dying.ledger.Beat(t.Context()); err != nil {
				t.Error(err)
			}
		})
		dying.dieOf(`{"id":"a","account":"x"}`)
		if !beaten {
			t.Fatal("no beat overtook the claim")
		}
		w.passSlowly(time.Minute, 3*time.Second)
		a := w.ask(`{"id":"a","account":"x"}`)
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

func TestAClaimLongAfterTheLastBeatIsFoundAfterACrash(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		dying := w.doomed("claim.after_commit")
		w.clock.Advance(time.Hour)
		dying.dieOf(`{"id":"a"}`)
		w.passSlowly(time.Minute, 3*time.Second)
		a := w.ask(`{"id":"a"}`)
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

func TestADatabaseThatGoesAwayDuringRecoveryIsWaitedFor(t *testing.T) {
	t.Parallel()
	const left = 20
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		all := w.another(silent).leave(left)
		w.restart()
		w.clock.Advance(overdue)
		for round, sound := range []int{0, 3, 7, 0, 1, 2} {
			commits := 0
			w.store.BeforeCommit(func([]onceward.Change) {
				if commits++; commits > sound {
					w.store.GoAway()
				}
			})
			if round < 3 {
				_, _ = w.stranded.Step(t.Context())
			} else {
				_, _ = w.due.Step(t.Context())
				w.due.Wait()
			}
			w.store.BeforeCommit(nil)
			w.store.ComeBack()
			w.step(round / 2 % 2) // a sound pass in between
			w.clock.Advance(5 * time.Second)
		}
		w.passSlowly(2*time.Minute, 5*time.Second)
		for _, op := range all {
			w.want(op, onceward.StateSucceeded, left)
		}
		w.wantWrites(left)
	})
}
