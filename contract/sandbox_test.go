package contract

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

func TestLintComparesTheSandboxWithTheRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"later than settle", lintProbed + lintRequest + lintProbe + "  sandbox: {hosts: [h.example.com], lateness: 2s}\n", []string{"error 10 settle_below_lateness"}},
		{"as late as settle", lintProbed + lintRequest + lintProbe + "  sandbox: {hosts: [h.example.com], lateness: 1s}\n", nil},
		{"not among the hosts", lintProbed + lintRequest + lintProbe + "  hosts: [h.example.com]\n  sandbox: {hosts: [s.example.com]}\n", []string{"warning 12 sandbox_not_allowed"}},
		{"among the hosts", lintProbed + lintRequest + lintProbe + "  hosts: [h.example.com]\n  sandbox: {hosts: ['h.example.com:443']}\n", nil},
	} {
		if got := found(t, c.spec); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestASandboxIsNamedByHost(t *testing.T) {
	t.Parallel()
	for _, hosts := range []string{"[]", "['https://h.example.com']", "['h.example.com/x']"} {
		_, err := Load([]byte(specHead+lintProbed+lintRequest+lintProbe+"  sandbox: {hosts: "+hosts+"}\n"), "c.yaml", Options{})
		if err == nil || !strings.Contains(err.Error(), "sandbox.hosts") {
			t.Errorf("sandbox.hosts %s: %v", hosts, err)
		}
	}
}

const specHead = "apiVersion: onceward/v1\nkind: Tool\nmetadata: {name: a.b, owner: o}\nspec:\n"

func TestStrangersAreHostsThatAreNoSandbox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sandbox string
		want    []string
	}{
		{"", []string{"h.example.com"}},
		{"  sandbox: {hosts: [h.example.com]}\n", nil},
		{"  sandbox: {hosts: ['h.example.com:443']}\n", nil},
		{"  sandbox: {hosts: ['h.example.com:80']}\n", []string{"h.example.com"}},
		{"  sandbox: {hosts: [example.com]}\n", []string{"h.example.com"}},
	} {
		if got := loadSpec(t, lintProbed+lintRequest+lintProbe+c.sandbox).Strangers(); !slices.Equal(got, c.want) {
			t.Errorf("%q: strangers %q, want %q", c.sandbox, got, c.want)
		}
	}
}

const derivedContract = `# two lines
# of comment
apiVersion: onceward/v1
kind: Tool
metadata: {name: a.b, owner: o}
spec:
  effect: probed_write
  key: [input.id]
  input: {type: object, required: [id], properties: {id: {type: string}, note: {type: string, pattern: '^\w "\\$'}}}
  request:
    method: POST
    url: ${env.BASE}/things/${input.id}?v=1
    json: {k: '${operation.provider_key}', note: "ü\n$${x}"}
  outcomes:
    - {when: 'response.status == 429', is: not_done}
    - {when: 'response.status == 201', is: done}
  probe:
    request: {url: 'https://look.example.com/?k=${operation.provider_key}'}
    found: '${response.json}'
    settle: 30s
  approval: {expires: 1h}
`

// TestADerivedCopySendsTheSameUnderTheSameKeyElsewhere: a drill that derived
// another key or body would say nothing about the contract.
func TestADerivedCopySendsTheSameUnderTheSameKeyElsewhere(t *testing.T) {
	t.Parallel()
	opts := Options{Env: func(name string) (string, bool) { return "https://api.example.com:8443/base/", name == "BASE" }}
	load := func(text string) *Tool {
		t.Helper()
		tools, err := Load([]byte(text), "c.yaml", opts)
		if err != nil {
			t.Fatal(err)
		}
		return tools[0]
	}
	tool := load("---\n" + derivedContract)
	text, err := tool.Derive(Derivation{
		Origins:   map[string]string{"https://api.example.com:8443": "http://127.0.0.1:1", "https://look.example.com": "http://127.0.0.1:2"},
		Durations: map[string]time.Duration{"spec.probe.settle": 1500 * time.Millisecond, "spec.retry.backoff.initial": 50 * time.Millisecond},
		Without:   []string{"spec.approval", "spec.rate"},
	})
	if err != nil {
		t.Fatal(err)
	}
	derived := load(string(text))
	in := &onceward.Intent{Principal: onceward.LocalPrincipal(), Input: []byte(`{"id":"1"}`)}
	was, err := tool.Prepare(in, 0)
	if err != nil {
		t.Fatal(err)
	}
	is, err := derived.Prepare(in, 0)
	if err != nil {
		t.Fatal(err)
	}
	if is.Key != was.Key || is.ProviderKey != was.ProviderKey || is.Digest != was.Digest || string(is.Request.Body) != string(was.Request.Body) || is.Approval || !was.Approval {
		t.Errorf("%+v\n%+v", is, was)
	}
	if is.Request.URL != "http://127.0.0.1:1/base/things/1?v=1" || was.Request.URL != "https://api.example.com:8443/base/things/1?v=1" {
		t.Errorf("%s, %s", is.Request.URL, was.Request.URL)
	}
	p := derived.Info().Policy
	if p.Settle != 1500*time.Millisecond || p.BackoffInitial != 50*time.Millisecond {
		t.Errorf("%+v", p)
	}
	if diff := cmp.Diff([]string{"127.0.0.1:1", "127.0.0.1:2"}, derived.Info().Hosts); diff != "" {
		t.Error(diff)
	}
	for field, want := range map[string]int{"spec.probe.settle": 21, "spec.outcomes[1]": 17, "spec.request.url": 13, "spec.retry.recovery_window": 8} {
		line, found := tool.FieldLine(field)
		if line != want && found || found != (field != "spec.retry.recovery_window") {
			t.Errorf("%s: line %d, %v; want %d", field, line, found, want)
		}
	}
}
