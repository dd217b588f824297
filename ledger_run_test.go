package onceward_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// flow is a workflow without YAML: its step classify has the branches refund,
// with the tool t.write, and person, without any; the output's member "category"
// is the branch.
type flow struct{ info onceward.WorkflowInfo }

func newFlow(version string) *flow {
	return &flow{onceward.WorkflowInfo{Name: "support.triage", Version: version, Hash: "hash-" + version, Source: []byte("workflow " + version),
		Steps: []onceward.WorkflowStep{
			{Name: "classify", Branches: []onceward.WorkflowBranch{{Name: "refund", Tools: []onceward.ToolName{"t.write"}}, {Name: "person"}}},
			{Name: "word"},
		}}}
}

func (f *flow) Info() *onceward.WorkflowInfo { return &f.info }

func (f *flow) Decide(step string, output []byte, confidence float64) (onceward.Ruling, error) {
	var out struct{ Category string }
	if err := json.Unmarshal(output, &out); err != nil || step == "classify" && out.Category == "" {
		return onceward.Ruling{}, onceward.Errorf(onceward.CodeOutputInvalid, "the output lacks category")
	}
	switch {
	case step != "classify":
		return onceward.Ruling{}, nil
	case out.Category == "refund" && confidence >= 0.5:
		return onceward.Ruling{Branch: "refund", Rule: "rules[0]"}, nil
	}
	return onceward.Ruling{Branch: "person", Rule: "default"}, nil
}

// under puts a workflow in force.
func under(t testing.TB, version string) worldOption {
	return func(o *onceward.Options) {
		o.Tools.CompileWorkflows(func(_ string, source []byte) (onceward.Workflow, error) {
			return newFlow(strings.TrimPrefix(string(source), "workflow ")), nil
		})
		if err := o.Tools.ActivateWorkflows(t.Context(), []onceward.Workflow{newFlow(version)}, false); err != nil {
			t.Fatal(err)
		}
	}
}

var agent = onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "local", Subject: "agent", Roles: onceward.AllRoles}

func (r *replica) tryRun(trigger, input string, edit ...func(*onceward.RunRequest)) (*onceward.RunAnswer, error) {
	in := onceward.RunRequest{Principal: agent, Workflow: "support.triage", TriggerKey: onceward.Key(trigger), Input: []byte(input)}
	for _, e := range edit {
		e(&in)
	}
	return r.ledger.StartRun(r.t.Context(), in)
}

func (r *replica) startRun(trigger string, edit ...func(*onceward.RunRequest)) *onceward.Run {
	r.t.Helper()
	a, err := r.tryRun(trigger, `{"mail":"`+trigger+`"}`, edit...)
	if err != nil {
		r.t.Fatal(err)
	}
	return a.Run
}

func ofVersion(v string) func(*onceward.RunRequest) {
	return func(in *onceward.RunRequest) { in.Version = v }
}

func onDuplicate(d onceward.OnDuplicate) func(*onceward.RunRequest) {
	return func(in *onceward.RunRequest) { in.OnDuplicate = d }
}

func keyed() *oncewardtest.Tool {
	return oncewardtest.NewTool("t.write", onceward.EffectKeyedWrite)
}

func TestTriggerThatArrivesOftenStartsOneRun(t *testing.T) {
	t.Parallel()
	inRealTime(t, keyed(), func(t *testing.T, w *world) {
		other := w.another(under(t, "1"))
		var mu sync.Mutex
		decisions := map[onceward.Decision]int{}
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				r := w.replica
				if i%2 == 1 {
					r = other
				}
				a, err := r.tryRun("mail-1", `{"n": 1.0}`)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				decisions[a.Decision]++
			})
		}
		group.Wait()
		if decisions[onceward.DecisionFresh] != 1 || decisions[onceward.DecisionJoined] != 7 {
			t.Errorf("the triggers were answered %v", decisions)
		}
		if _, err := w.tryRun("mail-1", `{"n":1}`); err != nil {
			t.Errorf("the same number, spelled otherwise: %v", err)
		}
		_, err := w.tryRun("mail-1", `{"n":2}`)
		wantCode(t, err, onceward.CodeKeyReused)
		digest, _, err := onceward.ContentDigest([]byte(`{"n":1}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.tryRun("mail-1", "", func(in *onceward.RunRequest) { in.Input, in.InputDigest = nil, digest }); err != nil {
			t.Errorf("the digest in place of the input: %v", err)
		}
	}, under(t, "1"))
}

func TestDuplicateTriggerUnderANewVersionDoesNotRedoTheEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keyed(), under(t, "1"))
	first := w.startRun("mail-1")
	w.restart(under(t, "2"))
	for _, version := range []string{"", "1", "2"} {
		a, err := w.tryRun("mail-1", `{"mail":"mail-1"}`, ofVersion(version))
		if err != nil || a.Run.ID != first.ID || a.Run.Version != "1" || a.Run.Rules != "hash-1" || a.Decision != onceward.DecisionJoined {
			t.Errorf("the event again under version %q: %+v, %v", version, a, err)
		}
		if told := strings.Contains(a.Advice, "stays under version 1"); told != (version == "2") {
			t.Errorf("under version %q the advice is %q", version, a.Advice)
		}
	}
	_, err := w.tryRun("mail-2", `{}`, ofVersion("1"))
	wantCode(t, err, onceward.CodeWorkflowMismatch)
	if r := w.startRun("mail-3"); r.Version != "2" {
		t.Errorf("a new event runs under version %s", r.Version)
	}
	d := w.decide(first.ID, "classify", `{"a":1}`, pinning(`{"category":"refund"}`))
	if got := d.Step.Current().RuleVersion; got != "hash-1" {
		t.Errorf("the old run decides under rule version %s", got)
	}
}

func TestWhatASecondTriggerWants(t *testing.T) {
	t.Parallel()
	onEachStore(t, keyed(), func(t *testing.T, w *world) {
		run := w.startRun("mail-1", ofVersion("7"))
		again := func(d onceward.OnDuplicate) (*onceward.RunAnswer, error) {
			return w.tryRun("mail-1", `{"mail":"mail-1"}`, ofVersion("7"), onDuplicate(d))
		}
		_, err := again(onceward.DuplicateFail)
		wantCode(t, err, onceward.CodeDuplicate)
		_, err = again(onceward.DuplicateFailIfRunning)
		wantCode(t, err, onceward.CodeStillRunning)
		ended, err := w.ledger.FinishRun(t.Context(), agent, run.ID, onceward.RunSucceeded, "done")
		if err != nil || ended.State != onceward.RunFinished || ended.FinishedBy != "local:agent" {
			t.Fatalf("the run ended as %+v, %v", ended, err)
		}
		if a, err := again(onceward.DuplicateFailIfRunning); err != nil || a.Decision != onceward.DecisionReplayed {
			t.Errorf("after its end: %+v, %v", a, err)
		}
		_, err = again(onceward.DuplicateFail)
		wantCode(t, err, onceward.CodeDuplicate)
		if same, err := w.ledger.FinishRun(t.Context(), agent, run.ID, onceward.RunSucceeded, "other words"); err != nil || same.Reason != "done" {
			t.Errorf("the same end again: %+v, %v", same, err)
		}
		_, err = w.ledger.FinishRun(t.Context(), agent, run.ID, onceward.RunFailed, "")
		wantCode(t, err, onceward.CodeStateForbids)
		if !strings.Contains(err.Error(), "by local:agent at 2026-") {
			t.Errorf("the second is not told who and when: %v", err)
		}
		_, err = w.tryRun("mail-2", `{}`)
		wantCode(t, err, onceward.CodeInvalidRequest) // nobody says which version
	})
}

// agentRun is a whole run of an agent: it starts the run, lets its model
// classify, and writes. It asks its model only if it holds the claim, and it
// crashes after as many steps as it is told.
type agentRun struct {
	r     *replica
	asked int // how often the model was asked
}

func (a *agentRun) run(t *testing.T, category string, steps int) *onceward.Operation {
	t.Helper()
	run := a.r.startRun("mail-1", ofVersion("1"))
	if steps == 0 {
		return nil
	}
	d := a.r.decide(run.ID, "classify", `{"mail":"mail-1"}`, byToken("worker-token-of-run"))
	if d.State == onceward.DecisionClaimed {
		if steps == 1 {
			return nil
		}
		a.asked++
		d = a.r.decide(run.ID, "classify", `{"mail":"mail-1"}`, byToken("worker-token-of-run"), pinning(`{"category":"`+category+`"}`))
	}
	if d.State != onceward.DecisionPinned || steps == 2 {
		return nil
	}
	return a.r.ask(`{"id":"mail-1"}`, deciding(run, d.Step)).Operation
}

func deciding(run *onceward.Run, d *onceward.StepDecision) func(*onceward.Intent) {
	return func(in *onceward.Intent) { in.Run, in.Decision, in.Branch = run.ID.String(), d.ID, d.Current().Branch }
}

func TestAgentThatRepeatsItsWholeRunAfterACrashDoesNothingTwice(t *testing.T) {
	t.Parallel()
	inRealTime(t, keyed(), func(t *testing.T, w *world) {
		a := &agentRun{r: w.replica}
		for steps := range 4 {
			a.run(t, "refund", steps)
		}
		op := a.run(t, "person", 9) // the model would say something else now
		if op == nil {
			t.Fatal("the last run did not come to its end")
		}
		w.want(op, onceward.StateSucceeded, 1)
		w.wantWrites(1)
		if a.asked != 1 {
			t.Errorf("the model was asked %d times", a.asked)
		}
		if op.DecidedBy.Branch != "refund" || op.DecidedBy.Version != 1 || op.DecidedBy.Rules != "hash-1" {
			t.Errorf("the operation was decided by %+v", op.DecidedBy)
		}
		run, err := onceward.ParseRunID(op.Run)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.ledger.FinishRun(t.Context(), agent, run, onceward.RunSucceeded, ""); err != nil {
			t.Fatal(err)
		}
		if late := a.run(t, "person", 9); late == nil || late.ID != op.ID {
			t.Errorf("after the end of its run the agent gets %+v", late)
		}
		w.wantWrites(1)
	}, under(t, "1"))
}

func TestRunTellsWhatIsDoneAndWhatIsNext(t *testing.T) {
	t.Parallel()
	onEachStore(t, keyed(), func(t *testing.T, w *world) {
		run := w.startRun("mail-1", func(in *onceward.RunRequest) { in.CorrelationID = "case-9" })
		view := func() *onceward.RunView {
			t.Helper()
			v, err := w.ledger.Run(t.Context(), agent, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if next := view().Next; len(next) != 1 || next[0] != (onceward.RunStep{Step: "classify"}) {
			t.Errorf("at first the next is %v", next)
		}
		w.clock.Advance(time.Second)
		d := w.decide(run.ID, "classify", `{"a":1}`, pinning(`{"category":"refund"}`))
		if next := view().Next; len(next) != 2 || next[0] != (onceward.RunStep{Step: "classify", Branch: "refund", Tool: "t.write"}) || next[1].Step != "word" {
			t.Errorf("after the decision the next is %v", next)
		}
		w.clock.Advance(time.Second)
		w.ask(`{"id":"1"}`, deciding(run, d.Step))
		w.clock.Advance(time.Second)
		if _, err := w.ledger.FinishRun(t.Context(), agent, run.ID, onceward.RunSucceeded, "all done"); err != nil {
			t.Fatal(err)
		}
		v := view()
		var lines []string
		for _, e := range v.Timeline {
			lines = append(lines, strings.TrimSpace(e.Kind+" "+e.Event+" "+e.Name+" "+e.What))
		}
		want := "run started support.triage 1|decision claimed classify|decision pinned classify refund|operation created t.write refund|operation ended t.write succeeded|run finished support.triage succeeded"
		if got := strings.Join(lines, "|"); got != want {
			t.Errorf("the timeline is\n%s, want\n%s", got, want)
		}
		if len(v.Next) != 0 || len(v.Operations) != 1 || v.Operations[0].Result == nil || v.Operations[0].CorrelationID != "case-9" {
			t.Errorf("the finished run has %+v", v)
		}
	}, under(t, "1"))
}

func TestNothingNewJoinsAFinishedOrStrangeRun(t *testing.T) {
	t.Parallel()
	onEachStore(t, keyed(), func(t *testing.T, w *world) {
		run := w.startRun("mail-1", ofVersion("1"))
		labelled := func(label string) func(*onceward.Intent) {
			return func(in *onceward.Intent) { in.Run = label }
		}
		done := w.ask(`{"id":"1"}`, labelled(run.ID.String())).Operation
		if _, err := w.ledger.FinishRun(t.Context(), agent, run.ID, onceward.RunSucceeded, ""); err != nil {
			t.Fatal(err)
		}
		_, err := w.try(`{"id":"2"}`, labelled(run.ID.String()))
		wantCode(t, err, onceward.CodeStateForbids)
		if again := w.ask(`{"id":"1"}`, labelled(run.ID.String())); again.Operation.ID != done.ID || again.Decision != onceward.DecisionReplayed {
			t.Errorf("what the run did is answered with %+v", again)
		}
		_, err = w.try(`{"id":"3"}`, labelled(onceward.NewRunID("other", "support.triage", "mail-1").String()))
		wantCode(t, err, onceward.CodeRunNotFound)
		stranger := agent
		stranger.Tenant = "other"
		_, err = w.ledger.Run(t.Context(), stranger, run.ID)
		wantCode(t, err, onceward.CodeRunNotFound)
		if free := w.ask(`{"id":"4"}`, labelled("run_of_tuesday")).Operation; free.Run != "run_of_tuesday" {
			t.Errorf("a free label became %q", free.Run)
		}
		fork, err := w.ledger.Fork(t.Context(), agent, done.ID, "again", "the customer asked", nil, 0)
		if err != nil || fork.Operation.Run != run.ID.String() {
			t.Errorf("a fork of a finished run: %+v, %v", fork, err)
		}
		w.quiet()
	})
}

func TestLostAnswersOfRunsAreHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keyed(), func(o *onceward.Options) { o.Store = &forgetful{Store: o.Store} })
	run := w.startRun("mail-1", ofVersion("1"))
	if ended, err := w.ledger.FinishRun(t.Context(), agent, run.ID, onceward.RunSucceeded, ""); err != nil || ended.Revision != 2 {
		t.Errorf("the end whose commit was lost: %+v, %v", ended, err)
	}
	if d := w.decide(w.startRun("mail-2", ofVersion("1")).ID, "s", `{}`, pinning(`{"a":1}`)); d.Decision != onceward.DecisionFresh || d.Step.Revision != 1 {
		t.Errorf("the decision whose commit was lost: %+v", d)
	}
}

// forgetful loses the answer of every first write of a row.
type forgetful struct {
	onceward.Store
	told sync.Map
}

func (s *forgetful) lost(token onceward.WriteToken) error {
	if _, again := s.told.LoadOrStore(token, true); again {
		return nil
	}
	return onceward.Errorf(onceward.CodeMayBeRecorded, "the connection was lost inside the commit")
}

func (s *forgetful) PutRun(ctx context.Context, r onceward.Run, notes ...onceward.AuditEvent) (*onceward.Run, bool, error) {
	stored, applied, err := s.Store.PutRun(ctx, r, notes...)
	if lost := s.lost(r.Token); lost != nil {
		return nil, false, lost
	}
	return stored, applied, err
}

func (s *forgetful) PutDecision(ctx context.Context, d onceward.StepDecision, notes ...onceward.AuditEvent) (*onceward.StepDecision, bool, error) {
	stored, applied, err := s.Store.PutDecision(ctx, d, notes...)
	if lost := s.lost(d.Token); lost != nil {
		return nil, false, lost
	}
	return stored, applied, err
}
