package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// triage is a workflow without YAML: the member category of the output of its
// step classify is the branch.
type triage struct{}

func (triage) Info() *onceward.WorkflowInfo {
	return &onceward.WorkflowInfo{Name: "support.triage", Version: "3", Hash: "c0ffee", Source: []byte("triage"), Steps: []onceward.WorkflowStep{{
		Name: "classify", Branches: []onceward.WorkflowBranch{{Name: "ticket", Tools: []onceward.ToolName{probed}}, {Name: "fax", Tools: []onceward.ToolName{unsafely}}},
	}}}
}

func (triage) Decide(_ string, output []byte, _ float64) (onceward.Ruling, error) {
	var out struct{ Category string }
	if json.Unmarshal(output, &out) != nil || out.Category == "" {
		return onceward.Ruling{}, onceward.Errorf(onceward.CodeOutputInvalid, "the output lacks category")
	}
	return onceward.Ruling{Branch: out.Category, Rule: "rules[0]"}, nil
}

func triageWorld(t *testing.T) *world {
	t.Helper()
	return openWorld(t, func(o *onceward.Options) {
		if err := o.Tools.ActivateWorkflows(t.Context(), []onceward.Workflow{triage{}}, false); err != nil {
			t.Fatal(err)
		}
	})
}

func (w *world) startRun(trigger string) string {
	w.Helper()
	return w.post("/v1/runs", `{"workflow":"support.triage","trigger_key":"`+trigger+`","input":{"mail":1},"correlation_id":"case-1"}`).want(200).text("run.id")
}

func (w *world) put(body string) *reply {
	w.Helper()
	return w.do("PUT", "/v1/decisions", body)
}

func TestRunIsStartedOnceAndToldWhole(t *testing.T) {
	t.Parallel()
	w := triageWorld(t)
	first := w.post("/v1/runs", `{"workflow":"support.triage","trigger_key":"mail-1","input":{"n": 1.0}}`)
	first.want(200, "decision", "fresh", "run.state", "open", "run.version", "3", "run.rule_version", "c0ffee", "run.actor", "local:operator")
	id := first.text("run.id")
	w.post("/v1/runs", `{"workflow":"support.triage","version":"4","trigger_key":"mail-1","input":{"n":1}}`).want(200, "decision", "joined", "run.id", id, "run.version", "3")
	w.post("/v1/runs", `{"workflow":"support.triage","trigger_key":"mail-1","input":{"n":2}}`).want(422, "code", "key_reused")
	w.post("/v1/runs", `{"workflow":"support.triage","trigger_key":"mail-1","input":{"n":1},"on_duplicate":"fail"}`).want(409, "code", "duplicate")
	w.post("/v1/runs", `{"workflow":"support.triage","trigger_key":"mail-1","input":{"n":1},"on_duplicate":"fail_if_running"}`).want(409, "code", "still_running")
	w.post("/v1/runs", `{"workflow":"support.triage","trigger_key":"mail-1","input":{"n":1},"on_duplicate":"maybe"}`).want(400, "code", "unsupported_policy")
	w.post("/v1/runs", `{"workflow":"support.triage","version":"4","trigger_key":"mail-2"}`).want(409, "code", "workflow_mismatch")
	w.post("/v1/runs", `{"workflow":"other","trigger_key":"mail-2"}`).want(400, "code", "invalid_request")
	w.post("/v1/runs", `{"workflow":"other","version":"1","trigger_key":"mail 2\n"}`).want(400, "code", "key_invalid")
	w.get("/v1/runs/"+id).want(200, "run.input.n", json.Number("1"), "timeline.0.kind", "run", "timeline.0.event", "started")
	w.get("/v1/runs?state=open&workflow=support.triage").want(200, "runs.0.id", id).lacks("runs.0.input", "next")
	w.get("/v1/runs?state=finished").want(200).lacks("runs.0")
	w.get("/v1/runs?limit=1").want(200, "runs.0.id", id)
	w.get("/v1/runs?state=lost").want(400)
	w.post("/v1/runs/"+id+"/finish", `{"outcome":"done"}`).want(400, "code", "unsupported_policy")
	w.post("/v1/runs/"+id+"/finish", `{"outcome":"succeeded","reason":"answered"}`).want(200, "run.state", "finished", "run.finished_by", "local:operator")
	w.post("/v1/runs/"+id+"/finish", `{"outcome":"failed"}`).want(409, "code", "state_forbids")
	w.post("/v1/runs", `{"workflow":"support.triage","trigger_key":"mail-1","input":{"n":1},"on_duplicate":"fail_if_running"}`).want(200, "decision", "replayed")
	w.get("/v1/runs/"+strings.Replace(id, "run_", "op_", 1)).want(400, "code", "invalid_request")
	w.get("/v1/runs/"+onceward.NewRunID("default", "support.triage", "none").String()).want(404, "code", "run_not_found")
}

func TestPausedRunIsResumedWithoutDoingAnythingAgain(t *testing.T) {
	t.Parallel()
	w := triageWorld(t)
	run := w.startRun("mail-1")
	w.get("/v1/runs/"+run+"/resume").want(200, "next.0.step", "classify").lacks("next.0.tool", "done.decisions.0")
	w.put(`{"run":"`+run+`","step":"classify","input":{"a":1},"wait":"0s"}`).want(200, "state", "claimed")
	w.get("/v1/runs/"+run+"/resume").want(200, "waiting.decisions.0.state", "claimed", "waiting.decisions.0.claimed_by", "local:operator")
	w.clock.Advance(onceward.DefaultDecisionLease)
	pinned := w.put(`{"run":"` + run + `","step":"classify","input":{"a":1},"output":{"category":"ticket"},"model":"m","prompt_version":"p","confidence":0.75}`)
	pinned.want(200, "state", "pinned", "answered", "fresh", "decision.versions.0.branch", "ticket", "decision.versions.0.confidence", json.Number("0.75"))
	decision := pinned.text("decision.id")
	w.get("/v1/runs/"+run+"/resume").want(200, "next.0.tool", probed, "next.0.branch", "ticket", "done.decisions.0.id", decision)
	body := `{"tool":"` + probed + `","input":{"id":"1"},"decision":"` + decision + `","branch":"ticket"}`
	first := w.post("/v1/operations", body).want(200, "decision", "fresh", "operation.run", run, "operation.decision.id", decision, "operation.decision.branch", "ticket", "operation.correlation_id", "case-1")
	w.post("/v1/operations", body).want(200, "decision", "replayed")
	w.quiet()
	op := first.text("operation.id")
	w.get("/v1/runs/"+run+"/resume").want(200, "done.operations.0.id", op, "done.operations.0.result.status", json.Number("201")).lacks("next.0")
	w.get("/v1/operations/"+op).want(200, "operation.decision.step", "classify", "operation.decision.output.category", "ticket", "operation.decision.rule", "rules[0]",
		"operation.decision.rule_version", "c0ffee", "operation.decision.model", "m", "operation.decision.prompt_version", "p")
	w.get("/v1/decisions/"+decision).want(200, "operations.0.id", op, "decision.state", "pinned")
	if n := w.provider.Writes(); n != 1 {
		t.Errorf("the provider saw %d writes", n)
	}
}

func TestReRunOfTheModelGetsThePinnedClassAndNoOtherBranch(t *testing.T) {
	t.Parallel()
	w := triageWorld(t)
	run := w.startRun("mail-1")
	ask := `{"run":"` + run + `","step":"classify","input":{"a":1},"wait":"0s","claim_token":"`
	w.put(ask+`worker-a-worker-a"}`).want(200, "state", "claimed", "claim.token", "worker-a-worker-a")
	w.put(ask+`worker-b-worker-b"}`).want(202, "state", "pending", "answered", "joined").lacks("claim")
	w.put(ask+`worker-a-worker-a","output":{"class":"?"}}`).want(422, "code", "output_invalid")
	id := w.put(ask+`worker-a-worker-a","output":{"category":"ticket"}}`).want(200, "state", "pinned", "answered", "fresh").text("decision.id")
	w.put(ask+`worker-b-worker-b","output":{"category":"fax"}}`).want(200, "state", "pinned", "answered", "replayed", "decision.versions.0.output.category", "ticket")
	w.put(`{"run":"`+run+`","step":"classify","input":{"a":2}}`).want(409, "code", "decision_conflict")
	for _, target := range []string{
		`{"tool":"` + unsafely + `","input":{"id":"1"},"decision":"` + id + `"}`,
		`{"tool":"` + unsafely + `","input":{"id":"1"},"decision":"` + id + `","branch":"fax"}`,
		`{"tool":"` + unsafely + `","input":{"id":"1"},"run":"` + run + `"}`,
		`{"tool":"` + probed + `","input":{"id":"1"},"decision":"` + id + `","branch":"fax"}`,
	} {
		w.post("/v1/operations", target).want(409, "code", "branch_forbids", "decision", "blocked")
	}
	w.post("/v1/tools/"+unsafely+"/call?decision="+id, `{"id":"1"}`).want(409, "code", "branch_forbids")
	w.post("/v1/operations:batch", `{"operations":[{"tool":"`+unsafely+`","input":{"id":"1"},"decision":"`+id+`"}]}`).want(200, "results.0.problem.code", "branch_forbids")
	w.post("/v1/operations", `{"tool":"`+probed+`","input":{"id":"1"},"branch":"ticket"}`).want(400)
	w.post("/v1/operations", `{"tool":"`+probed+`","input":{"id":"1"},"decision":"dec_1"}`).want(400)
	if n := w.provider.Writes(); n != 0 {
		t.Errorf("the provider saw %d writes", n)
	}
	w.post("/v1/decisions/"+id+"/redecide", `{"reason":" "}`).want(400, "code", "evidence_required")
	w.post("/v1/decisions/"+id+"/redecide", `{"reason":"misread","version":1}`).want(200, "decision.version", json.Number("2"), "decision.state", "open", "decision.versions.1.reason", "misread")
	w.post("/v1/decisions/"+id+"/redecide", `{"reason":"misread","version":1}`).want(200, "decision.version", json.Number("2"))
	w.post("/v1/decisions/"+id+"/redecide", `{"reason":"misread","version":0}`).want(400)
}

func TestOneEventOverTwoWaysIsOneOperation(t *testing.T) {
	t.Parallel()
	w := triageWorld(t)
	service := onceward.Principal{Tenant: onceward.DefaultTenant, Issuer: "local", Subject: "intake", Roles: []onceward.Role{onceward.RoleCaller}}
	w.who = &service
	run := w.startRun("evt-1")
	decision := w.put(`{"run":"` + run + `","step":"classify","input":{"a":1},"output":{"category":"ticket"}}`).want(200).text("decision.id")
	first := w.post("/v1/tools/"+probed+"/call?decision="+decision, `{"id":"evt-1"}`).want(200, "decision", "fresh").text("operation.id")
	w.who = nil // a person, by hand
	if again := w.startRun("evt-1"); again != run {
		t.Errorf("the event started %s and %s", run, again)
	}
	w.put(`{"run":"`+run+`","step":"classify","input":{"a":1},"output":{"category":"fax"}}`).want(200, "answered", "replayed", "decision.id", decision)
	w.post("/v1/operations", `{"tool":"`+probed+`","input":{"id":"evt-1"},"decision":"`+decision+`"}`).want(200, "decision", "replayed", "operation.id", first)
	w.quiet()
	if n := w.provider.Effects(); n != 1 {
		t.Errorf("the event had %d effects", n)
	}
}

func TestDecisionsAndRunsOfAnotherTenantAreNotThere(t *testing.T) {
	t.Parallel()
	w := triageWorld(t)
	run := w.startRun("mail-1")
	decision := w.put(`{"run":"` + run + `","step":"classify","input":{"a":1},"output":{"category":"ticket"}}`).want(200).text("decision.id")
	w.who = &onceward.Principal{Tenant: "other", Issuer: "local", Subject: "stranger", Roles: onceward.AllRoles}
	w.get("/v1/runs/"+run).want(404, "code", "run_not_found")
	w.get("/v1/runs/" + run + "/resume").want(404)
	w.get("/v1/runs").want(200).lacks("runs.0")
	w.post("/v1/runs/"+run+"/finish", `{"outcome":"failed"}`).want(404)
	w.get("/v1/decisions/"+decision).want(404, "code", "decision_not_found")
	w.post("/v1/decisions/"+decision+"/redecide", `{"reason":"mine"}`).want(404)
	w.put(`{"run":"`+run+`","step":"classify","input":{"a":1}}`).want(404, "code", "run_not_found")
	w.post("/v1/operations", `{"tool":"`+probed+`","input":{"id":"1"},"decision":"`+decision+`"}`).want(404, "code", "decision_not_found")
	w.post("/v1/operations", `{"tool":"`+probed+`","input":{"id":"1"},"run":"`+run+`"}`).want(404, "code", "run_not_found")
}
