package onceward_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

type decisionEdit = func(*onceward.DecisionRequest)

func (r *replica) tryDecide(run onceward.RunID, step, input string, edit ...decisionEdit) (*onceward.DecisionAnswer, error) {
	in := onceward.DecisionRequest{Principal: agent, Run: run, Step: step, Input: []byte(input), Model: "m-1", PromptVersion: "p-1"}
	for _, e := range edit {
		e(&in)
	}
	return r.ledger.PutDecision(r.t.Context(), in)
}

func (r *replica) decide(run onceward.RunID, step, input string, edit ...decisionEdit) *onceward.DecisionAnswer {
	r.t.Helper()
	a, err := r.tryDecide(run, step, input, edit...)
	if err != nil {
		r.t.Fatalf("decide %s: %v", step, err)
	}
	return a
}

func pinning(output string) decisionEdit {
	sure := 0.9
	return func(in *onceward.DecisionRequest) { in.Output, in.Confidence = []byte(output), &sure }
}

func byToken(token string) decisionEdit {
	return func(in *onceward.DecisionRequest) { in.ClaimToken = token }
}

func forAtMost(d time.Duration) decisionEdit {
	return func(in *onceward.DecisionRequest) { in.Wait = d }
}

const (
	tokenA = "token-of-worker-a"
	tokenB = "token-of-worker-b"
)

func TestRacingWorkersAskTheModelOnce(t *testing.T) {
	t.Parallel()
	inRealTime(t, keyed(), func(t *testing.T, w *world) {
		run := w.startRun("mail-1")
		other := w.another(under(t, "1"))
		var asked atomic.Int32
		outputs := sync.Map{}
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				r := w.replica
				if i%2 == 1 {
					r = other
				}
				a, err := r.tryDecide(run.ID, "classify", `{"a":1}`, forAtMost(30*time.Second))
				if err == nil && a.State == onceward.DecisionClaimed {
					asked.Add(1)
					category := []string{"refund", "person"}[i%2]
					a, err = r.tryDecide(run.ID, "classify", `{"a":1}`, byToken(a.ClaimToken), pinning(`{"category":"`+category+`"}`))
				}
				if err != nil || a.State != onceward.DecisionPinned {
					t.Errorf("worker %d got %+v, %v", i, a, err)
					return
				}
				outputs.Store(string(a.Step.Current().Output), true)
			})
		}
		group.Wait()
		n := 0
		outputs.Range(func(any, any) bool { n++; return true })
		if asked.Load() != 1 || n != 1 {
			t.Errorf("the model was asked %d times, and %d outputs came of it", asked.Load(), n)
		}
	}, under(t, "1"))
}

func TestCrashedClaimerIsReplacedAfterItsLease(t *testing.T) {
	t.Parallel()
	onEachStore(t, keyed(), func(t *testing.T, w *world) {
		run := w.startRun("mail-1")
		first := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA))
		if first.State != onceward.DecisionClaimed || first.ClaimToken != tokenA {
			t.Fatalf("the first worker got %+v", first)
		}
		if a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenB)); a.State != onceward.DecisionPending || a.RetryAfter <= 0 {
			t.Errorf("meanwhile the second got %+v", a)
		}
		w.clock.Advance(time.Minute)
		if a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA)); a.State != onceward.DecisionClaimed || !a.LeaseUntil.After(first.LeaseUntil) {
			t.Errorf("the first asks again and gets %+v", a)
		}
		w.clock.Advance(onceward.DefaultDecisionLease - time.Second)
		if a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenB)); a.State != onceward.DecisionPending {
			t.Errorf("before the lease is over the second got %+v", a)
		}
		w.clock.Advance(time.Second)
		if a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenB)); a.State != onceward.DecisionClaimed || a.ClaimToken != tokenB {
			t.Fatalf("after the lease the second got %+v", a)
		}
		if a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA), pinning(`{"category":"person"}`)); a.State != onceward.DecisionPending {
			t.Errorf("the first comes back with its output and gets %+v", a)
		}
		w.clock.Advance(onceward.DefaultDecisionLease)
		_, err := w.tryDecide(run.ID, "classify", `{"a":1}`, byToken(tokenA), pinning(`{"category":"person"}`))
		wantCode(t, err, onceward.CodeFenceLost)
		if a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenB), pinning(`{"category":"refund"}`)); a.Decision != onceward.DecisionFresh {
			t.Errorf("the heir pins late, and nobody else has: %+v", a)
		}
		if a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA), pinning(`{"category":"person"}`)); a.Step.Current().Branch != "refund" || a.Decision != onceward.DecisionReplayed {
			t.Errorf("the first is answered %+v", a)
		}
	}, under(t, "1"))
}

func TestFirstOutputWinsAndEveryRetryGetsIt(t *testing.T) {
	t.Parallel()
	onEachStore(t, keyed(), func(t *testing.T, w *world) {
		run := w.startRun("mail-1")
		first := w.decide(run.ID, "classify", `{"a": 1}`, pinning(`{ "category": "refund" }`))
		if v := first.Step.Current(); string(v.Output) != `{"category":"refund"}` || v.Rule != "rules[0]" || v.Model != "m-1" || v.PromptVersion != "p-1" || *v.Confidence != 0.9 || v.PinnedBy != "local:agent" {
			t.Errorf("pinned is %+v", v)
		}
		for _, edit := range [][]decisionEdit{
			{pinning(`{"category":"person"}`)}, {}, {byToken(tokenA)}, {byToken(tokenB), pinning(`{"nonsense":1}`)},
			{func(in *onceward.DecisionRequest) { in.Model, in.PromptVersion = "m-2", "p-2" }},
		} {
			a := w.decide(run.ID, "classify", `{"a":1.0}`, edit...)
			if a.State != onceward.DecisionPinned || a.Decision != onceward.DecisionReplayed || a.Step.Current().Branch != "refund" || a.Step.Current().Model != "m-1" {
				t.Errorf("a retry got %+v", a)
			}
		}
		_, err := w.tryDecide(run.ID, "classify", `{"a":2}`)
		wantCode(t, err, onceward.CodeDecisionConflict)
		_, err = w.tryDecide(run.ID, "classify", `{"a":1}`, func(in *onceward.DecisionRequest) { in.RuleVersion = "hash-2" })
		wantCode(t, err, onceward.CodeDecisionConflict)
		_, err = w.tryDecide(run.ID, "absent", `{"a":1}`)
		wantCode(t, err, onceward.CodeInvalidRequest)
	}, under(t, "1"))
}

func TestOtherInputConflictsWhileAClaimLivesAndNotAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keyed(), under(t, "1"))
	run := w.startRun("mail-1")
	w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA))
	_, err := w.tryDecide(run.ID, "classify", `{"a":2}`)
	wantCode(t, err, onceward.CodeDecisionConflict)
	w.clock.Advance(onceward.DefaultDecisionLease)
	if a := w.decide(run.ID, "classify", `{"a":2}`); a.State != onceward.DecisionClaimed {
		t.Errorf("a crashed worker's input holds on: %+v", a)
	}
}

func TestOutputThatBreaksItsSchemaIsRefusedAndTheStepTriesAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, keyed(), func(t *testing.T, w *world) {
		run := w.startRun("mail-1")
		w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA))
		_, err := w.tryDecide(run.ID, "classify", `{"a":1}`, byToken(tokenA), pinning(`{"note":"?"}`))
		wantCode(t, err, onceward.CodeOutputInvalid)
		if a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenB)); a.State != onceward.DecisionPending {
			t.Errorf("the refusal took the claim away: %+v", a)
		}
		a := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA), pinning(`{"category":"refund"}`))
		if a.Decision != onceward.DecisionFresh || a.Step.Current().Branch != "refund" {
			t.Errorf("the second try got %+v", a)
		}
	}, under(t, "1"))
}

func TestDecisionWithoutADocumentTakesTheSchemaOfItsRequest(t *testing.T) {
	t.Parallel()
	checked := func(o *onceward.Options) {
		o.CheckOutput = func(schema, output []byte) error {
			if string(schema) != `{"type":"object"}` || output[0] != '{' {
				return onceward.Errorf(onceward.CodeOutputInvalid, "%s under %s", output, schema)
			}
			return nil
		}
	}
	w := newWorld(t, keyed(), checked)
	run := w.startRun("mail-1", ofVersion("1"))
	with := func(in *onceward.DecisionRequest) {
		in.Schema, in.RuleVersion = []byte(`{ "type" : "object" }`), "rules-7"
	}
	w.decide(run.ID, "s", `{"a":1}`, byToken(tokenA), with)
	_, err := w.tryDecide(run.ID, "s", `{"a":1}`, byToken(tokenA), pinning(`[]`)) // the claim's schema holds
	wantCode(t, err, onceward.CodeOutputInvalid)
	a := w.decide(run.ID, "s", `{"a":1}`, byToken(tokenA), with, pinning(`{}`))
	if v := a.Step.Current(); v.RuleVersion != "rules-7" || v.Branch != "" {
		t.Errorf("pinned is %+v", v)
	}
	later := w.decide(run.ID, "s", `{"a":1}`, func(in *onceward.DecisionRequest) { in.RuleVersion = "rules-8" }) // rolled out meanwhile
	if later.Decision != onceward.DecisionReplayed || later.Step.Current().RuleVersion != "rules-7" {
		t.Errorf("under newer rules a retry gets %+v", later)
	}
	bare := newWorld(t, keyed())
	run = bare.startRun("mail-1", ofVersion("1"))
	_, err = bare.tryDecide(run.ID, "s", `{"a":1}`, with, pinning(`{}`))
	wantCode(t, err, onceward.CodeConfigInvalid)
}

func TestDecidingAnewIsAVersionWithAReason(t *testing.T) {
	t.Parallel()
	onEachStore(t, keyed(), func(t *testing.T, w *world) {
		run := w.startRun("mail-1")
		first := w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA))
		anew := func(version int, reason string) (*onceward.StepDecision, error) {
			return w.ledger.Redecide(t.Context(), agent, first.Step.ID, version, reason)
		}
		_, err := anew(0, "too early")
		wantCode(t, err, onceward.CodeStateForbids)
		w.decide(run.ID, "classify", `{"a":1}`, byToken(tokenA), pinning(`{"category":"person"}`))
		_, err = anew(1, "  ")
		wantCode(t, err, onceward.CodeEvidenceRequired)
		for range 2 { // the answer was lost once
			d, err := anew(1, "the mail was cut")
			if err != nil || d.Current().Number != 2 || d.Current().Reason != "the mail was cut" || d.Pinned() {
				t.Fatalf("decided anew: %+v, %v", d, err)
			}
		}
		_, err = w.tryDecide(run.ID, "classify", `{"a":1}`, byToken(tokenA), pinning(`{"category":"person"}`)) // sent again, on its way for long
		wantCode(t, err, onceward.CodeFenceLost)
		_, err = w.tryDecide(run.ID, "classify", `{"a":1}`, pinning(`{"category":"person"}`))
		wantCode(t, err, onceward.CodeFenceLost)
		_, err = w.try(`{"id":"1"}`, func(in *onceward.Intent) { in.Decision = first.Step.ID })
		wantCode(t, err, onceward.CodeStateForbids) // open: nothing is decided
		w.decide(run.ID, "classify", `{"a":2}`, byToken(tokenB))
		second := w.decide(run.ID, "classify", `{"a":2}`, byToken(tokenB), pinning(`{"category":"refund"}`))
		d, err := anew(1, "the mail was cut")
		if err != nil || d.Current().Number != 2 || !d.Pinned() {
			t.Errorf("the lost request for version 1 opened another version: %+v, %v", d, err)
		}
		if old := second.Step.Version(1); old.Branch != "person" || string(old.Output) != `{"category":"person"}` || second.Step.Current().Branch != "refund" {
			t.Errorf("the versions are %+v", second.Step.Versions)
		}
		op := w.ask(`{"id":"1"}`, deciding(run, second.Step)).Operation
		if op.DecidedBy.Version != 2 {
			t.Errorf("the operation was decided by %+v", op.DecidedBy)
		}
		ops, err := w.ledger.OperationsOf(t.Context(), agent, second.Step)
		if err != nil || len(ops) != 1 || ops[0].ID != op.ID {
			t.Errorf("the decision led to %v, %v", ops, err)
		}
	}, under(t, "1"))
}

func TestOperationOfAnotherBranchIsNeverMade(t *testing.T) {
	t.Parallel()
	onEachStore(t, keyed(), func(t *testing.T, w *world) {
		run, other := w.startRun("mail-1"), w.startRun("mail-2")
		person := w.decide(run.ID, "classify", `{"a":1}`, pinning(`{"category":"person"}`)).Step
		third := w.startRun("mail-3")
		refund := w.decide(third.ID, "classify", `{"a":1}`, pinning(`{"category":"refund"}`)).Step
		word := w.decide(run.ID, "word", `{"a":1}`, pinning(`{"text":"dear sir"}`)).Step
		refused := map[string]struct {
			edit func(*onceward.Intent)
			code onceward.Code
		}{
			"a tool that the branch does not name":  {func(in *onceward.Intent) { in.Decision = person.ID }, onceward.CodeBranchForbids},
			"another branch than the pinned one":    {func(in *onceward.Intent) { in.Decision, in.Branch = person.ID, "refund" }, onceward.CodeBranchForbids},
			"a branch that its caller made up":      {func(in *onceward.Intent) { in.Decision, in.Branch = refund.ID, "person" }, onceward.CodeBranchForbids},
			"a step that has no branches":           {func(in *onceward.Intent) { in.Decision = word.ID }, onceward.CodeBranchForbids},
			"the run without its decision":          {func(in *onceward.Intent) { in.Run = run.ID.String() }, onceward.CodeBranchForbids},
			"a decision of another run":             {func(in *onceward.Intent) { in.Run, in.Decision = other.ID.String(), person.ID }, onceward.CodeInvalidRequest},
			"a decision and a label":                {func(in *onceward.Intent) { in.Run, in.Decision = "tuesday", person.ID }, onceward.CodeInvalidRequest},
			"a branch without a decision":           {func(in *onceward.Intent) { in.Branch = "refund" }, onceward.CodeInvalidRequest},
			"a decision that does not exist":        {func(in *onceward.Intent) { in.Decision = onceward.NewDecisionID(other.ID, "word") }, onceward.CodeDecisionNotFound},
			"a step that nobody has decided so far": {func(in *onceward.Intent) { in.Decision = w.decide(other.ID, "classify", `{}`).Step.ID }, onceward.CodeStateForbids},
		}
		for name, c := range refused {
			if _, err := w.try(`{"id":"1"}`, c.edit); onceward.CodeOf(err) != c.code {
				t.Errorf("%s: %v, want %s", name, err, c.code)
			}
		}
		w.wantWrites(0)
	}, under(t, "1"))
}

func TestRequestsForDecisionsAreHeldToTheirLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keyed(), under(t, "1"))
	run := w.startRun("mail-1")
	tooSure := 1.1
	for name, c := range map[string]struct {
		edit decisionEdit
		code onceward.Code
	}{
		"a short token":           {byToken("short"), onceward.CodeInvalidRequest},
		"a long lease":            {func(in *onceward.DecisionRequest) { in.Lease = onceward.MaxDecisionLease + 1 }, onceward.CodeUnsupportedPolicy},
		"a confidence beyond one": {func(in *onceward.DecisionRequest) { in.Confidence = &tooSure }, onceward.CodeInvalidRequest},
		"no input":                {func(in *onceward.DecisionRequest) { in.Input = nil }, onceward.CodeInvalidRequest},
		"a schema of its own":     {func(in *onceward.DecisionRequest) { in.Schema = []byte(`{}`) }, onceward.CodeInvalidRequest},
		"a long output":           {pinning(`{"category":"` + strings.Repeat("x", onceward.DecisionOutputBytesMax) + `"}`), onceward.CodeTooLarge},
		"an unknown run":          {func(in *onceward.DecisionRequest) { in.Run = onceward.RunID{1} }, onceward.CodeRunNotFound},
		"a token without a claim": {func(in *onceward.DecisionRequest) { in.ClaimToken, in.Output = tokenA, []byte(`{"category":"refund"}`) }, onceward.CodeFenceLost},
	} {
		if _, err := w.tryDecide(run.ID, "classify", `{"a":1}`, c.edit); onceward.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	for i := 1; i <= onceward.DecisionVersionsMax; i++ {
		token := byToken(fmt.Sprint(tokenA, i))
		w.decide(run.ID, "word", `{"a":1}`, token)
		d := w.decide(run.ID, "word", `{"a":1}`, token, pinning(`{}`))
		_, err := w.ledger.Redecide(t.Context(), agent, d.Step.ID, 0, "again")
		if want := i == onceward.DecisionVersionsMax; want != onceward.Is(err, onceward.CodeTooLarge) {
			t.Fatalf("version %d: %v", i, err)
		}
	}
}
