package tidy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// heldBy are the pages that name, for each promise, the test that holds it.
var heldBy = []string{"docs/guarantees.md", "docs/threat-model.md"}

var (
	namedTest    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// A promise is held by a test that there is.
func TestPagesNameTestsThatExist(t *testing.T) {
	t.Parallel()
	files := repository(t)
	for _, page := range heldBy {
		if len(namedTest.FindAllString(files[page], -1)) < 10 {
			t.Errorf("%s names hardly any test", page)
		}
		for _, name := range missingTests(files, page) {
			t.Errorf("%s: there is no test %s", page, name)
		}
	}
	made := tree{"docs/x.md": "`TestIs`, `FuzzIs`, `TestWas`", "x_test.go": "package x\n\nfunc TestIs(t *testing.T) {}\n\nfunc FuzzIs(f *testing.F) {}\n"}
	if got := missingTests(made, "docs/x.md"); !slices.Equal(got, []string{"TestWas"}) {
		t.Errorf("missing %q, want the one that is gone", got)
	}
}

func missingTests(files tree, page string) (missing []string) {
	there := map[string]bool{}
	for name, text := range files {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range declaredTest.FindAllStringSubmatch(text, -1) {
				there[m[1]] = true
			}
		}
	}
	for _, m := range namedTest.FindAllStringSubmatch(files[page], -1) {
		if !there[m[1]] && !slices.Contains(missing, m[1]) {
			missing = append(missing, m[1])
		}
	}
	return missing
}
