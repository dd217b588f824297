package onceward_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

func TestARateParksWhatIsTooMuchAndStartsItByItself(t *testing.T) {
	t.Parallel()
	for _, effect := range []onceward.EffectClass{onceward.EffectRead, onceward.EffectUnsafeWrite} {
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			tool := oncewardtest.NewTool("t.write", effect, func(i *onceward.ToolInfo) { i.Policy.Rate = onceward.Rate{Count: 2, Per: time.Second} })
			onEachStore(t, tool, func(t *testing.T, w *world) {
				var all []*onceward.Operation
				for i := range 7 {
					a := w.ask(fmt.Sprintf(`{"id":"k%d"}`, i))
					if parked := a.Operation.State == onceward.StateReady && a.Operation.Parked == onceward.ParkRate && a.RetryAfter > 0; parked != (i >= 2) {
						t.Fatalf("request %d is %s, parked %q, ask again after %s", i, a.Operation.State, a.Operation.Parked, a.RetryAfter)
					}
					all = append(all, a.Operation)
				}
				for half := range 5 {
					w.pass(500 * time.Millisecond)
					w.wantWrites(3 + half)
				}
				for _, op := range all {
					w.want(op, onceward.StateSucceeded, 7)
				}
				w.clock.Advance(time.Hour) // an idle hour saves up no more than one burst
				for i := range 4 {
					w.ask(fmt.Sprintf(`{"id":"later%d"}`, i))
				}
				w.wantWrites(9)
			})
		})
	}
}

// The stop switch is thrown under load: what runs settles, what stands before its
// first byte is stopped, nothing new starts, at any process, and it is all seen.
func TestAPauseUnderLoadStopsWhatHasNotBeenSent(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 })
	onEachStore(t, tool, func(t *testing.T, w *world) {
		other := w.another()
		sent := w.provider.HoldAnswer()
		a, err := w.submit(`{"id":"sent"}`)
		if err != nil {
			t.Fatal(err)
		}
		held(t, sent)
		unsent := w.provider.HoldFirstByte()
		b, err := w.submit(`{"id":"unsent"}`)
		if err != nil {
			t.Fatal(err)
		}
		held(t, unsent)
		if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "", "the provider asks us to stop"); err != nil {
			t.Fatal(err)
		}
		if err := other.ledger.RefreshSwitches(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := other.ask(`{"id":"new"}`)
		sent.Release()
		unsent.Release()
		w.ledger.WaitIdle()
		w.pass(time.Hour)
		other.pass(time.Hour)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		for _, waits := range []*onceward.Answer{b, c} {
			if op := w.get(waits.Operation.ID); op.State != onceward.StateReady || op.Parked != onceward.ParkToolPaused {
				t.Fatalf("%s is %s, parked %q", op.Key, op.State, op.Parked)
			}
		}
		w.wantWrites(1)
		if w.provider.Stopped() != 1 || !w.recorded(b.Operation, "attempt_not_done") || !w.recorded(c.Operation, "start_parked") {
			t.Fatalf("%d writes were stopped\n%s%s", w.provider.Stopped(), w.timeline(b.Operation), w.timeline(c.Operation))
		}
		if n, err := other.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), ""); err != nil || n != 2 {
			t.Fatalf("resume released %d, %v", n, err)
		}
		other.pass(time.Second)
		w.want(b.Operation, onceward.StateSucceeded, 3) // its budget was not touched
		w.want(c.Operation, onceward.StateSucceeded, 3)
	})
}

func TestAPauseNeedsAReason(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		wantCode(t, w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", ""), onceward.CodeEvidenceRequired)
		wantCode(t, w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.unheard", "why not"), onceward.CodeToolNotFound)
		w.want(w.ask(`{"id":"a"}`).Operation, onceward.StateSucceeded, 1)
	})
}

// A budget that is spent on retryable failures ends failed; a new request buys
// one more attempt once in backoff.max, and is told when.
func TestASpentBudgetIsBoughtOnceInTheLongestBackOff(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 3 })
	onEachStore(t, tool, func(t *testing.T, w *world) {
		for range 5 {
			w.provider.Script(oncewardtest.FaultRateLimited)
		}
		a := w.ask(`{"id":"a"}`)
		w.passSlowly(time.Minute, time.Second)
		w.want(a.Operation, onceward.StateFailed, 0)
		w.wantWrites(3)
		w.clock.Advance(time.Hour)
		for writes := 4; writes <= 5; writes++ {
			for range 3 { // of several requests, one buys
				w.ask(`{"id":"a"}`)
			}
			w.pass(time.Second)
			w.want(a.Operation, onceward.StateFailed, 0)
			w.wantWrites(writes)
			early := w.ask(`{"id":"a"}`)
			if early.Decision != onceward.DecisionReplayed || early.RetryAfter <= 0 || early.RetryAfter > time.Minute {
				t.Fatalf("too early, it is %s, ask again after %s", early.Decision, early.RetryAfter)
			}
			w.clock.Advance(early.RetryAfter)
		}
		w.ask(`{"id":"a"}`)
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		if !w.recorded(a.Operation, "retry_requested") {
			t.Fatal("nobody can see who bought it")
		}
	})
}

func TestAReadIsRepeatedWithinItsBudgetAndAsksNobody(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectRead, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 3 })
	onEachStore(t, tool, func(t *testing.T, w *world) {
		for range 3 {
			w.provider.Script(oncewardtest.FaultDeadline)
		}
		a := w.ask(`{"id":"a"}`)
		w.passSlowly(time.Minute, time.Second)
		w.want(a.Operation, onceward.StateFailed, 0)
		w.wantWrites(3)
	})
}

func TestAProvidersRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.AskToWait(90 * time.Second) // longer than the longest back-off
		w.provider.Script(oncewardtest.FaultRateLimited)
		a := w.ask(`{"id":"a"}`)
		if a.RetryAfter <= 0 || a.RetryAfter > time.Minute {
			t.Fatalf("the caller is told to ask after %s", a.RetryAfter)
		}
		w.passSlowly(89*time.Second, 10*time.Second)
		w.wantWrites(1)
		w.pass(time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

// A thousand that fail at one moment do not come back at one moment, and none
// comes back before half of its back-off.
func TestBackOffsOfNeighboursSpread(t *testing.T) {
	t.Parallel()
	const neighbours = 200
	tool := oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) {
		i.Policy.BackoffInitial, i.Policy.BackoffMax = 10*time.Second, 15*time.Second
	})
	onEachStore(t, tool, func(t *testing.T, w *world) {
		for range neighbours {
			w.provider.Script(oncewardtest.FaultRateLimited, oncewardtest.FaultRateLimited)
		}
		now := w.clock.Now()
		bySecond := map[time.Duration]int{}
		var all []*onceward.Operation
		for i := range neighbours {
			a := w.ask(fmt.Sprintf(`{"id":"k%d"}`, i))
			wait := a.Operation.DueAt.Sub(now)
			if wait < 5*time.Second || wait > 10*time.Second {
				t.Fatalf("%s waits %s of 10s", a.Operation.Key, wait)
			}
			bySecond[wait.Truncate(time.Second)]++
			all = append(all, a.Operation)
		}
		for second, n := range bySecond {
			if n > neighbours/3 {
				t.Fatalf("%d of %d come back %s later", n, neighbours, second)
			}
		}
		w.pass(10 * time.Second)
		now = w.clock.Now()
		for _, op := range all { // doubled, and bounded by the longest
			if wait := w.get(op.ID).DueAt.Sub(now); wait < 7500*time.Millisecond || wait > 15*time.Second {
				t.Fatalf("%s waits %s of 15s the second time", op.Key, wait)
			}
		}
	})
}
