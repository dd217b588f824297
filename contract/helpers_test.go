package contract

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

var update = flag.Bool("update", false, "write goldens anew")

// testOptions has a small environment and two secrets.
func testOptions() Options {
	env := map[string]string{"API_URL": "https://api.example.com", "BASE": "https://api.example.com/v1/", "REGION": "eu", "EMPTY": "", "PUBLIC_URL": "https://hooks.example.com"}
	secrets := map[string]string{"TOKEN": "s3cr3t-token-value", "USER": "bob", "SHOP_HOOK_SECRET": "hush", "HOOK_SECRET": "whsec_hush", "SHOP_HOOK_SECRET_OLD": "hush-hush", "STANDARD": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	return Options{
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Secrets: func(name string) (string, error) {
			if v, ok := secrets[name]; ok {
				return v, nil
			}
			return "", errors.New("not set")
		},
		ByteTail: NoByteTail,
	}
}

const testHead = "apiVersion: onceward/v1\nkind: Tool\nmetadata: {name: things.make, owner: us}\nspec:\n"

// problemsOf returns what a load found wrong, one line each.
func problemsOf(t testing.TB, doc string) []string {
	t.Helper()
	_, err := Load([]byte(doc), "f.yaml", testOptions())
	if err == nil {
		return nil
	}
	if !onceward.Is(err, onceward.CodeContractInvalid) {
		t.Fatalf("the error has not the code contract_invalid: %v", err)
	}
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("the error carries no problems: %v", err)
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return lines
}

// mustLoad loads one document.
func mustLoad(t testing.TB, doc string) *Tool {
	t.Helper()
	tools, err := Load([]byte(doc), "f.yaml", testOptions())
	if err != nil {
		t.Fatalf("load: %s", strings.Join(problemsOf(t, doc), "\n"))
	}
	if len(tools) != 1 {
		t.Fatalf("%d tools, want 1", len(tools))
	}
	return tools[0]
}

// loadSpec loads a document of which only the spec is given, indented by two.
func loadSpec(t testing.TB, spec string) *Tool {
	t.Helper()
	return mustLoad(t, testHead+spec)
}

// intent is a request of tenant acme.
func intent(input string) *onceward.Intent {
	return &onceward.Intent{Principal: onceward.Principal{Tenant: "acme"}, Tool: "things.make", Input: []byte(input)}
}

func mustPrepare(t testing.TB, tool *Tool, input string) *onceward.Prepared {
	t.Helper()
	p, err := tool.Prepare(intent(input), 0)
	if err != nil {
		t.Fatalf("prepare %s: %v", input, err)
	}
	return p
}

// operationOf is the stored operation that a preparation leads to.
func operationOf(tool *Tool, p *onceward.Prepared) *onceward.Operation {
	id := onceward.Identity{Tenant: "acme", Tool: tool.Info().Name, Key: p.Key}
	return &onceward.Operation{
		ID: id.OperationID(), Tenant: "acme", Tool: id.Tool, Key: p.Key, Digest: p.Digest, Input: p.Input,
		ProviderKey: p.ProviderKey, Request: p.Request, Policy: tool.Info().Policy,
	}
}
