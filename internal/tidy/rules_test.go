package tidy

import (
	"strings"
	"testing"
)

// rule is one house rule: its check names each place that breaks it.
type rule struct {
	check func(tree) []string
	// broken is a tree that breaks the rule in one or more ways; wants has, for
	// each way, a part of its complaint.
	broken tree
	wants  []string
	// kept is a tree that is near to breaking the rule and does not.
	kept tree
}

// rules are all there are, by name.
var rules = map[string]rule{
	"a package imports only what its row of the table allows": importDirections,
	"a dependency is named only by the packages it is for":    dependencyHomes,
	"a package has a name of its own":                         packageNames,
	"a package says what it is for in doc.go":                 packageDocs,
	"the machine is pure":                                     machinePurity,
	"the root has no wire or column names":                    rootTags,
	"nothing sleeps":                                          sleeping,
	"a skipped test says why":                                 silentSkips,
	"no text names a machine, a registry or unfinished work":  forbiddenText,
	"links in documents lead somewhere":                       documentLinks,
	"decisions are numbered and listed":                       decisionRecords,
}

func TestRepositoryKeepsTheHouseRules(t *testing.T) {
	t.Parallel()
	files := repository(t)
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, complaint := range r.check(files) {
				t.Error(complaint)
			}
		})
	}
}

func TestEachRuleComplainsWhereItIsBroken(t *testing.T) {
	t.Parallel()
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := r.check(r.broken)
			for _, want := range r.wants {
				if !anyContains(found, want) {
					t.Errorf("no complaint has %q", want)
				}
			}
			if len(found) != len(r.wants) || len(r.wants) == 0 {
				t.Errorf("%d complaints, want %d:\n%s", len(found), len(r.wants), strings.Join(found, "\n"))
			}
		})
	}
}

func TestEachRuleIsContentWhereItIsKept(t *testing.T) {
	t.Parallel()
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(r.kept) == 0 {
				t.Fatal("the rule has no tree that keeps it")
			}
			for _, complaint := range r.check(r.kept) {
				t.Error(complaint)
			}
		})
	}
}

func anyContains(texts []string, part string) bool {
	for _, text := range texts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// filesLong is the length at which a file is worth a look. Why no failure: a
// whole thought is never cut up to please a number.
const filesLong = 600

func TestLongFilesAreNamed(t *testing.T) {
	t.Parallel()
	for name, text := range repository(t) {
		if lines := strings.Count(text, "\n"); strings.HasSuffix(name, ".go") && lines > filesLong {
			t.Logf("%s has %d lines, more than %d: is it one noun?", name, lines, filesLong)
		}
	}
}
