package onceward_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/sealed"
	"github.com/onceward/onceward/worker"
)

// encrypted is a tool whose bodies are the member "who"'s.
func encrypted(effect onceward.EffectClass, edit ...func(*onceward.ToolInfo)) *oncewardtest.Tool {
	t := oncewardtest.NewTool("t.write", effect, append(edit, func(i *onceward.ToolInfo) {
		i.Policy.KeepInput, i.KeepResult, i.Policy.KeepResult = onceward.KeepEncrypted, onceward.KeepEncrypted, onceward.KeepEncrypted
	})...)
	t.Subject = "who"
	return t
}

func ring(t testing.TB, keys ...string) *sealed.KeyRing {
	t.Helper()
	r, err := sealed.ParseKeyRing(strings.Join(keys, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sealing is a process with these master keys.
func sealing(t testing.TB, keys *sealed.KeyRing) worldOption {
	return sealingWith(t, sealed.Options{Keys: keys})
}

func sealingWith(t testing.TB, opts sealed.Options) worldOption {
	opts.Wait = func(context.Context, time.Duration) error { return nil }
	return func(o *onceward.Options) { // of several worlds at once
		s, err := sealed.Open(t.Context(), o.Store, opts)
		if err != nil {
			t.Fatal(err)
		}
		o.Store, o.Sealer, o.Writer = s, s, onceward.DirectWriter{Store: s}
	}
}

func (r *replica) shred(subject string) (*onceward.Shredding, error) {
	return r.ledger.ShredSubject(r.t.Context(), onceward.LocalPrincipal(), subject, "asked for by the person")
}

func (r *replica) shredded(subject string, keys int) {
	r.t.Helper()
	s, err := r.shred(subject)
	if err != nil || s.Keys != keys {
		r.t.Fatalf("shredding %s gives %+v, %v, want %d keys", subject, s, err, keys)
	}
}

func TestARepeatOfWhatWasShreddedIsAnsweredWithoutBodiesAndMakesNoSecondEffect(t *testing.T) {
	t.Parallel()
	onEachStore(t, encrypted(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		const ann, bob = `{"id":"a","who":"ann","card":"4111"}`, `{"id":"b","who":"bob","card":"4242"}`
		first, other := w.ask(ann), w.ask(bob)
		if op := w.get(first.Operation.ID); string(op.Input) == "" || op.Result == nil || !op.Result.BodyKept {
			t.Fatalf("before it was shredded it reads %+v", op)
		}
		w.shredded("ann", 1)
		w.shredded("ann", 0)
		again := w.ask(ann)
		op := again.Operation
		if again.Decision != onceward.DecisionReplayed || op.State != onceward.StateSucceeded || op.Reference != first.Operation.Reference || op.Digest != first.Operation.Digest ||
			!op.Shredded || op.Input != nil || op.Prints != nil || op.Result == nil || op.Result.BodyKept || op.Result.Body != nil || op.Result.Header != nil {
			t.Fatalf("the repeat is answered %s with %+v, result %+v", again.Decision, op, op.Result)
		}
		_, err := w.try(`{"id":"a","who":"ann","card":"9999"}`)
		wantCode(t, err, onceward.CodeKeyReused)
		if op := w.get(other.Operation.ID); op.Shredded || len(op.Input) == 0 {
			t.Fatalf("the other subject's reads %+v", op)
		}
		later := w.ask(`{"id":"c","who":"ann","card":"5"}`)
		if later.Operation.Shredded || len(later.Operation.Input) == 0 {
			t.Fatalf("what came after the shredding reads %+v", later.Operation)
		}
		w.wantWrites(3)
		_, err = w.ledger.Reconcile(t.Context(), onceward.LocalPrincipal(), op.ID)
		wantCode(t, err, onceward.CodeStateForbids) // it has no probe
	}, sealing(t, ring(t, sealed.NewMasterKey())))
}

func TestAFailedOperationThatWasShreddedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, encrypted(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultInvalid)
		a := w.ask(`{"id":"a","who":"ann"}`)
		w.shredded("ann", 1)
		_, err := w.ledger.Replay(t.Context(), onceward.LocalPrincipal(), a.Operation.ID, "once more", "")
		if err == nil {
			t.Fatal("what was shredded is replayed")
		}
		w.pass(time.Hour)
		w.want(a.Operation, onceward.StateFailed, 0)
		w.wantWrites(1)
	}, sealing(t, ring(t, sealed.NewMasterKey())))
}

func TestNothingIsShreddedThatMayHaveToBeSentAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, encrypted(onceward.EffectProbedWrite), func(t *testing.T, w *world) {
		w.provider.Script(oncewardtest.FaultAnswerLost)
		a := w.ask(`{"id":"a","who":"ann"}`)
		_, err := w.shred("ann")
		wantCode(t, err, onceward.CodeStateForbids)
		w.pass(time.Minute)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		w.shredded("ann", 1)
		w.want(a.Operation, onceward.StateSucceeded, 1)
	}, sealing(t, ring(t, sealed.NewMasterKey())))
}

func TestWhatADeadProcessLeftIsSentAgainByteForByte(t *testing.T) {
	t.Parallel()
	key := sealed.NewMasterKey()
	onEachStore(t, encrypted(onceward.EffectKeyedWrite), func(t *testing.T, w *world) {
		const input = `{"card":"4111","id":"a","who":"ann"}`
		w.provider.Script(oncewardtest.FaultAnswerLost)
		a := w.ask(input)
		w.restart(sealing(t, ring(t, key)))
		w.passSlowly(time.Minute, time.Second)
		w.want(a.Operation, onceward.StateSucceeded, 1)
		sent := w.provider.Requests()
		for _, r := range sent {
			if string(r.Body) != input || !slices.Equal(r.Header, sent[0].Header) {
				t.Fatalf("it was sent as %s", r.Body)
			}
		}
		if len(sent) < 2 {
			t.Fatalf("%d requests were sent, want a second one", len(sent))
		}
	}, sealing(t, ring(t, key)))
}

// cutSealer gives up after the first step of a rotation.
type cutSealer struct {
	onceward.Sealer
	steps int
}

func (s *cutSealer) Rotate(context.Context, int) (int, bool, error) {
	if s.steps++; s.steps > 1 {
		return 0, false, onceward.Errorf(onceward.CodeLedgerUnavailable, "gone")
	}
	return 2, true, nil
}

func TestARotationThatIsCutIsNotedAsFarAsItCame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, encrypted(onceward.EffectUnsafeWrite), sealing(t, ring(t, sealed.NewMasterKey())), func(o *onceward.Options) { o.Sealer = &cutSealer{Sealer: o.Sealer} })
	_, err := w.ledger.RotateKeys(t.Context(), onceward.LocalPrincipal())
	wantCode(t, err, onceward.CodeLedgerUnavailable)
	w.notedBecause(onceward.AuditKeysRotated, "")
}

// endlessSealer has always more to rotate.
type endlessSealer struct{ onceward.Sealer }

func (endlessSealer) Rotate(_ context.Context, limit int) (int, bool, error) { return limit, true, nil }

func TestARotationOfVeryManyKeysAnswersWhileMoreAreLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, encrypted(onceward.EffectUnsafeWrite), sealing(t, ring(t, sealed.NewMasterKey())), func(o *onceward.Options) { o.Sealer = endlessSealer{o.Sealer} })
	r, err := w.ledger.RotateKeys(t.Context(), onceward.LocalPrincipal())
	if err != nil || !r.More || r.Rotated == 0 {
		t.Fatalf("the rotation gives %+v, %v", r, err)
	}
}

func TestMasterKeysAreRotatedWhileTheLedgerServes(t *testing.T) {
	t.Parallel()
	older, newer := sealed.NewMasterKey(), sealed.NewMasterKey()
	onEachStore(t, encrypted(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		a := w.ask(`{"id":"a","who":"ann"}`)
		both := w.another(sealing(t, ring(t, newer, older)))
		b := w.ask(`{"id":"b","who":"bob"}`) // by the process that has the old one only
		r, err := both.ledger.RotateKeys(t.Context(), onceward.LocalPrincipal())
		if err != nil || r.Rotated != 3 || r.More || len(r.Uses) != 1 || r.Uses[0].Master != r.Masters[0] {
			t.Fatalf("the rotation gives %+v, %v", r, err)
		}
		if r, err = both.ledger.RotateKeys(t.Context(), onceward.LocalPrincipal()); err != nil || r.Rotated != 0 {
			t.Fatalf("the second rotation gives %+v, %v", r, err)
		}
		next := w.another(sealing(t, ring(t, newer)))
		for _, op := range []*onceward.Operation{a.Operation, b.Operation} {
			if got := next.get(op.ID); got.Shredded || len(got.Input) == 0 {
				t.Fatalf("with the new master key alone it reads %+v", got)
			}
		}
		beside := w.handle()
		defer func() { _ = beside.Close() }()
		_, err = sealed.Open(t.Context(), beside, sealed.Options{Keys: ring(t, older)})
		wantCode(t, err, onceward.CodeKeysMissing)
		_, err = sealed.Open(t.Context(), beside, sealed.Options{})
		wantCode(t, err, onceward.CodeKeysMissing)
	}, sealing(t, ring(t, older)))
}

func TestWithoutAMasterKeyNothingIsStoredOrSent(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]worldOption{"NoSealer": nil, "NoKey": {sealing(t, nil)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, encrypted(onceward.EffectUnsafeWrite), opts...)
			_, err := w.try(`{"id":"a","who":"ann"}`)
			wantCode(t, err, onceward.CodeKeysMissing)
			w.wantWrites(0)
		})
	}
}

func TestABackupDoesNotBringAShreddedKeyBack(t *testing.T) {
	t.Parallel()
	key, list := sealed.NewMasterKey(), filepath.Join(t.TempDir(), "shredded")
	with := sealingWith(t, sealed.Options{Keys: ring(t, key), Shredded: list})
	w := newWorldOn(t, onMemory, oncewardtest.NewClock(), encrypted(onceward.EffectUnsafeWrite), with)
	a := w.ask(`{"id":"a","who":"ann"}`)
	backedUp, err := w.handle().ListDataKeys(t.Context(), onceward.DefaultTenant, a.Operation.Subject, onceward.DataKeyID{}, 10)
	if err != nil || len(backedUp) != 1 {
		t.Fatalf("the subject's keys are %v, %v", backedUp, err)
	}
	w.shredded("ann", 1)
	if _, err := w.handle().PutDataKey(t.Context(), backedUp[0]); err != nil { // as a restored backup has it
		t.Fatal(err)
	}
	w.restart(with)
	if op := w.get(a.Operation.ID); !op.Shredded || op.Input != nil {
		t.Fatalf("after the restore it reads %+v", op)
	}
}

// A backup that was made while a saga was under way is put back after its subject was
// shredded: nothing of it is sent, and a person is told which step it stands at.
func TestASagaOfAShreddedSubjectThatABackupBringsBackWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w := newRestorable(t, encrypted(onceward.EffectProbedWrite))
	opts := sealed.Options{Keys: ring(t, sealed.NewMasterKey()), Shredded: filepath.Join(t.TempDir(), "shredded")}
	w.restart(w.witnessed, sealingWith(t, opts))
	ctx, me := t.Context(), onceward.LocalPrincipal()
	a, err := w.ledger.StartSaga(ctx, onceward.SagaRequest{Principal: me, Name: "orders.place", Key: "o-1", Subject: "ann", Steps: []onceward.SagaStep{
		{Name: "pay", Tool: "t.write", Kind: onceward.SagaRetryable, Input: []byte(`{"id":"s1","who":"ann"}`)},
		{Name: "send", Tool: "t.write", Kind: onceward.SagaRetryable, Input: []byte(`{"id":"s2","who":"ann"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	backup := w.backup()
	w.advanceSagas()
	w.wantWrites(2)
	w.shredded("ann", 1)

	w.restore(backup, sealingWith(t, opts))
	w.recovered("t.write")
	w.advanceSagas()
	s, err := w.ledger.Saga(ctx, me, a.Saga.ID)
	if err != nil || s.State != onceward.SagaNeedsReview || !s.Shredded || s.Steps[0].Input != nil || s.Note != "its inputs were shredded: resolve the step pay" {
		t.Fatalf("the saga that came back is %+v, %v", s, err)
	}
	if v, err := w.ledger.Run(ctx, me, a.Saga.ID.Run()); err != nil || v.Saga.Note != s.Note {
		t.Errorf("the page of its run says %+v, %v", v.Saga, err)
	}
	for _, step := range []string{"pay", "send"} {
		if _, err := w.ledger.ResolveSaga(ctx, me, s.ID, onceward.SagaResolution{Step: step, Outcome: onceward.SagaStepDone, Reason: "both were done, as the provider's books say"}); err != nil {
			t.Fatal(err)
		}
		w.advanceSagas()
	}
	if s, err = w.ledger.Saga(ctx, me, s.ID); err != nil || s.State != onceward.SagaSucceeded || s.Note != "" {
		t.Errorf("the resolved saga is %+v, %v", s, err)
	}
	w.wantWrites(2)
}

// advanceSagas has the loops do what they can within a minute.
func (w *world) advanceSagas() {
	w.t.Helper()
	loop := worker.NewSagas(w.ledger)
	for range 12 {
		if _, err := loop.Step(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		w.work()
		w.clock.Advance(5 * time.Second)
	}
}

// A database that is put back under a running server, or a standby that takes over
// and had not heard of it, brings a shredded key back only until it is looked at.
func TestAShreddedKeyThatComesBackUnderARunningServerIsShreddedAgain(t *testing.T) {
	t.Parallel()
	with := sealingWith(t, sealed.Options{Keys: ring(t, sealed.NewMasterKey()), Shredded: filepath.Join(t.TempDir(), "shredded")})
	w := newWorldOn(t, onMemory, oncewardtest.NewClock(), encrypted(onceward.EffectUnsafeWrite), with)
	a := w.ask(`{"id":"a","who":"ann"}`)
	backedUp, err := w.handle().ListDataKeys(t.Context(), onceward.DefaultTenant, a.Operation.Subject, onceward.DataKeyID{}, 10)
	if err != nil || len(backedUp) != 1 {
		t.Fatalf("the subject's keys are %v, %v", backedUp, err)
	}
	w.shredded("ann", 1)
	w.store.GoAway()
	if _, err := w.ledger.Strand(t.Context(), 1); err == nil {
		t.Fatal("a ledger that is away was beaten")
	}
	if _, err := w.handle().PutDataKey(t.Context(), backedUp[0]); err != nil {
		t.Fatal(err)
	}
	w.store.ComeBack()
	if _, err := w.ledger.Strand(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if op := w.get(a.Operation.ID); !op.Shredded || op.Input != nil {
		t.Fatalf("once the ledger is back it reads %+v", op)
	}
}

// cards is what must be in no byte of the database; digits of it are guessable,
// so that its digest must not be there either.
const cards = "4111-2222-3333"

func TestEncryptedBodiesAreInNoPlaceOfTheDatabaseInClear(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	tool := encrypted(onceward.EffectProbedWrite, func(i *onceward.ToolInfo) { i.Policy.ApprovalExpiry = 24 * time.Hour })
	tool.NeedsApproval = true
	w := newWorldOn(t, onSQLiteAt(path), oncewardtest.NewClock(), tool, sealing(t, ring(t, sealed.NewMasterKey())), emitting("*"))
	w.provider.AnswerWith(oncewardtest.Answer{Status: 500, Body: []byte("no " + cards)}, oncewardtest.Answer{Status: 400, Body: []byte("no " + cards)})
	var digests []onceward.Digest
	for _, id := range []string{"a", "b"} {
		a := w.ask(`{"id":"` + id + `","who":"ann","card":"` + cards + `"}`)
		answer := w.shown(a.Operation)
		answer.Reason = "it is " + cards
		if err := w.approve(ann, a.Operation, answer); err != nil {
			t.Fatal(err)
		}
		w.work()
		digests = append(digests, a.Operation.Digest)
	}
	w.passSlowly(2*time.Minute, time.Second)
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 1 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{cards, `"who"`, `"ann"`} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s has %q in clear", filepath.Base(name), secret)
			}
		}
		for _, d := range digests {
			if bytes.Contains(text, d[:]) {
				t.Errorf("%s has the digest of an input in clear", filepath.Base(name))
			}
		}
	}
	if len(w.provider.Requests()) < 2 {
		t.Fatal("nothing was sent")
	}
}
