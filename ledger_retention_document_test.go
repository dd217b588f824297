package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/store/sealed"
)

// retireDocuments walks once to its end, in steps of two.
func (r *replica) retireDocuments(keep time.Duration) (dropped int) {
	r.t.Helper()
	var walk onceward.DocumentWalk
	for range 100 {
		n, over, err := r.ledger.RetireDocumentsStep(r.t.Context(), &walk, keep, 2)
		if err != nil {
			r.t.Fatal(err)
		}
		if dropped += n; over {
			return dropped
		}
	}
	r.t.Fatal("the walk never ends")
	return 0
}

func (r *replica) upload(body, subject string) *onceward.Document {
	r.t.Helper()
	d, err := r.ledger.AddDocument(r.t.Context(), onceward.DocumentRequest{Principal: onceward.LocalPrincipal(), MediaType: "text/plain", Body: []byte(body), Subject: subject})
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func supportedBy(d *onceward.Document) func(*onceward.Intent) {
	return func(in *onceward.Intent) {
		in.Documents = []onceward.DocumentRef{{Digest: d.Digest, Name: "invoice.txt"}}
	}
}

// wantDocuments fails the test unless the document is there, or is not.
func (r *replica) wantDocument(d *onceward.Document, there bool) {
	r.t.Helper()
	_, err := r.ledger.Document(r.t.Context(), onceward.LocalPrincipal(), d.Digest)
	if got := err == nil; got != there || err != nil && !onceward.Is(err, onceward.CodeDocumentNotFound) {
		r.t.Fatalf("the document %q: %v, want it there: %t", d.Body, err, there)
	}
}

func TestADocumentIsDroppedOnceItsTimeIsOverAndNoRecordNamesIt(t *testing.T) {
	t.Parallel()
	const keep = 2 * kept
	onEachStore(t, asking(keptForADay), func(t *testing.T, w *world) {
		named, unnamed, again, shown := w.upload("named", ""), w.upload("unnamed", ""), w.upload("again", ""), w.upload("waits", "")
		w.ask(`{"id":"w"}`, supportedBy(shown)) // waits for an approval for ever
		for _, id := range []string{"x", "y", "z"} {
			w.ask(`{"id":"` + id + `"}`)
		}
		op := w.ask(`{"id":"a"}`, supportedBy(named)).Operation
		w.yes(ann, op)
		w.work()
		w.want(op, onceward.StateSucceeded, 1)
		w.clock.Advance(kept - time.Minute)
		if n := w.retireDocuments(keep); n != 0 {
			t.Fatalf("%d documents were dropped before their time", n)
		}
		w.upload("again", "")
		w.clock.Advance(kept + 2*time.Minute)
		if n := w.retireDocuments(0); n != 0 {
			t.Fatalf("%d documents were dropped where they are kept for ever", n)
		}
		if n := w.retireDocuments(keep); n != 1 {
			t.Fatalf("%d documents were dropped, want the one that nobody names", n)
		}
		w.wantDocument(unnamed, false)
		w.wantDocument(named, true)
		w.wantDocument(again, true)
		if n := w.retire(); n != 1 {
			t.Fatalf("%d records were slimmed", n)
		}
		if n := w.retireDocuments(keep); n != 1 {
			t.Fatalf("%d documents were dropped once the record is gone", n)
		}
		w.wantDocument(named, false)
		w.wantDocument(shown, true)
		_, err := w.try(`{"id":"b"}`, supportedBy(named))
		wantCode(t, err, onceward.CodeDocumentNotFound)
	})
}

func TestADocumentThatIsNamedWhileItIsLookedForIsNotDropped(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		d, other := w.upload("invoice", ""), w.upload("other", "")
		w.clock.Advance(2 * kept)
		var walk onceward.DocumentWalk
		step := func() (n int, over bool) {
			n, over, err := w.ledger.RetireDocumentsStep(t.Context(), &walk, kept, 10)
			if err != nil {
				t.Fatal(err)
			}
			return n, over
		}
		step() // chooses both
		step() // no operation names them
		w.ask(`{"id":"a"}`, supportedBy(d))
		if n, over := step(); n != 1 || !over {
			t.Fatalf("%d documents were dropped, over %t", n, over)
		}
		w.wantDocument(d, true)
		w.wantDocument(other, false)
	})
}

func TestADocumentOfAHeldTimeOutlivesItsOwn(t *testing.T) {
	t.Parallel()
	onEachStore(t, encrypted(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		d := w.upload("of ann", "ann")
		w.clock.Advance(time.Hour)
		h := w.hold(onceward.HoldRequest{Subject: "ann", Until: w.local.Now()})
		later := w.upload("after the held time", "")
		w.clock.Advance(2 * kept)
		if n := w.retireDocuments(kept); n != 1 {
			t.Fatalf("%d documents were dropped, want the one that nobody holds", n)
		}
		w.wantDocument(d, true)
		w.wantDocument(later, false)
		if _, err := w.ledger.LiftHold(t.Context(), onceward.LocalPrincipal(), h.ID, "settled"); err != nil {
			t.Fatal(err)
		}
		if n := w.retireDocuments(kept); n != 1 {
			t.Fatalf("%d documents were dropped once the hold was lifted", n)
		}
	}, sealing(t, ring(t, sealed.NewMasterKey())))
}

func TestAShreddedDocumentIsThereAgainOnceItIsUploadedAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, encrypted(onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		d := w.upload("of ann", "ann")
		w.shredded("ann", 1)
		read, err := w.ledger.Document(t.Context(), onceward.LocalPrincipal(), d.Digest)
		if err != nil || !read.Shredded || len(read.Body) != 0 || read.Subject != d.Subject {
			t.Fatalf("the document reads %+v, %v", read, err)
		}
		_, err = w.try(`{"id":"a","who":"bob"}`, supportedBy(d))
		wantCode(t, err, onceward.CodeDocumentNotFound)
		w.upload("of ann", "bob")
		if read, err := w.ledger.Document(t.Context(), onceward.LocalPrincipal(), d.Digest); err != nil || read.Shredded || string(read.Body) != "of ann" || read.Subject == d.Subject {
			t.Fatalf("the document reads %+v, %v", read, err)
		}
	}, sealing(t, ring(t, sealed.NewMasterKey())))
}

func TestABulkReplayIsDroppedOnceItsTimeIsOver(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		w.failing(1)
		ended, running := w.bulk(onceward.BulkRequest{Key: "ended", DryRun: true}), (*onceward.BulkReplay)(nil)
		w.carryOut(ended.ID)
		running = w.bulk(onceward.BulkRequest{Key: "running"})
		retire := func(want int) {
			t.Helper()
			if _, n, err := w.ledger.RetireBulkReplaysStep(t.Context(), onceward.BulkCursor{}, kept, 10); err != nil || n != want {
				t.Fatalf("%d bulk replays were dropped, want %d: %v", n, want, err)
			}
		}
		w.clock.Advance(kept - time.Hour)
		retire(0)
		w.clock.Advance(2 * time.Hour)
		h := w.hold(onceward.HoldRequest{})
		retire(0)
		if _, err := w.ledger.LiftHold(t.Context(), onceward.LocalPrincipal(), h.ID, "settled"); err != nil {
			t.Fatal(err)
		}
		retire(1)
		if _, err := w.ledger.BulkReplay(t.Context(), olga, running.ID); err != nil {
			t.Fatalf("one that runs: %v", err)
		}
		_, err := w.ledger.BulkReplay(t.Context(), olga, ended.ID)
		wantCode(t, err, onceward.CodeReplayNotFound)
	})
}
