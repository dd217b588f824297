package onceward_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func withProbe(i *onceward.ToolInfo) { i.Policy.HasProbe = true }

func TestALedgerThatComesBackGetsTheOutcome(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		a := w.withoutLedger(t, `{"id":"a"}`)
		waits := w.clock.NextTimer()
		w.clock.Advance(time.Second) // one more try in vain
		await(t, waits, "the next try to record")
		w.store.ComeBack()
		w.clock.Advance(time.Second)
		w.ledger.WaitIdle()
		w.want(a, onceward.StateSucceeded, 1)
		w.wantWrites(1)
	})
}

// withoutLedger lets an attempt be answered while its outcome cannot be
// recorded, and returns once the process waits to try again.
func (w *world) withoutLedger(t *testing.T, input string) *onceward.Operation {
	t.Helper()
	a, slow := w.sending(input)
	w.store.GoAway()
	waits := w.clock.NextTimer()
	slow.Release()
	await(t, waits, "the first try to record")
	return a.Operation
}

// Recording a done answer fails, and the process gives up or dies. The operation
// is unknown then and looked up; it is never released and run again.
func TestAnOutcomeThatWasNeverRecordedIsLookedUpNotRunAgain(t *testing.T) {
	t.Parallel()
	giveUps := map[string]func(t *testing.T, w *world){
		"Killed": func(_ *testing.T, w *world) { w.restart() },
		"ShutDown": func(t *testing.T, w *world) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = w.ledger.Close(ctx)
			w.restart()
		},
		"GivesUp": func(t *testing.T, w *world) {
			idle := make(chan struct{})
			go func() { defer close(idle); w.ledger.WaitIdle() }()
			for next, trying := w.clock.NextTimer(), true; trying; {
				w.clock.Advance(5 * time.Second)
				select {
				case <-next:
					next = w.clock.NextTimer()
				case <-idle:
					trying = false
				}
			}
			w.store.ComeBack()
		},
	}
	for name, giveUp := range giveUps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
				a := w.withoutLedger(t, `{"id":"a"}`)
				giveUp(t, w)
				w.passSlowly(30*time.Second, 3*time.Second)
				w.want(a, onceward.StateSucceeded, 1)
				w.wantWrites(1)
				if op := w.get(a.ID); op.Attempts[0].Settler != onceward.SettledByProbe {
					t.Fatalf("it was settled by %q, want the look-up", op.Attempts[0].Settler)
				}
			})
		})
	}
}

func TestAnOutcomeWithARefusedBodyIsRecordedLean(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		a, slow := w.sending(`{"id":"a"}`)
		w.store.ScriptCommits(oncewardtest.CommitTooLarge)
		slow.Release()
		w.ledger.WaitIdle()
		w.want(a.Operation, onceward.StateSucceeded, 1)
		if op := w.get(a.Operation.ID); op.Reference == "" || op.Result == nil || op.Result.BodyKept {
			t.Fatalf("reference %q, result %+v; want a reference and no body", op.Reference, op.Result)
		}
	})
}

func TestARefusedConnectionLetsTheSameKeyRunAtOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRefused)
		a := w.ask(`{"id":"a"}`)
		if a.Operation.State != onceward.StateReady || a.Operation.OpenAttempts() != 0 {
			t.Fatalf("it is %s with %d open attempts", a.Operation.State, a.Operation.OpenAttempts())
		}
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		w.wantWrites(1)
	})
}

// An answer after the effect that is cut, whose look-up fails too, or whose body
// cannot be kept, changes nothing of the effect.
func TestAnEffectStaysRecordedWhateverFailsAfterIt(t *testing.T) {
	t.Parallel()
	for _, probes := range []bool{true, false} {
		t.Run(fmt.Sprintf("LookUpWorks=%v", probes), func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
				w.provider.BreakProbes(!probes)
				w.provider.Script(oncewardtest.FaultAnswerCut)
				a := w.ask(`{"id":"a"}`)
				w.pass(2 * time.Hour)
				w.want(a.Operation, onceward.StateSucceeded, 1)
				w.wantWrites(1)
				op := w.get(a.Operation.ID)
				if op.RefPending == probes || (op.Reference != "") != probes || op.Result == nil || op.Result.BodyKept {
					t.Fatalf("reference %q, pending %v, result %+v", op.Reference, op.RefPending, op.Result)
				}
			})
		})
	}
}

func TestLookUpsThatFailForTheWholeWindowAskAPersonWithAllEvidence(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		w.provider.BreakProbes(true)
		w.provider.Script(oncewardtest.FaultAnswerLost)
		a := w.ask(`{"id":"a"}`)
		w.passSlowly(59*time.Minute, time.Minute)
		w.want(a.Operation, onceward.StateOutcomeUnknown, 1)
		w.passSlowly(4*time.Minute, time.Minute)
		w.want(a.Operation, onceward.StateNeedsReview, 1)
		w.wantWrites(1)
		records, err := w.ledger.Timeline(t.Context(), onceward.LocalPrincipal(), a.Operation.ID)
		if err != nil {
			t.Fatal(err)
		}
		looks := 0
		for _, r := range records {
			if r.Event == "probe_inconclusive" && r.Evidence != nil && r.Evidence.Status == 503 {
				looks++
			}
		}
		if looks != w.provider.Probes() || records[0].Evidence == nil || records[0].Evidence.ErrorCode != "reset" {
			t.Fatalf("%d of %d look-ups are kept; the attempt's evidence is %+v", looks, w.provider.Probes(), records[0].Evidence)
		}
		if op := w.get(a.Operation.ID); op.ReviewReason == "" {
			t.Fatal("nobody is told why a person is asked")
		}
	})
}

func TestAKeyedWriteWithALookUpIsLookedUpPastItsWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  oncewardtest.Fault
		writes int
	}{"Found": {oncewardtest.FaultErrorAfter, 1}, "Absent": {oncewardtest.FaultErrorBefore, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, withProbe), func(t *testing.T, w *world) {
				w.provider.Script(c.fault)
				a := w.ask(`{"id":"a"}`)
				w.pass(24 * time.Hour) // nobody worked on it inside the window
				if w.provider.Probes() == 0 {
					t.Fatal("it was not looked up")
				}
				w.pass(time.Minute)
				w.want(a.Operation, onceward.StateSucceeded, 1)
				w.wantWrites(c.writes)
			})
		})
	}
}

// Neither a settle time beyond the recovery window, nor a window in which nobody
// was there to look, brings a person an operation that a look-up can settle.
func TestNobodyIsAskedBeforeALookUpCouldTell(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settle, step time.Duration
		fault        oncewardtest.Fault
		writes       int
	}{
		"SettleIsLonger":       {2 * time.Hour, time.Minute, oncewardtest.FaultRequestLost, 2},
		"NobodyWasThere":       {2 * time.Second, 5 * time.Hour, oncewardtest.FaultAnswerLost, 1},
		"NobodyWasThereAbsent": {2 * time.Second, 5 * time.Hour, oncewardtest.FaultRequestLost, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.Settle = c.settle })
			onEachStore(t, tool, func(t *testing.T, w *world) {
				w.provider.Script(c.fault)
				a := w.ask(`{"id":"a"}`)
				w.passSlowly(5*time.Hour, c.step)
				w.pass(time.Minute)
				w.want(a.Operation, onceward.StateSucceeded, 1)
				w.wantWrites(c.writes)
			})
		})
	}
}

// Attempt 1 of a keyed write had its effect and was answered 500. Whatever a
// later attempt is answered, it is never called failed: attempt 1 is still open.
func TestALaterAnswerNeverFailsWhatAnEarlierAttemptLeftOpen(t *testing.T) {
	t.Parallel()
	for _, later := range []struct {
		name  string
		fault oncewardtest.Fault
		state onceward.State // in the end
	}{
		{"401", oncewardtest.FaultUnauthorized, onceward.StateSucceeded},
		{"409InProgress", oncewardtest.FaultInProgress, onceward.StateSucceeded},
		{"422OtherParameters", oncewardtest.FaultKeyReused, onceward.StateNeedsReview},
		{"400", oncewardtest.FaultInvalid, onceward.StateNeedsReview},
		{"429", oncewardtest.FaultRateLimited, onceward.StateSucceeded},
		{"Refused", oncewardtest.FaultRefused, onceward.StateSucceeded},
	} {
		t.Run(later.name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
				w.provider.Script(oncewardtest.FaultErrorAfter, later.fault)
				a := w.ask(`{"id":"a"}`)
				for range 60 {
					w.pass(time.Second)
					if op := w.get(a.Operation.ID); op.State == onceward.StateFailed || op.State == onceward.StateCancelled {
						t.Fatalf("it is %s\n%s", op.State, w.timeline(op))
					}
				}
				if _, paused := w.ledger.Paused(onceward.DefaultTenant, "t.write"); paused != (later.name == "401") {
					t.Fatalf("paused: %v", paused)
				}
				if _, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil {
					t.Fatal(err)
				}
				w.passSlowly(2*time.Minute, 10*time.Second)
				w.want(a.Operation, later.state, 1)
			})
		})
	}
}

// Two attempts are open, the second sent much later than the first. That nothing
// is seen proves the absence of both only once the second cannot appear any more.
func TestAbsenceIsProvenFromTheLastByteOfTheLatestAttempt(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, withProbe, func(i *onceward.ToolInfo) {
		i.Policy.MaxAttempts, i.Policy.BackoffInitial, i.Policy.Settle, i.Policy.KeyWindow = 2, 10*time.Second, 20*time.Second, time.Minute
	})
	onEachStore(t, tool, func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRequestLost, oncewardtest.FaultLate)
		a := w.ask(`{"id":"a"}`)
		sent := w.clock.Now()
		for w.get(a.Operation.ID).Attempt() < 2 {
			w.pass(time.Second)
		}
		second := w.clock.Now()
		if second.Sub(sent) < 5*time.Second {
			t.Fatalf("the second attempt came after %s", second.Sub(sent))
		}
		w.passSlowly(second.Add(19*time.Second).Sub(w.clock.Now()), time.Second)
		if op := w.get(a.Operation.ID); op.State.Terminal() || w.provider.Probes() == 0 {
			t.Fatalf("before its time it is %s after %d look-ups\n%s", op.State, w.provider.Probes(), w.timeline(op))
		}
		w.provider.Commit()
		w.passSlowly(time.Minute, time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

func TestARetrysOwnTimeoutStandsOnItsOwnAttempt(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultErrorAfter, oncewardtest.FaultDeadline)
		a := w.ask(`{"id":"a"}`)
		w.pass(time.Second)
		op := w.get(a.Operation.ID)
		if len(op.Attempts) != 2 || op.Attempts[0].Failure.Code != "http_500" || op.Attempts[1].Failure.Code != "deadline" || op.OpenAttempts() != 2 {
			t.Fatalf("the attempts are %+v", op.Attempts)
		}
		records, err := w.ledger.Timeline(t.Context(), onceward.LocalPrincipal(), op.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Event == "attempt_unknown" && (r.Evidence.Status == 500) != (r.Attempt == 1) {
				t.Fatalf("the evidence of attempt %d has status %d", r.Attempt, r.Evidence.Status)
			}
		}
	})
}

func TestAProviderThatIsStillAtItIsAskedAgainUnderTheSameKey(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		w.provider.AskToWait(7 * time.Second)
		w.provider.Script(oncewardtest.FaultInProgress)
		a := w.ask(`{"id":"a"}`)
		w.pass(6 * time.Second)
		w.want(a.Operation, onceward.StateOutcomeUnknown, 0)
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		if sent := w.provider.Requests(); len(sent) != 2 || sent[0].Header[0] != sent[1].Header[0] || !strings.HasPrefix(sent[0].Header[0].Name, "Idempotency") {
			t.Fatalf("sent %+v", sent)
		}
	})
}

func TestAnAnswerThatIsCutIsLookedUpBeforeItIsRecorded(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultAnswerCut)
		op := w.get(w.ask(`{"id":"a"}`).Operation.ID)
		if op.State != onceward.StateSucceeded || op.Reference == "" || op.RefPending || w.provider.Probes() != 1 {
			t.Fatalf("it is %s with reference %q after %d look-ups", op.State, op.Reference, w.provider.Probes())
		}
		w.want(op, onceward.StateSucceeded, 1)
	})
}
