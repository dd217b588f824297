package onceward_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// books is the other system of a test's function: what it did, by provider key.
type books struct {
	mu      sync.Mutex
	effects map[string][]string
	calls   int
	late    []string
	blind   bool
	script  []func(b *books, c *onceward.Call) (onceward.Outcome, error)
	within  int // functions that are running
	most    int // side by side
}

func (b *books) book(key string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ref := fmt.Sprintf("ref_%d", len(b.effects[key])+1)
	b.effects[key] = append(b.effects[key], ref)
	return ref
}

func (b *books) count() (effects, calls int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, refs := range b.effects {
		effects += len(refs)
	}
	return effects, b.calls
}

func (b *books) next(fs ...func(b *books, c *onceward.Call) (onceward.Outcome, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.script = append(b.script, fs...)
}

func (b *books) perform(_ context.Context, c *onceward.Call) (onceward.Outcome, error) {
	b.mu.Lock()
	b.calls++
	b.within++
	b.most = max(b.most, b.within)
	var f func(b *books, c *onceward.Call) (onceward.Outcome, error)
	if len(b.script) > 0 {
		f, b.script = b.script[0], b.script[1:]
	}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.within--
		b.mu.Unlock()
	}()
	if f != nil {
		return f(b, c)
	}
	ref := b.book(c.ProviderKey)
	return onceward.Outcome{Reference: ref, Result: []byte(`{"booked":"` + ref + `"}`)}, nil
}

func (b *books) look(_ context.Context, c *onceward.Call) ([]onceward.FoundEffect, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blind {
		return nil, errors.New("the books are closed")
	}
	var found []onceward.FoundEffect
	for _, ref := range b.effects[c.ProviderKey] {
		found = append(found, onceward.FoundEffect{Reference: ref, Ours: true})
	}
	return found, nil
}

// What a function may do.
var (
	effectThenError = func(b *books, c *onceward.Call) (onceward.Outcome, error) {
		b.book(c.ProviderKey)
		return onceward.Outcome{}, errors.New("the connection was cut")
	}
	errorAlone = func(*books, *onceward.Call) (onceward.Outcome, error) {
		return onceward.Outcome{}, errors.New("the connection was cut")
	}
	effectThenPanic = func(b *books, c *onceward.Call) (onceward.Outcome, error) {
		b.book(c.ProviderKey)
		panic("a bug")
	}
	effectThenExit = func(b *books, c *onceward.Call) (onceward.Outcome, error) {
		b.book(c.ProviderKey)
		runtime.Goexit()
		return onceward.Outcome{}, nil
	}
	effectThenCanceled = func(b *books, c *onceward.Call) (onceward.Outcome, error) {
		b.book(c.ProviderKey)
		return onceward.Outcome{}, context.Canceled
	}
	effectTwice = func(b *books, c *onceward.Call) (onceward.Outcome, error) {
		b.book(c.ProviderKey)
		b.book(c.ProviderKey)
		return onceward.Outcome{}, errors.New("the connection was cut")
	}
	effectLater = func(b *books, c *onceward.Call) (onceward.Outcome, error) {
		b.mu.Lock()
		b.late = append(b.late, c.ProviderKey)
		b.mu.Unlock()
		return onceward.Outcome{}, context.DeadlineExceeded
	}
	refusedForNow = func(*books, *onceward.Call) (onceward.Outcome, error) {
		return onceward.NotDone(onceward.ClassUnavailable, "closed", "the books are closed", true), nil
	}
	refusedForGood = func(*books, *onceward.Call) (onceward.Outcome, error) {
		return onceward.Outcome{Verdict: onceward.VerdictNotDone}, errors.New("no such account")
	}
)

// doing is a world with a function.
type doing struct {
	*world
	b  *books
	fn onceward.Function
}

// functionIn is the function of the tests, on the books.
func functionIn(b *books, effect onceward.EffectClass, edit ...func(*onceward.Function)) onceward.Function {
	f := onceward.Function{Name: "f.book", Policy: onceward.Policy{Effect: effect, Deadline: time.Second, Settle: 2 * time.Second}, KeyRule: "id", Volatile: []string{"text"},
		Key: func(input []byte) ([]string, error) { return []string{textOf(input, "id")}, nil }, Perform: b.perform, Probe: b.look}
	for _, e := range edit {
		e(&f)
	}
	return f
}

func textOf(input []byte, member string) string {
	n, err := onceward.ParseJSON(input)
	if err != nil {
		return ""
	}
	child, ok := n.Member(member)
	if !ok {
		return ""
	}
	text, _ := child.Text()
	return text
}

func newDoing(t *testing.T, w *world, effect onceward.EffectClass, edit ...func(*onceward.Function)) *doing {
	t.Helper()
	d := &doing{world: w, b: &books{effects: map[string][]string{}}}
	d.fn = functionIn(d.b, effect, edit...)
	d.activate()
	return d
}

// activate starts a process that has the function; the old one is gone.
func (d *doing) activate(opts ...worldOption) {
	d.t.Helper()
	f, err := onceward.NewFunction(d.fn)
	if err != nil {
		d.t.Fatal(err)
	}
	d.beside = []onceward.Tool{f}
	d.restart(opts...)
}

// onBooks runs a situation with a function on every store whose clock can be moved.
func onBooks(t *testing.T, effect onceward.EffectClass, situation func(t *testing.T, d *doing), edit ...func(*onceward.Function)) {
	t.Helper()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) { situation(t, newDoing(t, w, effect, edit...)) })
}

func booking(input string) onceward.Intent {
	return onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "f.book", Input: []byte(input)}
}

func (d *doing) do(input string) *onceward.Operation {
	d.t.Helper()
	a, err := d.ledger.Do(d.t.Context(), booking(input), nil)
	if err != nil {
		d.t.Fatalf("do %s: %v", input, err)
	}
	d.quiet()
	return d.get(a.Operation.ID)
}

func (d *doing) wantBooks(op *onceward.Operation, s onceward.State, effects, calls int) {
	d.t.Helper()
	op = d.get(op.ID)
	if e, c := d.b.count(); op.State != s || e != effects || c != calls {
		d.t.Fatalf("operation is %s with %d effects by %d calls, want %s with %d by %d\n%s", op.State, e, c, s, effects, calls, d.timeline(op))
	}
}

func TestManyCallersOfAFunctionGetItsOneEffect(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		d := newDoing(t, w, onceward.EffectUnsafeWrite, func(f *onceward.Function) { f.Probe = nil })
		processes := []*replica{d.replica, d.another()}
		answers := make([]*onceward.Answer, 60)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				in := booking(`{"id":"a"}`)
				in.Wait = 20 * time.Second
				var err error
				if answers[i], err = processes[i%2].ledger.Do(t.Context(), in, nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		fresh := 0
		for _, a := range answers {
			if a == nil || a.Operation.State != onceward.StateSucceeded || a.Operation.Reference != "ref_1" || string(a.Operation.Result.Body) != `{"booked":"ref_1"}` || len(a.Operation.Result.Header) > 0 {
				t.Fatalf("a caller got %+v", a)
			}
			if a.Decision == onceward.DecisionFresh {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("%d callers were told that theirs was the first", fresh)
		}
		d.wantBooks(answers[0].Operation, onceward.StateSucceeded, 1, 1)
		_, err := d.ledger.Do(t.Context(), booking(`{"id":"a","cents":2}`), nil)
		wantCode(t, err, onceward.CodeKeyReused)
		d.wantBooks(answers[0].Operation, onceward.StateSucceeded, 1, 1)
	})
}

func TestAFunctionThatDoesNotSayThatItIsDoneIsUnknown(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(*books, *onceward.Call) (onceward.Outcome, error){
		"error": effectThenError, "panic": effectThenPanic, "exit of its goroutine": effectThenExit, "end of its context": effectThenCanceled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("and nobody can look", func(t *testing.T) {
				t.Parallel()
				onBooks(t, onceward.EffectUnsafeWrite, func(_ *testing.T, d *doing) {
					d.b.next(ends)
					op := d.do(`{"id":"a"}`)
					d.work()
					d.wantBooks(op, onceward.StateNeedsReview, 1, 1)
					d.do(`{"id":"a"}`)
					d.passSlowly(48*time.Hour, time.Hour)
					d.wantBooks(op, onceward.StateNeedsReview, 1, 1)
				}, func(f *onceward.Function) { f.Probe = nil })
			})
			t.Run("and it is found", func(t *testing.T) {
				t.Parallel()
				onBooks(t, onceward.EffectProbedWrite, func(_ *testing.T, d *doing) {
					d.b.next(ends)
					op := d.do(`{"id":"a"}`)
					d.work()
					d.wantBooks(op, onceward.StateSucceeded, 1, 1)
				})
			})
		})
	}
}

func TestAFunctionRunsAgainOnceItsProbeProvesAbsence(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(_ *testing.T, d *doing) {
		d.b.next(errorAlone)
		op := d.do(`{"id":"a"}`)
		d.pass(time.Second) // within settle nothing is believed absent
		d.wantBooks(op, onceward.StateOutcomeUnknown, 0, 1)
		d.passSlowly(time.Minute, time.Second)
		d.wantBooks(op, onceward.StateSucceeded, 1, 2)
	})
}

func TestAnEffectThatComesAfterTheFunctionReturnedIsFound(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(_ *testing.T, d *doing) {
		d.b.next(effectLater)
		op := d.do(`{"id":"a"}`)
		d.pass(time.Second)
		d.wantBooks(op, onceward.StateOutcomeUnknown, 0, 1)
		for _, key := range d.b.late {
			d.b.book(key)
		}
		d.passSlowly(time.Minute, time.Second)
		d.wantBooks(op, onceward.StateSucceeded, 1, 1)
	})
}

func TestTwoEffectsOfAFunctionStopIt(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(t *testing.T, d *doing) {
		d.b.next(effectTwice)
		op := d.do(`{"id":"a"}`)
		d.work()
		d.wantBooks(op, onceward.StateNeedsReview, 2, 1)
		if _, paused := d.ledger.Paused(onceward.LocalPrincipal().Tenant, "f.book"); !paused || !strings.Contains(strings.Join(d.alarms, " "), "effect_multiplied") {
			t.Errorf("the tool is not paused, or nobody is told: %v", d.alarms)
		}
		other := d.do(`{"id":"b"}`) // waits for somebody to resume the tool
		d.wantBooks(other, onceward.StateReady, 2, 1)
	})
}

func TestABlindProbeOfAFunctionSaysNothing(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(_ *testing.T, d *doing) {
		d.b.next(errorAlone)
		d.b.blind = true
		op := d.do(`{"id":"a"}`)
		d.passSlowly(2*time.Hour, time.Minute)
		d.wantBooks(op, onceward.StateNeedsReview, 0, 1)
	}, func(f *onceward.Function) { f.Policy.RecoveryWindow = time.Hour })
}

func TestWhatAFunctionDidNotDoIsTriedAgainOrFails(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		d.b.next(refusedForNow, refusedForNow)
		op := d.do(`{"id":"a"}`)
		d.wantBooks(op, onceward.StateReady, 0, 1)
		d.passSlowly(10*time.Second, time.Second)
		d.wantBooks(op, onceward.StateSucceeded, 1, 3)
		d.b.next(refusedForGood)
		op = d.do(`{"id":"b"}`)
		d.wantBooks(op, onceward.StateFailed, 1, 4)
		if f := d.get(op.ID).Failure; f.Message != "no such account" || f.Retryable {
			t.Errorf("it failed for %+v", f)
		}
		d.do(`{"id":"b"}`)
		d.wantBooks(op, onceward.StateFailed, 1, 4)
	})
}

// The process dies after the effect and before its record, and the next one has
// the function registered again, under rules that have changed meanwhile.
func TestACrashAfterAFunctionsEffectIsSettledByItsProbe(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"dispatch.after_send", "dispatch.after_response", "record.before_commit"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			onBooks(t, onceward.EffectProbedWrite, func(t *testing.T, d *doing) {
				doomed := d.doomed(point)
				go func() { _, _ = doomed.ledger.Do(t.Context(), booking(`{"id":"a"}`), nil) }()
				for !doomed.dead.Load() {
					runtime.Gosched()
				}
				doomed.ledger.WaitIdle()
				d.fn.Policy.MaxAttempts, d.fn.Volatile = 2, []string{"text", "note"}
				d.activate()
				id := onceward.NewOperationID(onceward.LocalPrincipal().Tenant, "f.book", `["a"]`)
				d.passSlowly(3*time.Minute, 10*time.Second)
				op := d.get(id)
				d.wantBooks(op, onceward.StateSucceeded, 1, 1)
				if op.Policy.MaxAttempts != onceward.FunctionAttempts {
					t.Errorf("it lives under a budget of %d: not that of its own version", op.Policy.MaxAttempts)
				}
				if again := d.do(`{"id":"a","text":"other words"}`); again.Reference != "ref_1" {
					t.Errorf("asked again it is %+v", again)
				}
				_, err := d.ledger.Do(t.Context(), booking(`{"id":"a","note":"not volatile then"}`), nil)
				wantCode(t, err, onceward.CodeKeyReused)
			})
		})
	}
}

// A function that a caller brings is called for as long as that caller waits, and
// for nobody after it; the next one who asks brings his own.
func TestAFunctionThatACallerBringsIsCalledWhileItWaits(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(t *testing.T, d *doing) {
		bring := func(f performer) *onceward.Operation {
			a, err := d.ledger.Do(t.Context(), booking(`{"id":"a"}`), f)
			if err != nil {
				t.Fatal(err)
			}
			d.quiet()
			return d.get(a.Operation.ID)
		}
		d.b.next(errorAlone)
		op := bring(d.b.perform)
		d.passSlowly(10*time.Minute, time.Second)
		d.wantBooks(op, onceward.StateReady, 0, 1) // absence is proven, and nobody is here to try again
		op = bring(d.b.perform)
		d.wantBooks(op, onceward.StateSucceeded, 1, 2)
		bring(func(context.Context, *onceward.Call) (onceward.Outcome, error) {
			t.Error("a repeat was performed")
			return onceward.Outcome{}, nil
		})
		_, err := d.ledger.Do(t.Context(), booking(`{"id":"b"}`), nil)
		wantCode(t, err, onceward.CodeInvalidRequest)
		a, err := d.ledger.Submit(t.Context(), booking(`{"id":"c"}`)) // nobody brings one: it waits
		if err != nil {
			t.Fatal(err)
		}
		d.quiet()
		d.wantBooks(a.Operation, onceward.StateReady, 1, 2)
	}, func(f *onceward.Function) { f.Perform = nil })
}

type performer = func(ctx context.Context, c *onceward.Call) (onceward.Outcome, error)

func TestFunctionsOnOneResourceRunOneAtATime(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(t *testing.T, d *doing) {
		started, goOn := make(chan struct{}), make(chan struct{})
		d.b.next(func(b *books, c *onceward.Call) (onceward.Outcome, error) {
			close(started)
			<-goOn
			return onceward.Outcome{Reference: b.book(c.ProviderKey)}, nil
		})
		first, err := d.ledger.Do(t.Context(), booking(`{"id":"a","account":"x"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		await(t, started, "the first function")
		second, err := d.ledger.Do(t.Context(), booking(`{"id":"b","account":"x"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if by, err := d.ledger.BlockedBy(t.Context(), second.Operation); err != nil || by != first.Operation.ID {
			t.Fatalf("the second is blocked by %s, %v", by, err)
		}
		close(goOn)
		d.quiet()
		d.passSlowly(time.Minute, 5*time.Second)
		d.wantBooks(second.Operation, onceward.StateSucceeded, 2, 2)
		if d.b.most != 1 {
			t.Errorf("%d functions ran side by side", d.b.most)
		}
	}, func(f *onceward.Function) {
		f.SerializeBy = func(input []byte) (string, error) { return textOf(input, "account"), nil }
	})
}

func TestAFunctionWaitsForAPersonsYes(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		op := d.do(`{"id":"a"}`)
		d.wantBooks(op, onceward.StateAwaitingApproval, 0, 0)
		who := onceward.LocalPrincipal()
		if _, err := d.ledger.Approve(t.Context(), who, op.ID, onceward.ApprovalAnswer{Digest: op.Digest, Contract: op.Contract}); err != nil {
			t.Fatal(err)
		}
		d.work()
		d.wantBooks(op, onceward.StateSucceeded, 1, 1)
	}, func(f *onceward.Function) {
		f.Probe, f.Approval = nil, func([]byte) (bool, error) { return true, nil }
	})
}

// A function that stops a while before its effect asks again whether it may be made.
func TestAFunctionAsksWhetherItMayStillAct(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		d.b.next(func(_ *books, c *onceward.Call) (onceward.Outcome, error) {
			if err := c.Check(); err != nil {
				t.Errorf("it may not act at once: %v", err)
			}
			if err := d.ledger.PauseTool(context.Background(), onceward.LocalPrincipal(), "f.book", "stop"); err != nil {
				t.Error(err)
			}
			if err := c.Check(); err == nil {
				t.Error("it may act though the tool is paused")
			}
			return onceward.NotDone(onceward.ClassUnavailable, "stopped", "the tool is paused", true), nil
		})
		op := d.do(`{"id":"a"}`)
		d.wantBooks(op, onceward.StateReady, 0, 1)
	}, func(f *onceward.Function) { f.Probe = nil })
}

func TestACallThatNoLedgerMadeMayAct(t *testing.T) {
	t.Parallel()
	if err := (&onceward.Call{Input: []byte(`{}`)}).Check(); err != nil {
		t.Error(err)
	}
}

func TestAFunctionThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	b := &books{effects: map[string][]string{}}
	for name, edit := range map[string]func(*onceward.Function){
		"no effect class":      func(f *onceward.Function) { f.Policy.Effect = 0 },
		"a lease too short":    func(f *onceward.Function) { f.Policy.Lease = f.Policy.Deadline },
		"probed without probe": func(f *onceward.Function) { f.Probe = nil },
		"no settle":            func(f *onceward.Function) { f.Policy.Settle = 0 },
		"a name that is none":  func(f *onceward.Function) { f.Name = "No Name" },
		"a rule without a key": func(f *onceward.Function) { f.Key = nil },
		"a bad path":           func(f *onceward.Function) { f.Volatile = []string{"a..b"} },
	} {
		if _, err := onceward.NewFunction(functionIn(b, onceward.EffectProbedWrite, edit)); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	f, err := onceward.NewFunction(functionIn(b, onceward.EffectProbedWrite))
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{`{"id":""}`, `{}`, `{`} {
		in := booking(input)
		if _, err := f.Prepare(&in, 0); err == nil {
			t.Errorf("%s was taken", input)
		}
	}
}
