package onceward_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func (r *replica) fork(op *onceward.Operation, key onceward.Key, reason string, input string) (*onceward.Answer, error) {
	var in []byte
	if input != "" {
		in = []byte(input)
	}
	return r.ledger.Fork(r.t.Context(), onceward.LocalPrincipal(), op.ID, key, reason, in, time.Minute)
}

// TestAWantedSecondEffectKeepsItsReason forks a finished operation: a blank
// reason is none, and the reason given stands in the fork's timeline.
func TestAWantedSecondEffectKeepsItsReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite))
	first := w.ask(`{"id":"a"}`)
	if _, err := w.ledger.Fork(t.Context(), onceward.LocalPrincipal(), first.Operation.ID, "again", "  ", nil, 0); !onceward.Is(err, onceward.CodeEvidenceRequired) {
		t.Fatalf("a blank reason: %v", err)
	}
	fork, err := w.ledger.Fork(t.Context(), onceward.LocalPrincipal(), first.Operation.ID, "again", "the first parcel was lost", nil, onceward.DefaultWait)
	if err != nil {
		t.Fatal(err)
	}
	w.quiet()
	w.want(fork.Operation, onceward.StateSucceeded, 2)
	records, err := w.ledger.Timeline(t.Context(), onceward.LocalPrincipal(), fork.Operation.ID)
	if err != nil || len(records) != 1 || records[0].Event != "forked" || records[0].Reason != "the first parcel was lost" {
		t.Fatalf("the fork's timeline is %+v, %v", records, err)
	}
}

// TestABlankIsNoEvidence refuses what looks like a reference or a reason and is
// white space.
func TestABlankIsNoEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite))
	w.provider.Script(oncewardtest.FaultAnswerLost)
	a := w.ask(`{"id":"a"}`)
	for _, r := range []onceward.Resolved{
		{Outcome: onceward.ResolvedSucceeded, Reference: " "},
		{Outcome: onceward.ResolvedNotPerformed, Reason: "\t"},
		{Outcome: onceward.ResolvedAbandoned, Reason: "  "},
	} {
		if _, err := w.ledger.Resolve(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, r); !onceward.Is(err, onceward.CodeEvidenceRequired) {
			t.Errorf("%+v: %v, want %s", r, err, onceward.CodeEvidenceRequired)
		}
	}
	if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", " "); !onceward.Is(err, onceward.CodeEvidenceRequired) {
		t.Errorf("a pause without a reason: %v", err)
	}
}

// The answer to the first fork is lost, and it is asked for again, there and at
// another process, all at once: it is the same fork.
func TestAForkAskedForAgainIsTheSameFork(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a","n":1}`)
		processes := []*replica{w.replica, w.another()}
		forks := make([]*onceward.Answer, 20)
		var all sync.WaitGroup
		for i := range forks {
			all.Go(func() {
				var err error
				if forks[i], err = processes[i%2].fork(first.Operation, "second-order", "ordered twice", ""); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, f := range forks {
			if f == nil || f.Operation.ID != forks[0].Operation.ID || f.Operation.State != onceward.StateSucceeded {
				t.Fatalf("a fork is %+v", f)
			}
		}
		fork := w.get(forks[0].Operation.ID)
		w.want(fork, onceward.StateSucceeded, 2)
		w.wantWrites(2)
		if fork.Reference == first.Operation.Reference || fork.ProviderKey == first.Operation.ProviderKey || fork.Digest != first.Operation.Digest {
			t.Fatalf("the fork has reference %q and provider key %q", fork.Reference, fork.ProviderKey)
		}
		if other, err := w.fork(first.Operation, "third-order", "ordered again", ""); err != nil || other.Operation.ID == fork.ID {
			t.Fatalf("a fork under another key: %v", err)
		}
	})
}

func TestAForkWithoutAKeyOfItsOwnIsRefused(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a"}`)
		_, err := w.fork(first.Operation, "", "ordered twice", "")
		wantCode(t, err, onceward.CodeKeyMissing)
		w.wantWrites(1)
	})
}

func TestWithoutAForkTheAnswerSaysWhenItHappened(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a"}`)
		w.clock.Advance(72 * time.Hour)
		again := w.ask(`{"id":"a"}`)
		if again.Decision != onceward.DecisionReplayed || !again.Operation.CompletedAt.Equal(first.Operation.CompletedAt) || !strings.Contains(again.Operation.Advice().Sentence, "fork") {
			t.Fatalf("it is %s, completed at %s, advice %q", again.Decision, again.Operation.CompletedAt, again.Operation.Advice().Sentence)
		}
		w.wantWrites(1)
	})
}

// A fork beside an effect that is not settled could make two where one is wanted.
func TestWhatIsNotSettledCannotBeForked(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRequestLost)
		a := w.ask(`{"id":"a"}`)
		for _, state := range []onceward.State{onceward.StateOutcomeUnknown, onceward.StateNeedsReview} {
			if op := w.get(a.Operation.ID); op.State != state {
				t.Fatalf("it is %s, want %s", op.State, state)
			}
			_, err := w.fork(a.Operation, "b", "cannot wait", "")
			wantCode(t, err, onceward.CodeStateForbids)
			w.pass(time.Second)
		}
		w.wantWrites(1)
	})
}

func TestAForkOfAnInputThatIsNotKeptHasToBringIt(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]onceward.Keep{"Redacted": onceward.KeepRedacted, "Digest": onceward.KeepDigest} {
		tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.KeepInput = keep })
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, tool, func(t *testing.T, w *world) {
				first := w.ask(`{"id":"a","card":"4111"}`)
				if strings.Contains(string(first.Operation.Input), "4111") {
					t.Fatalf("the input is kept as %s", first.Operation.Input)
				}
				_, err := w.fork(first.Operation, "b", "ordered twice", "")
				wantCode(t, err, onceward.CodeInvalidRequest)
				fork, err := w.fork(first.Operation, "b", "ordered twice", `{"id":"a","card":"4111"}`)
				if err != nil || fork.Operation.Digest != first.Operation.Digest {
					t.Fatalf("the fork has another meaning, %v", err)
				}
				w.quiet()
				w.want(fork.Operation, onceward.StateSucceeded, 2)
			})
		})
	}
}

// The first operation's record is retired, and its input with it: who asks for
// the fork again gets the same fork, and a fork that never was needs the input.
func TestAForkAskedForAgainAfterTheFirstIsRetiredIsTheSameFork(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, keptForADay), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a"}`)
		w.clock.Advance(kept - time.Hour)
		fork, err := w.fork(first.Operation, "b", "ordered twice", "")
		if err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(2 * time.Hour)
		if n := w.retire(); n != 1 {
			t.Fatalf("%d records were slimmed, want the first", n)
		}
		again, err := w.fork(first.Operation, "b", "ordered twice", "")
		if err != nil || again.Operation.ID != fork.Operation.ID || again.Decision != onceward.DecisionReplayed || again.Operation.State != onceward.StateSucceeded {
			t.Fatalf("the fork asked for again is %+v, %v", again, err)
		}
		_, err = w.fork(first.Operation, "c", "ordered again", "")
		wantCode(t, err, onceward.CodeInvalidRequest)
		w.clock.Advance(kept)
		w.retire()
		_, err = w.fork(first.Operation, "b", "ordered twice", "")
		wantCode(t, err, onceward.CodeKeyRetired)
		w.wantWrites(2)
	})
}

// A fork took the place of what failed: a queue that delivers the first request
// again, or an operator who plans a replay, does not bring the first one back
// unasked.
func TestWhatWasForkedIsNotRevivedByARepeatedRequest(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 }), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRateLimited)
		first := w.ask(`{"id":"a"}`)
		if first.Operation.State != onceward.StateFailed || first.Operation.RetryFrom().IsZero() {
			t.Fatalf("it is %s", first.Operation.State)
		}
		fork, err := w.fork(first.Operation, "second", "cannot wait", "")
		if err != nil {
			t.Fatal(err)
		}
		w.want(fork.Operation, onceward.StateSucceeded, 1)
		w.clock.Advance(time.Hour)
		if again := w.ask(`{"id":"a"}`); again.Operation.State != onceward.StateFailed || again.Decision != onceward.DecisionReplayed {
			t.Fatalf("asked again, it is %s, %s", again.Operation.State, again.Decision)
		}
		plan := w.plan(first.Operation)
		if plan.Verdict != onceward.ReplayConfirm || !strings.Contains(strings.Join(plan.Reasons, "; "), "fork") {
			t.Fatalf("the plan is %s because %q", plan.Verdict, plan.Reasons)
		}
		wantCode(t, w.replay(first.Operation, ""), onceward.CodeConfirmationNeeded)
		w.wantWrites(2)
		if !strings.Contains(w.timeline(first.Operation), "under the key second: cannot wait") {
			t.Fatalf("its timeline is %s", w.timeline(first.Operation))
		}
	})
}

// The input of a fork is the same business event: another one has a key of its
// own, and its own request would have the effect again.
func TestAForkOfAnotherEventIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 }), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRateLimited)
		first := w.ask(`{"id":"a"}`)
		_, err := w.fork(first.Operation, "second", "cannot wait", `{"id":"b"}`)
		wantCode(t, err, onceward.CodeInvalidInput)
		_, err = w.fork(first.Operation, "second", "cannot wait", `{"id":`)
		wantCode(t, err, onceward.CodeInvalidInput)
		w.clock.Advance(time.Hour)
		w.ask(`{"id":"a"}`)
		w.pass(time.Second)
		w.want(first.Operation, onceward.StateSucceeded, 1)
	})
}

// Who repeats a request wants what was wanted: it does not make an old intent
// young. A person who replays it does.
func TestARepeatedRequestDoesNotReviveAnIntentThatIsTooOld(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts, i.Policy.NotAfter = 1, 5*time.Minute }), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRateLimited, oncewardtest.FaultRateLimited)
		first := w.ask(`{"id":"a"}`)
		w.clock.Advance(2 * time.Minute)
		w.ask(`{"id":"a"}`)
		w.pass(time.Second)
		w.wantWrites(2)
		w.clock.Advance(2 * time.Minute)
		if op := w.get(first.Operation.ID); !op.IntentAt.Equal(first.Operation.CreatedAt) {
			t.Fatalf("the intent is as of %s", op.IntentAt)
		}
		w.clock.Advance(2 * time.Minute)
		if again := w.ask(`{"id":"a"}`); again.Operation.State != onceward.StateFailed || again.Decision != onceward.DecisionReplayed {
			t.Fatalf("asked again, it is %s, %s", again.Operation.State, again.Decision)
		}
		w.wantWrites(2)
		wantCode(t, w.replay(first.Operation, ""), "")
		w.pass(time.Second)
		w.want(first.Operation, onceward.StateSucceeded, 1)
	})
}
