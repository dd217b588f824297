package onceward_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestWhatWasShownIsKeptWithTheAnswer(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(func(i *onceward.ToolInfo) { i.BusinessOwner = "support" }), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","name":"in` + "\u202e" + `voice"}`).Operation
		show, err := w.ledger.ShowApproval(t.Context(), ann, op.ID)
		if err != nil || show.Refused != "" || show.Changed != "" {
			t.Fatalf("showing: %v, refused %q, changed %q", err, show.Refused, show.Changed)
		}
		var text map[string]any
		if err := json.Unmarshal(show.Text, &text); err != nil {
			t.Fatal(err)
		}
		if text["digest"] != op.Digest.String() || text["business_owner"] != "support" || !strings.Contains(text["input_as_text"].(string), "in⟦U+202E⟧voice") {
			t.Fatalf("shown is %s", show.Text)
		}
		w.yes(ann, op)
		records, err := w.ledger.Timeline(t.Context(), onceward.LocalPrincipal(), op.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Event != "approval_granted" {
				continue
			}
			if r.Shown != show.Digest.String() || r.Actor != ann.String() {
				t.Fatalf("the record of %s tells %q, shown was %s", r.Actor, r.Shown, show.Digest)
			}
			kept, err := w.ledger.Document(t.Context(), ann, show.Digest)
			if err != nil || !bytes.Equal(kept.Body, show.Text) {
				t.Fatalf("kept is %v, %v", kept, err)
			}
			return
		}
		t.Fatalf("no record of the yes:\n%s", w.timeline(op))
	})
}

func TestDocumentsArePartOfTheRequest(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		me := onceward.LocalPrincipal()
		invoice, err := w.ledger.AddDocument(t.Context(), onceward.DocumentRequest{Principal: me, MediaType: "application/pdf", Body: []byte("%PDF 17")})
		if err != nil {
			t.Fatal(err)
		}
		with := func(docs ...onceward.DocumentRef) func(*onceward.Intent) {
			return func(in *onceward.Intent) { in.Documents = docs }
		}
		ref := onceward.DocumentRef{Digest: invoice.Digest, Name: "invoice.pdf"}
		_, err = w.try(`{"id":"a"}`, with(onceward.DocumentRef{Digest: onceward.Digest{7}, Name: "x"}))
		wantCode(t, err, onceward.CodeDocumentNotFound)
		_, err = w.try(`{"id":"a"}`, with(onceward.DocumentRef{Digest: invoice.Digest}))
		wantCode(t, err, onceward.CodeInvalidRequest)
		_, err = w.try(`{"id":"a"}`, with(onceward.DocumentRef{Digest: invoice.Digest, Name: "x", URL: "https://elsewhere.test/x"}))
		wantCode(t, err, onceward.CodeInvalidRequest)
		op := w.ask(`{"id":"a"}`, with(ref)).Operation
		if a := w.ask(`{"id":"a"}`, with(ref)); a.Operation.ID != op.ID || a.Decision != onceward.DecisionEscalated {
			t.Fatalf("the same request was answered %s", a.Decision)
		}
		other := ref
		other.Name = "another.pdf"
		for _, docs := range [][]onceward.DocumentRef{nil, {other}, {ref, ref}} {
			_, err = w.try(`{"id":"a"}`, with(docs...))
			wantCode(t, err, onceward.CodeKeyReused)
			wantText(t, err, "documents")
		}
		edited := w.shown(op)
		edited.Edit = []byte(`{"id":"a","amount":1}`)
		if err := w.approve(ann, op, edited); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.want(op, onceward.StateSucceeded, 1)
		if a := w.ask(`{"id":"a"}`, with(ref)); a.Decision != onceward.DecisionReplayed {
			t.Fatalf("the original was answered %s", a.Decision)
		}
		_, err = w.try(`{"id":"a","amount":1}`)
		wantCode(t, err, onceward.CodeKeyReused)
	})
}

func TestLinkedDocumentThatChangesVoidsTheApproval(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(quorum(2)), func(t *testing.T, w *world) {
		// What the provider shows under this key is the document.
		doc := onceward.DocumentRef{Digest: sha256.Sum256(nil), Name: "offer.txt", URL: "https://provider.test/effects?key=offer"}
		change := func() { w.provider.Make("offer") }
		op := w.ask(`{"id":"a"}`, func(in *onceward.Intent) { in.Documents = []onceward.DocumentRef{doc} }).Operation
		w.yes(ann, op)
		if w.get(op.ID).QuorumLeft() != 1 {
			t.Fatal("the first yes does not count")
		}
		change()
		err := w.approve(bob, op, w.shown(op))
		wantCode(t, err, onceward.CodeStateForbids)
		wantText(t, err, "offer.txt", "has changed")
		now := w.get(op.ID)
		if now.QuorumLeft() != 2 || now.State != onceward.StateAwaitingApproval || !strings.Contains(w.timeline(op), "has changed") {
			t.Fatalf("%d must say yes, it is %s\n%s", now.QuorumLeft(), now.State, w.timeline(op))
		}
	})
}

func TestLinkedDocumentThatChangesBeforeTheFirstAttemptVoidsTheApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	doc := onceward.DocumentRef{Digest: sha256.Sum256(nil), Name: "offer.txt", URL: "https://provider.test/effects?key=offer"}
	op := w.ask(`{"id":"a"}`, func(in *onceward.Intent) { in.Documents = []onceward.DocumentRef{doc} }).Operation
	if err := w.approve(ann, op, w.shown(op)); err != nil {
		t.Fatal(err)
	}
	w.provider.Make("offer")
	w.work()
	w.want(op, onceward.StateAwaitingApproval, 1) // the one that changed the document
	w.wantWrites(0)
}
