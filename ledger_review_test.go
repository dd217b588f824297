package onceward_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// operatorNamed is a person who settles reviews.
func operatorNamed(name string) onceward.Principal {
	p := person(name)
	p.Roles = []onceward.Role{onceward.RoleOperator}
	return p
}

var (
	olga = operatorNamed("olga")
	omar = operatorNamed("omar")
)

// fax is a tool of whose lost answers only a person can find out.
func fax(edit ...func(*onceward.ToolInfo)) *oncewardtest.Tool {
	return oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite, edit...)
}

func reviewedBy(team string, within time.Duration) func(*onceward.ToolInfo) {
	return func(i *onceward.ToolInfo) { i.Policy.ReviewTeam, i.Policy.ReviewWithin = team, within }
}

// inReview makes an operation that waits for a person.
func (w *world) inReview(input string) *onceward.Operation {
	w.t.Helper()
	w.provider.Script(oncewardtest.FaultAnswerLost)
	op := w.ask(input).Operation
	w.work()
	if op = w.get(op.ID); op.State != onceward.StateNeedsReview {
		w.t.Fatalf("it is %s, not in review", op.State)
	}
	return op
}

// One whose contract does not load any more is listed, and cannot be answered here.
func TestReviewWhoseContractCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fax())
	w.broken, w.beside = onceward.CodeContractInvalid, []onceward.Tool{oncewardtest.NewTool("t.other", onceward.EffectUnsafeWrite)}
	w.restart()
	w.provider.Script(oncewardtest.FaultAnswerLost)
	a, err := w.ledger.Submit(t.Context(), onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.other", Input: []byte(`{"id":"a"}`)})
	if err != nil {
		t.Fatal(err)
	}
	w.work()
	op := w.inReview(`{"id":"b"}`)
	w.beside = nil
	w.restart()
	reviews, err := w.ledger.Reviews(t.Context(), olga, onceward.ReviewQuery{Limit: 10})
	if err != nil || len(reviews) != 2 || reviews[0].Operation.ID != a.Operation.ID || reviews[1].Operation.ID != op.ID {
		t.Fatalf("the queue is %v, %v", reviews, err)
	}
	if lost, whole := reviews[0], reviews[1]; len(lost.Answers) != 0 || lost.Info.Name != "t.other" || len(whole.Answers) == 0 {
		t.Errorf("of the one: %+v; of the other: %+v", lost, whole)
	}
}

// alarmed is what the world's process raised so far.
func (r *replica) alarmed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.alarms)
}

// queue lists the IDs of the reviews that a query finds.
func (w *world) queue(p onceward.Principal, q onceward.ReviewQuery) []onceward.OperationID {
	w.t.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	found, err := w.ledger.Reviews(w.t.Context(), p, q)
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []onceward.OperationID
	for _, r := range found {
		ids = append(ids, r.Operation.ID)
	}
	return ids
}

func (w *world) wantQueue(p onceward.Principal, q onceward.ReviewQuery, want ...onceward.OperationID) {
	w.t.Helper()
	if got := w.queue(p, q); !slices.Equal(got, want) {
		w.t.Fatalf("the queue is %v, want %v", got, want)
	}
}

func TestOfTwoWhoTakeAReviewOneHasItAndTheOtherIsTold(t *testing.T) {
	t.Parallel()
	onEachStore(t, fax(), func(t *testing.T, w *world) {
		op, other := w.inReview(`{"id":"a"}`), w.another()
		errs := make([]error, 2)
		var both sync.WaitGroup
		both.Go(func() { _, errs[0] = w.ledger.TakeReview(t.Context(), olga, op.ID) })
		both.Go(func() { _, errs[1] = other.ledger.TakeReview(t.Context(), omar, op.ID) })
		both.Wait()
		first, lost := olga, errs[1]
		if errs[0] != nil {
			first, lost = omar, errs[0]
		}
		wantCode(t, lost, onceward.CodeStateForbids)
		wantText(t, lost, first.String()+" has it since 2026-01-02T")
		if got := w.get(op.ID).Assigned; got.To != first.String() {
			t.Fatalf("%q has it, and %s was told so", got.To, first)
		}
		version := w.get(op.ID).Version
		if _, err := w.ledger.TakeReview(t.Context(), first, op.ID); err != nil || w.get(op.ID).Version != version {
			t.Fatalf("taking it again: %v, version %d after %d", err, w.get(op.ID).Version, version)
		}
		w.wantQueue(first, onceward.ReviewQuery{Mine: true}, op.ID)
	})
}

func TestReviewIsHandedOverWithAReasonAndNotBehindSomebodysBack(t *testing.T) {
	t.Parallel()
	onEachStore(t, fax(reviewedBy("desk", time.Hour)), func(t *testing.T, w *world) {
		op := w.inReview(`{"id":"a"}`)
		due := op.Assigned.Due
		w.wantQueue(olga, onceward.ReviewQuery{Team: "desk"}, op.ID)
		_, err := w.ledger.AssignReview(t.Context(), olga, op.ID, onceward.Assignment{To: omar.String()}, " ")
		wantCode(t, err, onceward.CodeEvidenceRequired)

		// Omar takes it in another process, between Olga's look and her write.
		other := w.another()
		w.store.BeforeCommit(func([]onceward.Change) {
			w.store.BeforeCommit(nil)
			if _, err := other.ledger.TakeReview(t.Context(), omar, op.ID); err != nil {
				t.Error(err)
			}
		})
		_, err = w.ledger.AssignReview(t.Context(), olga, op.ID, onceward.Assignment{Team: "leads"}, "too big")
		wantCode(t, err, onceward.CodeStateForbids)
		wantText(t, err, "oidc:omar has it since 2026-01-02T")

		if _, err = w.ledger.AssignReview(t.Context(), olga, op.ID, onceward.Assignment{Team: "leads"}, "omar is away"); err != nil {
			t.Fatal(err)
		}
		if a := w.get(op.ID).Assigned; a.To != "" || a.Team != "leads" || !a.Due.Equal(due) {
			t.Fatalf("it is with %+v, due %s", a, due)
		}
		wantText(t, errors.New(w.timeline(op)), "to team leads", "omar is away")
	})
}

func TestOverdueReviewIsToldOnceForEachDeadlineAndStandsFirst(t *testing.T) {
	t.Parallel()
	onEachStore(t, fax(reviewedBy("desk", time.Hour)), func(t *testing.T, w *world) {
		first := w.inReview(`{"id":"a"}`)
		w.pass(30 * time.Minute)
		second := w.inReview(`{"id":"b"}`)
		w.wantQueue(olga, onceward.ReviewQuery{Overdue: true})
		w.pass(31 * time.Minute)
		w.pass(5 * time.Minute)
		if got := w.alarmed(); len(got) != 1 {
			t.Fatalf("alarms: %q", got)
		}
		if n := strings.Count(w.timeline(first), "review_overdue"); n != 1 || strings.Count(w.timeline(second), "review_overdue") != 0 {
			t.Fatalf("told %d times:\n%s", n, w.timeline(first))
		}
		w.wantQueue(olga, onceward.ReviewQuery{Overdue: true}, first.ID)
		w.wantQueue(olga, onceward.ReviewQuery{}, first.ID, second.ID)

		// A new deadline is another chance, and another alarm.
		later := w.clock.Now().Add(2 * time.Hour)
		if _, err := w.ledger.AssignReview(t.Context(), olga, first.ID, onceward.Assignment{Team: "desk", Due: later}, "the clerk is away"); err != nil {
			t.Fatal(err)
		}
		w.wantQueue(olga, onceward.ReviewQuery{}, second.ID, first.ID)
		w.pass(3 * time.Hour)
		if got := w.alarmed(); len(got) != 3 {
			t.Fatalf("alarms: %q", got)
		}
	})
}

func TestPagesOfTheReviewQueueListEverythingOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fax(reviewedBy("desk", time.Hour)))
	var want []onceward.OperationID
	for _, id := range []string{"a", "b", "c"} {
		want = append(want, w.inReview(`{"id":"`+id+`"}`).ID)
		w.pass(time.Minute)
	}
	q := onceward.ReviewQuery{Limit: 2}
	page, err := w.ledger.Reviews(t.Context(), olga, q)
	if err != nil || len(page) != 2 {
		t.Fatalf("%d reviews, %v", len(page), err)
	}
	w.wantQueue(olga, q, want[:2]...)
	q.After = page[1].Cursor()
	w.wantQueue(olga, q, want[2])
}

func TestOfTwoWhoResolveOneWinsAndTheOtherIsToldWhoAndWhen(t *testing.T) {
	t.Parallel()
	onEachStore(t, fax(), func(t *testing.T, w *world) {
		op := w.inReview(`{"id":"a"}`)
		gone := onceward.Resolved{Outcome: onceward.ResolvedAbandoned, Reason: "small"}
		if _, err := w.ledger.Resolve(t.Context(), olga, op.ID, gone); err != nil {
			t.Fatal(err)
		}
		_, err := w.ledger.Resolve(t.Context(), omar, op.ID, gone)
		wantCode(t, err, onceward.CodeStateForbids)
		wantText(t, err, "oidc:olga resolved it at 2026-01-02T", "it became abandoned")
	})
}

func TestReviewsAreForWhoeverHasTheRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fax())
	op := w.inReview(`{"id":"a"}`)
	for name, try := range map[string]func(p onceward.Principal) error{
		"take": func(p onceward.Principal) error { _, err := w.ledger.TakeReview(t.Context(), p, op.ID); return err },
		"assign": func(p onceward.Principal) error {
			_, err := w.ledger.AssignReview(t.Context(), p, op.ID, onceward.Assignment{Team: "x"}, "r")
			return err
		},
		"comment": func(p onceward.Principal) error { _, err := w.ledger.Comment(t.Context(), p, op.ID, "c"); return err },
		"resolve": func(p onceward.Principal) error {
			_, err := w.ledger.Resolve(t.Context(), p, op.ID, onceward.Resolved{Outcome: onceward.ResolvedAbandoned, Reason: "r"})
			return err
		},
	} {
		for _, role := range onceward.AllRoles {
			p := person("eve")
			p.Roles = []onceward.Role{role}
			if role == onceward.RoleOperator {
				p.Tools = []onceward.ToolName{"another.tool"}
			}
			if err := try(p); !onceward.Is(err, onceward.CodeForbidden) {
				t.Errorf("%s by %v: %v", name, role, err)
			}
		}
	}
	p := person("eve")
	p.Roles = []onceward.Role{onceward.RoleCaller}
	_, err := w.ledger.Reviews(t.Context(), p, onceward.ReviewQuery{Limit: 1})
	wantCode(t, err, onceward.CodeForbidden)
	if got := w.get(op.ID); got.Version != op.Version {
		t.Fatalf("it was changed: %+v", got.Assigned)
	}
}

func TestAnswersAreThoseThatAreTaken(t *testing.T) {
	t.Parallel()
	for _, s := range onceward.AllStates {
		op := sampleOp(onceward.EffectUnsafeWrite, s)
		offered := map[onceward.Resolved]bool{}
		for _, a := range op.Answers() {
			r := onceward.Resolved{Outcome: a.Outcome, Retry: a.Retry, Actor: "p"}
			if r.Reason = "looked"; a.NeedsReference {
				r.Reason, r.Reference = "", "eff_9"
			}
			offered[r] = true
			after, _, err := onceward.Apply(op, r, t0)
			if err != nil {
				t.Errorf("%s offers %q, and refuses it: %v", s, a.When, err)
				continue
			}
			if !a.Retry {
				wantText(t, errors.New(a.Consequence), after.State.String())
			} else if after.State != onceward.StateReady {
				t.Errorf("%s: try again leads to %s", s, after.State)
			}
		}
		for _, r := range []onceward.Resolved{
			{Outcome: onceward.ResolvedSucceeded, Reference: "eff_9", Actor: "p"}, {Outcome: onceward.ResolvedNotPerformed, Retry: true, Reason: "looked", Actor: "p"},
			{Outcome: onceward.ResolvedNotPerformed, Reason: "looked", Actor: "p"}, {Outcome: onceward.ResolvedAbandoned, Reason: "looked", Actor: "p"},
		} {
			if _, _, err := onceward.Apply(op, r, t0); err == nil && !offered[r] {
				t.Errorf("%s takes %s, retry %v, and does not offer it", s, r.Outcome, r.Retry)
			}
		}
	}
}

func TestCommentChangesNothingButTheTimeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fax(reviewedBy("desk", time.Hour)))
	op := w.inReview(`{"id":"a"}`)
	if _, err := w.ledger.Comment(t.Context(), olga, op.ID, "the clerk is away"); err != nil {
		t.Fatal(err)
	}
	wantText(t, errors.New(w.timeline(op)), "commented", "the clerk is away")
	if got := w.get(op.ID); got.Assigned != op.Assigned || got.State != op.State || !got.DueAt.Equal(op.DueAt) {
		t.Fatalf("it is %s with %+v, due %s", got.State, got.Assigned, got.DueAt)
	}
	_, err := w.ledger.Comment(t.Context(), olga, op.ID, "  ")
	wantCode(t, err, onceward.CodeInvalidRequest)
}

// The first operation's yes is no yes to its fork.
func TestForkUnderApprovalNeedsAYesOfItsOwn(t *testing.T) {
	t.Parallel()
	onEachStore(t, asking(), func(t *testing.T, w *world) {
		op := w.ask(`{"id":"a"}`).Operation
		w.yes(ann, op)
		w.want(op, onceward.StateSucceeded, 1)
		a, err := w.ledger.Fork(t.Context(), onceward.LocalPrincipal(), op.ID, "again", "the parcel was lost", nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.work()
		w.want(a.Operation, onceward.StateAwaitingApproval, 1)
		w.yes(bob, a.Operation)
		w.want(a.Operation, onceward.StateSucceeded, 2)
	})
}
