package onceward_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

const kept = 24 * time.Hour

func keptForADay(i *onceward.ToolInfo) { i.KeepRecord = kept }

func reusable(i *onceward.ToolInfo) { i.KeepRecord, i.Policy.KeyReusable = kept, true }

// retire lets the retention loop walk the whole ledger.
func (r *replica) retire() (slimmed int) {
	r.t.Helper()
	for from := (onceward.Cursor{}); ; {
		next, n, err := r.ledger.RetireStep(r.t.Context(), from, 10)
		if err != nil {
			r.t.Fatal(err)
		}
		slimmed += n
		if from = next; next == (onceward.Cursor{}) {
			return slimmed
		}
	}
}

func TestATombstoneRefusesAndSaysWhatItKnows(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, keptForADay), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a","card":"4111"}`)
		w.clock.Advance(kept - time.Second)
		if n := w.retire(); n != 0 {
			t.Fatalf("%d records were slimmed before their time", n)
		}
		w.clock.Advance(2 * time.Second)
		if n := w.retire(); n != 1 {
			t.Fatalf("%d records were slimmed, want 1", n)
		}
		for _, input := range []string{`{"id":"a","card":"4111"}`, `{"id":"a","card":"other"}`} {
			_, err := w.try(input)
			wantCode(t, err, onceward.CodeKeyRetired)
			if text := err.Error(); !strings.Contains(text, first.Operation.Reference) || !strings.Contains(text, "succeeded") || !strings.Contains(text, first.Operation.CreatedAt.Format(time.RFC3339)) {
				t.Fatalf("it says %q", text)
			}
		}
		op := w.get(first.Operation.ID)
		if !op.Retired || op.State != onceward.StateSucceeded || op.Input != nil || op.Result != nil || op.Digest != first.Operation.Digest || op.Attempts != nil {
			t.Fatalf("the tombstone is %+v", op)
		}
		w.wantWrites(1)
	})
}

func TestWhatIsNotTerminalNeverExpires(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, keptForADay), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultRequestLost)
		reviewed := w.ask(`{"id":"a"}`)
		w.pass(time.Second)
		if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "maintenance"); err != nil {
			t.Fatal(err)
		}
		parked := w.ask(`{"id":"b"}`)
		w.pass(365 * 24 * time.Hour)
		if n := w.retire(); n != 0 {
			t.Fatalf("%d records were slimmed", n)
		}
		w.want(reviewed.Operation, onceward.StateNeedsReview, 0)
		w.want(parked.Operation, onceward.StateReady, 0)
	})
}

// Every way back to life of an old record races its slimming: it is refused, or
// it happened first, and never is there a second live operation.
func TestWhateverRacesTheSlimmingOfARecordIsRefusedOrFirst(t *testing.T) {
	t.Parallel()
	type act func(r *replica, op *onceward.Operation) error
	ask := func(r *replica, _ *onceward.Operation) error { _, err := r.submit(`{"id":"a"}`); return err }
	for name, c := range map[string]struct {
		fault oncewardtest.Fault
		word  *onceward.Resolution
		act   act
	}{
		"RequestOfADoneOne":          {oncewardtest.FaultNone, nil, ask},
		"RequestThatBuysAnAttempt":   {oncewardtest.FaultRateLimited, nil, ask},
		"ReplayOfAFailedOne":         {oncewardtest.FaultInvalid, nil, replay},
		"ReplayOfAnAbandonedOne":     {oncewardtest.FaultRequestLost, new(onceward.ResolvedAbandoned), replay},
		"ResolutionOfAnAbandonedOne": {oncewardtest.FaultRequestLost, new(onceward.ResolvedAbandoned), notPerformed},
		"ForkOfADoneOne": {oncewardtest.FaultNone, nil, func(r *replica, op *onceward.Operation) error {
			_, err := r.fork(op, "b", "ordered twice", "")
			return err
		}},
		"LookUpOfAnAbandonedOne": {oncewardtest.FaultAnswerLost, new(onceward.ResolvedAbandoned), func(r *replica, op *onceward.Operation) error {
			_, err := r.ledger.Reconcile(r.t.Context(), onceward.LocalPrincipal(), op.ID)
			return err
		}},
		"CancelOfWhatHasBeenSettled": {oncewardtest.FaultInvalid, nil, func(r *replica, op *onceward.Operation) error {
			_, err := r.ledger.Cancel(r.t.Context(), onceward.LocalPrincipal(), op.ID, "late")
			return err
		}},
		"ProofOfTheEffectOfAnOldCall": {oncewardtest.FaultInvalid, nil, func(r *replica, op *onceward.Operation) error {
			_, err := r.ledger.Prove(r.t.Context(), onceward.LocalPrincipal(), op.ID, "eff_9", "report")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, keptForADay, func(i *onceward.ToolInfo) { i.Policy.MaxAttempts = 1 })
			onEveryStore(t, tool, func(t *testing.T, w *world) {
				w.provider.Script(c.fault)
				a := w.ask(`{"id":"a"}`)
				if c.word != nil {
					if _, err := w.ledger.Resolve(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, onceward.Resolved{Outcome: *c.word, Reason: "not worth it"}); err != nil {
						t.Fatal(err)
					}
				}
				w.clock.Advance(2 * kept)
				retires := w.another()
				slimmed := 0
				w.store.BeforeCommit(func(batch []onceward.Change) { // the row was read as it stood before
					if batch[0].After.State == onceward.StateReady || !strings.HasPrefix(name, "Replay") {
						w.store.BeforeCommit(nil)
						slimmed += retires.retire()
					}
				})
				err := c.act(w.replica, a.Operation)
				if slimmed == 0 {
					slimmed = retires.retire() // it had nothing to write
				}
				w.quiet()
				w.pass(time.Minute)
				op := w.get(a.Operation.ID)
				if name != "ForkOfADoneOne" && (slimmed != 1 || !op.Retired || !op.State.Terminal() || op.Attempts != nil) {
					t.Fatalf("slimmed %d: it is %s, retired %v, with attempts %+v (%v)", slimmed, op.State, op.Retired, op.Attempts, err)
				}
				if w.provider.Writes() > 1 && name != "ForkOfADoneOne" {
					t.Fatalf("%d writes reached the provider", w.provider.Writes())
				}
			})
		})
	}
}

func replay(r *replica, op *onceward.Operation) error {
	plan, err := r.ledger.PlanReplay(r.t.Context(), onceward.LocalPrincipal(), op.ID)
	if err != nil {
		return err
	}
	_, err = r.ledger.Replay(r.t.Context(), onceward.LocalPrincipal(), op.ID, "once more", plan.Sentence)
	return err
}

func notPerformed(r *replica, op *onceward.Operation) error {
	_, err := r.ledger.Resolve(r.t.Context(), onceward.LocalPrincipal(), op.ID, onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Retry: true, Reason: "asked the clerk"})
	return err
}

// The provider still knows the first use's key. The second use is a new effect,
// not the old one's answer, however many ask for it at once.
func TestARetiredKeyTakenAnewIsANewEffect(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, reusable), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a","n":1}`)
		w.clock.Advance(2 * kept)
		if n := w.retire(); n != 1 {
			t.Fatalf("%d records were slimmed", n)
		}
		processes := []*replica{w.replica, w.another()}
		answers := make([]*onceward.Answer, 10)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				var err error
				if answers[i], err = processes[i%2].submit(`{"id":"a","n":2}`); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, r := range processes {
			r.quiet()
		}
		fresh := 0
		for _, a := range answers {
			if a != nil && a.Decision == onceward.DecisionFresh {
				fresh++
			}
		}
		op := w.get(first.Operation.ID)
		if fresh != 1 || op.Generation != 1 || op.Reference == first.Operation.Reference || op.ProviderKey == first.Operation.ProviderKey {
			t.Fatalf("%d are fresh; generation %d has reference %q and provider key %q", fresh, op.Generation, op.Reference, op.ProviderKey)
		}
		w.want(op, onceward.StateSucceeded, 2)
		w.wantWrites(2)
		_, err := w.try(`{"id":"a","n":1}`)
		wantCode(t, err, onceward.CodeKeyReused)
	})
}

// The key rule changed after the first use, so that its record is found under
// its old key only: the second use takes that one anew.
func TestARetiredKeyOfAnEarlierRuleIsTakenAnew(t *testing.T) {
	t.Parallel()
	before, after := ruleChange()
	reusable(before.Info())
	reusable(after.Info())
	onEachStore(t, before, func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a","event":"e"}`)
		w.clock.Advance(2 * kept)
		w.retire()
		younger := w.process(t, after)
		second := younger.ask(`{"id":"a","event":"e","n":2}`)
		if second.Decision != onceward.DecisionFresh || second.Operation.ID != first.Operation.ID || second.Operation.Generation != 1 {
			t.Fatalf("the second use is %s, %s generation %d", second.Decision, second.Operation.ID, second.Operation.Generation)
		}
		younger.want(second.Operation, onceward.StateSucceeded, 2)
		if again := younger.ask(`{"id":"a","event":"e","n":2}`); again.Decision != onceward.DecisionReplayed {
			t.Fatalf("asked again, it is %s", again.Decision)
		}
	})
}

const tombstoned = 30 * 24 * time.Hour

func forgotten(i *onceward.ToolInfo) { i.KeepRecord, i.KeepTombstone = kept, tombstoned }

// The provider knows its keys for ever, and nothing here knows the first use any
// more: the next one is a new effect all the same.
func TestAfterItsTombstonesTimeAKeyIsFree(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, forgotten), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a","n":1}`).Operation
		w.provider.Script(oncewardtest.FaultInvalid)
		failed := w.ask(`{"id":"b"}`).Operation
		w.clock.Advance(kept)
		if n := w.retire(); n != 2 {
			t.Fatalf("%d records were slimmed", n)
		}
		w.clock.Advance(tombstoned - time.Second)
		if n := w.retire(); n != 0 {
			t.Fatalf("%d tombstones were dropped before their time", n)
		}
		_, err := w.try(`{"id":"a","n":2}`)
		wantCode(t, err, onceward.CodeKeyRetired)
		w.clock.Advance(2 * time.Second)
		if n := w.retire(); n != 2 {
			t.Fatalf("%d tombstones were dropped", n)
		}
		for _, op := range []*onceward.Operation{first, failed} {
			_, err := w.ledger.Get(t.Context(), onceward.LocalPrincipal(), op.ID, 0)
			wantCode(t, err, onceward.CodeOperationNotFound)
		}
		second := w.ask(`{"id":"a","n":2}`)
		if op := second.Operation; second.Decision != onceward.DecisionFresh || op.ID != first.ID || op.ProviderKey == first.ProviderKey || op.Reference == first.Reference {
			t.Fatalf("the second use is %s with provider key %q and reference %q", second.Decision, op.ProviderKey, op.Reference)
		}
		w.want(second.Operation, onceward.StateSucceeded, 2)
		_, err = w.try(`{"id":"a","n":1}`)
		wantCode(t, err, onceward.CodeKeyReused)
	})
}

// A contract that keeps tombstones for ever began the row with generation 0,
// which the next use under such a contract would have again.
func TestATombstoneOfAKeyThatBeganUncountedIsNeverDropped(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, reusable), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a"}`).Operation
		w.clock.Advance(kept)
		w.retire()
		ending := oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, reusable, func(i *onceward.ToolInfo) { i.KeepTombstone, i.Version, i.Source = tombstoned, "v2", []byte("ending") })
		younger := w.process(t, ending)
		if second := younger.ask(`{"id":"a"}`); second.Operation.Generation != first.Generation+1 {
			t.Fatalf("the second use has generation %d", second.Operation.Generation)
		}
		for range 3 {
			w.clock.Advance(kept + tombstoned)
			younger.retire()
		}
		if op := w.get(first.ID); !op.Retired {
			t.Fatalf("the second use is %s", op.State)
		}
	})
}

// The tombstone goes while a request takes its key anew: the request gets what it
// would have got a moment later.
func TestARequestThatRacesTheDropOfItsTombstoneIsFresh(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, forgotten, func(i *onceward.ToolInfo) { i.Policy.KeyReusable = true }), func(t *testing.T, w *world) {
		first := w.ask(`{"id":"a"}`).Operation
		w.clock.Advance(kept)
		w.retire()
		w.clock.Advance(tombstoned)
		other, dropped := w.another(), 0
		w.store.BeforeCommit(func([]onceward.Change) {
			w.store.BeforeCommit(nil)
			dropped = other.retire()
		})
		second := w.ask(`{"id":"a"}`)
		if op := second.Operation; dropped != 1 || second.Decision != onceward.DecisionFresh || op.ProviderKey == first.ProviderKey {
			t.Fatalf("%d dropped; the second use is %s, %s", dropped, second.Decision, op.State)
		}
		w.want(second.Operation, onceward.StateSucceeded, 2)
	})
}

func TestTombstonesAreListedByTheirState(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, keptForADay), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultInvalid)
		op := w.ask(`{"id":"a"}`).Operation
		w.clock.Advance(2 * kept)
		w.retire()
		for _, states := range [][]onceward.State{{op.State}, {op.State, onceward.StateSucceeded}, nil} {
			if ops, err := w.store.List(t.Context(), onceward.Filter{Tenant: op.Tenant, States: states, Limit: 10}); err != nil || len(ops) != 1 || !ops[0].Retired {
				t.Errorf("the listing of %v is %v, %v", states, ops, err)
			}
		}
	})
}

func TestWhatApproversWereShownIsKeptNoLongerThanItsRecord(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(keptForADay), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","card":"4111"}`).Operation
		show, err := w.ledger.ShowApproval(t.Context(), ann, op.ID)
		if err != nil {
			t.Fatal(err)
		}
		w.yes(ann, op)
		upload, err := w.ledger.AddDocument(t.Context(), onceward.DocumentRequest{Principal: onceward.LocalPrincipal(), MediaType: "text/plain", Body: []byte("invoice")})
		if err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(kept - time.Minute)
		w.retire()
		if _, err := w.ledger.Document(t.Context(), ann, show.Digest); err != nil {
			t.Fatalf("before its time: %v", err)
		}
		w.clock.Advance(time.Hour)
		if n := w.retire(); n != 1 {
			t.Fatalf("%d records were slimmed, want 1", n)
		}
		_, err = w.ledger.Document(t.Context(), ann, show.Digest)
		wantCode(t, err, onceward.CodeDocumentNotFound)
		if _, err := w.ledger.Document(t.Context(), ann, upload.Digest); err != nil {
			t.Fatalf("an upload, which other operations may name: %v", err)
		}
	})
}

// retireRuns lets the retention of runs walk all of them.
func (r *replica) retireRuns(keep time.Duration) (dropped int) {
	r.t.Helper()
	for from := (onceward.RunCursor{}); ; {
		next, n, err := r.ledger.RetireRunsStep(r.t.Context(), from, keep, 2)
		if err != nil {
			r.t.Fatal(err)
		}
		dropped += n
		if from = next; next == (onceward.RunCursor{}) {
			return dropped
		}
	}
}

func TestFinishedRunIsDroppedOnceItsTimeAndItsOperationsRecordsAreOver(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, func(i *onceward.ToolInfo) { i.KeepRecord = 3 * kept }), func(t *testing.T, w *world) {
		run, open := w.startRun("mail-1", ofVersion("1")), w.startRun("mail-2", ofVersion("1"))
		d := w.decide(run.ID, "classify", `{"a":1}`, pinning(`{"category":"ticket"}`))
		w.ask(`{"id":"a"}`, func(in *onceward.Intent) { in.Run = run.ID.String() })
		if _, err := w.ledger.FinishRun(t.Context(), onceward.LocalPrincipal(), run.ID, onceward.RunSucceeded, ""); err != nil {
			t.Fatal(err)
		}
		left := func(after time.Duration, want int) {
			t.Helper()
			w.clock.Advance(after)
			w.retire()
			if n := w.retireRuns(kept); n != want {
				t.Fatalf("%d runs were dropped, want %d", n, want)
			}
		}
		left(kept/2, 0) // its time is not over
		left(kept, 0)   // the record of its operation is there
		if n := w.retireRuns(0); n != 0 {
			t.Fatalf("%d runs were dropped where they are kept for ever", n)
		}
		left(2*kept, 1)
		_, err := w.ledger.Run(t.Context(), onceward.LocalPrincipal(), run.ID)
		wantCode(t, err, onceward.CodeRunNotFound)
		_, err = w.ledger.GetDecision(t.Context(), onceward.LocalPrincipal(), d.Step.ID)
		wantCode(t, err, onceward.CodeDecisionNotFound)
		if _, err := w.ledger.Run(t.Context(), onceward.LocalPrincipal(), open.ID); err != nil {
			t.Fatalf("a run that is open: %v", err)
		}
		_, err = w.try(`{"id":"a"}`) // its key is refused still
		wantCode(t, err, onceward.CodeKeyRetired)
	})
}

// A version that does not load any more keeps its own records and attempts as they
// are, and not those of others; it is said once.
func TestAVersionThatCannotBeReadHoldsUpNoOtherTool(t *testing.T) {
	t.Parallel()
	for _, code := range []onceward.Code{onceward.CodeContractInvalid, onceward.CodeConfigInvalid, onceward.CodeLedgerCorrupt} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			briefly := func(i *onceward.ToolInfo) { i.KeepRecord = time.Minute }
			w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, briefly))
			w.broken, w.beside = code, []onceward.Tool{oncewardtest.NewTool("t.other", onceward.EffectProbedWrite, briefly)}
			w.restart()
			ask := func(r *replica, tool onceward.ToolName, id string) *onceward.Operation {
				a, err := r.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: tool, Input: []byte(`{"id":"` + id + `"}`)})
				if err != nil {
					t.Fatal(err)
				}
				return a.Operation
			}
			ask(w.replica, "t.other", "a")
			ask(w.replica, "t.write", "a")
			w.quiet()
			dead := w.another(silent)
			ask(dead, "t.other", "b")
			w.clock.Advance(time.Second)
			left := ask(dead, "t.write", "b")
			dead.kill()
			w.beside = nil
			var log bytes.Buffer
			w.restart(func(o *onceward.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			for range 30 {
				w.clock.Advance(10 * time.Second)
				_, _ = w.ledger.Strand(t.Context(), 10) // it says what it could not read
			}
			if op := w.get(left.ID); op.State != onceward.StateOutcomeUnknown {
				t.Errorf("what the dead process left is %s", op.State)
			}
			retired := 0
			for range 3 {
				_, n, err := w.ledger.RetireStep(t.Context(), onceward.Cursor{}, 10)
				if err != nil {
					t.Fatal(err)
				}
				retired += n
			}
			if said := strings.Count(log.String(), "kept past their time"); retired != 1 || said != 1 {
				t.Errorf("%d retired, and it was said %d times", retired, said)
			}
		})
	}
}
