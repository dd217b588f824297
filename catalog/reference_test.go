package catalog

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/reference/catalog.md anew")

const referencePage = "../docs/reference/catalog.md"

const referenceHead = `<!-- Generated from catalog/: change the contracts, then run make generate. -->
# Catalog

Contracts for write endpoints of real providers, in the program itself. ` + "`onceward contract list --catalog`" + ` lists them,
` + "`onceward contract init --from stripe/refunds`" + ` prints one to begin with, and what undoes its effect behind it. Put your own
owners in, the input that your callers have, and approvals where a person has to say yes.

Each says in ` + "`metadata.facts`" + ` from where and of which day its facts are, and what is not known of the provider: then the
contract is on the safe side, which is a look-up or a person. *documented*: the provider's own page, read. *quoted*: the
provider's page, as somebody else quotes it. *observed*: seen on a running server. *reported*: what others say. No account at
a provider was used. Providers change: read the page again before you rely on a window. *Undone by* is the contract that undoes the
effect; where there is none it says who does it and how, or that nothing does.

A test plays each contract against a double that is made from these facts and is no better than they say: an answer that
is lost, a request that is lost, an error after the effect, an effect that shows a second before settle is over, a key whose
window is over. The number of effects is right in each. Whether the facts are right, no test here can tell.

`

// TestReferencePageListsTheCatalog keeps the page that is made from the contracts.
func TestReferencePageListsTheCatalog(t *testing.T) {
	t.Parallel()
	entries, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	page := referenceOf(entries)
	if *update {
		if err := os.WriteFile(referencePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), page); diff != "" {
		t.Errorf("the page is behind the contracts; make generate writes it anew:\n%s", diff)
	}
}

func referenceOf(entries []Entry) string {
	var table, unknown strings.Builder
	table.WriteString("| contract | endpoint | class | key | window | look-up | settle | undone by | sources |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	unknown.WriteString("\n## What is not known, and why settle is what it is\n\n| contract | not known | settle |\n| --- | --- | --- |\n")
	for _, e := range entries {
		facts, _ := e.Tool.Facts()
		set := map[string]string{}
		for _, s := range e.Tool.Settings() {
			set[s.Field] = s.Value
		}
		fmt.Fprintf(&table, "| [`%s`](../../catalog/%s.yaml) | %s: %s | %s | %s | %s | %s | %s | %s | %s |\n",
			e.Name, e.Name, facts.Provider, cell(facts.Endpoint), set["effect"], keyCell(set), windowCell(set), lookCell(e, set), settleCell(e, set), undoCell(e), sourcesCell(e))
		fmt.Fprintf(&unknown, "| `%s` | %s | %s |\n", e.Name, cell(facts.Unknown), cell(facts.Settle))
	}
	return referenceHead + table.String() + unknown.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func keyCell(set map[string]string) string {
	if set["condition.by"] != "" {
		return set["condition.by"] + ": " + cell(strings.Replace(set["condition.field"], "not said", "the address", 1))
	}
	if set["provider_key.in"] == "" {
		return "none"
	}
	name := set["provider_key.name"]
	if name == "not said" {
		name = "in the template"
	}
	return fmt.Sprintf("%s, %s, ≤ %s", cell(name), set["provider_key.format"], set["provider_key.max"])
}

func windowCell(set map[string]string) string {
	switch {
	case set["condition.by"] != "":
		return "the object's life"
	case set["provider_key.in"] == "":
		return ""
	case set["provider_key.window_kind"] == "guaranteed":
		return set["provider_key.window"] + ", guaranteed; " + set["provider_key.on_repeat"]
	}
	return set["provider_key.window_kind"]
}

func lookCell(e Entry, set map[string]string) string {
	if !e.Tool.Info().Policy.HasProbe {
		return "none"
	}
	return set["probe.consistency"]
}

func settleCell(e Entry, set map[string]string) string {
	if !e.Tool.Info().Policy.HasProbe {
		return ""
	}
	return set["probe.settle"]
}

func undoCell(e Entry) string {
	name := strings.Replace(e.Tool.Compensates(), ".", "/", 1)
	if name == "" {
		facts, _ := e.Tool.Facts()
		return cell(facts.Undo)
	}
	return "`" + name + "`"
}

func sourcesCell(e Entry) string {
	facts, _ := e.Tool.Facts()
	var list []string
	for _, s := range facts.Sources {
		text := s.Basis + " " + s.Date
		if s.URL != "" {
			text = fmt.Sprintf("[%s](%s) %s", s.Basis, s.URL, s.Date)
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}
