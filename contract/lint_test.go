package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

// found lints a spec and lists severity, line and rule of each finding.
func found(t testing.TB, spec string) []string {
	t.Helper()
	var list []string
	for _, f := range Lint(loadSpec(t, spec)) {
		if f.Message == "" || f.Fix == "" || !knownRule(f) {
			t.Errorf("the finding is incomplete, or its rule is not listed: %+v", f)
		}
		list = append(list, fmt.Sprintf("%s %d %s", f.Severity, f.Line, f.Rule))
	}
	return list
}

// knownRule reports whether the finding's rule is listed, with at least its severity.
func knownRule(f Finding) bool {
	order := []Severity{SeverityInfo, SeverityWarning, SeverityError}
	return slices.ContainsFunc(LintRules, func(r LintRule) bool {
		return r.Name == f.Rule && r.About != "" && slices.Index(order, f.Severity) <= slices.Index(order, r.Severity)
	})
}

const (
	lintRequest = "  request: {method: POST, url: 'https://h.example.com/', json: {k: '${operation.provider_key}'}}\n"
	lintOutcome = "  outcomes: [{when: 'response.status == 201', is: done, reference: '${response.json.id}'}]\n"
	lintInput   = "  input: {type: object, required: [id], properties: {id: {type: string}, opt: {type: string}}, additionalProperties: false}\n"
	lintProbe   = "  probe: {request: {url: 'https://h.example.com/?k=${operation.provider_key}'}, found: '${response.json}', settle: 1s}\n"
	lintUnsafe  = "  effect: unsafe_write\n" + lintInput
	lintProbed  = "  effect: probed_write\n  key: [input.id]\n" + lintInput + lintOutcome
	lintKeyed   = "  effect: keyed_write\n  key: [input.id]\n" + lintInput + lintOutcome + lintRequest
)

func TestLintFindsWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"nothing", lintProbed + lintRequest + lintProbe, nil},
		{"no key rule", "  effect: unsafe_write\n" + lintInput + lintOutcome + lintRequest, []string{"warning 5 caller_key"}},
		{"a key for models", "  effect: unsafe_write\n  key: [input.id]\n  input: {type: object, required: [id], properties: {id: {}, idempotency_key: {}}}\n" + lintOutcome + lintRequest, []string{"warning 7 model_sees_key"}},
		{"horizon beyond the window", lintKeyed + "  provider_key: {in: header, window: 24h, window_kind: guaranteed}\n", []string{"error 5 horizon_beyond_window"}},
		{"horizon inside the window", lintKeyed + "  provider_key: {in: header, window: 24h, window_kind: guaranteed}\n  horizon: 20h\n", nil},
		{"window, then probe", lintKeyed + "  provider_key: {in: header, window: 24h, window_kind: guaranteed}\n" + lintProbe, nil},
		{"object lifetime", lintKeyed + "  provider_key: {in: header, window_kind: object_lifetime}\n", nil},
		{"best effort", lintKeyed + "  provider_key: {in: header, window_kind: best_effort}\n", []string{"warning 10 window_not_guaranteed"}},
		{"unpublished, with a probe", lintKeyed + "  provider_key: {in: header}\n" + lintProbe, []string{"warning 10 window_not_guaranteed"}},
		{"no time to send again", lintKeyed + "  provider_key: {in: header, window: 70s, window_kind: guaranteed}\n" + lintProbe, []string{"warning 10 window_too_short"}},
		{"forgotten before the horizon", lintProbed + lintRequest + lintProbe + "  keep: {record: 1d, tombstone: 2d}\n", []string{"error 11 horizon_beyond_record"}},
		{"reused before the horizon", lintProbed + lintRequest + lintProbe + "  keep: {record: 1d, retired_key: reuse}\n", []string{"error 11 horizon_beyond_record"}},
		{"kept as long as the horizon", lintProbed + lintRequest + lintProbe + "  keep: {record: 3d, tombstone: 4d}\n", nil},
		{"settle missing", lintKeyed + "  provider_key: {in: header, window: 24h, window_kind: guaranteed}\n" + strings.Replace(lintProbe, ", settle: 1s", "", 1), []string{"warning 11 settle_missing"}},
		{"lag without time", lintProbed + lintRequest + strings.Replace(lintProbe, "settle: 1s", "settle: 0s, consistency: lag", 1), []string{"error 10 lag_without_settle"}},
		{"finds everything", lintProbed + lintRequest + "  probe: {request: {url: 'https://h.example.com/'}, found: '${response.json}', settle: 1s}\n", []string{"error 10 probe_finds_everything"}},
		{"finds others", lintProbed + lintRequest + "  probe: {request: {url: 'https://h.example.com/?x=${input.id}'}, found: '${response.json}', settle: 1s}\n", []string{"warning 10 found_by_business_fields"}},
		{"reused, looked up by what each use has", lintProbed + lintRequest + lintProbe + "  keep: {record: 30d, retired_key: reuse}\n", nil},
		{"reused, looked up by what all uses share", lintProbed + "  request: {method: POST, url: 'https://h.example.com/', json: {k: '${operation.id}'}}\n" +
			"  probe: {request: {url: 'https://h.example.com/?k=${operation.id}'}, found: '${response.json}', settle: 1s}\n  keep: {record: 30d, retired_key: reuse}\n", []string{"error 10 mark_of_every_use"}},
		{"looked up by the ID, never reused", lintProbed + "  request: {method: POST, url: 'https://h.example.com/', json: {k: '${operation.id}'}}\n" +
			"  probe: {request: {url: 'https://h.example.com/?k=${operation.id}'}, found: '${response.json}', settle: 1s}\n", nil},
		{"compares", lintProbed + lintRequest + "  probe: {request: {url: 'https://h.example.com/?x=${input.id}'}, found: '${response.json}', ours: 'item.k == operation.provider_key', settle: 1s}\n", nil},
		{"mark not sent", lintProbed + "  request: {method: POST, url: 'https://h.example.com/', json: {k: 1}}\n" + lintProbe, []string{"error 10 mark_not_sent"}},
		{"secret in a header", lintUnsafe + "  key: [input.id]\n" + lintOutcome + "  request: {method: POST, url: 'https://h.example.com/', headers: {Authorization: 'Bearer abc', X-Api-Key: '${env.REGION}', X-Other: ok}}\n", []string{"error 9 secret_in_clear", "error 9 secret_in_clear"}},
		{"secret in a URL", lintUnsafe + "  key: [input.id]\n" + lintOutcome + "  request: {method: POST, url: 'https://h.example.com/?access_token=x&a=${input.id}'}\n", []string{"warning 9 secret_in_clear"}},
		{"secret in the clear", lintUnsafe + "  key: [input.id]\n" + lintOutcome + "  request: {method: POST, url: 'http://h.example.com/', headers: {A: '${secret.TOKEN}'}}\n", []string{"warning 9 cleartext"}},
		{"secret to this machine", lintUnsafe + "  key: [input.id]\n" + lintOutcome + "  request: {method: POST, url: 'http://127.0.0.1:80/', headers: {A: '${secret.TOKEN}'}}\n", nil},
		{"a write by GET", lintUnsafe + "  key: [input.id]\n" + lintOutcome + "  request: {method: GET, url: 'https://h.example.com/'}\n", []string{"warning 9 method"}},
		{"a read by POST", "  effect: read\n" + lintInput + "  request: {method: POST, url: 'https://h.example.com/'}\n", []string{"warning 7 method"}},
		{"in progress without a key", lintUnsafe + "  key: [input.id]\n" + lintRequest + "  outcomes: [{when: 'response.status == 409', is: in_progress}, {when: 'true', is: done, reference: '${response.json.id}'}]\n", []string{"warning 9 in_progress_without_key"}},
		{"no reference", lintUnsafe + "  key: [input.id]\n" + lintRequest, []string{"info 5 no_outcome_reference"}},
		{"automations", lintProbed + lintRequest + lintProbe + "  repeat_runs_automations: true\n", []string{"info 11 automations_repeat"}},
		{"an own ID by default", "  effect: conditional_write\n  key: [input.id]\n" + lintInput + lintOutcome + lintRequest + "  condition: {by: own_id}\n", []string{"warning 10 exists_by_default"}},
		{"an own ID", "  effect: conditional_write\n  key: [input.id]\n" + lintInput + lintOutcome + lintRequest + "  condition: {by: own_id, exists: response.status == 409}\n", nil},
		{"optional key part", lintUnsafe + "  key: [input.opt]\n" + lintOutcome + lintRequest, []string{"warning 7 key_reads_optional"}},
		{"optional in a header", lintUnsafe + "  key: [input.id]\n" + lintOutcome + "  request: {method: POST, url: 'https://h.example.com/', headers: {A: '${input.opt}', B: '${input.?opt.orValue(\"\")}'}}\n", []string{"warning 9 template_reads_optional"}},
		{"optional in a body", lintUnsafe + "  key: [input.id]\n" + lintOutcome + "  request: {method: POST, url: 'https://h.example.com/', json: {a: '${input.opt}'}}\n", nil},
		{"optional in an approval", lintProbed + lintRequest + lintProbe + "  approval: {when: 'input.opt == \"a\"'}\n", []string{"warning 11 approval_reads_optional"}},
		{"asked for in an approval", lintProbed + lintRequest + lintProbe + "  approval: {when: 'has(input.opt) && input.opt == \"a\"'}\n", nil},
		{"unknown field", lintUnsafe + "  key: [input.id, input.idd]\n" + lintOutcome + lintRequest, []string{"error 7 unknown_input"}},
		{"undeclared field", "  effect: unsafe_write\n  key: [input.id]\n  input: {type: object}\n" + lintOutcome + lintRequest, []string{"warning 6 unknown_input"}},
		{"field behind a reference", "  effect: unsafe_write\n  key: [input.a.id]\n  input: {type: object, required: [a], properties: {a: {$ref: '#/$defs/a'}}, $defs: {a: {}}}\n" + lintOutcome + lintRequest, nil},
		{"unknown volatile field", lintProbed + lintRequest + lintProbe + "  volatile: [sbject, opt]\n", []string{"warning 11 unknown_volatile"}},
		{"unknown format", "  effect: unsafe_write\n  key: [input.id]\n  input: {type: object, required: [id], properties: {id: {format: iban}}}\n" + lintOutcome + lintRequest, []string{"warning 7 unknown_format"}},
	} {
		if diff := cmp.Diff(c.want, found(t, c.spec)); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestLintNamesMissingOwnersAndUnboundedBytes(t *testing.T) {
	t.Parallel()
	opts := testOptions()
	opts.ByteTail = 0
	tools, err := Load([]byte(strings.Replace(testHead, ", owner: us", ", business_owner: us", 1)+lintProbed+lintRequest+lintProbe), "f", opts)
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, f := range Lint(tools[0]) {
		rules = append(rules, f.Rule)
	}
	if diff := cmp.Diff([]string{"owner", "byte_tail"}, rules); diff != "" {
		t.Error(diff)
	}
	if tail := tools[0].Info().Policy.ByteTail; tail != DefaultByteTail {
		t.Errorf("the default byte tail is %s", tail)
	}
}

func TestLintOfASetMissesTheCompensation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	undo := strings.Replace(minimal, "things.make", "things.undo", 1)
	make := testHead + lintProbed + lintRequest + lintProbe + "  compensate: {tool: things.undo, input: {}}\n"
	for doc, want := range map[string]int{make: 1, make + "---\n" + undo: 0} {
		if err := os.WriteFile(file, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		set, err := LoadDir([]string{dir}, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		missing := 0
		for _, f := range set.Lint()["things.make"] {
			if f.Rule == "compensation_missing" {
				missing++
			}
		}
		if missing != want {
			t.Errorf("%d findings, want %d", missing, want)
		}
	}
}

func TestExamplesLoadAndLintClean(t *testing.T) {
	t.Parallel()
	for _, effect := range onceward.AllEffectClasses {
		tool := mustLoad(t, string(Example(effect)))
		if tool.Info().Policy.Effect != effect {
			t.Errorf("the example for %s is of class %s", effect, tool.Info().Policy.Effect)
		}
		for _, f := range Lint(tool) {
			t.Errorf("%s: line %d: %s: %s", effect, f.Line, f.Rule, f.Message)
		}
	}
	if Example(0) != nil {
		t.Error("there is an example for no effect class")
	}
}
