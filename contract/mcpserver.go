package contract

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/onceward/onceward"
)

// MCPServer is one compiled document of kind MCPServer. Its listed tools are
// Tools of the set. It is immutable and safe for concurrent use.
type MCPServer struct {
	doc     *mcpServerDocument
	file    string
	command []string
	url     string
	headers []headerTemplate
	env     []headerTemplate
	names   *Tool // what it takes from its surroundings
}

// UnlistedTools says what becomes of a server's tools that have no contract.
type UnlistedTools string

// The policies.
const (
	UnlistedToolsRefuse    UnlistedTools = "refuse"
	UnlistedToolsReview    UnlistedTools = "review"
	UnlistedToolsPassReads UnlistedTools = "pass_reads"
)

// UnlistedName is the name of the tool, behind the server's and a dot, by which
// tools without a contract are called where a person's yes is asked for.
const UnlistedName = "unlisted"

// Name is the server's name.
func (s *MCPServer) Name() string { return s.doc.Metadata.Name.value }

// Command is the program and its arguments; empty: the server is reached by URL.
func (s *MCPServer) Command() []string { return s.command }

// Dir is the folder in which the command runs; empty: that of this program.
func (s *MCPServer) Dir() string { return s.doc.Spec.Dir.value }

// URL is the server's address; empty: it is a command.
func (s *MCPServer) URL() string { return s.url }

// Unlisted says what becomes of tools that have no contract.
func (s *MCPServer) Unlisted() UnlistedTools { return UnlistedTools(s.doc.Spec.Unlisted.value) }

// Env returns the command's variables, secrets included, as NAME=value.
func (s *MCPServer) Env() ([]string, error) {
	fields, err := s.render(s.env)
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name + "=" + f.Value
	}
	return out, err
}

// SecretEnv names the command's variables that hold secrets.
func (s *MCPServer) SecretEnv() []string {
	var names []string
	for i := range s.env {
		if s.env[i].secret {
			names = append(names, s.env[i].name)
		}
	}
	return names
}

// Headers returns the header fields of every request, secrets included. They
// are read anew each time, so that a rotated secret needs no restart.
func (s *MCPServer) Headers() ([]onceward.HeaderField, error) { return s.render(s.headers) }

func (s *MCPServer) render(templates []headerTemplate) ([]onceward.HeaderField, error) {
	v := &variables{env: s.names.env, secret: s.names.secretValues()}
	var out []onceward.HeaderField
	for i := range templates {
		f, err := templates[i].render(v)
		if err != nil {
			return nil, fmt.Errorf("render %s of the server %s: %w", templates[i].name, s.Name(), err)
		}
		out = append(out, f)
	}
	return out, nil
}

var (
	serverNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)
	variablePattern   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	notInName         = regexp.MustCompile(`[^a-z0-9._-]+`)
)

// loadMCPServer compiles one document of kind MCPServer, and its tools.
func loadMCPServer(root *node, filename string, opts Options) (*MCPServer, []*Tool, Problems) {
	d := &decoder{file: filename}
	doc := &mcpServerDocument{}
	d.decode(root, reflect.ValueOf(doc).Elem(), "")
	if len(d.problems) > 0 {
		return nil, nil, d.problems
	}
	names := &Tool{secrets: opts.Secrets}
	c := &compiler{file: filename, doc: &document{}, opts: opts, tool: names, values: map[string]string{}}
	c.builder = &templateBuilder{env: types.NewStringStringMap(types.DefaultTypeAdapter, c.values), admit: c.admit}
	names.env = c.builder.env
	s := &MCPServer{doc: doc, file: filename, names: names}
	c.mcpServer(s)
	if len(c.problems) > 0 {
		return nil, nil, c.problems
	}
	var tools []*Tool
	var problems Problems
	for i, item := range s.expand(root) {
		tool, faults := loadTool(item, rawDocument{text: item.appendJSON(nil)}, filename, opts)
		for _, f := range faults {
			f.Field = strings.Replace(f.Field, "spec", fmt.Sprintf("spec.tools[%d]", i), 1)
			problems = append(problems, f)
		}
		if tool != nil {
			tools = append(tools, tool)
		}
	}
	return s, tools, problems
}

// mcpServer checks how the server is reached.
func (c *compiler) mcpServer(s *MCPServer) {
	m, spec := &s.doc.Metadata, &s.doc.Spec
	if !serverNamePattern.MatchString(m.Name.value) {
		c.problem(m.Name.at, "metadata.name", "a server's name is lower-case letters, digits, dashes and underscores, at most 40, such as files")
	}
	if m.Owners.both() {
		c.problem(m.Owners.Owner.at, "metadata.owner", "both owners are named already")
	}
	command := len(spec.Command.items) > 0
	switch {
	case command == spec.URL.set:
		c.problem(spec.at, "spec", "either command or url says how the server is reached")
	case command && spec.Headers.set:
		c.problem(spec.Headers.at, "spec.headers", "a command takes no headers: give it variables in env")
	case !command && (spec.Env.set || spec.Dir.set):
		c.problem(spec.at, "spec", "env and dir are for a command")
	case !command:
		c.serverURL(s)
	}
	for i := range spec.Command.items {
		s.command = append(s.command, c.serverText(&spec.Command.items[i], fmt.Sprintf("spec.command[%d]", i)))
	}
	s.headers = c.serverFields(&spec.Headers, "spec.headers", headerName)
	s.env = c.serverFields(&spec.Env, "spec.env", variablePattern.MatchString)
	seen := map[string]bool{}
	for i := range spec.Tools {
		t := &spec.Tools[i]
		field := fmt.Sprintf("spec.tools[%d]", i)
		if t.Tool.value == "" || len(t.Tool.value) > 128 {
			c.problem(t.Tool.at, field+".tool", "a tool's name is 1 to 128 bytes")
		}
		name := t.localName()
		if name == UnlistedName || seen[name] {
			c.problem(t.Tool.at, field+".name", "the name %s is taken: give it another by name", name)
		}
		seen[name] = true
		if p := t.Probe; p != nil && p.Tool.value == "" {
			c.problem(p.Tool.at, field+".probe.tool", "it is missing")
		}
	}
}

// serverURL reads the address, which holds no input.
func (c *compiler) serverURL(s *MCPServer) {
	u, err := c.builder.compileURL(s.doc.Spec.URL.value, scopeKey)
	if err == nil && strings.HasPrefix(u.origin, mcpScheme) {
		err = fmt.Errorf("it is the server's own address, http:// or https://")
	}
	if err == nil {
		s.url, err = u.render(&variables{env: c.builder.env})
	}
	c.fault(s.doc.Spec.URL.at, "spec.url", err)
}

// serverText is a text in which only env stands.
func (c *compiler) serverText(s *text, field string) string {
	t, err := c.builder.compile(s.value, scopeKey)
	if err == nil {
		t, err = c.builder.fold(t)
	}
	out := ""
	if err == nil {
		var constant bool
		if out, constant = t.constant(); !constant {
			err = fmt.Errorf("a server is the same for every call: only env stands here")
		}
	}
	c.fault(s.at, field, err)
	return out
}

func (c *compiler) serverFields(fields *patterns, at string, valid func(string) bool) []headerTemplate {
	var out []headerTemplate
	for i := range fields.items {
		f := &fields.items[i]
		if !valid(f.name) {
			c.problem(f.at, at+"."+f.name, "it is no name for this place")
			continue
		}
		t, err := c.builder.compile(f.value, scopeHeader)
		secret := false
		if err == nil {
			for _, p := range t.programs() {
				secret = secret || len(p.uses.secret) > 0
				if len(p.uses.input)+len(p.uses.operation) > 0 {
					err = fmt.Errorf("a server is the same for every call: only env and secret stand here")
				}
			}
		}
		if err != nil {
			c.fault(f.pattern.at, at+"."+f.name, err)
			continue
		}
		out = append(out, headerTemplate{name: f.name, value: t, secret: secret})
	}
	return out
}

// localName is a tool's name here, behind the server's.
func (t *mcpTool) localName() string {
	if t.Name.value != "" {
		return t.Name.value
	}
	return strings.Trim(notInName.ReplaceAllString(strings.ToLower(t.Tool.value), "-"), "-")
}

// mcpScheme starts the URL of a request that is a call of an MCP server's tool:
// mcp://server/tool.
const mcpScheme = "mcp://"

// expand writes the document of each tool.
func (s *MCPServer) expand(root *node) []*node {
	var out []*node
	items := root.member("spec").member("tools").items
	for i := range s.doc.Spec.Tools {
		t := &s.doc.Spec.Tools[i]
		out = append(out, s.toolDocument(items[i], t.localName(), t.Description.value, s.toolSpec(items[i], t)))
	}
	if s.Unlisted() == UnlistedToolsReview {
		at := s.doc.Spec.Unlisted.at
		out = append(out, s.toolDocument(&node{at: at}, UnlistedName, "A tool of "+s.Name()+" that has no contract, once a person said yes", s.unlistedSpec(at)))
	}
	return out
}

// toolDocument is a document of kind Tool. Its parts keep their places.
func (s *MCPServer) toolDocument(item *node, name, description string, spec *node) *node {
	m := &s.doc.Metadata
	at := item.at
	meta := object(at, "name", s.Name()+"."+name)
	for _, f := range []struct{ name, value string }{
		{"description", description}, {"owner", m.Owners.Owner.value}, {"business_owner", m.Owners.BusinessOwner.value}, {"technical_owner", m.Owners.TechnicalOwner.value},
	} {
		if f.value != "" {
			meta.members = append(meta.members, member{f.name, at, textNode(at, f.value)})
		}
	}
	doc := object(at, "apiVersion", APIVersion, "kind", kindTool)
	doc.members = append(doc.members, member{"metadata", at, meta}, member{"spec", at, spec})
	return doc
}

// ofProtocol are the fields of a listed tool that become a request or a rule.
var ofProtocol = []string{"tool", "name", "description", "definition", "arguments", "deadline", "tool_error", "probe", "outcomes"}

// toolSpec turns a listed tool into the spec of a Tool: its call is a request to
// mcp://server/tool whose body is the arguments.
func (s *MCPServer) toolSpec(item *node, t *mcpTool) *node {
	spec := &node{kind: nodeMap, at: item.at}
	for _, m := range item.members {
		if !slices.Contains(ofProtocol, m.name) {
			spec.members = append(spec.members, m)
		}
	}
	request := s.request(item.at, t.Tool.value, item.member("arguments"))
	if t.Definition.value != "" {
		request.members = append(request.members, member{"definition", t.Definition.at, item.member("definition")})
	}
	request.members = append(request.members, member{"deadline", t.Deadline.at, textNode(item.at, t.Deadline.value.String())})
	spec.members = append(spec.members, member{"request", item.at, request})
	outcomes := &node{kind: nodeList, at: item.at}
	if o := item.member("outcomes"); o != nil {
		outcomes.items = slices.Clone(o.items)
	}
	if class, _ := onceward.ParseEffectClass(t.Effect.value); t.ToolError.value == "not_done" && class.Writes() {
		outcomes.items = append(outcomes.items, object(item.at, "when", "response.status == 200 && has(response.json.isError) && response.json.isError == true", "is", "not_done",
			"class", "validation", "code", "tool_error", "message", "${response.json.content[0].text}"))
	}
	if len(outcomes.items) > 0 {
		spec.members = append(spec.members, member{"outcomes", item.at, outcomes})
	}
	if p := item.member("probe"); p != nil {
		spec.members = append(spec.members, member{"probe", p.at, s.probe(p, t.Probe)})
	}
	return spec
}

func (s *MCPServer) probe(item *node, p *mcpProbe) *node {
	out := &node{kind: nodeMap, at: item.at, members: []member{{"request", item.at, s.request(item.at, p.Tool.value, item.member("arguments"))}}}
	for _, m := range item.members {
		if m.name != "tool" && m.name != "arguments" {
			out.members = append(out.members, m)
		}
	}
	return out
}

// request is the call of a tool; without arguments, those are the input.
func (s *MCPServer) request(at pos, tool string, arguments *node) *node {
	if arguments == nil {
		arguments = textNode(at, "${input}")
	}
	// Why twice: a $ would start a template.
	address := mcpScheme + s.Name() + "/" + strings.ReplaceAll(url.PathEscape(tool), "${", "%24%7B")
	out := object(at, "method", "POST", "url", address)
	out.members = append(out.members, member{"json", at, arguments})
	return out
}

// unlistedSpec is the contract of every tool that has none: nothing is known of
// it, so a person looks at each call, and an unknown outcome is a person's too.
func (s *MCPServer) unlistedSpec(at pos) *node {
	spec := object(at, "effect", "unsafe_write")
	input := object(at, "type", "object")
	input.members = append(input.members,
		member{"required", at, &node{kind: nodeList, at: at, items: []*node{textNode(at, "tool"), textNode(at, "arguments")}}},
		member{"properties", at, &node{kind: nodeMap, at: at, members: []member{{"tool", at, object(at, "type", "string")}, {"arguments", at, object(at, "type", "object")}}}})
	request := object(at, "method", "POST", "url", mcpScheme+s.Name()+"/${input.tool}", "json", "${input.arguments}", "deadline", "30s")
	spec.members = append(spec.members, member{"input", at, input}, member{"approval", at, &node{kind: nodeMap, at: at}}, member{"request", at, request})
	return spec
}

func textNode(at pos, s string) *node { return &node{kind: nodeText, at: at, text: s} }

// object makes a mapping of names and texts.
func object(at pos, pairs ...string) *node {
	n := &node{kind: nodeMap, at: at}
	for i := 0; i+1 < len(pairs); i += 2 {
		n.members = append(n.members, member{pairs[i], at, textNode(at, pairs[i+1])})
	}
	return n
}
