package onceward_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// Whoever asks a ledger that is closed makes no effect, and leaves nothing behind.
func TestAFunctionIsNotCalledOnceItsLedgerIsClosed(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		if err := d.ledger.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := d.ledger.Do(t.Context(), booking(`{"id":"a"}`), nil)
		wantCode(t, err, onceward.CodeLedgerUnavailable)
		d.activate()
		d.wantBooks(d.do(`{"id":"a"}`), onceward.StateSucceeded, 1, 1)
		if op := d.do(`{"id":"a"}`); op.Version != 2 {
			t.Errorf("something was left behind\n%s", d.timeline(op))
		}
	}, func(f *onceward.Function) { f.Probe = nil })
}

// The claim was under way when the ledger was closed: it burns no attempt.
func TestAFunctionIsNotCalledWhoseLedgerWasClosedDuringItsClaim(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		d.store.BeforeCommit(func([]onceward.Change) {
			d.store.BeforeCommit(nil)
			if err := d.ledger.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		op := d.do(`{"id":"a"}`)
		d.wantBooks(op, onceward.StateReady, 0, 0)
		d.activate()
		d.passSlowly(time.Minute, time.Second)
		d.wantBooks(op, onceward.StateSucceeded, 1, 1)
	}, func(f *onceward.Function) { f.Probe = nil })
}

// Loops that go on after Close commit nothing: others find the row as it was left.
func TestLoopsOfAClosedLedgerStartNothingAndLookNothingUp(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(*books, *onceward.Call) (onceward.Outcome, error){"ready": refusedForNow, "unknown": effectThenError} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBooks(t, onceward.EffectProbedWrite, func(t *testing.T, d *doing) {
				d.b.next(first)
				op := d.do(`{"id":"a"}`)
				if err := d.ledger.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				d.passSlowly(10*time.Minute, 10*time.Second)
				if left := d.get(op.ID); left.Version != op.Version {
					t.Fatalf("a closed ledger went on\n%s", d.timeline(op))
				}
				d.activate()
				d.passSlowly(time.Minute, time.Second)
				if left := d.get(op.ID); left.State != onceward.StateSucceeded {
					t.Errorf("it is %s\n%s", left.State, d.timeline(op))
				}
			})
		})
	}
}

// Nobody saw it return: its effect may come until its lease has ended, and as long
// after as that of one whose process is silent.
func TestAFunctionThatOutlivesItsLedgerMayActUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]time.Duration{"within its deadline": 0, "past its deadline": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, err := onceward.NewFunction(functionIn(&books{}, onceward.EffectProbedWrite, func(f *onceward.Function) {
					f.Policy.ByteTail = 3 * time.Second
					f.Perform = func(context.Context, *onceward.Call) (onceward.Outcome, error) {
						time.Sleep(time.Hour)
						return onceward.Outcome{}, nil
					}
				}))
				if err != nil {
					t.Fatal(err)
				}
				in := booking(`{"id":"a"}`)
				p, err := f.Prepare(&in, 0)
				if err != nil {
					t.Fatal(err)
				}
				policy := f.Info().Policy
				op := onceward.NewOperation(&in, p, f.Info(), 0, time.Now())
				lease := time.Now().Add(time.Minute)
				ctx, goAway := context.WithCancel(t.Context())
				time.AfterFunc(closed, goAway)
				ev := f.Provider(&op, onceward.SystemClock{}).Send(ctx, p.Request, onceward.SendOptions{Deadline: policy.Deadline, NotAfter: lease})
				if want := lease.Add(policy.Deadline + policy.ByteTail); !ev.LastByteAt.Equal(want) {
					t.Errorf("no effect is expected after %s, want %s, and the lease ends at %s", ev.LastByteAt, want, lease)
				}
				time.Sleep(time.Hour) // it returns in the end
			})
		})
	}
}

// The function goes on past its deadline, past its context, and asks once more: under
// the race detector this also holds that nothing of ours is written beside us.
func TestCloseIsNotHeldUpByAFunctionPastItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoing(t, newWorldOn(t, onMemory, nil, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)), onceward.EffectProbedWrite)
		release := make(chan struct{})
		goOn := sync.OnceFunc(func() { close(release) })
		defer goOn()
		d.b.next(func(_ *books, c *onceward.Call) (onceward.Outcome, error) {
			time.Sleep(8*time.Second - time.Millisecond)
			_ = c.Check()
			<-release
			return onceward.Outcome{}, errors.New("too late")
		})
		began := time.Now()
		time.AfterFunc(time.Hour, goOn)
		a, err := d.ledger.Do(t.Context(), booking(`{"id":"a"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := d.ledger.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the ledger was closed with %v", err)
		}
		if took := time.Since(began); took != 8*time.Second {
			t.Errorf("it took %s, want its context's 3 seconds and 5 more", took)
		}
		if op := d.get(a.Operation.ID); op.State != onceward.StateOutcomeUnknown {
			t.Errorf("the operation is %s\n%s", op.State, d.timeline(op))
		}
	})
}
