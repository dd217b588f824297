package main

import (
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testneed"
)

// docLanguages are those that a block of a page may have, with who holds it to
// what is true.
var docLanguages = map[string]string{
	"sh":      "run by TestEveryCommandOfTheDocumentationRuns, but for what says why not",
	"text":    "behind a block of commands, what they print; elsewhere a drawing",
	"yaml":    "read by TestEveryDocumentOfTheDocumentationIsRead",
	"json":    "read by TestEveryDocumentOfTheDocumentationIsRead",
	"mermaid": "a drawing",
	"go":      "the README's stands in examples/library, which is run; the rest shows calls",
	"ts":      "shows calls; the client's own tests run them",
	"python":  "shows calls; the client's own tests run them",
}

// playedElsewhere are pages whose commands another test runs, with more to say
// about what they lead to.
var playedElsewhere = map[string]string{
	"docs/operating/story.md": "TestTwoPeopleAndAnAgentGetOneEffectThroughEditCrashReviewAndReplay",
}

// docPages are the pages of the repository: README, docs, and those beside
// clients and examples. bin, dist and tools hold what was built or fetched.
func docPages(t testing.TB) (pages []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules", "tools", "testdata"}, d.Name()):
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			pages = append(pages, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// Each block of commands of each page runs as it stands there, in the order of
// the page, and prints what the page shows. Only addresses differ.
func TestEveryCommandOfTheDocumentationRuns(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"curl", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			testneed.Missing(t, program+" is not installed, which commands of the documentation use: apt-get install "+program)
		}
	}
	pages := map[string][]docBlock{}
	commands, marked := 0, 0
	for _, name := range docPages(t) {
		for _, b := range readBlocks(t, name) {
			if _, known := docLanguages[b.lang]; !known {
				t.Errorf("%s:%d: a block says what it is: %s", b.page, b.line, slices.Sorted(maps.Keys(docLanguages)))
			}
			if b.mark != "" && (b.lang != "sh" || len(strings.Fields(b.noRun())) < 3) {
				t.Errorf(`%s:%d: behind sh stands nothing, or no-run="REASON" with a reason in words`, b.page, b.line)
			}
			if command := b.tooEarly(); command != "" {
				t.Errorf("%s:%d: pasted as one, %q asks a server that does not answer yet: begin a block behind the one that starts it", b.page, b.line, command)
			}
			switch why := b.noRun(); {
			case b.lang != "sh":
			case why != "":
				marked++
				t.Logf("%s:%d is not run: %s", b.page, b.line, why)
			default:
				commands++
				pages[name] = append(pages[name], b)
			}
		}
	}
	t.Logf("%d blocks of commands are run, %d are not", commands, marked)
	for name, blocks := range pages {
		if playedElsewhere[blocks[0].page] != "" {
			continue
		}
		t.Run(blocks[0].page, func(t *testing.T) {
			t.Parallel()
			p := docGuide(t, name)
			if stage := docStages[blocks[0].page]; stage != nil {
				stage(p)
			}
			for i := range blocks {
				printed := strings.Join(p.block(&blocks[i]), "\n")
				if shows := blocks[i].shows; shows != nil {
					if line := differs(*shows, printed); line != "" {
						t.Errorf("%s:%d: the page shows %q, in its order, and this was printed:\n%s", blocks[i].page, blocks[i].line, line, printed)
					}
				}
			}
		})
	}
}

// docGuide is a page to be played at addresses of its own.
func docGuide(t *testing.T, name string) *guide {
	t.Helper()
	server, sim := proctest.FreeAddress(t), proctest.FreeAddress(t)
	p := readGuide(t, name, "go run ./cmd/onceward", "onceward", "127.0.0.1:7070", sim, "127.0.0.1:8686", server, "0.0.0.0:8686", server, "10.0.0.7:8686", server,
		"postgres://onceward@localhost/onceward", "$LEDGER_DSN")
	p.env["ONCEWARD_LISTEN"], p.env["ONCEWARD_SERVER"] = server, "http://"+server
	p.env["SIM_URL"] = "http://" + sim
	return p
}

func TestPageThatShowsOtherThanWhatIsPrintedIsFound(t *testing.T) {
	t.Parallel()
	const printed = "operation  op_1\nstate      succeeded\nat 12:00\n"
	for shown, want := range map[string]string{
		"operation op_1\nstate succeeded\n": "", "state …\n": "", "…\nat …\n": "",
		"state failed\n": "state failed", "state succeeded\noperation op_1\n": "operation op_1", "state\n": "state",
	} {
		if got := differs(shown, printed); got != want {
			t.Errorf("of %q differs %q, want %q", shown, got, want)
		}
	}
	b := docBlock{text: "a \\\n  b   # said\nsql \"x # 1\"\ncat > f <<'END'\n# kept\nEND\ncall '{\n\"a\":1}' # exits 4\n# nothing\n"}
	for text, want := range map[string]string{
		"onceward serve &\nonceward call x y\n": "onceward call x y", "onceward sim &\nexport A=b\nA=b onceward serve &\n": "", "onceward serve\n": "",
	} {
		early := docBlock{lang: "sh", text: text}
		if got := early.tooEarly(); got != want {
			t.Errorf("of %q asks too early %q, want %q", text, got, want)
		}
	}
	want := []string{"a   b", `sql "x # 1"`, "cat > f <<'END'\n# kept\nEND", "call '{\n\"a\":1}' # exits 4"}
	if got := b.commands(); !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
}
