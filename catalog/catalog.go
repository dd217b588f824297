package catalog

import (
	"embed"
	"io/fs"
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

//go:embed */*.yaml
var files embed.FS

// Entry is one contract of the catalog.
type Entry struct {
	Name   string // stripe/refunds; the tool's name has a dot for the slash
	Source []byte // the file as it stands
	Tool   *contract.Tool
}

// Names lists the contracts, in order.
func Names() []string {
	paths, err := fs.Glob(files, "*/*.yaml")
	if err != nil { // the pattern is a constant
		panic("catalog: " + err.Error())
	}
	for i := range paths {
		paths[i] = strings.TrimSuffix(paths[i], ".yaml")
	}
	slices.Sort(paths)
	return paths
}

// Source returns the file of one contract. An unknown name is an Error with
// CodeToolNotFound.
func Source(name string) ([]byte, error) {
	source, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, &onceward.Error{Code: onceward.CodeToolNotFound, Op: "read catalog", Message: "the catalog has no contract " + name, Hint: "onceward contract list --catalog shows the names"}
	}
	return source, nil
}

// Load compiles every contract. Variables and secrets need not be there: values
// stand in for them, so the tools must not send anything.
func Load() ([]Entry, error) {
	opts := contract.Options{Env: func(string) (string, bool) { return "", false }, StandIns: true}
	var all []Entry
	for _, name := range Names() {
		source, err := Source(name)
		if err != nil {
			return nil, err
		}
		tools, err := contract.Load(source, name+".yaml", opts)
		if err != nil {
			return nil, err
		}
		all = append(all, Entry{Name: name, Source: source, Tool: tools[0]})
	}
	return all, nil
}

// WithUndo returns the file of a contract, and behind it those of what undoes its
// effect, each a document.
func WithUndo(name string) ([]byte, error) {
	var out []byte
	for seen := map[string]bool{}; name != "" && !seen[name]; {
		seen[name] = true
		source, err := Source(name)
		if err != nil {
			return nil, err
		}
		tools, err := contract.Load(source, name+".yaml", contract.Options{StandIns: true})
		if err != nil {
			return nil, err
		}
		if out != nil {
			out = append(out, "---\n"...)
		}
		out = append(out, source...)
		name = strings.Replace(tools[0].Compensates(), ".", "/", 1)
	}
	return out, nil
}
