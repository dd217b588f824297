package onceward_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// failing makes n operations that the provider refuses: k0, k1, ...
func (w *world) failing(n int) []*onceward.Operation {
	w.t.Helper()
	var ops []*onceward.Operation
	for i := range n {
		w.provider.Script(oncewardtest.FaultInvalid)
		op := w.ask(fmt.Sprintf(`{"id":"k%d"}`, i)).Operation
		w.want(op, onceward.StateFailed, 0)
		ops = append(ops, op)
		w.clock.Advance(time.Second)
	}
	return ops
}

func (r *replica) bulk(in onceward.BulkRequest) *onceward.BulkReplay {
	r.t.Helper()
	if in.Reason == "" {
		in.Reason = "the provider is repaired"
	}
	b, err := r.ledger.StartBulkReplay(r.t.Context(), olga, in)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// carryOut steps the process's bulk replays, and lets the time pass, until this
// one has ended.
func (r *replica) carryOut(id onceward.BulkReplayID) *onceward.BulkReplay {
	r.t.Helper()
	for range 100 {
		if _, err := r.ledger.StepBulkReplays(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		b, err := r.ledger.BulkReplay(r.t.Context(), olga, id)
		if err != nil {
			r.t.Fatal(err)
		}
		if b.State != onceward.BulkRunning {
			return b
		}
		r.w.clock.Advance(time.Second)
	}
	r.t.Fatal("the bulk replay never ends")
	return nil
}

func (w *world) wantReplays(ops []*onceward.Operation, n int) {
	w.t.Helper()
	for _, op := range ops {
		if got := strings.Count(w.timeline(op), "replay_requested"); got != n {
			w.t.Fatalf("%d replays of %s, want %d\n%s", got, op.Key, n, w.timeline(op))
		}
	}
}

func onceFailing() *oncewardtest.Tool {
	return oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
}

func TestBulkReplayTriesEachOnceAndAskedTwiceIsOne(t *testing.T) {
	t.Parallel()
	onEachStore(t, onceFailing(), func(t *testing.T, w *world) {
		ops := w.failing(3)
		dry := w.carryOut(w.bulk(onceward.BulkRequest{DryRun: true}).ID)
		if dry.Count(onceward.BulkSafe) != 3 || dry.Sentence() != "" {
			t.Fatalf("the dry run says %+v", dry.Results)
		}
		w.wantReplays(ops, 0)
		first := w.bulk(onceward.BulkRequest{})
		if again := w.bulk(onceward.BulkRequest{}); again.ID != first.ID || again.CreatedAt != first.CreatedAt {
			t.Fatalf("asked twice it is %s and %s", first.ID, again.ID)
		}
		done := w.carryOut(first.ID)
		if done.Count(onceward.BulkReplayed) != 3 {
			t.Fatalf("the results are %+v", done.Results)
		}
		other := w.carryOut(w.bulk(onceward.BulkRequest{Reason: "clicked in another window"}).ID)
		if len(other.Results) != 0 {
			t.Fatalf("the second one did %+v", other.Results)
		}
		w.work()
		w.wantReplays(ops, 1)
		for _, op := range ops {
			w.want(op, onceward.StateSucceeded, 3)
		}
		_, err := w.ledger.StartBulkReplay(t.Context(), olga, onceward.BulkRequest{Reason: " "})
		wantCode(t, err, onceward.CodeEvidenceRequired)
		_, err = w.ledger.StartBulkReplay(t.Context(), ann, onceward.BulkRequest{Reason: "r"})
		wantCode(t, err, onceward.CodeForbidden)
		_, err = w.ledger.BulkReplay(t.Context(), inTenant(olga, "rival"), first.ID)
		wantCode(t, err, onceward.CodeReplayNotFound)
	})
}

func TestBulkReplayGoesOnAfterACrashAndReplaysNothingTwice(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"bulk.after_choice", "bulk.before_commit"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, onceFailing(), func(t *testing.T, w *world) {
				ops := w.failing(3)
				doomed := w.doomed(point)
				id := w.bulk(onceward.BulkRequest{}).ID
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = doomed.ledger.StepBulkReplays(t.Context())
				}()
				await(t, ended, "the crash")
				if !doomed.dead.Load() {
					t.Fatal("it never came to its crash point")
				}
				if point == "bulk.before_commit" { // what it replayed fails again: it must not be replayed for that
					w.provider.Script(oncewardtest.FaultInvalid)
					w.work()
				}
				if worked, err := w.ledger.StepBulkReplays(t.Context()); worked || err != nil {
					t.Fatalf("another replica goes on before the first is taken for dead: %v", err)
				}
				w.clock.Advance(3 * time.Minute)
				done := w.carryOut(id)
				if len(done.Results) != 3 {
					t.Fatalf("the results are %+v", done.Results)
				}
				w.work()
				w.wantReplays(ops, 1)
				w.wantWrites(6)
			})
		})
	}
}

func TestReplicasCarryOutABulkReplayTogetherAtItsRate(t *testing.T) {
	t.Parallel()
	onEachStore(t, onceFailing(), func(t *testing.T, w *world) {
		ops := w.failing(4)
		other := w.another()
		id := w.bulk(onceward.BulkRequest{Rate: 30}).ID
		for n := range 4 {
			for range 2 {
				var both sync.WaitGroup
				for _, r := range []*replica{w.replica, other} {
					both.Go(func() { _, _ = r.ledger.StepBulkReplays(t.Context()) })
				}
				both.Wait()
			}
			b, err := w.ledger.BulkReplay(t.Context(), olga, id)
			if err != nil || len(b.Results) != n+1 {
				t.Fatalf("%d operations after %d times 2s, %v", len(b.Results), n, err)
			}
			w.clock.Advance(2 * time.Second)
		}
		w.carryOut(id)
		w.wantReplays(ops, 1)
	})
}

func TestBulkReplayLeavesAloneWhatNeedsAConfirmationUnlessThePlanIsConfirmed(t *testing.T) {
	t.Parallel()
	onEachStore(t, fax(), func(t *testing.T, w *world) {
		op := w.inReview(`{"id":"a"}`)
		w.clock.Advance(time.Second)
		left := w.carryOut(w.bulk(onceward.BulkRequest{}).ID)
		if left.Count(onceward.BulkConfirm) != 1 {
			t.Fatalf("the results are %+v", left.Results)
		}
		w.want(op, onceward.StateNeedsReview, 1)
		plan := w.carryOut(w.bulk(onceward.BulkRequest{DryRun: true}).ID)
		_, err := w.ledger.StartBulkReplay(t.Context(), olga, onceward.BulkRequest{Plan: plan.ID, Confirm: "yes", Reason: "r"})
		wantCode(t, err, onceward.CodeConfirmationNeeded)
		_, err = w.ledger.StartBulkReplay(t.Context(), olga, onceward.BulkRequest{Plan: left.ID, Reason: "r"})
		wantCode(t, err, onceward.CodeStateForbids)
		newer := w.inReview(`{"id":"b"}`) // it is not in the plan
		done := w.carryOut(w.bulk(onceward.BulkRequest{Plan: plan.ID, Confirm: plan.Sentence()}).ID)
		if done.Count(onceward.BulkReplayed) != 1 || len(done.Results) != 1 {
			t.Fatalf("the results are %+v", done.Results)
		}
		w.work()
		w.want(op, onceward.StateSucceeded, 3)
		w.want(newer, onceward.StateNeedsReview, 3)
	})
}

func TestCancelledBulkReplayTakesOnNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onceFailing())
	ops := w.failing(2)
	id := w.bulk(onceward.BulkRequest{}).ID
	if _, err := w.ledger.StepBulkReplays(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b, err := w.ledger.CancelBulkReplay(t.Context(), olga, id); err != nil || b.State != onceward.BulkCancelled {
		t.Fatal(b, err)
	}
	w.clock.Advance(time.Hour)
	if b := w.carryOut(id); len(b.Results) != 1 {
		t.Fatalf("the results are %+v", b.Results)
	}
	w.wantReplays(ops[:1], 0) // the newest is taken on first
}

// issued is a principal who came with a token of his own.
func (w *world) issued(subject string, roles ...onceward.Role) (onceward.Principal, onceward.TokenID) {
	w.t.Helper()
	tok, secret, err := w.ledger.IssueToken(w.t.Context(), onceward.LocalPrincipal(), onceward.TokenRequest{Subject: subject, Scope: onceward.Scope{Roles: roles}, Lifetime: time.Hour})
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := w.ledger.Authenticate(w.t.Context(), secret)
	if err != nil {
		w.t.Fatal(err)
	}
	return p, tok.ID
}

func TestBulkReplayStopsOnceWhoeverAskedMayNotReplayAnyMore(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *world, id onceward.TokenID){
		"the token is revoked": func(w *world, id onceward.TokenID) {
			if _, err := w.ledger.RevokeToken(w.t.Context(), onceward.LocalPrincipal(), id); err != nil {
				w.t.Fatal(err)
			}
		},
		"the token expires": func(w *world, _ onceward.TokenID) { w.clock.Advance(2 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, onceFailing(), func(t *testing.T, w *world) {
				ops := w.failing(2)
				p, token := w.issued("nightly", onceward.RoleOperator)
				p.Tenant = olga.Tenant
				b, err := w.ledger.StartBulkReplay(t.Context(), p, onceward.BulkRequest{Reason: "the line is repaired"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.ledger.StepBulkReplays(t.Context()); err != nil {
					t.Fatal(err)
				}
				lose(w, token)
				w.clock.Advance(time.Minute)
				done := w.carryOut(b.ID)
				if done.State != onceward.BulkCancelled || len(done.Results) != 1 || !strings.Contains(done.Why, string(token)) {
					t.Fatalf("it is %s (%s) with %+v", done.State, done.Why, done.Results)
				}
				w.wantReplays(ops[:1], 0)
			})
		})
	}
}

func TestOutageOfTheLedgerIsNoVerdictOfABulkReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onceFailing())
	ops := w.failing(1)
	id := w.bulk(onceward.BulkRequest{}).ID
	w.store.BeforeCommit(func([]onceward.Change) { w.store.GoAway() })
	if _, err := w.ledger.StepBulkReplays(t.Context()); !onceward.Is(err, onceward.CodeLedgerUnavailable) {
		t.Fatalf("stepping while the ledger is away: %v", err)
	}
	w.store.BeforeCommit(nil)
	w.store.ComeBack()
	w.clock.Advance(3 * time.Minute)
	done := w.carryOut(id)
	if done.Count(onceward.BulkReplayed) != 1 || len(done.Results) != 1 {
		t.Fatalf("the results are %+v", done.Results)
	}
	w.wantReplays(ops, 1)
}

func TestBulkReplaysAreListedNewestFirstToTheirTenant(t *testing.T) {
	t.Parallel()
	onEachStore(t, onceFailing(), func(t *testing.T, w *world) {
		var want []onceward.BulkReplayID
		for i := range 3 {
			want = append([]onceward.BulkReplayID{w.bulk(onceward.BulkRequest{Reason: fmt.Sprint("reason ", i)}).ID}, want...)
			w.clock.Advance(time.Second)
		}
		var got []onceward.BulkReplayID
		var after onceward.BulkCursor
		for {
			page, err := w.ledger.ListBulkReplays(t.Context(), olga, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range page {
				got = append(got, b.ID)
				after = onceward.BulkCursor{CreatedAt: b.CreatedAt, ID: b.ID}
			}
			if len(page) < 2 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("listed are %v, want %v", got, want)
		}
		if page, err := w.ledger.ListBulkReplays(t.Context(), inTenant(olga, "rival"), onceward.BulkCursor{}, 10); err != nil || len(page) != 0 {
			t.Fatalf("another tenant sees %v (%v)", page, err)
		}
		_, err := w.ledger.ListBulkReplays(t.Context(), ann, onceward.BulkCursor{}, 10)
		wantCode(t, err, onceward.CodeForbidden)
	})
}
