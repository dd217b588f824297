package tidy

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is what this repository is imported as.
const module = "github.com/onceward/onceward"

// tree is the repository's text, by path from its root with forward slashes.
// Binary files are in it with an empty text.
type tree map[string]string

// repository reads the tree that the test runs in: what is tracked, and what is
// there and not ignored, so that a new file is checked before it is committed.
func repository(tb testing.TB) tree {
	tb.Helper()
	root := repositoryRoot(tb)
	files := tree{}
	for _, name := range fileNames(tb, root) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted and not yet committed
		}
		if err != nil {
			tb.Fatalf("read %s: %v", name, err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			text = nil
		}
		files[name] = string(text)
	}
	return files
}

// repositoryRoot is the nearest folder upwards that has a go.mod.
func repositoryRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("find go.mod: none in this folder or above")
		}
		dir = parent
	}
}

// fileNames asks git, and walks the folders where there is no git, as in an
// unpacked archive.
func fileNames(tb testing.TB, root string) []string {
	tb.Helper()
	list := exec.CommandContext(tb.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if out, err := list.Output(); err == nil {
		names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		slices.Sort(names)
		return slices.Compact(names)
	}
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || name == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.Type().IsRegular():
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		tb.Fatalf("walk %s: %v", root, err)
	}
	return names
}

// names are the paths in order.
func (files tree) names() []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// has reports whether a path is a file or a folder of the tree.
func (files tree) has(name string) bool {
	if _, ok := files[name]; ok || name == "." {
		return true
	}
	for other := range files {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// source is one parsed Go file.
type source struct {
	name string // its path in the tree
	dir  string // its package's folder, "." for the root
	test bool
	file *ast.File
	fset *token.FileSet
}

// at says where in the tree a node stands.
func (s source) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.fset.Position(node.Pos()).Line)
}

// imports are the paths of the file's imports, with the node of each.
func (s source) imports() map[string]ast.Node {
	found := map[string]ast.Node{}
	for _, spec := range s.file.Imports {
		found[strings.Trim(spec.Path.Value, `"`)] = spec
	}
	return found
}

// sources parses the tree's Go files, whatever their build constraints; what
// lies in a testdata folder is data. A file that does not parse is a complaint.
func (files tree) sources() (parsed []source, complaints []string) {
	for _, name := range files.names() {
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, files[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			complaints = append(complaints, err.Error())
			continue
		}
		parsed = append(parsed, source{
			name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), file: file, fset: fset,
		})
	}
	return parsed, complaints
}

// under reports whether a path is a folder or lies below it.
func under(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}
