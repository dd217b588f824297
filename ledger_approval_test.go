package onceward_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// asking is a tool whose every operation needs a yes.
func asking(edit ...func(*onceward.ToolInfo)) *oncewardtest.Tool {
	edit = append([]func(*onceward.ToolInfo){func(i *onceward.ToolInfo) { i.Policy.ApprovalExpiry = 24 * time.Hour }}, edit...)
	t := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, edit...)
	t.NeedsApproval = true
	return t
}

func version(v string) func(*onceward.ToolInfo) {
	return func(i *onceward.ToolInfo) { i.Version, i.Source = v, []byte("name: t.write "+v) }
}

func quorum(n int) func(*onceward.ToolInfo) {
	return func(i *onceward.ToolInfo) { i.Policy.Quorum = n }
}

// person is an approver, in these groups.
func person(name string, groups ...string) onceward.Principal {
	return onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "oidc", Subject: name, Roles: []onceward.Role{onceward.RoleApprover}, Groups: groups}
}

var (
	ann = person("ann")
	bob = person("bob")
)

// shown reads the question and answers with what was shown.
func (r *replica) shown(op *onceward.Operation) onceward.ApprovalAnswer {
	now := r.get(op.ID)
	return onceward.ApprovalAnswer{Digest: now.Digest, Contract: now.Contract}
}

func (r *replica) approve(p onceward.Principal, op *onceward.Operation, a onceward.ApprovalAnswer) error {
	r.t.Helper()
	_, err := r.ledger.Approve(r.t.Context(), p, op.ID, a)
	return err
}

// yes says yes to what is asked now, and lets it happen.
func (r *replica) yes(p onceward.Principal, op *onceward.Operation) {
	r.t.Helper()
	if err := r.approve(p, op, r.shown(op)); err != nil {
		r.t.Fatalf("%s says yes: %v", p, err)
	}
	r.work()
}

func wantText(t testing.TB, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Fatalf("got %v, want it to tell %q", err, w)
		}
	}
}

func TestApprovedOperationHappensOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","amount":5}`).Operation
		w.work()
		w.want(op, onceward.StateAwaitingApproval, 0)
		w.yes(ann, op)
		w.want(op, onceward.StateSucceeded, 1)
		if a := w.ask(`{"id":"a","amount":5}`); a.Decision != onceward.DecisionReplayed {
			t.Fatalf("asked again: %s", a.Decision)
		}
		w.wantWrites(1)
	})
}

func TestRejectedOperationNeverHappensAndTheSecondIsTold(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		answer := w.shown(op)
		_, err := w.ledger.Reject(t.Context(), ann, op.ID, answer.Digest, " ")
		wantCode(t, err, onceward.CodeEvidenceRequired)
		if _, err = w.ledger.Reject(t.Context(), ann, op.ID, answer.Digest, "too dear"); err != nil {
			t.Fatal(err)
		}
		err = w.approve(bob, op, answer)
		wantCode(t, err, onceward.CodeStateForbids)
		wantText(t, err, "oidc:ann said no at 2026-01-02T")
		w.work()
		w.want(op, onceward.StateCancelled, 0)
		w.wantWrites(0)
	})
}

func TestApprovalSentTwiceIsTakenOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		answer := w.shown(op)
		w.yes(ann, op)
		for _, p := range []onceward.Principal{ann, bob} {
			err := w.approve(p, op, answer)
			wantCode(t, err, onceward.CodeStateForbids)
			wantText(t, err, "oidc:ann said yes at 2026-01-02T")
		}
		_, err := w.ledger.Reject(t.Context(), bob, op.ID, answer.Digest, "no")
		wantCode(t, err, onceward.CodeStateForbids)
		wantText(t, err, "oidc:ann said yes at 2026-01-02T")
		w.want(op, onceward.StateSucceeded, 1)
	})
}

func TestOfManyWhoAnswerAtOnceOneWins(t *testing.T) {
	t.Parallel()
	inRealTime(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		answer := w.shown(op)
		var all sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		for i := range 8 {
			all.Go(func() {
				var err error
				if p := person(string(rune('a' + i))); i%2 == 0 {
					_, err = w.ledger.Approve(t.Context(), p, op.ID, answer)
				} else {
					_, err = w.ledger.Reject(t.Context(), p, op.ID, answer.Digest, "no")
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					taken++
				} else if !onceward.Is(err, onceward.CodeStateForbids) || !strings.Contains(err.Error(), "said") {
					t.Errorf("a loser was told %v", err)
				}
			})
		}
		all.Wait()
		if taken != 1 {
			t.Fatalf("%d answers were taken", taken)
		}
	})
}

func TestYesForAnotherDigestOrContractIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	op := w.ask(`{"id":"a","amount":5}`).Operation
	good := w.shown(op)
	for _, a := range []onceward.ApprovalAnswer{
		{Digest: onceward.Digest{1}, Contract: good.Contract},
		{Digest: good.Digest, Contract: "v0"},
	} {
		wantCode(t, w.approve(ann, op, a), onceward.CodeStateForbids)
	}
	for _, a := range []onceward.ApprovalAnswer{{}, {Digest: good.Digest}, {Contract: good.Contract}} {
		wantCode(t, w.approve(ann, op, a), onceward.CodeInvalidRequest)
	}
	w.work()
	w.want(op, onceward.StateAwaitingApproval, 0)
}

func TestChangedRequestWhileAskedIsAnotherIntentionAndTouchesNoApproval(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(quorum(2)), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","amount":5}`).Operation
		if err := w.approve(ann, op, w.shown(op)); err != nil {
			t.Fatal(err)
		}
		before := w.get(op.ID)
		_, err := w.try(`{"id":"a","amount":6}`)
		wantCode(t, err, onceward.CodeKeyReused)
		wantText(t, err, "amount")
		if now := w.get(op.ID); now.Version != before.Version || now.QuorumLeft() != 1 {
			t.Fatalf("the approval was touched: version %d, then %d", before.Version, now.Version)
		}
	})
}

func TestOnlyThePeopleOfTheContractMayAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking(func(i *onceward.ToolInfo) { i.Approvers = []string{"leads"} }))
	op := w.ask(`{"id":"a"}`).Operation
	caller := person("carl", "leads")
	caller.Roles = []onceward.Role{onceward.RoleCaller}
	narrow := person("nora", "leads")
	narrow.Tools = []onceward.ToolName{"other.tool"}
	reads := person("rita", "leads")
	reads.Effects = []onceward.EffectClass{onceward.EffectRead}
	for _, p := range []onceward.Principal{ann, person("otto", "others"), caller, narrow, reads} {
		wantCode(t, w.approve(p, op, w.shown(op)), onceward.CodeForbidden)
		_, err := w.ledger.Reject(t.Context(), p, op.ID, w.shown(op).Digest, "no")
		wantCode(t, err, onceward.CodeForbidden)
	}
	foreign := person("lea", "leads")
	foreign.Tenant = "globex"
	wantCode(t, w.approve(foreign, op, w.shown(op)), onceward.CodeOperationNotFound)
	w.yes(person("lea", "leads"), op)
	w.want(op, onceward.StateSucceeded, 1)
}

func TestDelegateMayAnswerAndMustBeAnApprover(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(func(i *onceward.ToolInfo) { i.Approvers = []string{"leads"} }), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		assign := func(by onceward.Principal, to onceward.Assignment, reason string) error {
			_, err := w.ledger.AssignApproval(t.Context(), by, op.ID, to, reason)
			return err
		}
		wantCode(t, assign(bob, onceward.Assignment{To: bob.String()}, "me"), onceward.CodeForbidden)
		wantCode(t, assign(person("lea", "leads"), onceward.Assignment{To: bob.String()}, ""), onceward.CodeEvidenceRequired)
		if err := assign(person("lea", "leads"), onceward.Assignment{To: bob.String(), Due: w.clock.Now().Add(time.Hour)}, "on holiday"); err != nil {
			t.Fatal(err)
		}
		wantCode(t, w.approve(ann, op, w.shown(op)), onceward.CodeForbidden)
		plain := bob
		plain.Roles = []onceward.Role{onceward.RoleCaller}
		wantCode(t, w.approve(plain, op, w.shown(op)), onceward.CodeForbidden)
		w.yes(bob, op)
		w.want(op, onceward.StateSucceeded, 1)
		if !strings.Contains(w.timeline(op), "to oidc:bob, due") || !w.get(op.ID).Assigned.IsZero() {
			t.Fatalf("the assignment is not recorded, or stays:\n%s", w.timeline(op))
		}
	})
}

func TestRequesterMayNotApproveWhereForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking(func(i *onceward.ToolInfo) { i.Policy.SeparateRequester = true }))
	me := ann
	me.Roles = []onceward.Role{onceward.RoleCaller, onceward.RoleApprover}
	op := w.ask(`{"id":"a"}`, func(in *onceward.Intent) { in.Principal = me }).Operation
	wantCode(t, w.approve(me, op, w.shown(op)), onceward.CodeForbidden)
	w.yes(bob, op)
	w.want(op, onceward.StateSucceeded, 1)
}

// may is how the ledger tells a person to answer, and why it may not say yes.
func (r *replica) may(p onceward.Principal, op *onceward.Operation) ([]onceward.ApprovalAct, string) {
	r.t.Helper()
	show, err := r.ledger.ShowApproval(r.t.Context(), p, op.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return show.May, show.Refused
}

func TestNobodyIsShownAnAnswerThatWouldBeRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking(quorum(2), func(i *onceward.ToolInfo) { i.Policy.SeparateRequester, i.Approvers = true, []string{"leads"} }))
	ann, bob := person("ann", "leads"), person("bob", "leads")
	ann.Roles = append(ann.Roles, onceward.RoleCaller)
	op := w.ask(`{"id":"a"}`, func(in *onceward.Intent) { in.Principal = ann }).Operation
	w.yes(bob, op)
	no := onceward.AllApprovalActs[1:]
	for _, c := range []struct {
		who  onceward.Principal
		may  []onceward.ApprovalAct
		word string
	}{
		{ann, no, "whoever asked for it"}, {bob, no, "said yes already"}, {person("eve"), nil, "only leads may answer"}, {person("kim", "leads"), onceward.AllApprovalActs, ""},
	} {
		may, why := w.may(c.who, op)
		if !slices.Equal(may, c.may) || (why == "") != (c.word == "") || !strings.Contains(why, c.word) {
			t.Errorf("%s may %v (%q), want %v (%q)", c.who, may, why, c.may, c.word)
		}
		if granted := w.approve(c.who, op, w.shown(op)) == nil; granted != slices.Contains(may, onceward.ActGrant) {
			t.Errorf("%s was told %v, and the yes was taken: %t", c.who, may, granted)
		}
	}
	w.work()
	if may, _ := w.may(person("kim", "leads"), op); len(may) != 0 {
		t.Errorf("after the last yes it still offers %v", may)
	}
}

func TestFieldsThatAnEditTouchedAreNamed(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(quorum(3)), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","amount":500,"to":{"city":"Bonn"}}`).Operation
		for _, edit := range []string{`{"id":"a","amount":50,"to":{"city":"Bonn"}}`, `{"id":"a","amount":50,"to":{"city":"Köln"}}`} {
			a := w.shown(op)
			a.Edit = []byte(edit)
			if err := w.approve(ann, op, a); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.get(op.ID).Approval.Edited; !slices.Equal(got, []string{"amount", "to.city"}) {
			t.Fatalf("edited are %q", got)
		}
	})
}

func TestQuorumOfTwoNeedsTwoPeople(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(quorum(2)), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		w.yes(ann, op)
		w.want(op, onceward.StateAwaitingApproval, 0)
		err := w.approve(ann, op, w.shown(op))
		wantCode(t, err, onceward.CodeStateForbids)
		wantText(t, err, "another person")
		w.want(op, onceward.StateAwaitingApproval, 0)
		w.yes(bob, op)
		w.want(op, onceward.StateSucceeded, 1)
		if yeses := w.get(op.ID).Approval.Yeses; len(yeses) != 2 || yeses[0].Actor != ann.String() || yeses[1].Actor != bob.String() {
			t.Fatalf("who said yes is told as %+v", yeses)
		}
	})
}

func TestEditedAmountIsWhatHappensAndAnswersTheOriginal(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","amount":500}`).Operation
		answer := w.shown(op)
		answer.Edit, answer.Reason = []byte(`{"id":"a","amount":50}`), "a zero too many"
		if err := w.approve(ann, op, answer); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.want(op, onceward.StateSucceeded, 1)
		if body := w.provider.Requests()[0].Body; !bytes.Contains(body, []byte(`"amount":50,`)) {
			t.Fatalf("sent was %s", body)
		}
		for _, again := range []string{`{"id":"a","amount":500}`, `{"id":"a","amount":50}`} {
			if a := w.ask(again); a.Decision != onceward.DecisionReplayed || a.Operation.Reference == "" {
				t.Fatalf("%s was answered %s", again, a.Decision)
			}
		}
		_, err := w.try(`{"id":"a","amount":5}`)
		wantCode(t, err, onceward.CodeKeyReused)
		w.wantWrites(1)
	})
}

func TestEditVoidsOtherYesesAndCountsAsTheFirst(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(quorum(2)), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a","amount":500}`).Operation
		w.yes(bob, op)
		old := w.shown(op)
		edited := old
		edited.Edit = []byte(`{"id":"a","amount":50}`)
		if err := w.approve(ann, op, edited); err != nil {
			t.Fatal(err)
		}
		w.work()
		w.want(op, onceward.StateAwaitingApproval, 0) // bob's yes was to 500
		err := w.approve(person("eve"), op, old)
		wantCode(t, err, onceward.CodeStateForbids)
		wantText(t, err, "oidc:ann replaced by an edit")
		w.yes(bob, op)
		w.want(op, onceward.StateSucceeded, 1)
	})
}

func TestEditOfAKeyFieldIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	op := w.ask(`{"id":"a","amount":500}`).Operation
	answer := w.shown(op)
	answer.Edit = []byte(`{"id":"b","amount":500}`)
	err := w.approve(ann, op, answer)
	wantCode(t, err, onceward.CodeStateForbids)
	wantText(t, err, "reject it and fork")
	answer.Edit = []byte(`{"id":`)
	wantCode(t, w.approve(ann, op, answer), onceward.CodeInvalidInput)
	w.work()
	w.want(op, onceward.StateAwaitingApproval, 0)
}

func TestEditAfterAnAttemptIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	op := w.ask(`{"id":"a","amount":500}`).Operation
	answer := w.shown(op)
	w.provider.Script(oncewardtest.FaultErrorBefore)
	w.yes(ann, op)
	answer.Edit = []byte(`{"id":"a","amount":50}`)
	wantCode(t, w.approve(bob, op, answer), onceward.CodeStateForbids)
}

func TestApprovedAndCrashedBeforeDispatchIsSpentOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		doomed := w.another()
		if err := doomed.approve(ann, op, doomed.shown(op)); err != nil {
			t.Fatal(err)
		}
		doomed.kill()
		one, two := w.another(), w.another()
		var both sync.WaitGroup
		for _, r := range []*replica{one, two} {
			both.Go(func() { r.step(5) })
		}
		both.Wait()
		one.quiet()
		two.quiet()
		one.work()
		one.want(op, onceward.StateSucceeded, 1)
		one.wantWrites(1)
		if !one.get(op.ID).ApprovalSpent {
			t.Fatal("the approval is not spent")
		}
	})
}

func TestUnknownOutcomeIsCoveredByTheApprovalAndAsksNobodyAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		w.provider.BreakProbes(true)
		w.provider.Script(oncewardtest.FaultRequestLost)
		w.yes(ann, op)
		w.want(op, onceward.StateOutcomeUnknown, 0)
		a := w.ask(`{"id":"a"}`)
		if a.Operation.State != onceward.StateOutcomeUnknown || a.Decision != onceward.DecisionEscalated || a.Operation.ID != op.ID {
			t.Fatalf("asked again it is %s, %s", a.Operation.State, a.Decision)
		}
		open, err := w.ledger.Approvals(t.Context(), ann, onceward.ApprovalQuery{})
		if err != nil || len(open) != 0 {
			t.Fatalf("%d questions are open, %v", len(open), err)
		}
		w.provider.BreakProbes(false)
		w.passSlowly(10*time.Minute, 30*time.Second) // absence is proven, and the same yes covers the second attempt
		w.want(op, onceward.StateSucceeded, 1)
		w.wantWrites(2)
	})
}

func TestApprovalThatComesBeforeItsOperationIsApplied(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		model := newWorld(t, asking())
		asked := model.ask(`{"id":"a","amount":5}`).Operation // the same identity, elsewhere
		early := onceward.ApprovalAnswer{Digest: asked.Digest, Contract: asked.Contract, Tool: "t.write", Reason: "as agreed"}
		wantCode(t, w.approve(ann, asked, onceward.ApprovalAnswer{Digest: early.Digest, Contract: early.Contract}), onceward.CodeOperationNotFound)
		wantCode(t, w.approve(ann, asked, onceward.ApprovalAnswer{Digest: early.Digest, Contract: "v0", Tool: "t.write"}), onceward.CodeStateForbids)
		if op, err := w.ledger.Approve(t.Context(), ann, asked.ID, early); op != nil || err != nil {
			t.Fatalf("the early yes gave %v, %v", op, err)
		}
		op := w.ask(`{"id":"a","amount":5}`).Operation
		w.work()
		w.want(op, onceward.StateSucceeded, 1)
		if yeses := w.get(op.ID).Approval.Yeses; len(yeses) != 1 || yeses[0].Actor != ann.String() {
			t.Fatalf("who said yes is told as %+v", yeses)
		}
		left, err := w.store.EarlyApprovals(t.Context(), op.ID)
		if err != nil || len(left) != 0 {
			t.Fatalf("%d early approvals are left, %v", len(left), err)
		}
	})
}

func TestEarlyApprovalForAnotherInputOrTooOldDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	model := newWorld(t, asking())
	other := model.ask(`{"id":"a","amount":5}`).Operation
	late := model.ask(`{"id":"b"}`).Operation
	for _, op := range []*onceward.Operation{other, late} {
		if err := w.approve(ann, op, onceward.ApprovalAnswer{Digest: op.Digest, Contract: op.Contract, Tool: "t.write"}); err != nil {
			t.Fatal(err)
		}
	}
	a := w.ask(`{"id":"a","amount":6}`).Operation
	w.pass(24*time.Hour + time.Second)
	b := w.ask(`{"id":"b"}`).Operation
	w.work()
	w.want(b, onceward.StateAwaitingApproval, 0)
	w.want(a, onceward.StateCancelled, 0) // nobody answered
}

func TestEarlyApprovalThatRacesItsClaimIsNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asking())
	model := newWorld(t, asking())
	asked := model.ask(`{"id":"a"}`).Operation
	w.store.BeforeCommit(func([]onceward.Change) { // after the claim began, before it is there
		w.store.BeforeCommit(nil)
		if err := w.approve(ann, asked, onceward.ApprovalAnswer{Digest: asked.Digest, Contract: asked.Contract, Tool: "t.write"}); err != nil {
			t.Error(err)
		}
	})
	op := w.ask(`{"id":"a"}`).Operation
	w.work()
	w.want(op, onceward.StateSucceeded, 1)
}

func TestOpenQuestionsAreListedOldestFirst(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(quorum(2), func(i *onceward.ToolInfo) { i.Approvers = []string{"leads"} }), func(t *testing.T, w *world) {
		lea, leo := person("lea", "leads"), person("leo", "leads")
		var ops []*onceward.Operation
		for _, id := range []string{"a", "b", "c"} {
			ops = append(ops, w.ask(`{"id":"`+id+`"}`).Operation)
			w.clock.Advance(time.Minute)
		}
		w.yes(lea, ops[0])
		if _, err := w.ledger.AssignApproval(t.Context(), leo, ops[2].ID, onceward.Assignment{Team: "night"}, "shift"); err != nil {
			t.Fatal(err)
		}
		list := func(p onceward.Principal, q onceward.ApprovalQuery, want ...*onceward.Operation) {
			t.Helper()
			got, err := w.ledger.Approvals(t.Context(), p, q)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d questions, %v; want %d", len(got), err, len(want))
			}
			for i := range want {
				if got[i].ID != want[i].ID {
					t.Fatalf("question %d is %s", i, got[i].Key)
				}
			}
		}
		list(ann, onceward.ApprovalQuery{}, ops...)
		list(lea, onceward.ApprovalQuery{Mine: true}, ops[1], ops[2])
		list(leo, onceward.ApprovalQuery{Mine: true}, ops...)
		list(person("nik", "night"), onceward.ApprovalQuery{Named: true}, ops[2])
		list(person("nik", "night"), onceward.ApprovalQuery{Mine: true}, ops[2])
		list(ann, onceward.ApprovalQuery{Limit: 1}, ops[0])
		foreign := ann
		foreign.Tenant = "globex"
		list(foreign, onceward.ApprovalQuery{})
	})
}
