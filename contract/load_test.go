package contract

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/onceward/onceward"
)

// TestBrokenContractIsRefusedWithEveryPlace runs testdata/load: each archive
// holds a contract and what is wrong with it.
func TestBrokenContractIsRefusedWithEveryPlace(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(problemsOf(t, string(archive.Files[0].Data)), "\n") + "\n"
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "problems", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got == "\n" || len(archive.Files) != 2 {
				t.Fatal("the contract loads, or nothing says what is wrong with it")
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsNeverQuoteTheFile(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-do-not-show"
	for _, line := range []string{
		"  effect: " + secret,
		"  lease: " + secret,
		"  rate: " + secret,
		"  request: " + secret,
		"  hosts: ['https://" + secret + "/']",
		"  request: {method: POST, url: 'https://" + secret + "@h.example.com/'}",
		"  request: {method: POST, url: '" + secret + "'}",
		"  horizon: {a: " + secret + "}",
		"  volatile: ['" + secret + "..x']",
		"  input: {type: object, properties: {a: {type: " + secret + "}}}",
		"  input: {type: object, properties: {a: {pattern: '(" + secret + "'}}}",
		"  answer: {keep_bytes: " + secret + "}",
	} {
		problems := problemsOf(t, testHead+"  effect: read\n"+line+"\n")
		if len(problems) == 0 {
			t.Errorf("%s: loads", strings.Replace(line, secret, "…", 1))
		}
		for _, p := range problems {
			if strings.Contains(p, secret) {
				t.Errorf("a problem quotes the file: %s", p)
			}
		}
	}
}

func TestSeveralDocumentsKeepTheirLines(t *testing.T) {
	t.Parallel()
	doc := "# first\n---\n" + testHead + "  effect: read\n  request: {method: GET, url: 'https://h.example.com/'}\n--- # second\n" +
		strings.Replace(testHead, "things.make", "things.read", 1) + "  effect: rad\n  request: {method: GET, url: 'https://h.example.com/'}\n...\n"
	want := []string{"f.yaml:14:11: spec.effect: it is one of read, compute, keyed_write, conditional_write, probed_write, unsafe_write"}
	if diff := cmp.Diff(want, problemsOf(t, doc)); diff != "" {
		t.Error(diff)
	}
	tools, err := Load([]byte(strings.Replace(doc, "rad\n", "read\n", 1)), "f.yaml", testOptions())
	if err != nil || len(tools) != 2 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	if tools[1].Line() != 10 {
		t.Errorf("the second document starts in line %d, want 10", tools[1].Line())
	}
	again, err := Load(tools[1].Info().Source, "stored", testOptions())
	if err != nil || again[0].Info().Version != tools[1].Info().Version {
		t.Errorf("the stored source does not load to the same version: %v", err)
	}
}

const minimal = testHead + "  effect: read\n  request: {method: GET, url: 'https://h.example.com/'}\n"

func TestFilesOfOtherEditorsLoad(t *testing.T) {
	t.Parallel()
	version := mustLoad(t, minimal).Info().Version
	for name, doc := range map[string]string{
		"CRLF":            strings.ReplaceAll(minimal, "\n", "\r\n"),
		"byte order mark": "\ufeff" + minimal,
		"no last newline": strings.TrimSuffix(minimal, "\n"),
		"anchors":         strings.Replace(minimal, "url: ", "url: &u ", 1) + "  source: {request: {url: *u}}\n",
	} {
		tool := mustLoad(t, doc)
		if v := tool.Info().Version; v != version && name != "anchors" {
			t.Errorf("%s: version %s, want %s", name, v, version)
		}
	}
}

func TestSameNameTwiceIsRefusedWithBothPlaces(t *testing.T) {
	t.Parallel()
	want := []string{"f.yaml:10:18: metadata.name: the tool things.make is also described in f.yaml, line 3"}
	if diff := cmp.Diff(want, problemsOf(t, minimal+"---\n"+minimal)); diff != "" {
		t.Error(diff)
	}
}

func TestLoadDirIsAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("a.yaml", minimal)
	write("deep/b.yml", strings.Replace(minimal, "things.make", "things.b", 1))
	write("notes.txt", "not a contract")
	write(".hidden.yaml", "not a contract")
	write(".git/c.yaml", "not a contract")
	set, err := LoadDir([]string{dir, filepath.Join(dir, "a.yaml")}, testOptions())
	if err != nil || len(set.Tools()) != 2 {
		t.Fatalf("load: %v", err)
	}
	if _, found := set.Tool("things.b"); !found {
		t.Error("things.b is not in the set")
	}
	if _, found := set.Tool("things.c"); found {
		t.Error("things.c is in the set")
	}
	broken := write("deep/broken.yaml", strings.Replace(minimal, "effect: read", "effect: rd", 1))
	again := write("e.yaml", minimal)
	_, err = LoadDir([]string{dir, filepath.Join(dir, "absent.yaml")}, testOptions())
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Fatalf("want three problems, got %v", err)
	}
	for i, file := range []string{filepath.Join(dir, "absent.yaml"), broken, again} {
		if problems[i].File != file {
			t.Errorf("problem %d is of %s, want %s", i, problems[i].File, file)
		}
	}
}

func TestFolderWithoutContractsIsRefused(t *testing.T) {
	t.Parallel()
	_, err := LoadDir([]string{t.TempDir()}, testOptions())
	if !onceward.Is(err, onceward.CodeContractInvalid) {
		t.Fatalf("got %v", err)
	}
}

func TestVersionIsOfTheMeaning(t *testing.T) {
	t.Parallel()
	version := func(doc string) string { return mustLoad(t, doc).Info().Version }
	base := version(minimal)
	if len(base) != 12 || strings.Trim(base, "0123456789abcdef") != "" {
		t.Fatalf("the version %q is not 12 hexadecimal digits", base)
	}
	same := []string{
		"# a comment\n" + minimal,
		strings.Replace(minimal, "owner: us", "owner: them, description: other", 1),
		testHead + "  request:\n    url: \"https://h.example.com/\"\n    method: 'GET' # order and quotes\n  effect: read\n",
	}
	for _, doc := range same {
		if v := version(doc); v != base {
			t.Errorf("version %s, want %s, of\n%s", v, base, doc)
		}
	}
	other := []string{
		strings.Replace(minimal, "things.make", "things.mak", 1),
		minimal + "  horizon: 8d\n",
		strings.Replace(minimal, "example.com/", "example.com/a", 1),
	}
	for _, doc := range other {
		if v := version(doc); v == base {
			t.Errorf("the version does not change with\n%s", doc)
		}
	}
}

func TestTooLongFileIsRefused(t *testing.T) {
	t.Parallel()
	for long, want := range map[string]string{
		minimal + "#" + strings.Repeat("x", FileBytesMax):                         "f.yaml: the file is longer than 1048576 bytes",
		minimal + "---\n" + minimal + "#" + strings.Repeat("x", DocumentBytesMax): "f.yaml:8: the document is longer than 131072 bytes",
		minimal + strings.Repeat("---\n"+minimal, DocumentsMax):                   "f.yaml: the file holds more than 256 documents",
		minimal + "  serialize_by: >\n    input.id\n" + strings.Repeat("\n", 65):  "f.yaml:73: more than 64 empty lines in a row",
	} {
		if got := problemsOf(t, long); len(got) != 1 || got[0] != want {
			t.Errorf("got %.200v, want %s", got, want)
		}
	}
}

func TestProblemsAreNotListedWithoutEnd(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "unknown%d: 1\n", i)
	}
	got := problemsOf(t, minimal+b.String())
	if len(got) != problemsMax+1 || got[problemsMax] != "f.yaml:107: there are more problems from here on" {
		t.Errorf("%d problems, the last is %s", len(got), got[len(got)-1])
	}
}

func TestAliasBombIsRefused(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("apiVersion: onceward/v1\nkind: Tool\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		n := string(rune('a' + i))
		before := "a0"
		if i > 1 {
			before = string(rune('a'+i-1)) + "x"
		}
		b.WriteString("a" + n + ": &" + n + "x [" + strings.Repeat("*"+before+", ", 9) + "*" + before + "]\n")
	}
	got := problemsOf(t, b.String())
	if len(got) == 0 || !strings.Contains(got[0], "more than 20000 values") {
		t.Errorf("got %v", got)
	}
}

func TestCompilerRestoresAStoredContract(t *testing.T) {
	t.Parallel()
	source := mustLoad(t, minimal).Info().Source
	tool, err := Compiler(testOptions())("things.make", source)
	if err != nil || tool.Info().Name != "things.make" {
		t.Fatalf("got %v", err)
	}
	if _, err := Compiler(testOptions())("things.other", source); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
		t.Errorf("a contract of another tool gives %v", err)
	}
}
