package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// Load reads every document of one file. It returns all tools, or an Error with
// CodeContractInvalid that carries every Problem; errors.As finds Problems.
// filename is used in messages only.
func Load(data []byte, filename string, opts Options) ([]*Tool, error) {
	loaded, problems := load(data, filename, opts.withDefaults())
	if problems = append(problems, loaded.duplicates()...); len(problems) > 0 {
		return nil, problems.err()
	}
	return loaded.tools, nil
}

// loaded is what documents describe.
type loaded struct {
	tools   []*Tool
	flows   []*Workflow
	ups     []*Upstream
	sources []*EventSource
	servers []*MCPServer
}

// load reads one file. opts have their defaults.
func load(data []byte, filename string, opts Options) (out loaded, problems Problems) {
	if len(data) > FileBytesMax {
		return out, Problems{{File: filename, Message: fmt.Sprintf("the file is longer than %d bytes", FileBytesMax)}}
	}
	docs := splitDocuments(data)
	switch {
	case len(docs) == 0:
		return out, Problems{{File: filename, Message: "the file holds no contract"}}
	case len(docs) > DocumentsMax:
		return out, Problems{{File: filename, Message: fmt.Sprintf("the file holds more than %d documents", DocumentsMax)}}
	}
	for _, raw := range docs {
		problems = append(problems, out.document(raw, filename, opts)...)
	}
	return out, problems
}

// document reads one document and keeps it, unless there is a problem.
func (l *loaded) document(raw rawDocument, filename string, opts Options) Problems {
	root, problems := readYAML(filename, raw)
	if len(problems) > 0 {
		return problems
	}
	if problem := foreign(root, filename); problem != nil {
		return Problems{*problem}
	}
	switch root.member("kind").text {
	case kindSource:
		src, problems := loadEventSource(root, raw, filename, opts)
		if src != nil {
			l.sources = append(l.sources, src)
		}
		return problems
	case kindWorkflow:
		flow, problems := loadWorkflow(root, raw, filename)
		if flow != nil {
			l.flows = append(l.flows, flow)
		}
		return problems
	case kindUpstream:
		up, routes, problems := loadUpstream(root, filename, opts)
		if up != nil {
			l.ups, l.tools = append(l.ups, up), append(l.tools, routes...)
		}
		return problems
	case kindMCPServer:
		server, tools, problems := loadMCPServer(root, filename, opts)
		if server != nil {
			l.servers, l.tools = append(l.servers, server), append(l.tools, tools...)
		}
		return problems
	}
	tool, problems := loadTool(root, raw, filename, opts)
	if tool != nil {
		l.tools = append(l.tools, tool)
	}
	return problems
}

// loadTool compiles one document of kind Tool; nil if there is a problem.
func loadTool(root *node, raw rawDocument, filename string, opts Options) (*Tool, Problems) {
	d := &decoder{file: filename}
	doc := &document{}
	d.decode(root, reflect.ValueOf(doc).Elem(), "")
	if len(d.problems) > 0 {
		return nil, d.problems
	}
	c := &compiler{file: filename, doc: doc, opts: opts, tool: &Tool{doc: doc, file: filename, secrets: opts.Secrets}}
	c.compile(root, raw.text)
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return c.tool, nil
}

// foreign refuses a document of another language or kind with one clear
// message, not with one for each of its fields.
func foreign(root *node, filename string) *Problem {
	problem := func(n *node, field, message string) *Problem {
		return &Problem{File: filename, Line: n.at.line, Column: n.at.column, Field: field, Message: message}
	}
	if root.kind != nodeMap {
		return problem(root, "", "a contract is a mapping that starts with apiVersion: "+APIVersion)
	}
	switch v := root.member("apiVersion"); {
	case v == nil:
		return problem(root, "apiVersion", "it is missing; it is "+APIVersion)
	case v.text != APIVersion:
		return problem(v, "apiVersion", "this version reads "+APIVersion)
	}
	switch k := root.member("kind"); {
	case k == nil:
		return problem(root, "kind", "it is missing; it is Tool, Workflow, Upstream, Source or MCPServer")
	case k.text != kindTool && k.text != kindWorkflow && k.text != kindUpstream && k.text != kindSource && k.text != kindMCPServer:
		return problem(k, "kind", "this version reads documents of kind Tool, Workflow, Upstream, Source and MCPServer")
	}
	return nil
}

// APIVersion is the version of the language that is read.
const APIVersion = "onceward/v1"

// The kinds of documents.
const (
	kindTool      = "Tool"
	kindWorkflow  = "Workflow"
	kindUpstream  = "Upstream"
	kindSource    = "Source"
	kindMCPServer = "MCPServer"
)

// duplicates reports names that stand twice.
func (l *loaded) duplicates() Problems {
	return slices.Concat(
		describedTwice("tool", l.tools, func(t *Tool) (*text, string) {
			return &text{placed: placed{at: t.doc.Metadata.Name.at}, value: string(t.info.Name)}, t.file // a route's name has its upstream's before it
		}),
		describedTwice("workflow", l.flows, func(w *Workflow) (*text, string) { return &w.doc.Metadata.Name, w.file }),
		l.upstreamsTwice(),
		describedTwice("source", l.sources, func(s *EventSource) (*text, string) { return &s.doc.Metadata.Name, s.file }),
		describedTwice("server", l.servers, func(s *MCPServer) (*text, string) { return &s.doc.Metadata.Name, s.file }),
	)
}

// describedTwice reports names that two documents of a kind have.
func describedTwice[T any](kind string, all []T, where func(T) (name *text, file string)) (problems Problems) {
	first := make(map[string]T, len(all))
	for _, one := range all {
		name, file := where(one)
		if other, twice := first[name.value]; twice {
			before, in := where(other)
			problems = append(problems, Problem{
				File: file, Line: name.at.line, Column: name.at.column, Field: "metadata.name",
				Message: fmt.Sprintf("the %s %s is also described in %s, line %d", kind, name.value, in, before.at.line),
			})
			continue
		}
		first[name.value] = one
	}
	return problems
}

// upstreamsTwice reports names, addresses and host names that two upstreams have.
func (l *loaded) upstreamsTwice() (problems Problems) {
	first := map[string]*Upstream{}
	for _, u := range l.ups {
		for field, t := range map[string]*text{"metadata.name": &u.doc.Metadata.Name, "spec.listen": &u.doc.Spec.Listen, "spec.host_name": &u.doc.Spec.HostName} {
			if t.value == "" {
				continue
			}
			if other, twice := first[field+" "+t.value]; twice {
				problems = append(problems, Problem{File: u.file, Line: t.at.line, Column: t.at.column, Field: field,
					Message: fmt.Sprintf("the upstream %s in %s has it too", other.Name(), other.file)})
			}
			first[field+" "+t.value] = u
		}
	}
	return problems
}

// Set is every contract of a load. It is immutable.
type Set struct {
	tools   []*Tool        // by name
	flows   []*Workflow    // by name
	ups     []*Upstream    // by name
	sources []*EventSource // by name
	servers []*MCPServer   // by name
}

// MCPServers lists the MCP servers by name. The slice must not be changed.
func (s *Set) MCPServers() []*MCPServer { return s.servers }

// Tools lists the tools by name. The slice must not be changed.
func (s *Set) Tools() []*Tool { return s.tools }

// Workflows lists the workflows by name. The slice must not be changed.
func (s *Set) Workflows() []*Workflow { return s.flows }

// Upstreams lists the upstreams by name. The slice must not be changed.
func (s *Set) Upstreams() []*Upstream { return s.ups }

// Workflow finds a workflow by its name.
func (s *Set) Workflow(name string) (*Workflow, bool) {
	for _, w := range s.flows {
		if w.info.Name == name {
			return w, true
		}
	}
	return nil, false
}

// EventSources lists the sources by name. The slice must not be changed.
func (s *Set) EventSources() []*EventSource { return s.sources }

// EventSource finds a source by its name.
func (s *Set) EventSource(name string) (*EventSource, bool) {
	for _, src := range s.sources {
		if src.info.Name == name {
			return src, true
		}
	}
	return nil, false
}

// Tool finds a tool by its name.
func (s *Set) Tool(name onceward.ToolName) (*Tool, bool) {
	i, found := slices.BinarySearchFunc(s.tools, name, func(t *Tool, name onceward.ToolName) int {
		return strings.Compare(string(t.info.Name), string(name))
	})
	if !found {
		return nil, false
	}
	return s.tools[i], true
}

// LoadDir reads contract files and folders of them (*.yaml and *.yml, all
// levels, names that start with a dot left out). It is all or nothing: the error
// is that of Load, with the problems of all files.
func LoadDir(paths []string, opts Options) (*Set, error) {
	opts = opts.withDefaults()
	files, problems := contractFiles(paths)
	all := loaded{}
	for _, file := range files {
		data, problem := readFile(file)
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		one, faults := load(data, file, opts)
		problems = append(problems, faults...)
		all.tools, all.flows = append(all.tools, one.tools...), append(all.flows, one.flows...)
		all.ups = append(all.ups, one.ups...)
		all.sources = append(all.sources, one.sources...)
		all.servers = append(all.servers, one.servers...)
	}
	if problems = append(problems, all.duplicates()...); len(problems) > 0 {
		return nil, problems.err()
	}
	set := &Set{tools: all.tools, flows: all.flows, ups: all.ups, sources: all.sources, servers: all.servers}
	slices.SortFunc(set.ups, func(a, b *Upstream) int { return strings.Compare(a.Name(), b.Name()) })
	slices.SortFunc(set.sources, func(a, b *EventSource) int { return strings.Compare(a.info.Name, b.info.Name) })
	slices.SortFunc(set.servers, func(a, b *MCPServer) int { return strings.Compare(a.Name(), b.Name()) })
	slices.SortFunc(set.flows, func(a, b *Workflow) int { return strings.Compare(a.info.Name, b.info.Name) })
	slices.SortFunc(set.tools, func(a, b *Tool) int { return strings.Compare(string(a.info.Name), string(b.info.Name)) })
	return set, nil
}

// readFile reads one file, not more than FileBytesMax and a bit.
func readFile(file string) ([]byte, *Problem) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > FileBytesMax {
		return nil, &Problem{File: file, Message: fmt.Sprintf("the file is longer than %d bytes", FileBytesMax)}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &Problem{File: file, Message: reason(err)}
	}
	return data, nil
}

// reason is an error of the file system without the path, which is shown before it.
func reason(err error) string {
	if inner, ok := err.(interface{ Unwrap() error }); ok && inner.Unwrap() != nil {
		return "the file cannot be read: " + inner.Unwrap().Error()
	}
	return "the file cannot be read: " + err.Error()
}

// contractFiles lists the files under the paths, each once, in order.
func contractFiles(paths []string) (files []string, problems Problems) {
	add := func(file string) {
		if file = filepath.Clean(file); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			problems = append(problems, Problem{File: path, Message: reason(err)})
			continue
		case !info.IsDir():
			add(path)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(path, func(file string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case file != path && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return filepath.SkipDir
				}
			case !d.IsDir() && (strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")):
				add(file)
			}
			return nil
		})
		switch {
		case err != nil:
			problems = append(problems, Problem{File: path, Message: reason(err)})
		case len(files) == before:
			problems = append(problems, Problem{File: path, Message: "the folder holds no contract (*.yaml)"})
		}
	}
	return files, problems
}

// Compiler compiles contract documents that a ledger stored for its live
// operations. What they name (environment, secrets) is looked up again.
func Compiler(opts Options) onceward.Compiler {
	return func(name onceward.ToolName, source []byte) (onceward.Tool, error) {
		tools, err := Load(source, "stored contract of "+string(name), opts)
		switch {
		case err != nil:
			return nil, err
		case len(tools) != 1 || tools[0].info.Name != name:
			return nil, onceward.Errorf(onceward.CodeLedgerCorrupt, "the stored contract of %s describes another tool", name)
		}
		return tools[0], nil
	}
}
