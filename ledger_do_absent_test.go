package onceward_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/memory"
)

// A process beside the one with the function, as a server with its console, has not
// activated it. It shows its operations, takes a person's word on them, retires
// their records and sets a dead process's free, and leaves the rest to others.
func TestAProcessWithoutTheFunctionLeavesAllThatNeedsItsCode(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		ctx, who := t.Context(), onceward.LocalPrincipal()
		d.do(`{"id":"old"}`)
		d.b.next(effectThenError, refusedForNow)
		unknown := d.do(`{"id":"a"}`)
		d.work()
		waiting := d.do(`{"id":"b"}`)
		doomed := d.doomed("dispatch.after_send")
		_, _ = doomed.ledger.Do(ctx, booking(`{"id":"c"}`), nil)
		doomed.ledger.WaitIdle()
		d.beside = nil
		var log bytes.Buffer
		d.restart(func(o *onceward.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		d.passSlowly(3*time.Minute, 10*time.Second)
		reviews, err := d.ledger.Reviews(ctx, who, onceward.ReviewQuery{Limit: 10})
		if err != nil || len(reviews) != 2 || reviews[0].Operation.ID != unknown.ID && reviews[1].Operation.ID != unknown.ID {
			t.Fatalf("reviews %v, %v", reviews, err)
		}
		if n := strings.Count(log.String(), "left to others"); n != 1 {
			t.Errorf("it said %d times that it leaves operations to others\n%s", n, log.String())
		}
		if _, err := d.ledger.Resolve(ctx, who, unknown.ID, onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Reference: "ref_1"}); err != nil {
			t.Error(err)
		}
		if err := d.ledger.Advance(ctx, waiting.ID); !errors.Is(err, onceward.ErrFunctionNotHere) {
			t.Errorf("advance: %v", err)
		}
		if _, err := d.ledger.Do(ctx, booking(`{"id":"d"}`), d.b.perform); !onceward.Is(err, onceward.CodeToolNotFound) {
			t.Errorf("do: %v", err)
		}
		if _, done, err := d.ledger.RetireStep(ctx, onceward.Cursor{}, 10); err != nil || done != 1 {
			t.Errorf("retired %d, %v", done, err)
		}
		left := d.get(onceward.NewOperationID(who.Tenant, "f.book", `["c"]`))
		d.wantBooks(left, onceward.StateNeedsReview, 3, 4)
		d.activate()
		d.passSlowly(time.Minute, time.Second)
		d.wantBooks(waiting, onceward.StateSucceeded, 4, 5)
	}, func(f *onceward.Function) { f.Probe, f.KeepRecord, f.KeepTombstone = nil, time.Minute, 24*time.Hour })
}

// alone is another process, which has no function.
func (w *world) alone(opts ...worldOption) *replica {
	w.t.Helper()
	with := w.beside
	w.beside = nil
	defer func() { w.beside = with }()
	return w.another(opts...)
}

func TestWhoeverLacksTheFunctionIsToldSoOfAnOperationThatIsThere(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(t *testing.T, d *doing) {
		d.b.blind = true
		d.b.next(errorAlone)
		op, ctx, without := d.do(`{"id":"a"}`), t.Context(), d.alone()
		_, reconciled := without.ledger.Reconcile(ctx, onceward.LocalPrincipal(), op.ID)
		_, planned := without.ledger.PlanReplay(ctx, onceward.LocalPrincipal(), op.ID)
		for what, err := range map[string]error{"reconcile": reconciled, "plan": planned} {
			if !onceward.Is(err, onceward.CodeStateForbids) || !strings.Contains(err.Error(), "f.book") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := without.ledger.PauseTool(ctx, onceward.LocalPrincipal(), "f.book", "the books are closed"); err != nil {
			t.Errorf("pause: %v", err)
		}
		if _, err := without.ledger.ResumeTool(ctx, onceward.LocalPrincipal(), "f.book"); err != nil {
			t.Errorf("resume: %v", err)
		}
		wantCode(t, without.ledger.PauseTool(ctx, onceward.LocalPrincipal(), "f.nobody", "a slip"), onceward.CodeToolNotFound)
	})
}

// What a function of that name left needs its code, and a contract of the same name
// that took its place goes on at its own times.
func TestWhatAFunctionLeftHoldsUpNoContractOfItsName(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		d.b.next(refusedForNow)
		left := d.do(`{"id":"a"}`)
		d.beside = []onceward.Tool{oncewardtest.NewTool("f.book", onceward.EffectProbedWrite)}
		d.restart()
		d.pass(time.Minute)
		d.provider.Script(oncewardtest.FaultRefused)
		a, err := d.ledger.Submit(t.Context(), booking(`{"id":"b"}`))
		if err != nil {
			t.Fatal(err)
		}
		d.passSlowly(5*time.Second, time.Second)
		d.want(a.Operation, onceward.StateSucceeded, 1)
		d.wantBooks(left, onceward.StateReady, 0, 1)
	}, func(f *onceward.Function) { f.Probe, f.KeyRule = nil, "" })
}

func TestABulkReplayLeavesAFunctionToTheProcessThatHasIt(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(t *testing.T, d *doing) {
		d.b.next(refusedForGood)
		op := d.do(`{"id":"a"}`)
		d.wantBooks(op, onceward.StateFailed, 0, 1)
		without := d.alone()
		d.clock.Advance(time.Second)
		b := without.bulk(onceward.BulkRequest{})
		for range 3 {
			if _, err := without.ledger.StepBulkReplays(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.clock.Advance(10 * time.Second)
		}
		if b = d.carryOut(b.ID); b.Count(onceward.BulkReplayed) != 1 {
			t.Errorf("%+v", b.Results)
		}
		d.passSlowly(10*time.Second, time.Second)
		d.wantBooks(op, onceward.StateSucceeded, 1, 2)
	})
}

func TestAnEventThatNamesAFunctionIsLeftToTheProcessThatHasIt(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectProbedWrite, func(t *testing.T, d *doing) {
		without := d.alone(withSender(t))
		id := without.delivered(`{"id":"e","book":{"id":"a"}}`)
		without.inbox()
		without.event(id, onceward.InboxReceived)
		d.activate(withSender(t))
		d.clock.Advance(time.Minute)
		d.inbox()
		d.quiet()
		d.wantBooks(&onceward.Operation{ID: d.event(id, onceward.InboxHandled).Operations[0]}, onceward.StateSucceeded, 1, 1)
	})
}

// The leases of a function that is not here may be longer than those of all that is.
// A jump of the database's clock suspends for as long as they last.
func TestAClockJumpEndsNoLeaseOfAFunctionThatIsNotHere(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		others := map[string]*replica{"before the function": d.alone()}
		d.fn.Name = "f.slow"
		d.fn.Policy.Deadline, d.fn.Policy.Lease = 10*time.Minute, 20*time.Minute
		began, goOn := make(chan struct{}), make(chan struct{})
		d.fn.Perform = func(ctx context.Context, c *onceward.Call) (onceward.Outcome, error) {
			close(began)
			<-goOn
			return onceward.Outcome{Reference: d.b.book(c.ProviderKey)}, nil
		}
		d.b.next(refusedForNow)
		d.activate()
		others["after it"] = d.alone()
		in := booking(`{"id":"a"}`)
		in.Tool = "f.slow"
		go func() { _, _ = d.ledger.Do(context.Background(), in, nil) }()
		await(t, began, "the function")
		id := onceward.NewOperationID(in.Principal.Tenant, in.Tool, `["a"]`)
		for _, r := range others {
			if err := r.ledger.RefreshSwitches(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		d.ahead.Add(int64(time.Hour))
		for name, r := range others {
			r.step(1)
			for range 6 {
				d.clock.Advance(time.Minute)
				r.step(1)
			}
			if op := r.get(id); op.State != onceward.StateEffectPending {
				t.Fatalf("%s: inside its lease it is %s\n%s", name, op.State, d.timeline(op))
			}
		}
		close(goOn)
		d.ledger.WaitIdle()
	}, func(f *onceward.Function) { f.Probe = nil })
}

func TestAChangedKeyRuleOfAFunctionIsRefusedInItsOwnWords(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		d.fn.KeyRule = "number"
		f, err := onceward.NewFunction(d.fn)
		if err != nil {
			t.Fatal(err)
		}
		err = onceward.NewRegistry(d.handle(), d.compile).Activate(t.Context(), []onceward.Tool{f}, true)
		var refusal *onceward.Error
		if !errors.As(err, &refusal) || refusal.Code != onceward.CodeContractInvalid || !strings.Contains(refusal.Message, "was id") || strings.Contains(refusal.Hint, "key_was") {
			t.Errorf("%+v", refusal)
		}
	})
}

// What is in force has to go on while another version waits for its owners, and the
// code of a function's earlier version is gone.
func TestAFunctionThatWaitsForItsOwnersIsNotReplacedByItsRules(t *testing.T) {
	t.Parallel()
	store, ctx := memory.New(memory.Options{}), t.Context()
	start := func(attempts int, name onceward.ToolName) (*onceward.Registry, error) {
		f, err := onceward.NewFunction(functionIn(&books{}, onceward.EffectProbedWrite, func(f *onceward.Function) { f.Name, f.Policy.MaxAttempts = name, attempts }))
		if err != nil {
			t.Fatal(err)
		}
		r := onceward.NewRegistry(store, nil)
		r.SignOff(moreAttempts, true)
		return r, r.Activate(ctx, []onceward.Tool{f}, false)
	}
	if _, err := start(2, "payouts.send"); err != nil {
		t.Fatal(err)
	}
	r, err := start(9, "payouts.send")
	wantCode(t, err, onceward.CodeStateForbids)
	if all := r.All(); len(all) > 0 {
		t.Errorf("in force is %+v", all[0].Info())
	}
	versions, err := store.ContractVersions(ctx, "payouts.send", 10)
	if err != nil || len(versions) != 2 || !versions[0].Proposed {
		t.Errorf("%+v, %v", versions, err)
	}
}

// reads counts how often a stored contract is read.
type reads struct {
	onceward.Store
	n int
}

func (s *reads) Contract(ctx context.Context, tool onceward.ToolName, version string) (onceward.ContractVersion, error) {
	s.n++
	return s.Store.Contract(ctx, tool, version)
}

func TestTheRulesOfAFunctionThatIsNotHereAreReadOnce(t *testing.T) {
	t.Parallel()
	onBooks(t, onceward.EffectUnsafeWrite, func(t *testing.T, d *doing) {
		f := d.beside[0]
		store := &reads{Store: d.handle()}
		r := onceward.NewRegistry(store, d.compile)
		for range 3 {
			if _, err := r.Version(t.Context(), "f.book", f.Info().Version); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Activate(t.Context(), []onceward.Tool{f}, true); err != nil {
			t.Fatal(err)
		}
		got, err := r.Version(t.Context(), "f.book", f.Info().Version)
		if _, is := got.(*onceward.FunctionTool); !is || err != nil || store.n != 1 {
			t.Errorf("it is a %T after %d reads, %v", got, store.n, err)
		}
		if err := store.Store.Close(); err != nil {
			t.Error(err)
		}
	})
}
