package onceward_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// overdue is longer than the lease of a test's tool, and than a process has to
// watch before it believes in a lease's end.
const overdue = 8 * time.Second

// The owner is slower than its lease, and another process takes over by the
// class's rule. What the first then reports can neither delete, fail nor
// repeat what the second does, and is kept.
func TestALateResultChangesNoNewerAttempt(t *testing.T) {
	t.Parallel()
	for _, late := range []struct {
		name  string
		fault oncewardtest.Fault
		event string
	}{
		{"Success", oncewardtest.FaultNone, "attempt_done"},
		{"Refusal", oncewardtest.FaultInvalid, "attempt_not_done"},
		{"Error", oncewardtest.FaultErrorAfter, "attempt_unknown"},
	} {
		for _, newer := range []string{"Running", "Done"} {
			t.Run(late.name+"WhileTheNewerIs"+newer, func(t *testing.T) {
				t.Parallel()
				onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
					w.provider.Script(late.fault)
					first := w.provider.HoldAnswer()
					a, err := w.submit(`{"id":"a"}`)
					if err != nil {
						t.Fatal(err)
					}
					held(t, first)
					other := w.another()
					w.clock.Advance(overdue)
					var second *oncewardtest.Held
					if newer == "Running" {
						second = w.provider.HoldAnswer()
						other.step(1)
						w.clock.Advance(3 * time.Second)
						other.step(1)
						held(t, second)
						first.Release()
						w.ledger.WaitIdle()
						if op := w.get(a.Operation.ID); op.State != onceward.StateEffectPending || op.Attempt() != 2 || op.Running() == nil {
							t.Fatalf("after the late result it is %s at attempt %d\n%s", op.State, op.Attempt(), w.timeline(op))
						}
						second.Release()
						other.quiet()
					} else {
						other.pass(3 * time.Second)
						other.pass(3 * time.Second)
						w.want(a.Operation, onceward.StateSucceeded, 1)
						first.Release()
						w.ledger.WaitIdle()
					}
					w.pass(time.Hour)
					w.want(a.Operation, onceward.StateSucceeded, 1)
					w.wantWrites(2)
					op := w.get(a.Operation.ID)
					if op.Attempts[1].Status != onceward.StatusDone || !w.recorded(op, late.event) {
						t.Fatalf("the second attempt is %s, and the late result is to be kept as %s\n%s", op.Attempts[1].Status, late.event, w.timeline(op))
					}
				})
			})
		}
	}
}

func TestRecoveryThatReadAStaleRowChangesNothing(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		a, slow := w.sending(`{"id":"a"}`)
		other := w.another()
		tried := 0
		other.store.BeforeCommit(func(batch []onceward.Change) {
			if tried++; batch[0].After.State != onceward.StateOutcomeUnknown {
				t.Errorf("recovery writes %s", batch[0].After.State)
			}
			slow.Release() // it has read the row by now: the owner completes in between
			w.ledger.WaitIdle()
		})
		other.pass(overdue)
		if tried != 1 {
			t.Fatalf("recovery tried to write %d times, want once", tried)
		}
		w.want(a.Operation, onceward.StateSucceeded, 1)
		if w.recorded(a.Operation, "lease_expired") {
			t.Fatalf("recovery left its mark\n%s", w.timeline(a.Operation))
		}
	})
}

func TestAYoungRowAndALiveLeaseAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, attempt := range []int{1, 2} {
		t.Run(fmt.Sprintf("Attempt%d", attempt), func(t *testing.T) {
			t.Parallel()
			onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
				other := w.another()
				other.pass(time.Minute) // it has watched for long enough to believe in leases
				var slow *oncewardtest.Held
				if attempt == 1 {
					slow = w.provider.HoldAnswer()
				} else {
					w.provider.Script(oncewardtest.FaultErrorBefore)
				}
				a, err := w.submit(`{"id":"a"}`)
				if err != nil {
					t.Fatal(err)
				}
				if attempt == 2 {
					w.ledger.WaitIdle()
					slow = w.provider.HoldAnswer()
					w.clock.Advance(2 * time.Second)
					w.step(1)
				}
				held(t, slow)
				before := w.get(a.Operation.ID)
				for _, after := range []time.Duration{0, time.Millisecond, 4*time.Second + 998*time.Millisecond} {
					other.pass(after)
					if diff := cmp.Diff(before, w.get(a.Operation.ID)); diff != "" {
						t.Fatalf("%s later the row has changed (-before +after):\n%s", after, diff)
					}
				}
				w.clock.Advance(2 * time.Millisecond)
				other.step(1)
				if op := w.get(a.Operation.ID); op.State != onceward.StateOutcomeUnknown {
					t.Fatalf("past its lease it is %s, want outcome_unknown", op.State)
				}
				slow.Release()
			})
		})
	}
}

func TestAProcessNeverExpiresItsOwnLiveAttempt(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		a, slow := w.sending(`{"id":"a"}`)
		w.clock.Advance(time.Hour)
		w.step(3)
		if op := w.get(a.Operation.ID); op.State != onceward.StateEffectPending {
			t.Fatalf("it is %s, want effect_pending", op.State)
		}
		slow.Release()
		w.ledger.WaitIdle()
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

// A process is stopped between claim and send, its lease ends, the operation is
// settled by another one, and then it goes on.
func TestALateWriteIsStoppedAtTheConnection(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		other := w.another()
		slow := w.provider.HoldFirstByte()
		a, err := w.submit(`{"id":"a"}`)
		if err != nil {
			t.Fatal(err)
		}
		held(t, slow)
		other.passSlowly(30*time.Second, time.Second)
		other.want(a.Operation, onceward.StateSucceeded, 1)
		slow.Release()
		w.ledger.WaitIdle()
		if w.provider.Stopped() != 1 {
			t.Fatalf("%d writes were stopped, want the late one", w.provider.Stopped())
		}
		w.wantWrites(1)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		if op := w.get(a.Operation.ID); op.Attempts[0].Status != onceward.StatusNotDone || op.Attempt() != 2 {
			t.Fatalf("attempt 1 of %d is %s", op.Attempt(), op.Attempts[0].Status)
		}
	})
}

func TestATerminalOperationStaysSoWhateverALatePassWrites(t *testing.T) {
	t.Parallel()
	for _, pass := range []struct {
		name   string
		effect onceward.EffectClass
		word   onceward.Resolved
		end    onceward.State
	}{
		{"Escalation", onceward.EffectUnsafeWrite, onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Reason: "asked the clerk"}, onceward.StateFailed},
		{"Absence", onceward.EffectProbedWrite, onceward.Resolved{Outcome: onceward.ResolvedAbandoned, Reason: "not worth it"}, onceward.StateAbandoned},
	} {
		t.Run(pass.name, func(t *testing.T) {
			t.Parallel()
			onEveryStore(t, oncewardtest.NewTool("t.write", pass.effect), func(t *testing.T, w *world) {
				w.provider.Script(oncewardtest.FaultRequestLost)
				a := w.ask(`{"id":"a"}`)
				other := w.another()
				tried := false
				other.store.BeforeCommit(func([]onceward.Change) {
					if tried {
						return
					}
					tried = true
					if _, err := w.ledger.Resolve(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, pass.word); err != nil {
						t.Error(err)
					}
				})
				other.pass(30 * time.Second)
				if !tried {
					t.Fatal("no late pass came to a write")
				}
				other.passSlowly(time.Minute, 5*time.Second)
				w.want(a.Operation, pass.end, 0)
				w.wantWrites(1)
			})
		})
	}
}

func TestAThousandPendingLeftByACrashHoldUpNobody(t *testing.T) {
	t.Parallel()
	const left = 1000
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		w.another(silent).leave(left)
		w.restart()
		w.work()
		fresh := w.ask(`{"id":"new"}`)
		w.want(fresh.Operation, onceward.StateSucceeded, 1)
		again := w.ask(`{"id":"k7"}`)
		if again.Decision != onceward.DecisionJoined || again.Operation.State != onceward.StateEffectPending {
			t.Fatalf("one that was left is %s, %s", again.Decision, again.Operation.State)
		}
		w.clock.Advance(overdue)
		for more := true; more; {
			var err error
			if more, err = w.stranded.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ops, err := w.ledger.List(t.Context(), onceward.LocalPrincipal(), onceward.Filter{States: []onceward.State{onceward.StateOutcomeUnknown}, Limit: onceward.MaxPage})
		if err != nil || len(ops) != onceward.MaxPage {
			t.Fatalf("a page of unknown ones has %d, %v", len(ops), err)
		}
		w.pass(time.Second)
		w.want(again.Operation, onceward.StateSucceeded, left+1)
		w.wantWrites(left + 1)
	})
}

// lateAnswers is a database whose answers to commits come late: after is called
// between a commit and its answer.
type lateAnswers struct {
	onceward.Writer
	after func(c onceward.Change)
}

func (w lateAnswers) Write(ctx context.Context, c *onceward.Change) (onceward.Committed, error) {
	out, err := w.Writer.Write(ctx, c)
	if out.Applied {
		w.after(*c)
	}
	return out, err
}

// The commit of a later attempt is answered only after its lease. Meanwhile the
// process's own due loop comes by: it leaves the attempt to whoever started it,
// who sees that the lease has passed and sends nothing.
func TestAProcessDoesNotExpireAnAttemptWhoseCommitItWaitsFor(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]struct {
		tool  *oncewardtest.Tool
		start func(w *world, r *replica) (id onceward.OperationID)
	}{
		"Retry": {oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(w *world, r *replica) onceward.OperationID {
			w.provider.Script(oncewardtest.FaultRateLimited)
			op := w.ask(`{"id":"a"}`).Operation
			w.clock.Advance(time.Minute)
			r.step(1)
			return op.ID
		}},
		"KeyTakenAnew": {oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, reusable), func(w *world, r *replica) onceward.OperationID {
			op := w.ask(`{"id":"a"}`).Operation
			w.clock.Advance(kept)
			w.retire()
			_, _ = r.submit(`{"id":"a"}`)
			return op.ID
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, begin.tool, func(t *testing.T, w *world) {
				var r *replica
				came, before := false, 0
				r = w.another(func(o *onceward.Options) {
					o.Writer = lateAnswers{onceward.DirectWriter{Store: o.Store}, func(c onceward.Change) {
						if came || c.After.State != onceward.StateEffectPending {
							return
						}
						came, before = true, w.provider.Writes()
						w.clock.Advance(overdue)
						if err := r.ledger.Advance(t.Context(), c.After.ID); err != nil {
							t.Error(err)
						}
						if op := w.get(c.After.ID); op.Running() == nil {
							t.Errorf("it expired an attempt of its own: %s\n%s", op.State, w.timeline(op))
						}
					}}
				})
				r.passSlowly(time.Minute, time.Second) // it has watched for long enough to believe in leases
				id := begin.start(w, r)
				r.ledger.WaitIdle()
				if !came || w.provider.Writes() != before {
					t.Fatalf("came by: %v, writes %d, before %d", came, w.provider.Writes(), before)
				}
				if op := w.get(id); op.OpenAttempts() > 0 {
					t.Fatalf("an attempt of which nothing was sent is open\n%s", w.timeline(op))
				}
			})
		})
	}
}
