package contract

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

// loadFlow loads the only workflow of a document.
func loadFlow(t testing.TB, doc string) *Workflow {
	t.Helper()
	loaded, problems := load([]byte(doc), "w.yaml", testOptions().withDefaults())
	if len(problems) > 0 || len(loaded.flows) != 1 {
		t.Fatalf("%d workflows, problems: %v", len(loaded.flows), problems)
	}
	return loaded.flows[0]
}

func triage(t testing.TB) *Workflow {
	t.Helper()
	data, err := os.ReadFile("testdata/everything_workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return loadFlow(t, string(data))
}

func TestRulesChooseTheBranchInTheirOrder(t *testing.T) {
	t.Parallel()
	w := triage(t)
	for _, c := range []struct {
		output     string
		confidence float64
		want       onceward.Ruling
	}{
		{`{"category":"refund","amount":100}`, 0.8, onceward.Ruling{Branch: "refund", Rule: "rules[0]"}},
		{`{"category":"refund","amount":100.00}`, 0.8, onceward.Ruling{Branch: "refund", Rule: "rules[0]"}},
		{`{"category":"refund","amount":100.01}`, 0.99, onceward.Ruling{Branch: "human", Rule: "default"}},
		{`{"category":"refund","amount":1}`, 0, onceward.Ruling{Branch: "human", Rule: "default"}}, // no confidence given
		{`{"category":"complaint","amount":1}`, 1, onceward.Ruling{Branch: "human", Rule: "default"}},
	} {
		got, err := w.Decide("classify", []byte(c.output), c.confidence)
		if err != nil || got != c.want {
			t.Errorf("%s with %v leads to %+v, %v; want %+v", c.output, c.confidence, got, err, c.want)
		}
	}
}

func TestOutputThatBreaksItsSchemaNamesPlacesAndNoValues(t *testing.T) {
	t.Parallel()
	w := triage(t)
	for output, want := range map[string]string{
		`{"category":"s3cret","amount":1}`:             "category: it is not one of the allowed values",
		`{"category":"refund"}`:                        "the output: it lacks amount",
		`{"category":"refund","amount":-1}`:            "amount: it is less than 0",
		`{"category":"refund","amount":1,"extra":"x"}`: "the output: it has no field extra",
		`["refund"]`: "the output: it is array, not object",
		`{`:          "the output is not JSON",
	} {
		_, err := w.Decide("classify", []byte(output), 1)
		if onceward.CodeOf(err) != onceward.CodeOutputInvalid || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %s", output, err, want)
		}
	}
	if _, err := w.Decide("absent", []byte(`{}`), 1); onceward.CodeOf(err) != onceward.CodeInvalidRequest {
		t.Errorf("a step that is not there: %v", err)
	}
}

func TestRuleWithoutAValueRefusesTheOutput(t *testing.T) {
	t.Parallel()
	w := loadFlow(t, `apiVersion: onceward/v1
kind: Workflow
metadata: {name: w, owner: us}
spec:
  version: "1"
  steps:
    - name: s
      schema: {type: object}
      branches: [{name: a}, {name: b}]
      rules: [{when: 'output.n > 1', then: a}]
      default: b
`)
	if _, err := w.Decide("s", []byte(`{}`), 1); onceward.CodeOf(err) != onceward.CodeOutputInvalid || !strings.Contains(err.Error(), "rules[0]") {
		t.Errorf("a rule that reads an absent field: %v", err)
	}
	if got, err := w.Decide("s", []byte(`{"n":2}`), 1); err != nil || got.Branch != "a" {
		t.Errorf("a rule with a value: %+v, %v", got, err)
	}
}

func TestRuleVersionIsTheMeaningOfTheDocument(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/everything_workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	hash := loadFlow(t, text).Info().Hash
	if same := loadFlow(t, "# a comment\n"+strings.Replace(text, "owner: support-ops", "owner: others", 1)).Info().Hash; same != hash {
		t.Errorf("owner and comment change the rule version: %s, %s", hash, same)
	}
	for _, change := range [][2]string{{"<= 100", "<= 200"}, {`version: "3"`, `version: "4"`}, {"default: human", "default: refund"}, {"[payments.refund]", "[]"}} {
		if other := loadFlow(t, strings.Replace(text, change[0], change[1], 1)).Info().Hash; other == hash {
			t.Errorf("%v leaves the rule version as it is", change)
		}
	}
	again, err := WorkflowCompiler(testOptions())("support.triage", loadFlow(t, text).Info().Source)
	if err != nil || again.Info().Hash != hash {
		t.Errorf("the stored source gives another version: %v", err)
	}
	if _, err := WorkflowCompiler(testOptions())("other", []byte(text)); onceward.CodeOf(err) != onceward.CodeLedgerCorrupt {
		t.Errorf("a stored document of another workflow: %v", err)
	}
}

func TestLintOfAWorkflow(t *testing.T) {
	t.Parallel()
	w := loadFlow(t, `apiVersion: onceward/v1
kind: Workflow
metadata: {name: w}
spec:
  version: "1"
  steps:
    - name: s
      schema: {type: object, required: [a], properties: {a: {type: string}, b: {type: string}}}
      branches: [{name: x, tools: [not.there]}, {name: y}, {name: lost}]
      rules:
        - {when: 'output.a == "1" && has(output.b)', then: x}
        - {when: 'output.b == "1"', then: x}
        - {when: 'output.c == "1"', then: x}
      default: y
`)
	var got []string
	for _, f := range (&Set{flows: []*Workflow{w}}).LintWorkflows()["w"] {
		if f.Message == "" || f.Fix == "" || !knownRule(f) {
			t.Errorf("the finding is incomplete, or its rule is not listed: %+v", f)
		}
		got = append(got, fmt.Sprintf("%s %d %s", f.Severity, f.Line, f.Rule))
	}
	want := []string{"warning 3 owner", "warning 9 branch_unreachable", "warning 12 rule_reads_optional", "error 13 unknown_output", "warning 9 branch_tool_missing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if f := LintWorkflow(triage(t)); len(f) != 0 {
		t.Errorf("a sound workflow has findings: %v", f)
	}
}

func TestSchemaOfARequestIsCompiledAlone(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	for _, c := range []struct {
		schema, output string
		want           onceward.Code
	}{
		{string(schema), `{"n":1}`, ""},
		{string(schema), `{"n":"1"}`, onceward.CodeOutputInvalid},
		{`{"type":"nonsense"}`, `{}`, onceward.CodeInvalidRequest},
		{`{"$ref":"https://example.com/s.json"}`, `{}`, onceward.CodeInvalidRequest},
		{`{`, `{}`, onceward.CodeInvalidRequest},
	} {
		if err := CheckOutput([]byte(c.schema), []byte(c.output)); onceward.CodeOf(err) != c.want {
			t.Errorf("%s under %s: %v, want %q", c.output, c.schema, err, c.want)
		}
	}
}

func TestTwoWorkflowsOfOneNameAreRefused(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/everything_workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Load([]byte(string(data)+"---\n"+string(data)), "w.yaml", testOptions())
	if onceward.CodeOf(err) != onceward.CodeContractInvalid || !strings.Contains(err.Error(), "also described in w.yaml, line 4") {
		t.Errorf("the second one: %v", err)
	}
}
