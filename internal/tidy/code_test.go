package tidy

import (
	"errors"
	"fmt"
	"go/ast"
	"os/exec"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// namesOfNothing say that a package was made for what had no other place.
var namesOfNothing = []string{
	"util", "utils", "common", "model", "models", "type", "types", "helper", "helpers", "misc", "shared", "base", "lib",
}

// standardNames are the names of the standard library's packages.
var standardNames = sync.OnceValues(func() (map[string]bool, error) {
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		return nil, fmt.Errorf("list the standard library: %w", err)
	}
	names := map[string]bool{}
	for importPath := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(importPath, "vendor/") && !slices.Contains(strings.Split(importPath, "/"), "internal") {
			names[path.Base(importPath)] = true
		}
	}
	return names, nil
})

var packageNames = rule{
	check: func(files tree) []string {
		sources, complaints := files.sources()
		standard, err := standardNames()
		if err != nil {
			return append(complaints, err.Error())
		}
		for _, s := range sources {
			switch name := s.file.Name.Name; {
			case s.test || name == "main":
			case slices.Contains(namesOfNothing, name) || slices.Contains(namesOfNothing, path.Base(s.dir)):
				complaints = append(complaints, fmt.Sprintf("%s: a package named %s is for everything, so for nothing", s.name, name))
			case standard[name]:
				complaints = append(complaints, fmt.Sprintf("%s: the standard library has a package %s too", s.name, name))
			}
		}
		return complaints
	},
	broken: tree{
		"internal/util/a.go":   `package util`,
		"internal/models/a.go": `package records`,
		"internal/http/a.go":   `package http`,
	},
	wants: []string{"internal/util/a.go", "internal/models/a.go", "internal/http/a.go: the standard library"},
	kept: tree{
		"a.go":                 `package onceward`,
		"worker/a.go":          `package worker`,
		"cmd/onceward/main.go": `package main`,
		"worker/http_test.go":  `package http`, // tests name their own package's surroundings
	},
}

var packageDocs = rule{
	check: func(files tree) []string {
		sources, complaints := files.sources()
		documented := map[string]bool{}
		for _, s := range sources {
			if s.file.Name.Name == "main" || (path.Base(s.name) == "doc.go" && s.file.Doc != nil) {
				documented[s.dir] = true
			}
		}
		for _, s := range sources {
			if !s.test && !documented[s.dir] {
				documented[s.dir] = true // one complaint a package
				complaints = append(complaints, fmt.Sprintf("%s: the package has no doc.go with a comment", s.dir))
			}
		}
		return complaints
	},
	broken: tree{
		"worker/a.go":     "// Package worker works.\npackage worker",
		"worker/b.go":     "package worker",
		"contract/doc.go": "package contract",
	},
	wants: []string{"worker: the package", "contract: the package"},
	kept: tree{
		"worker/doc.go":        "// Package worker works.\npackage worker",
		"worker/a.go":          "package worker",
		"cmd/onceward/main.go": "package main",
		"acceptance/a_test.go": "package acceptance",
	},
}

// The machine is where Apply stands and where its steps, the methods of the
// type step, stand.
const (
	machineEntry = "Apply"
	machineType  = "step"
)

// machineMay are the only imports of the machine's files.
var machineMay = []string{"bytes", "cmp", "errors", "fmt", "iter", "maps", "math", "math/bits", "slices", "sort", "strconv", "strings", "time"}

// clockCalls are what asks the time instead of being told it.
var clockCalls = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}

var machinePurity = rule{
	check: func(files tree) []string {
		sources, complaints := files.sources()
		found := false
		for _, s := range sources {
			if s.dir != "." || s.test || !isMachine(s.file) {
				continue
			}
			found = true
			for importPath, node := range s.imports() {
				if !slices.Contains(machineMay, importPath) {
					complaints = append(complaints, fmt.Sprintf("%s: the machine imports %s", s.at(node), importPath))
				}
			}
			ast.Inspect(s.file, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.GoStmt:
					complaints = append(complaints, s.at(node)+": the machine starts a goroutine")
				case *ast.SelectorExpr:
					if isCall(node, "time", clockCalls...) {
						complaints = append(complaints, fmt.Sprintf("%s: the machine uses time.%s; time is an argument", s.at(node), node.Sel.Name))
					}
				}
				return true
			})
		}
		if !found {
			complaints = append(complaints, "the root has neither "+machineEntry+" nor the type "+machineType+": where is the machine?")
		}
		return complaints
	},
	broken: tree{
		"machine.go": "package onceward\nimport \"time\"\nfunc Apply(at time.Time) time.Time { return time.Now() }",
		"settle.go":  "package onceward\nimport \"math/rand/v2\"\ntype step struct{}\nfunc (s *step) settle() { go println(rand.Int()) }",
	},
	wants: []string{"machine.go:3: the machine uses time.Now", "settle.go:2: the machine imports math/rand/v2", "settle.go:4: the machine starts"},
	kept: tree{
		"machine.go":      "package onceward\nimport \"time\"\nfunc Apply(at time.Time) time.Time { return at.Add(time.Second) }",
		"clock.go":        "package onceward\nimport \"time\"\nfunc now() time.Time { return time.Now() }",
		"machine_test.go": "package onceward\nimport \"time\"\nfunc (s *step) test() { time.Now() }",
		"worker/loop.go":  "package worker\nfunc Apply() { go Apply() }",
	},
}

// isMachine reports whether a file of the root declares Apply or a method of step.
func isMachine(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(decl ast.Decl) bool {
		function, ok := decl.(*ast.FuncDecl)
		if !ok {
			return false
		}
		if function.Recv == nil {
			return function.Name.Name == machineEntry
		}
		receiver := function.Recv.List[0].Type
		if pointer, ok := receiver.(*ast.StarExpr); ok {
			receiver = pointer.X
		}
		name, ok := receiver.(*ast.Ident)
		return ok && name.Name == machineType
	})
}

// isCall reports whether a selector is pkg.name for one of the names.
func isCall(selector *ast.SelectorExpr, pkg string, names ...string) bool {
	base, ok := selector.X.(*ast.Ident)
	return ok && base.Name == pkg && slices.Contains(names, selector.Sel.Name)
}

// wireTags are the struct tags that belong into adapters.
var wireTags = []string{"json", "yaml", "db", "sql", "xml"}

var rootTags = rule{
	check: func(files tree) []string {
		sources, complaints := files.sources()
		for _, s := range sources {
			if s.dir != "." || s.test {
				continue
			}
			ast.Inspect(s.file, func(node ast.Node) bool {
				field, ok := node.(*ast.Field)
				if !ok || field.Tag == nil {
					return true
				}
				text, err := strconv.Unquote(field.Tag.Value)
				if err != nil {
					complaints = append(complaints, fmt.Sprintf("%s: %v", s.at(field), err))
				}
				tag := reflect.StructTag(text)
				for _, name := range wireTags {
					if _, ok := tag.Lookup(name); ok {
						complaints = append(complaints, fmt.Sprintf("%s: a %s tag; wire types live in their adapter", s.at(field), name))
					}
				}
				return true
			})
		}
		return complaints
	},
	broken: tree{"operation.go": "package onceward\ntype Operation struct {\n\tID string `json:\"id\" db:\"op_id\"`\n}"},
	wants:  []string{"operation.go:3: a json tag", "operation.go:3: a db tag"},
	kept: tree{
		"operation.go":        "package onceward\ntype Operation struct {\n\tID string // json: see the adapters\n}",
		"internal/api/api.go": "package api\ntype operation struct {\n\tID string `json:\"id\"`\n}",
	},
}

var sleeping = rule{
	check: func(files tree) []string {
		sources, complaints := files.sources()
		for _, s := range sources {
			// In a bubble of synctest time costs nothing and sleeping is exact.
			if _, bubble := s.imports()["testing/synctest"]; bubble && s.test {
				continue
			}
			ast.Inspect(s.file, func(node ast.Node) bool {
				if selector, ok := node.(*ast.SelectorExpr); ok && isCall(selector, "time", "Sleep") {
					complaints = append(complaints, s.at(selector)+": time.Sleep cannot be stopped and proves nothing; wait for what you wait for")
				}
				return true
			})
		}
		return complaints
	},
	broken: tree{
		"worker/loop.go":      "package worker\nimport \"time\"\nfunc run() { time.Sleep(1) }",
		"worker/loop_test.go": "package worker\nimport \"time\"\nfunc test() {\n\ttime.Sleep(1)\n}",
	},
	wants: []string{"worker/loop.go:3", "worker/loop_test.go:4"},
	kept: tree{
		"worker/loop.go":      "package worker\nimport \"time\"\nfunc run() { <-time.After(1) }",
		"worker/loop_test.go": "package worker\nimport (\n\"testing/synctest\"\n\"time\"\n)\nvar _ = synctest.Test\nfunc test() { time.Sleep(1) }",
	},
}

var silentSkips = rule{
	check: func(files tree) []string {
		sources, complaints := files.sources()
		for _, s := range sources {
			ast.Inspect(s.file, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok || len(call.Args) > 0 {
					return true
				}
				selector, ok := call.Fun.(*ast.SelectorExpr)
				if ok && isCall(selector, receiverName(selector), "Skip", "SkipNow") && slices.Contains([]string{"t", "b", "f", "tb"}, receiverName(selector)) {
					complaints = append(complaints, s.at(call)+": a skip without a reason")
				}
				return true
			})
		}
		return complaints
	},
	broken: tree{
		"a_test.go":            "package onceward\nfunc test() {\n\tt.Sk" + "ip()\n}",
		"store/storetest/a.go": "package storetest\nfunc run() { tb.Sk" + "ipNow() }",
	},
	wants: []string{"a_test.go:3", "store/storetest/a.go:2"},
	kept: tree{
		"a_test.go": "package onceward\nfunc test() { t.Sk" + "ip(\"no server here\"); t.Sk" + "ipf(\"%s\", why); scanner.Skip() }",
	},
}

// receiverName is the name before the selector's dot; empty if it is no name.
func receiverName(selector *ast.SelectorExpr) string {
	if base, ok := selector.X.(*ast.Ident); ok {
		return base.Name
	}
	return ""
}

// binary is the package of the program that is shipped.
const binary = "cmd/onceward"

func TestProgramContainsNothingForTests(t *testing.T) {
	t.Parallel()
	if !repository(t).has(binary) {
		t.Fatal("there is no " + binary + " in this tree")
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+binary)
	list.Dir = repositoryRoot(t)
	list.Env = append(list.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Logf("go list says: %s", exit.Stderr)
		}
		t.Fatalf("list the program's packages: %v", err)
	}
	for _, importPath := range forTests(strings.Fields(string(out))) {
		t.Errorf("the program contains %s", importPath)
	}
}

func TestPackagesForTestsAreFoundAmongAProgramsPackages(t *testing.T) {
	t.Parallel()
	got := forTests([]string{"fmt", "internal/testlog", "testing", "testing/fstest", "net/http/httptest", module + "/oncewardtest", module})
	want := []string{"testing", "testing/fstest", "net/http/httptest", module + "/oncewardtest"}
	if !slices.Equal(got, want) {
		t.Errorf("forTests = %q, want %q", got, want)
	}
}

// forTests picks the packages that only tests have use for.
func forTests(importPaths []string) []string {
	var found []string
	for _, importPath := range importPaths {
		target, isOurs := ours(importPath)
		if under(importPath, "testing") || importPath == "net/http/httptest" ||
			(isOurs && slices.ContainsFunc(testOnly, func(folder string) bool { return under(target, folder) })) {
			found = append(found, importPath)
		}
	}
	return found
}
