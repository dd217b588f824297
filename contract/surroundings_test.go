package contract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// surroundings are options with these variables and secrets, and no others.
func surroundings(env, secrets map[string]string) Options {
	return Options{
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Secrets: func(name string) (string, error) {
			if v, ok := secrets[name]; ok {
				return v, nil
			}
			return "", errors.New("neither " + name + " nor " + name + "_FILE is set")
		},
		ByteTail: NoByteTail,
	}
}

const needy = testHead + `  effect: probed_write
  key: [input.id]
  input: {type: object, required: [id], properties: {id: {type: string}}}
  request:
    method: POST
    url: ${env.API_URL}/things
    headers: {Authorization: 'Bearer ${secret.TOKEN}', X-Region: '${env.REGION}'}
    json: {k: '${operation.provider_key}'}
  outcomes: [{when: 'response.status == 201', is: done, reference: '${response.json.id}'}]
  probe:
    request: {url: 'https://${env.PROBE_HOST}:${env.PROBE_PORT}/things?k=${operation.provider_key}'}
    found: ${response.json}
    settle: 1s
`

// A file is checked where neither its variables nor its secrets are: each that
// is missing is a warning at its place, and whoever serves the file is refused.
func TestWhatIsMissingAroundAContractIsAFindingOfLint(t *testing.T) {
	t.Parallel()
	opts := surroundings(nil, nil)
	if _, err := Load([]byte(needy), "f.yaml", opts); !onceward.Is(err, onceward.CodeContractInvalid) {
		t.Fatalf("a load for serving is not refused: %v", err)
	}
	opts.StandIns = true
	tools, err := Load([]byte(needy), "f.yaml", opts)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range Lint(tools[0]) {
		if f.Fix == "" || !knownRule(f) {
			t.Errorf("the finding is incomplete, or its rule is not listed: %+v", f)
		}
		got = append(got, fmt.Sprintf("%s %d %s: %s", f.Severity, f.Line, f.Rule, f.Message))
	}
	want := []string{
		"warning 10 variable_missing: the environment variable API_URL is not set here; where it is missing, the contract is not served",
		"warning 11 secret_unusable: the secret TOKEN is not there: neither TOKEN nor TOKEN_FILE is set; where it is so, the contract is not served",
		"warning 11 variable_missing: the environment variable REGION is not set here; where it is missing, the contract is not served",
		"warning 15 variable_missing: the environment variable PROBE_HOST is not set here; where it is missing, the contract is not served",
		"warning 15 variable_missing: the environment variable PROBE_PORT is not set here; where it is missing, the contract is not served",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("lint finds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A named host is enough to check a URL whose variable is missing.
func TestStandInsKeepToTheHostsThatAreNamed(t *testing.T) {
	t.Parallel()
	opts := surroundings(nil, nil)
	opts.StandIns = true
	doc := testHead + "  effect: unsafe_write\n  key: [input.id]\n  hosts: [api.example.com]\n  request: {method: POST, url: '${env.API_URL}/x'}\n"
	if _, err := Load([]byte(doc), "f.yaml", opts); err != nil {
		t.Error(err)
	}
}

// What is there and cannot be used is refused at its place, without its value.
func TestSecretsAndVariablesThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	good := func() (env, secrets map[string]string) {
		return map[string]string{"API_URL": "https://api.example.com", "REGION": "eu", "PROBE_HOST": "api.example.com", "PROBE_PORT": "443"}, map[string]string{"TOKEN": "t0ken"}
	}
	env, secrets := good()
	if _, err := Load([]byte(needy), "f.yaml", surroundings(env, secrets)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ env, secret, value, want string }{
		{secret: "TOKEN", value: "", want: "f.yaml:11:30: spec.request.headers.Authorization: the secret TOKEN is empty: set it, or leave the header out"},
		{secret: "TOKEN", value: "one-line\ntwo-lines", want: "f.yaml:11:30: spec.request.headers.Authorization: the secret TOKEN holds a line break or another control character: store its value alone, on one line"},
		{secret: "TOKEN", value: "one-line\r", want: "f.yaml:11:30: spec.request.headers.Authorization: the secret TOKEN holds a line break"},
		{env: "API_URL", value: "", want: "f.yaml:10:10: spec.request.url: the URL does not start with http:// or https://"},
		{env: "API_URL", value: "https://", want: "f.yaml:10:10: spec.request.url: the URL has no valid host"},
		{env: "API_URL", value: "https:", want: "f.yaml:10:10: spec.request.url: the URL does not start with http:// or https://"},
		{env: "API_URL", value: "https://:8080", want: "f.yaml:10:10: spec.request.url: the URL has no valid host"},
		{env: "PROBE_HOST", value: "", want: "f.yaml:15:20: spec.probe.request.url: the URL has no valid host"},
	} {
		env, secrets := good()
		if c.env != "" {
			env[c.env] = c.value
		} else {
			secrets[c.secret] = c.value
		}
		_, err := Load([]byte(needy), "f.yaml", surroundings(env, secrets))
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.HasPrefix(problems[0].String(), c.want) {
			t.Errorf("%s%s=%q: %v, want %s", c.env, c.secret, c.value, problems, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "one-line\n") {
			t.Errorf("the value is shown: %v", err)
		}
	}
}

// A secret that was emptied after the load is not sent as an empty one.
func TestSecretThatBecameEmptyIsNotSent(t *testing.T) {
	t.Parallel()
	token := "t0ken"
	opts := surroundings(map[string]string{"API_URL": "https://api.example.com", "REGION": "eu", "PROBE_HOST": "h.example.com", "PROBE_PORT": "443"}, nil)
	opts.Secrets = func(string) (string, error) { return token, nil }
	tools, err := Load([]byte(needy), "f.yaml", opts)
	if err != nil {
		t.Fatal(err)
	}
	op := operationOf(tools[0], mustPrepare(t, tools[0], `{"id":"a"}`))
	if _, err := tools[0].Secrets(op); err != nil {
		t.Fatal(err)
	}
	token = ""
	if headers, err := tools[0].Secrets(op); err == nil {
		t.Errorf("the header is %v", headers)
	}
}
