package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/contract"
)

// envOf answers for every variable that contracts of the catalog name.
func envOf(name string) (string, bool) {
	if strings.HasSuffix(name, "_URL") {
		return "https://" + strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(name, "_URL"), "_", "-")) + ".example", true
	}
	return "main", true
}

func testOptions() contract.Options {
	return contract.Options{Env: envOf, Secrets: func(string) (string, error) { return "hush-hush-hush", nil }, ByteTail: contract.NoByteTail}
}

// writeAll puts the catalog into a folder, as its reader would.
func writeAll(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range Names() {
		source, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".yaml")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEveryContractLintsWithoutWarnings(t *testing.T) {
	t.Parallel()
	set, err := contract.LoadDir([]string{writeAll(t)}, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(set.Tools()); n < 25 {
		t.Errorf("the catalog has %d contracts", n)
	}
	all := set.Lint()
	for _, tool := range set.Tools() {
		for _, f := range all[tool.Info().Name] {
			if f.Severity != contract.SeverityInfo {
				t.Errorf("%s:%d: %s: %s (%s)", tool.Info().Name, f.Line, f.Severity, f.Message, f.Rule)
			}
		}
	}
}

func TestEveryContractSaysWhereItsFactsComeFrom(t *testing.T) {
	t.Parallel()
	entries, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		facts, ok := e.Tool.Facts()
		switch {
		case strings.Replace(e.Name, "/", ".", 1) != string(e.Tool.Info().Name):
			t.Errorf("%s: its tool is called %s", e.Name, e.Tool.Info().Name)
		case !ok || facts.Provider == "" || facts.Endpoint == "" || len(facts.Sources) == 0 || facts.Unknown == "":
			t.Errorf("%s: provider, endpoint, a source and what is unknown have to be said", e.Name)
		case (facts.Undo == "") == (e.Tool.Compensates() == ""):
			t.Errorf("%s: either a contract undoes its effect, or undo says who does, or that nothing does", e.Name)
		case e.Tool.Info().Policy.HasProbe && facts.Settle == "":
			t.Errorf("%s: nothing says why settle is what it is", e.Name)
		}
		for _, s := range facts.Sources {
			if s.URL == "" && s.Basis != "observed" && s.Basis != "reported" {
				t.Errorf("%s: a %s fact has no page", e.Name, s.Basis)
			}
		}
	}
}
