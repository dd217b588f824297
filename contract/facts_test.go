package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFactsAreReadAndMakeNoOtherVersion(t *testing.T) {
	t.Parallel()
	const spec = "spec:\n  effect: unsafe_write\n  request: {method: POST, url: 'https://api.example.com/things'}\n"
	const facts = "metadata:\n  name: things.make\n  facts:\n    provider: Things\n    endpoint: POST /things\n    settle: A guess.\n    unknown: The window.\n" +
		"    sources: [{date: '2026-11-29', basis: observed, says: a second thing}]\n"
	load := func(metadata string) *Tool {
		tools, err := Load([]byte("apiVersion: onceward/v1\nkind: Tool\n"+metadata+spec), "f.yaml", testOptions())
		if err != nil {
			t.Fatal(err)
		}
		return tools[0]
	}
	with, without := load(facts), load("metadata: {name: things.make}\n")
	got, ok := with.Facts()
	want := Facts{Provider: "Things", Endpoint: "POST /things", Settle: "A guess.", Unknown: "The window.", Sources: []FactSource{{Date: "2026-11-29", Basis: "observed", Says: "a second thing"}}}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if _, ok := without.Facts(); ok {
		t.Error("facts where none stand")
	}
	if with.Info().Version != without.Info().Version {
		t.Error("what is known of the provider made another version")
	}
}
