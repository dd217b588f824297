package onceward_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// watched lets a test look at each write before it goes to the provider.
type watched struct {
	onceward.Provider
	see func(req *onceward.Request)
}

func (p watched) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	if opts.Write {
		p.see(req)
	}
	return p.Provider.Send(ctx, req, opts)
}

func TestTwoHundredFirstRequestsMakeOneDispatch(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		processes := []*replica{w.replica, w.another(), w.another()}
		slow := w.provider.HoldFirstByte()
		answers := make([]*onceward.Answer, 200)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				a, err := processes[i%3].submit(`{"id":"a"}`, waiting(time.Minute))
				if err != nil {
					t.Error(err)
					return
				}
				answers[i] = a
			})
		}
		held(t, slow)
		slow.Release()
		all.Wait()
		fresh := 0
		for _, a := range answers {
			if a == nil || a.Operation.State != onceward.StateSucceeded || a.Operation.Reference != answers[0].Operation.Reference {
				t.Fatalf("an answer is %+v", a)
			}
			if a.Decision == onceward.DecisionFresh {
				fresh++
			}
		}
		if fresh != 1 {
			t.Fatalf("%d answers are fresh, want 1", fresh)
		}
		w.wantWrites(1)
	})
}

func TestNothingIsSentBeforeTheClaimIsCommitted(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		outside := w.handle()
		defer func() { _ = outside.Close() }()
		sent := 0
		r := w.another(func(o *onceward.Options) {
			o.Provider = watched{w.provider, func(*onceward.Request) {
				sent++
				ops, err := outside.Load(t.Context(), []onceward.OperationID{onceward.NewOperationID(onceward.DefaultTenant, "t.write", "a")})
				if err != nil || ops[0] == nil || ops[0].State != onceward.StateEffectPending || ops[0].Running() == nil || ops[0].Attempt() != sent {
					t.Errorf("at the write of attempt %d another process reads %+v, %v", sent, ops, err)
				}
			}}
		})
		r.store.BeforeCommit(func(batch []onceward.Change) {
			if starts := batch[0].After.Running() != nil; starts && w.provider.Writes() >= batch[0].After.Attempt() {
				t.Errorf("attempt %d was sent before it was committed", batch[0].After.Attempt())
			}
		})
		w.provider.Script(oncewardtest.FaultErrorAfter)
		a := r.ask(`{"id":"a"}`)
		r.pass(3 * time.Second)
		r.want(a.Operation, onceward.StateSucceeded, 1)
		if sent != 2 {
			t.Fatalf("%d attempts were made, want 2", sent)
		}
	})
}

func TestALedgerThatCannotRecordSendsNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name  string
		code  onceward.Code
		spoil func(s *oncewardtest.FaultyStore)
	}{
		{"Unreachable", onceward.CodeLedgerUnavailable, (*oncewardtest.FaultyStore).GoAway},
		{"ReadOnly", onceward.CodeLedgerReadOnly, (*oncewardtest.FaultyStore).GoReadOnly},
		{"LostBeforeTheCommit", onceward.CodeLedgerUnavailable, func(s *oncewardtest.FaultyStore) { s.ScriptCommits(oncewardtest.CommitRefused) }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
				fault.spoil(w.store)
				_, err := w.try(`{"id":"a"}`)
				wantCode(t, err, fault.code)
				if got := w.provider.Writes() + w.provider.Stopped(); got != 0 {
					t.Fatalf("the provider was called %d times", got)
				}
				w.store.ComeBack()
				a := w.ask(`{"id":"a"}`)
				if a.Decision != onceward.DecisionFresh {
					t.Fatalf("the repeat is %s, want fresh: the first left something behind", a.Decision)
				}
				w.want(a.Operation, onceward.StateSucceeded, 1)
			})
		})
	}
}

func TestAReadOnlyLedgerAnswersWhatItKnows(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		a := w.ask(`{"id":"a"}`)
		w.store.GoReadOnly()
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

func TestARejectedDuplicateLeavesTheOwnersRecordUntouched(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		other := w.another()
		slow := w.provider.HoldAnswer()
		first, err := w.submit(`{"id":"a","n":1}`)
		if err != nil {
			t.Fatal(err)
		}
		held(t, slow)
		before := w.get(first.Operation.ID)
		for _, r := range []*replica{w.replica, other} {
			_, err = r.submit(`{"id":"a","n":2}`)
			wantCode(t, err, onceward.CodeKeyReused)
			_, err = r.submit(`{"id":"a","n":1}`, func(in *onceward.Intent) { in.OnDuplicate = onceward.DuplicateFail })
			wantCode(t, err, onceward.CodeDuplicate)
			_, err = r.submit(`{"id":"a","n":1}`, func(in *onceward.Intent) { in.OnDuplicate = onceward.DuplicateFailIfRunning })
			wantCode(t, err, onceward.CodeStillRunning)
		}
		if diff := cmp.Diff(before, other.get(first.Operation.ID)); diff != "" {
			t.Fatalf("the owner's record changed (-before +after):\n%s", diff)
		}
		slow.Release()
		w.quiet()
		w.want(first.Operation, onceward.StateSucceeded, 1)
		_, err = w.submit(`{"id":"a","n":2}`)
		wantCode(t, err, onceward.CodeKeyReused)
		w.wantWrites(1)
	})
}

func TestAWaiterThatTimesOutLeavesTheClaimUntouched(t *testing.T) {
	t.Parallel()
	long := func(i *onceward.ToolInfo) { i.Policy.Lease = time.Minute }
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, long), func(t *testing.T, w *world) {
		other := w.another()
		slow := w.provider.HoldAnswer()
		first, err := w.submit(`{"id":"a"}`)
		if err != nil {
			t.Fatal(err)
		}
		held(t, slow)
		before := w.get(first.Operation.ID)
		for _, r := range []*replica{w.replica, other} {
			waits := w.clock.NextTimer()
			answered := make(chan *onceward.Answer, 1)
			go func() {
				a, err := r.submit(`{"id":"a"}`, waiting(10*time.Second))
				if err != nil {
					t.Error(err)
				}
				answered <- a
			}()
			await(t, waits, "the waiter's timer")
			w.clock.Advance(10 * time.Second)
			if a := await(t, answered, "the waiter's answer"); a == nil || a.Decision != onceward.DecisionJoined || a.Operation.State != onceward.StateEffectPending || a.RetryAfter <= 0 {
				t.Fatalf("the waiter got %+v", a)
			}
		}
		if diff := cmp.Diff(before, w.get(first.Operation.ID)); diff != "" {
			t.Fatalf("the owner's claim changed (-before +after):\n%s", diff)
		}
		slow.Release()
		w.quiet()
		w.want(first.Operation, onceward.StateSucceeded, 1)
	})
}

func TestTheCallerHangsUpAndTheRecordIsKept(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		for _, key := range []string{"while it is sent", "while it is claimed"} {
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			slow := w.provider.HoldAnswer()
			if key == "while it is claimed" {
				w.store.BeforeCommit(func([]onceward.Change) { hangUp() })
			}
			gone := make(chan error, 1)
			go func() {
				_, err := w.ledger.Submit(ctx, onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: fmt.Appendf(nil, `{"id":%q}`, key), Wait: time.Minute})
				gone <- err
			}()
			held(t, slow)
			hangUp()
			wantCode(t, await(t, gone, "the caller's end"), onceward.CodeCanceled)
			w.store.BeforeCommit(nil)
			slow.Release()
			w.quiet()
			again := w.ask(fmt.Sprintf(`{"id":%q}`, key))
			if again.Decision != onceward.DecisionReplayed || again.Operation.State != onceward.StateSucceeded {
				t.Fatalf("hung up %s: the repeat is %s, %s", key, again.Decision, again.Operation.State)
			}
		}
		w.wantWrites(2)
	})
}

func TestARefusedRequestLeavesNoRecord(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		for _, bad := range []struct {
			input string
			edit  func(*onceward.Intent)
			code  onceward.Code
		}{
			{`{"id":"a"`, nil, onceward.CodeInvalidInput},
			{`{"id":"a","id":"a"}`, nil, onceward.CodeInvalidInput},
			{`{"text":"no key"}`, nil, onceward.CodeKeyMissing},
			{`{"id":"a"}`, func(in *onceward.Intent) { in.Tool = "t.unheard" }, onceward.CodeToolNotFound},
			{`{"id":"a"}`, waiting(61 * time.Second), onceward.CodeUnsupportedPolicy},
		} {
			edit := bad.edit
			if edit == nil {
				edit = func(*onceward.Intent) {}
			}
			_, err := w.submit(bad.input, edit)
			wantCode(t, err, bad.code)
			answers := w.ledger.SubmitBatch(t.Context(), []onceward.Intent{batchItem(bad.input, edit)})
			wantCode(t, answers[0].Err, bad.code)
		}
		ops, err := w.ledger.List(t.Context(), onceward.LocalPrincipal(), onceward.Filter{Limit: 10})
		if err != nil || len(ops) != 0 || w.store.Commits() != 0 {
			t.Fatalf("refused requests left %d records, %d commits, %v", len(ops), w.store.Commits(), err)
		}
	})
}

func batchItem(input string, edit func(*onceward.Intent)) onceward.Intent {
	in := onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: []byte(input)}
	edit(&in)
	return in
}

// The connection to the database breaks inside commits of claims and of
// outcomes, before and after they were written. Nobody's operation may run
// twice (an unsafe write would show it), or be lost.
func TestACommitThatBreaksDoublesAndLosesNothing(t *testing.T) {
	t.Parallel()
	inRealTime(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		breaks := []oncewardtest.CommitFault{oncewardtest.CommitLostWritten, oncewardtest.CommitLostUnwritten, oncewardtest.CommitSound,
			oncewardtest.CommitRefused, oncewardtest.CommitLostUnwritten, oncewardtest.CommitLostWritten}
		w.store.ScriptCommits(slices.Repeat(breaks, 5)...)
		const callers = 60
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				input := fmt.Sprintf(`{"id":"k%d"}`, i)
				a, err := w.submit(input, waiting(time.Minute))
				for onceward.Is(err, onceward.CodeLedgerUnavailable) || onceward.Is(err, onceward.CodeMayBeRecorded) {
					a, err = w.submit(input, waiting(time.Minute))
				}
				if err != nil || a.Operation.State != onceward.StateSucceeded {
					t.Errorf("%s: %+v, %v", input, a, err)
				}
			})
		}
		all.Wait()
		if w.provider.Writes() != callers || w.provider.Effects() != callers {
			t.Fatalf("%d writes and %d effects, want %d of each", w.provider.Writes(), w.provider.Effects(), callers)
		}
	})
}

func TestACommitThatStaysLostSaysThatItMayBeRecorded(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]oncewardtest.CommitFault{"Written": oncewardtest.CommitLostWritten, "Unwritten": oncewardtest.CommitLostUnwritten} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite), func(t *testing.T, w *world) {
				w.store.ScriptCommits(append([]oncewardtest.CommitFault{first}, slices.Repeat([]oncewardtest.CommitFault{oncewardtest.CommitRefused}, 100)...)...)
				next, told := w.clock.NextTimer(), make(chan error, 1)
				go func() {
					_, err := w.submit(`{"id":"a"}`)
					told <- err
				}()
				err := error(nil)
				for waits := true; waits; {
					select {
					case err = <-told:
						waits = false
					case <-next:
						next = w.clock.NextTimer()
						w.clock.Advance(time.Second)
					}
				}
				wantCode(t, err, onceward.CodeMayBeRecorded)
				w.wantWrites(0)
				w.store.ComeBack()
				a := w.ask(`{"id":"a"}`)
				wantDecision := map[string]onceward.Decision{"Written": onceward.DecisionJoined, "Unwritten": onceward.DecisionFresh}[name]
				if a.Decision != wantDecision {
					t.Fatalf("asked again, it is %s, want %s", a.Decision, wantDecision)
				}
				w.passSlowly(20*time.Second, 2*time.Second)
				w.want(a.Operation, onceward.StateSucceeded, 1)
				w.wantWrites(1)
			})
		})
	}
}
