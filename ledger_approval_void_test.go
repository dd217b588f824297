package onceward_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func TestExpiredQuestionIsAskedAnewByTheNextRequest(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","amount":5}`).Operation
		w.pass(25 * time.Hour)
		w.want(op, onceward.StateCancelled, 0)
		wantText(t, w.approve(ann, op, w.shown(op)), "the next request asks anew")
		_, err := w.try(`{"id":"a","amount":6}`)
		wantCode(t, err, onceward.CodeKeyReused)
		if a := w.ask(`{"id":"a","amount":5}`); a.Operation.State != onceward.StateAwaitingApproval || a.Decision != onceward.DecisionEscalated {
			t.Fatalf("asked anew it is %s, %s", a.Operation.State, a.Decision)
		}
		w.yes(ann, op)
		w.want(op, onceward.StateSucceeded, 1)
	})
}

func TestLapsedYesStartsNothingAndIsAskedAnew(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		if err := w.ledger.PauseTool(t.Context(), onceward.LocalPrincipal(), "t.write", "maintenance"); err != nil {
			t.Fatal(err)
		}
		op := w.ask(`{"id":"a"}`).Operation
		w.yes(ann, op)
		w.want(op, onceward.StateReady, 0)
		w.pass(25 * time.Hour)
		w.want(op, onceward.StateCancelled, 0)
		if _, err := w.ledger.ResumeTool(t.Context(), onceward.LocalPrincipal(), "t.write"); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.want(op, onceward.StateCancelled, 0)
		w.ask(`{"id":"a"}`)
		w.yes(bob, op)
		w.want(op, onceward.StateSucceeded, 1)
	})
}

func TestCancelledQuestionIsNotAskedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	op := w.ask(`{"id":"a"}`).Operation
	w.pass(25 * time.Hour)
	if _, err := w.ledger.Cancel(t.Context(), onceward.LocalPrincipal(), op.ID, "not any more"); err != nil {
		t.Fatal(err)
	}
	if a := w.ask(`{"id":"a"}`); a.Operation.State != onceward.StateCancelled || a.Decision != onceward.DecisionReplayed {
		t.Fatalf("asked again it is %s, %s", a.Operation.State, a.Decision)
	}
}

func TestContractThatChangedWhileAskedIsAskedAgainUnder(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","amount":5}`).Operation
		old := w.shown(op)
		next := w.process(t, asking(version("v2")))
		err := next.approve(ann, op, old)
		wantCode(t, err, onceward.CodeStateForbids)
		wantText(t, err, "v2 is in force")
		if now := next.get(op.ID); now.Contract != "v2" || now.State != onceward.StateAwaitingApproval {
			t.Fatalf("it is %s under %s", now.State, now.Contract)
		}
		wantCode(t, next.approve(ann, op, old), onceward.CodeStateForbids)
		next.yes(ann, op)
		next.want(op, onceward.StateSucceeded, 1)
	})
}

func TestContractThatChangesBetweenYesAndStartIsAskedAgainUnder(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","amount":5}`).Operation
		if err := w.approve(ann, op, w.shown(op)); err != nil {
			t.Fatal(err)
		}
		next := w.process(t, asking(version("v2")))
		next.work()
		w.work() // the old process must not start it either
		next.want(op, onceward.StateAwaitingApproval, 0)
		if now := next.get(op.ID); now.Contract != "v2" || len(now.Approval.Yeses) != 0 {
			t.Fatalf("it is asked under %s, with %d yeses", now.Contract, len(now.Approval.Yeses))
		}
		next.yes(bob, op)
		next.want(op, onceward.StateSucceeded, 1)
		next.wantWrites(1)
	})
}

func TestProcessBehindTheContractInForceStartsNothingApproved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	op := w.ask(`{"id":"a"}`).Operation
	if err := w.approve(ann, op, w.shown(op)); err != nil {
		t.Fatal(err)
	}
	w.process(t, asking(version("v2")))
	w.work()
	w.want(op, onceward.StateReady, 0)
	w.wantWrites(0)
}

func TestNextRequestAsksUnderTheContractInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	op := w.ask(`{"id":"a"}`).Operation
	next := w.process(t, asking(version("v2")))
	if a := next.ask(`{"id":"a"}`); a.Operation.Contract != "v2" || a.Decision != onceward.DecisionEscalated {
		t.Fatalf("it is asked under %s, %s", a.Operation.Contract, a.Decision)
	}
	next.yes(ann, op)
	next.want(op, onceward.StateSucceeded, 1)
}
