package contract

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/onceward/onceward"
)

// published compiles the published schema.
func published(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemaPaths lists every field that the published schema knows, a list's
// entries as [].
func schemaPaths(s map[string]any, path string) []string {
	var paths []string
	if properties, ok := s["properties"].(map[string]any); ok {
		for name, p := range properties {
			inner := joinField(path, name)
			paths = append(append(paths, inner), schemaPaths(p.(map[string]any), inner)...)
		}
	}
	if items, ok := s["items"].(map[string]any); ok && items["type"] == "object" {
		paths = append(paths, schemaPaths(items, path+"[]")...)
	}
	return paths
}

// loaderPaths lists every field that the loader reads.
func loaderPaths(t reflect.Type, path string) []string {
	var paths []string
	for _, f := range fieldsOf(t) {
		inner := joinField(path, f.name)
		paths = append(paths, inner)
		switch {
		case f.typ.Kind() == reflect.Slice:
			paths = append(paths, loaderPaths(f.typ.Elem(), inner+"[]")...)
		case f.typ.Kind() == reflect.Pointer:
			paths = append(paths, loaderPaths(f.typ.Elem(), inner)...)
		default:
			if _, isLeaf := reflect.New(f.typ).Interface().(leaf); !isLeaf {
				paths = append(paths, loaderPaths(f.typ, inner)...)
			}
		}
	}
	return paths
}

func TestSchemaAndLoaderKnowTheSameFields(t *testing.T) {
	t.Parallel()
	var root map[string]any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	for kind, typ := range map[string]reflect.Type{"Tool": reflect.TypeFor[document](), "Workflow": reflect.TypeFor[workflowDocument](), "Upstream": reflect.TypeFor[upstreamDocument](), "Source": reflect.TypeFor[eventSourceDocument](), "MCPServer": reflect.TypeFor[mcpServerDocument]()} {
		known := schemaPaths(root["$defs"].(map[string]any)[kind].(map[string]any), "")
		read := loaderPaths(typ, "")
		slices.Sort(known)
		slices.Sort(read)
		if diff := cmp.Diff(read, known); diff != "" {
			t.Errorf("loader and schema differ (-loader +schema):\n%s", diff)
		}
		// Every field takes part in the document that holds all of them.
		name := map[string]string{"Tool": "everything.yaml", "Workflow": "everything_workflow.yaml", "Upstream": "everything_upstream.yaml", "Source": "everything_source.yaml", "MCPServer": "everything_mcpserver.yaml"}[kind]
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		node, problems := readYAML(name, rawDocument{text: data, line: 1})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		used := nodePaths(node, "")
		for _, path := range known {
			if !slices.Contains(used, path) && !slices.Contains(oneOfSeveral, strings.Replace(path, "spec.routes[].", "spec.", 1)) {
				t.Errorf("testdata/%s does not use %s", name, path)
			}
		}
	}
}

// oneOfSeveral are fields of which a document can have only one.
var oneOfSeveral = []string{
	"metadata.technical_owner", "spec.command", "spec.dir", "spec.env", "spec.request.definition",
	"spec.request.form", "spec.request.body", "spec.probe.request.form", "spec.probe.request.body",
	"spec.source.request.json", "spec.source.request.body", "spec.source.request.headers",
	"spec.audit.request.json", "spec.audit.request.form", "spec.audit.request.headers",
}

func nodePaths(n *node, path string) []string {
	paths := []string{path}
	for _, m := range n.members {
		paths = append(paths, nodePaths(m.value, joinField(path, m.name))...)
	}
	for _, item := range n.items {
		paths = append(paths, nodePaths(item, path+"[]")...)
	}
	return paths
}

// validDocuments are contracts that load.
func validDocuments(t testing.TB) map[string][]byte {
	t.Helper()
	docs := map[string][]byte{"minimal": []byte(minimal), "probed": []byte(testHead + probedSpec), "ticket": []byte(testHead + ticketSpec)}
	for _, effect := range onceward.AllEffectClasses {
		docs["example "+effect.String()] = Example(effect)
	}
	docs["example source"] = ExampleSource()
	for _, pattern := range []string{"testdata/everything*.yaml", "../examples/contracts/*.yaml", "../examples/sim/*.yaml", "../examples/story/*.yaml", "../examples/upstreams/*.yaml", "../examples/hooks/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files match %s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			docs[file] = data
		}
	}
	return docs
}

func simOptions() Options {
	opts := testOptions()
	env := opts.Env
	opts.Env = func(name string) (string, bool) {
		if slices.Contains([]string{"SIM_URL", "STRIPE_URL", "GITHUB_URL", "MODEL_URL"}, name) {
			return "http://127.0.0.1:9999", true
		}
		return env(name)
	}
	secret := opts.Secrets
	opts.Secrets = func(name string) (string, error) {
		if slices.Contains([]string{"GITHUB_TOKEN", "MODEL_KEY"}, name) {
			return "s3cr3t-of-an-example", nil
		}
		return secret(name)
	}
	return opts
}

func TestSchemaAcceptsWhatLoads(t *testing.T) {
	t.Parallel()
	schema := published(t)
	for name, data := range validDocuments(t) {
		if _, err := Load(data, name, simOptions()); err != nil {
			var problems Problems
			t.Errorf("%s does not load: %v %v", name, err, problems)
			continue
		}
		node, _ := readYAML(name, rawDocument{text: data, line: 1})
		if err := schema.Validate(node.value()); err != nil {
			t.Errorf("the schema refuses %s: %v", name, err)
		}
	}
}

// TestSchemaAndLoaderRefuseTheSame breaks one field after the other.
func TestSchemaAndLoaderRefuseTheSame(t *testing.T) {
	t.Parallel()
	schema := published(t)
	for file, typ := range map[string]reflect.Type{"testdata/everything.yaml": reflect.TypeFor[document](), "testdata/everything_workflow.yaml": reflect.TypeFor[workflowDocument](), "testdata/everything_upstream.yaml": reflect.TypeFor[upstreamDocument](), "testdata/everything_source.yaml": reflect.TypeFor[eventSourceDocument](), "testdata/everything_mcpserver.yaml": reflect.TypeFor[mcpServerDocument]()} {
		refuseTheSame(t, schema, file, typ)
	}
}

func refuseTheSame(t *testing.T, schema *jsonschema.Schema, file string, typ reflect.Type) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root, _ := readYAML(file, rawDocument{text: data, line: 1})
	for _, path := range nodePaths(root, "") {
		if path == "" || strings.HasPrefix(path, "spec.input.") || strings.HasPrefix(path, "spec.steps[].schema.") || strings.HasPrefix(path, "spec.tools[].input.") || strings.Contains(path, "json.") || strings.HasPrefix(path, "spec.compensate.input.") || strings.HasPrefix(path, "spec.routes[].compensate.input.") || strings.HasPrefix(path, "spec.mappings") && strings.Contains(path, ".input.") {
			continue // not of the language
		}
		for _, wrong := range []*node{{kind: nodeMap, members: []member{{name: "zzz", value: &node{kind: nodeNull}}}}, {kind: nodeNumber, text: "-1.5"}, {kind: nodeList, items: []*node{{kind: nodeNull}}}} {
			broken := replaceAt(root, path, wrong)
			d := &decoder{}
			d.decode(broken, reflect.New(typ).Elem(), "")
			bySchema := schema.Validate(broken.value()) != nil
			if byLoader := len(d.problems) > 0; byLoader != bySchema {
				t.Errorf("%s as %s: the loader refuses: %v, the schema refuses: %v %v", path, wrong.kind, byLoader, bySchema, d.problems)
			}
		}
	}
}

// replaceAt copies a tree with another value at a path.
func replaceAt(n *node, path string, value *node) *node {
	if path == "" {
		return value
	}
	out := *n
	if rest, ok := strings.CutPrefix(path, "[]"); ok {
		out.items = slices.Clone(n.items)
		out.items[0] = replaceAt(n.items[0], strings.TrimPrefix(rest, "."), value)
		return &out
	}
	out.members = slices.Clone(n.members)
	for i, m := range out.members {
		if rest, ok := strings.CutPrefix(path, m.name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			out.members[i].value = replaceAt(m.value, strings.TrimPrefix(rest, "."), value)
		}
	}
	return &out
}

func TestSchemaIsTheGolden(t *testing.T) {
	t.Parallel()
	const golden = "testdata/schema.json"
	if *update {
		if err := os.WriteFile(golden, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(Schema())); diff != "" {
		t.Errorf("the published schema changed; with -update it is written anew:\n%s", diff)
	}
}

func TestDefaultsAreThoseOfTheTags(t *testing.T) {
	t.Parallel()
	tool := loadSpec(t, "  effect: probed_write\n  key: [input.id]\n"+lintRequest+lintProbe)
	p := tool.Info().Policy
	want := onceward.Policy{
		Effect: onceward.EffectProbedWrite, HasProbe: true, Deadline: 10e9, ProbeDeadline: 10e9, Lease: 25e9, Settle: 1e9,
		MaxAttempts: 5, BackoffInitial: 1e9, BackoffMax: 60e9, RecoveryWindow: 24 * 3600e9,
		ReviewTeam: "us", ReviewWithin: 24 * 3600e9,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	i := tool.Info()
	if i.Horizon != 7*24*3600e9 || i.KeepRecord != 90*24*3600e9 || i.KeepTombstone != 0 || i.JudgeBytes != onceward.DefaultJudgeBytes || i.KeepBytes != onceward.DefaultKeepBytes {
		t.Errorf("%+v", i)
	}
	for _, f := range allFields(reflect.TypeFor[document]()) {
		if f.doc == "" {
			t.Errorf("the field %s has no meaning", f.name)
		}
	}
}

func allFields(t reflect.Type) []fieldInfo {
	var all []fieldInfo
	for _, f := range fieldsOf(t) {
		all = append(all, f)
		inner := f.typ
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if _, isLeaf := reflect.New(inner).Interface().(leaf); !isLeaf {
			all = append(all, allFields(inner)...)
		}
	}
	return all
}
