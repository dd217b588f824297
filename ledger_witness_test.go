package onceward_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/witness"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/sqlite"
)

// restorable is a world whose ledger can be replaced by a backup of it.
type restorable struct {
	*world
	dir  string
	file string // the ledger's
	seen *witness.File
}

func newRestorable(t *testing.T, tool *oncewardtest.Tool) *restorable {
	t.Helper()
	r := &restorable{dir: t.TempDir()}
	r.file = filepath.Join(r.dir, "ledger.db")
	var err error
	if r.seen, err = witness.Open(filepath.Join(r.dir, "witness")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.seen.Close(); err != nil {
			t.Error(err)
		}
	})
	db := database{"sqlite", func(t testing.TB, now func() time.Time) func() onceward.Store {
		return func() onceward.Store { return onSQLiteAt(r.file).open(t, now)() } // the file of now: what is restored is another
	}}
	r.world = newWorldOn(t, db, oncewardtest.NewClock(), tool, r.witnessed)
	return r
}

func (r *restorable) witnessed(o *onceward.Options) { o.Witness = r.seen }

// backup copies the ledger as it is now.
func (r *restorable) backup() (file string) {
	r.t.Helper()
	s := r.handle().(*sqlite.Store)
	file = filepath.Join(r.dir, "backup.db")
	if err := s.Backup(r.t.Context(), file); err != nil {
		r.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		r.t.Fatal(err)
	}
	return file
}

// restore ends the process, and starts another one, with a witness and these
// options, on the backup.
func (r *restorable) restore(backup string, opts ...worldOption) {
	r.t.Helper()
	r.kill()
	r.file = filepath.Join(r.dir, "restored.db")
	if err := sqlite.Restore(r.t.Context(), backup, r.file, nil); err != nil {
		r.t.Fatal(err)
	}
	r.clock.Advance(time.Hour)
	r.world.replica = r.another(append(opts, r.witnessed)...)
}

// recovered opens the ledger again by a person's word, through a process.
func (r *replica) recovered(cleared ...onceward.ToolName) {
	r.t.Helper()
	ctx, p := r.t.Context(), onceward.LocalPrincipal()
	plan, err := r.ledger.PlanRecovery(ctx, p.Tenant)
	if err != nil {
		r.t.Fatal(err)
	}
	if plan.Refused != nil {
		_, err = r.ledger.Recover(ctx, p, plan, "the disk died", "yes", cleared)
		if !onceward.Is(err, onceward.CodeConfirmationNeeded) {
			r.t.Fatalf("recovered without the sentence: %v", err)
		}
	}
	if _, err = r.ledger.Recover(ctx, p, plan, "the disk died", plan.Sentence, cleared); err != nil {
		r.t.Fatal(err)
	}
}

func TestLedgerThatIsOlderThanItsDispatchesIsNotWrittenUntilSomebodyRecoversIt(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	before := w.ask(`{"id":"before"}`).Operation
	backup := w.backup()
	w.clock.Advance(time.Minute)
	lost := w.ask(`{"id":"lost"}`).Operation
	w.restore(backup)
	if err := w.ledger.Check(t.Context()); !onceward.Is(err, onceward.CodeLedgerBehind) {
		t.Fatalf("the ledger is ready: %v", err)
	}
	for _, input := range []string{`{"id":"lost"}`, `{"id":"new"}`} {
		if _, err := w.submit(input); !onceward.Is(err, onceward.CodeLedgerBehind) {
			t.Errorf("%s is answered %v", input, err)
		}
	}
	w.want(before, onceward.StateSucceeded, 2)
	w.wantWrites(2)
	beside := w.another(w.witnessed)
	plan, err := w.ledger.PlanRecovery(t.Context(), onceward.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Lost) != 1 || plan.Lost[0].Operation != lost.ID || plan.Lost[0].Tool != "t.write" {
		t.Errorf("what is missing is %+v, want %s", plan.Lost, lost.ID)
	}
	if want := before.CompletedAt; !plan.Since.Equal(want) {
		t.Errorf("the gap begins at %s, want the last change, %s", plan.Since, want)
	}
	w.recovered()
	beside.work()
	if err := beside.ledger.Check(t.Context()); err != nil {
		t.Errorf("the other process does not see that the ledger was recovered: %v", err)
	}
	if n := w.noted(onceward.AuditLedgerRecovered); n != 1 {
		t.Errorf("%d lines of the trail tell of the recovery", n)
	}
	if err := w.another(w.witnessed).ledger.Check(t.Context()); err != nil {
		t.Errorf("a process that starts afterwards is not ready: %v", err)
	}
}

func TestLostOperationThatIsAskedForAgainHasNoSecondEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		effect onceward.EffectClass
		state  onceward.State
		writes int // in all
	}{
		{"keyed", onceward.EffectKeyedWrite, onceward.StateSucceeded, 3},
		{"probed", onceward.EffectProbedWrite, onceward.StateSucceeded, 2},
		{"unsafe", onceward.EffectUnsafeWrite, onceward.StateNeedsReview, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newRestorable(t, oncewardtest.NewTool("t.write", c.effect))
			w.ask(`{"id":"before"}`)
			backup := w.backup()
			w.clock.Advance(time.Minute)
			w.ask(`{"id":"lost"}`)
			w.restore(backup)
			w.recovered()
			again := w.ask(`{"id":"lost"}`).Operation
			w.passSlowly(4*time.Hour, time.Minute)
			w.want(again, c.state, 2)
			w.wantWrites(c.writes)
		})
	}
}

func TestOperationThatWaitedAtTheBackupAndWasDoneSinceHasNoSecondEffect(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "wait"); err != nil {
		t.Fatal(err)
	}
	waits := w.ask(`{"id":"waits"}`).Operation
	backup := w.backup()
	resume := func() {
		if _, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil {
			t.Fatal(err)
		}
		w.passSlowly(2*time.Hour, time.Minute)
	}
	resume()
	w.want(waits, onceward.StateSucceeded, 1)
	w.restore(backup)
	w.recovered()
	resume()
	w.want(waits, onceward.StateSucceeded, 1)
	w.wantWrites(1)
}

// It waited at the backup, and was done since. What ends it after the restore, be it a
// person or its age, does not make it one without an effect.
func TestOperationThatWaitedAtTheBackupIsNotCalledCancelledBeforeItIsLookedUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *restorable, waits *onceward.Operation){
		"cancelled": func(w *restorable, waits *onceward.Operation) {
			if _, err := w.ledger.Cancel(w.t.Context(), onceward.LocalPrincipal(), waits.ID, "not wanted"); err != nil {
				w.t.Fatal(err)
			}
		},
		"too old": func(w *restorable, _ *onceward.Operation) { w.clock.Advance(4 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.NotAfter = 3 * time.Hour }))
			if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "wait"); err != nil {
				t.Fatal(err)
			}
			waits, never := w.ask(`{"id":"waits"}`).Operation, w.ask(`{"id":"never"}`).Operation
			backup := w.backup()
			if _, err := w.ledger.Cancel(t.Context(), onceward.LocalPrincipal(), never.ID, "not wanted"); err != nil {
				t.Fatal(err)
			}
			if _, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil {
				t.Fatal(err)
			}
			w.work()
			w.want(waits, onceward.StateSucceeded, 1)
			w.restore(backup)
			w.recovered()
			end(w, waits)
			end(w, never)
			w.passSlowly(2*time.Hour, time.Minute)
			w.want(waits, onceward.StateSucceeded, 1)
			w.want(never, onceward.StateCancelled, 1)
			w.wantWrites(1)
		})
	}
}

func TestNewOperationAfterARestoreIsLookedUpFirstAndThenMade(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Horizon = 24 * time.Hour }))
	backup := w.backup()
	w.ask(`{"id":"lost"}`)
	w.restore(backup)
	w.recovered()
	fresh := w.ask(`{"id":"fresh"}`).Operation
	w.passSlowly(2*time.Hour, time.Minute)
	w.want(fresh, onceward.StateSucceeded, 2)
	if w.provider.Probes() == 0 {
		t.Error("it was not looked up before it was made")
	}
	w.clock.Advance(25 * time.Hour)
	probes := w.provider.Probes()
	later := w.ask(`{"id":"later"}`).Operation
	w.want(later, onceward.StateSucceeded, 3)
	if w.provider.Probes() != probes {
		t.Error("past the horizon no duplicate can arrive, and it was looked up all the same")
	}
}

// shop is a program that writes its own rows into the ledger's file as it is now.
func (r *restorable) shop() *shop {
	return newShop(r.t.(*testing.T), r.world, besideSQLite(r.t.(*testing.T), r.file), sqlite.InTx)
}

func TestNothingIsRecordedInACallersTransactionWhileTheLedgerIsBehind(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	before := w.ask(`{"id":"before"}`).Operation
	backup := w.backup()
	w.ask(`{"id":"lost"}`)
	w.restore(backup)
	s := w.shop()
	err := s.in(func(ctx context.Context, _ *sql.Tx, j onceward.Join) error {
		_, err := s.ledger.SubmitIn(ctx, j, invoice("a"))
		return err
	})
	if !onceward.Is(err, onceward.CodeLedgerBehind) {
		t.Fatalf("the submission got %v", err)
	}
	plan, err := w.ledger.PlanRecovery(t.Context(), onceward.DefaultTenant)
	if err != nil || !plan.Since.Equal(before.CompletedAt) {
		t.Fatalf("the gap begins at %v (%v), want the last change of before, %s", plan, err, before.CompletedAt)
	}
}

func TestLocalEffectThatMayHaveBeenMadeInAGapIsNotMade(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, remote(onceward.EffectUnsafeWrite))
	if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "wait"); err != nil {
		t.Fatal(err)
	}
	w.claim("token-of-the-first")
	backup := w.backup()
	resume := func() {
		if _, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil {
			t.Fatal(err)
		}
	}
	resume()
	if g := w.claim("token-of-the-second"); g.Secret == "" {
		t.Fatalf("nobody may perform it: it is %s", g.Operation.State)
	}
	w.restore(backup)
	w.recovered()
	resume()
	s := w.shop()
	if a, err := s.sell("a", nil); err != nil || a.Operation.State != onceward.StateOutcomeUnknown || s.booked() != 0 {
		t.Fatalf("the sale got %+v, %v; %d rows", a, err, s.booked())
	}
}

func TestToolThatSomebodyClearedStartsAsEver(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite))
	backup := w.backup()
	w.ask(`{"id":"lost"}`)
	w.restore(backup)
	w.recovered()
	a := w.ask(`{"id":"a"}`).Operation
	w.pass(time.Minute)
	w.want(a, onceward.StateNeedsReview, 1)
	w.recovered("t.write")
	w.want(w.ask(`{"id":"b"}`).Operation, onceward.StateSucceeded, 2)
}

func TestLostOperationWhoseProviderKeyDependsOnTheTimeIsRefused(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, func(i *onceward.ToolInfo) {
		i.KeepRecord, i.KeepTombstone = 24*time.Hour, 24*time.Hour
	}))
	known := w.ask(`{"id":"known"}`).Operation
	backup := w.backup()
	w.ask(`{"id":"lost"}`)
	w.restore(backup)
	w.recovered()
	if again := w.ask(`{"id":"known"}`); again.Decision != onceward.DecisionReplayed || again.Operation.ID != known.ID {
		t.Errorf("what the ledger knows is answered %s", again.Decision)
	}
	if _, err := w.submit(`{"id":"lost"}`); !onceward.Is(err, onceward.CodeLedgerBehind) {
		t.Fatalf("it is answered %v", err)
	}
	s := w.shop()
	err := s.in(func(ctx context.Context, _ *sql.Tx, j onceward.Join) error {
		_, err := s.ledger.SubmitIn(ctx, j, invoice("lost"))
		return err
	})
	wantCode(t, err, onceward.CodeLedgerBehind)
	w.recovered("t.write")
	if _, err := w.submit(`{"id":"new"}`); err != nil {
		t.Error(err)
	}
}

// Its tombstone was dropped after the backup, and the key was a first use again: under
// another provider key than its next use would have.
func TestRetiredKeyThatMayHaveBeenForgottenAndUsedIsRefused(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite, reusable, func(i *onceward.ToolInfo) { i.KeepTombstone = kept }))
	w.ask(`{"id":"a"}`)
	w.clock.Advance(kept + time.Hour)
	w.retire()
	backup := w.backup()
	w.clock.Advance(kept + time.Hour)
	w.retire()
	w.ask(`{"id":"a"}`)
	w.wantWrites(2)
	w.restore(backup)
	w.recovered()
	_, err := w.submit(`{"id":"a"}`)
	wantCode(t, err, onceward.CodeLedgerBehind)
	w.wantWrites(2)
}

func TestLedgerThatKnowsItsDispatchesIsWritten(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	w.provider.Script(oncewardtest.FaultRequestLost)
	op := w.ask(`{"id":"a"}`).Operation
	w.passSlowly(2*time.Hour, time.Minute)
	w.want(op, onceward.StateSucceeded, 1)
	w.restart(w.witnessed)
	if err := w.ledger.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNothingIsSentThatTheWitnessDoesNotSee(t *testing.T) {
	t.Parallel()
	blind := &blindWitness{err: onceward.Errorf(onceward.CodeLedgerUnavailable, "the disk is full")}
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(o *onceward.Options) { o.Witness = blind })
	op := w.ask(`{"id":"a"}`).Operation
	w.wantWrites(0)
	if op.State != onceward.StateReady {
		t.Errorf("the operation is %s", op.State)
	}
	blind.err = nil
	w.pass(time.Hour)
	w.want(op, onceward.StateSucceeded, 1)
}

type blindWitness struct{ err error }

func (b *blindWitness) See(onceward.Dispatched) error      { return b.err }
func (*blindWitness) Seen() ([]onceward.Dispatched, error) { return nil, nil }
