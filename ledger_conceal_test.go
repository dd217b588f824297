package onceward_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/sealed"
	"github.com/onceward/onceward/worker"
)

// secretWord is looked for in the bytes of the database.
const secretWord = "zanzibar-4111"

// written are the forms in which bytes can stand in a row: as they are, and in
// base64 at each of its three places.
func written(word string) [][]byte {
	forms := [][]byte{[]byte(word)}
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte("xyz"[:before] + word))
		from := (before*8 + 5) / 6 // the first character that is of the word alone
		to := (before + len(word)) * 8 / 6
		forms = append(forms, []byte(text[from:to]))
	}
	return forms
}

// wantNowhere fails the test if a file of the database has the word.
func wantNowhere(t *testing.T, path, word string) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no database at %s: %v", path, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range written(word) {
			if at := bytes.Index(text, form); at >= 0 {
				t.Errorf("%s has the word: %q", filepath.Base(file), text[max(0, at-80):min(len(text), at+80)])
			}
		}
	}
}

func TestNothingThatCallersHandOverStandsInTheDatabaseInClear(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	w := newWorldOn(t, onSQLiteAt(path), oncewardtest.NewClock(), encrypted(onceward.EffectUnsafeWrite), sealing(t, ring(t, sealed.NewMasterKey())), withSender(t))
	ctx, me := t.Context(), onceward.LocalPrincipal()
	const input = `{"id":"a","who":"ann","card":"` + secretWord + `"}`

	a, err := w.ledger.StartRun(ctx, onceward.RunRequest{Principal: me, Workflow: "support.triage", Version: "1", TriggerKey: "mail-1", Input: []byte(input)})
	if err != nil {
		t.Fatal(err)
	}
	w.decide(a.Run.ID, "assess", input, pinning(input))
	doc, err := w.ledger.AddDocument(ctx, onceward.DocumentRequest{Principal: me, MediaType: "text/plain", Body: []byte("the card is " + secretWord)})
	if err != nil {
		t.Fatal(err)
	}
	event := w.delivered(`{"id":"e","do":[` + input + `]}`)
	waits := w.delivered(`{"id":"f","other":"` + secretWord + `"}`)
	w.inbox()
	saga, err := w.ledger.StartSaga(ctx, onceward.SagaRequest{Principal: me, Name: "orders.place", Key: "o-1", Steps: []onceward.SagaStep{
		{Name: "pay", Tool: "t.write", Input: []byte(`{"id":"s1","who":"ann","card":"` + secretWord + `"}`)},
		{Name: "send", Tool: "t.write", Input: []byte(`{"id":"s2","who":"ann","card":"` + secretWord + `"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.NewSagas(w.ledger).Step(ctx); err != nil {
		t.Fatal(err)
	}
	w.quiet()
	wantNowhere(t, path, secretWord)

	// Whoever reads it by the ledger reads it as it was, also another process with the keys.
	run, err := w.ledger.Run(ctx, me, a.Run.ID)
	if err != nil || !bytes.Contains(run.Run.Input, []byte(secretWord)) || !bytes.Contains(run.Decisions[0].Current().Output, []byte(secretWord)) {
		t.Fatalf("the run reads %+v, %v", run, err)
	}
	if d, err := w.ledger.Document(ctx, me, doc.Digest); err != nil || string(d.Body) != "the card is "+secretWord || d.MediaType != "text/plain" {
		t.Fatalf("the document reads %+v, %v", d, err)
	}
	if e := w.event(event, onceward.InboxHandled); !bytes.Contains(e.Body, []byte(secretWord)) {
		t.Fatalf("the event reads %q", e.Body)
	}
	if e := w.event(waits, onceward.InboxUnmapped); !bytes.Contains(e.Body, []byte(secretWord)) {
		t.Fatalf("the event that waits reads %q", e.Body)
	}
	if s, err := w.ledger.Saga(ctx, me, saga.Saga.ID); err != nil || !bytes.Contains(s.Steps[1].Input, []byte(secretWord)) {
		t.Fatalf("the saga reads %+v, %v", s, err)
	}
}

func TestARunOfAShreddedSubjectStillAnswersRepeats(t *testing.T) {
	t.Parallel()
	onEachStore(t, encrypted(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		ctx, me := t.Context(), onceward.LocalPrincipal()
		start := func(trigger onceward.Key, input string) (*onceward.RunAnswer, error) {
			return w.ledger.StartRun(ctx, onceward.RunRequest{Principal: me, Workflow: "support.triage", Version: "1", TriggerKey: trigger, Input: []byte(input), Subject: "ann"})
		}
		const input = `{"mail":"of ann"}`
		a, err := start("mail-1", input)
		if err != nil {
			t.Fatal(err)
		}
		pinned := w.decide(a.Run.ID, "assess", input, pinning(`{"refund":17}`))
		w.shredded("ann", 1)

		again, err := start("mail-1", input)
		if err != nil || again.Decision != onceward.DecisionJoined || !again.Run.Shredded || again.Run.Input != nil || again.Run.Subject != a.Run.Subject {
			t.Fatalf("the repeat is answered %+v, %v", again, err)
		}
		_, err = start("mail-1", `{"mail":"of bob"}`)
		wantCode(t, err, onceward.CodeKeyReused)
		d := w.decide(a.Run.ID, "assess", input)
		if d.State != onceward.DecisionPinned || d.Decision != onceward.DecisionReplayed || !d.Step.Shredded || d.Step.Current().Output != nil {
			t.Fatalf("the decision is answered %+v", d)
		}
		_, err = w.tryDecide(a.Run.ID, "assess", `{"mail":"of bob"}`)
		wantCode(t, err, onceward.CodeDecisionConflict)
		_, err = w.ledger.Redecide(ctx, me, pinned.Step.ID, 0, "once more")
		wantCode(t, err, onceward.CodeShredded)

		// What comes later has a key of its own, and so does the next step.
		if d := w.decide(a.Run.ID, "answer", input, pinning(`{"text":"sorry"}`)); d.Step.Shredded || d.Step.Current().Output == nil {
			t.Fatalf("the next step is answered %+v", d.Step)
		}
		later, err := start("mail-2", input)
		if err != nil || later.Run.Shredded || later.Run.Input == nil {
			t.Fatalf("the later run is %+v, %v", later, err)
		}
		if r, err := w.ledger.FinishRun(ctx, me, a.Run.ID, onceward.RunSucceeded, "done"); err != nil || r.State != onceward.RunFinished {
			t.Fatalf("it ends as %+v, %v", r, err)
		}
	}, sealing(t, ring(t, sealed.NewMasterKey())))
}

func TestASubjectIsNotShreddedWhileASagaOfItIsUnderWay(t *testing.T) {
	t.Parallel()
	onEachStore(t, encrypted(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		ctx, me := t.Context(), onceward.LocalPrincipal()
		a, err := w.ledger.StartSaga(ctx, onceward.SagaRequest{Principal: me, Name: "orders.place", Key: "o-1", Subject: "ann", Steps: []onceward.SagaStep{
			{Name: "pay", Tool: "t.write", Input: []byte(`{"id":"s1","who":"bob"}`)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.shred("ann")
		wantCode(t, err, onceward.CodeStateForbids)
		if _, err := w.ledger.CancelSaga(ctx, me, a.Saga.ID, "not any more"); err != nil {
			t.Fatal(err)
		}
		loop := worker.NewSagas(w.ledger)
		for range 5 {
			if _, err := loop.Step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		w.shredded("ann", 1)
		s, err := w.ledger.Saga(ctx, me, a.Saga.ID)
		if err != nil || !s.Shredded || s.State != onceward.SagaCancelled || s.Steps[0].Input != nil {
			t.Fatalf("the saga reads %+v, %v", s, err)
		}
	}, sealing(t, ring(t, sealed.NewMasterKey())))
}

func TestARunOfAHeldTimeIsNotShredded(t *testing.T) {
	t.Parallel()
	inRealTime(t, encrypted(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.startRun("mail-1", func(in *onceward.RunRequest) { in.Version, in.Subject = "1", "ann" })
		before := time.Now().Add(-time.Hour)
		w.hold(onceward.HoldRequest{From: before.Add(-time.Hour), Until: before}) // ann was nobody's then
		h := w.hold(onceward.HoldRequest{From: before})
		_, err := w.shred("ann")
		wantCode(t, err, onceward.CodeHeld)
		if _, err := w.ledger.LiftHold(t.Context(), onceward.LocalPrincipal(), h.ID, "settled"); err != nil {
			t.Fatal(err)
		}
		w.shredded("ann", 1)
	}, sealing(t, ring(t, sealed.NewMasterKey())))
}
