package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/onceward/onceward"
)

// request compiles the one request of an attempt.
func (c *compiler) request() {
	spec := &c.doc.Spec
	r := spec.Request
	remote := spec.Executor.value == "caller"
	switch {
	case remote && r != nil:
		c.problem(r.at, "spec.request", "the caller performs the write: there is nothing to send from here")
		return
	case remote:
		return
	case r == nil:
		c.problem(spec.at, "spec.request", "it is missing")
		return
	}
	t := c.parts(requestParts{
		field: "spec.request", at: r.at, method: &r.Method, url: &r.URL, headers: &r.Headers, json: &r.JSON, form: &r.Form, body: &r.Body,
		scope: scopeRequest, headerScope: scopeHeader,
	})
	c.tool.request = t
	c.mcpRequest(t, r)
	if spec.Condition != nil && spec.Condition.By.value == "if_none_match" {
		c.constantHeader(t, "If-None-Match", "*", spec.Condition.at, "spec.condition")
	}
	if k := spec.ProviderKey; k != nil && t.url != nil {
		c.insertKey(t, r, k)
	}
}

// lookup compiles a request that only reads.
func (c *compiler) lookup(l *lookup, field string) *requestTemplate {
	return c.parts(requestParts{
		field: field, at: l.at, method: &l.Method, url: &l.URL, headers: &l.Headers, json: &l.JSON, form: &l.Form, body: &l.Body,
		scope: scopeProbe, headerScope: scopeProbeHeader,
	})
}

// requestParts are the fields that a write and a look-up share.
type requestParts struct {
	field              string
	at                 pos
	method             *choice
	url                *pattern
	headers            *patterns
	json               *tree
	form               *patterns
	body               *pattern
	scope, headerScope scope
}

func (c *compiler) parts(p requestParts) *requestTemplate {
	t := &requestTemplate{field: p.field, method: p.method.value}
	var err error
	t.url, err = c.builder.compileURL(p.url.value, p.scope)
	c.fault(p.url.at, p.field+".url", err)
	for i := range p.headers.items {
		c.header(t, &p.headers.items[i], p)
	}
	c.body(t, p)
	c.mcpParts(t, p)
	return t
}

// mcpParts holds a call of an MCP server's tool to what one can carry.
func (c *compiler) mcpParts(t *requestTemplate, p requestParts) {
	if t.url == nil || !strings.HasPrefix(t.url.origin, mcpScheme) {
		return
	}
	switch {
	case p.method.value != "POST" || p.form.set || p.body.set || !p.json.set:
		c.problem(p.at, p.field, "a call of a tool is a POST with json, its arguments")
	case p.headers.set:
		c.problem(p.headers.at, p.field+".headers", "a call of a tool has no headers: credentials are the server's, in its MCPServer")
	case len(t.url.segments) != 1 || t.url.query != nil:
		c.problem(p.url.at, p.field+".url", "a call of a tool goes to mcp://server/tool")
	}
	t.headers = nil // no Content-Type: the protocol has its own
}

// mcpRequest notes whether the attempts call an MCP server's tool.
func (c *compiler) mcpRequest(t *requestTemplate, r *request) {
	c.tool.mcp = t.url != nil && strings.HasPrefix(t.url.origin, mcpScheme)
	switch {
	case r.Definition.set && !c.tool.mcp:
		c.problem(r.Definition.at, "spec.request.definition", "it is for requests to mcp://server/tool")
	case r.Definition.set && !definitionPattern.MatchString(r.Definition.value):
		c.problem(r.Definition.at, "spec.request.definition", "it is 64 lower-case hexadecimal digits, as onceward mcp definitions prints them")
	case r.Definition.set:
		t.headers = append(t.headers, headerTemplate{name: onceward.DefinitionHeader, value: &template{parts: []part{{literal: r.Definition.value}}}})
	}
	for _, k := range []struct {
		there bool
		at    pos
		field string
	}{
		{c.doc.Spec.ProviderKey != nil && c.doc.Spec.ProviderKey.In.value != "json", c.doc.Spec.at, "spec.provider_key.in"},
		{c.doc.Spec.Condition != nil && c.doc.Spec.Condition.By.value == "if_none_match", c.doc.Spec.at, "spec.condition.by"},
	} {
		if c.tool.mcp && k.there {
			c.problem(k.at, k.field, "a call of a tool carries arguments and no headers")
		}
	}
}

var definitionPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (c *compiler) header(t *requestTemplate, h *namedPattern, p requestParts) {
	field := p.field + ".headers." + h.name
	if t.header(h.name) != nil {
		c.problem(h.at, field, "the header stands twice")
		return
	}
	compiled, err := c.builder.compileHeader(h.name, h.value, p.headerScope)
	if err != nil {
		c.fault(h.pattern.at, field, err)
		return
	}
	t.headers = append(t.headers, compiled)
}

// constantHeader adds a header that another field asks for.
func (c *compiler) constantHeader(t *requestTemplate, name, value string, at pos, field string) {
	if t.header(name) != nil {
		c.problem(at, field, "the request has a header %s already", name)
		return
	}
	t.headers = append(t.headers, headerTemplate{name: name, value: &template{parts: []part{{literal: value}}}})
}

// body compiles what the request carries.
func (c *compiler) body(t *requestTemplate, p requestParts) {
	given := 0
	for _, set := range []bool{p.json.set, p.form.set, p.body.set} {
		if set {
			given++
		}
	}
	switch {
	case given > 1:
		c.problem(p.at, p.field, "a request has one of json, form and body")
		return
	case given == 1 && (t.method == "GET" || t.method == "HEAD"):
		c.problem(p.at, p.field, "a %s request has no body", t.method)
		return
	case given == 0:
		return
	}
	t.body = true
	contentType := "text/plain; charset=utf-8"
	switch {
	case p.json.set:
		contentType = "application/json"
		t.json = c.jsonBody(p.json.root, p.field+".json", p.scope)
	case p.form.set:
		contentType = "application/x-www-form-urlencoded"
		t.form = c.form(p)
	default:
		if t.text = c.mixed(p.body, p.field+".body", p.scope); t.text == nil {
			t.text = &template{}
		}
	}
	if t.header("Content-Type") == nil {
		t.headers = append(t.headers, headerTemplate{name: "Content-Type", value: &template{parts: []part{{literal: contentType}}}})
	}
}

func (c *compiler) form(p requestParts) []formField {
	fields := make([]formField, 0, len(p.form.items))
	for i := range p.form.items {
		f := &p.form.items[i]
		field := p.field + ".form." + f.name
		if strings.Contains(f.name, "${") {
			c.problem(f.at, field, "a field name holds no ${}")
			continue
		}
		value, err := c.builder.compile(f.value, p.scope)
		if err == nil {
			value, err = c.builder.fold(value)
		}
		if err != nil {
			c.fault(f.pattern.at, field, err)
			continue
		}
		fields = append(fields, formField{name: f.name, value: value})
	}
	return fields
}

// keyProgram is the expression operation.provider_key.
func (c *compiler) keyProgram() *program {
	p, err := compile("operation.provider_key", scopeRequest, cel.StringType)
	c.fault(pos{}, "spec.provider_key", err)
	return p
}

// insertKey puts the provider's key where the contract says that it stands.
func (c *compiler) insertKey(t *requestTemplate, r *request, k *providerKey) {
	field := "spec.provider_key"
	name := k.Name.value
	switch k.In.value {
	case "header":
		if name == "" {
			name = "Idempotency-Key"
		}
		c.keyHeader(t, name, k)
	case "query":
		if name == "" {
			c.problem(k.at, field+".name", "it is missing: the name of the query parameter")
			return
		}
		t.url.addQuery(name, c.keyProgram())
	case "json":
		c.keyMember(t, r, k)
	case "path", "graphql":
		if !slices.ContainsFunc(t.programs(), func(p *program) bool { return slices.Contains(p.uses.operation, "provider_key") }) {
			c.problem(k.In.at, field+".in", "the request nowhere holds ${operation.provider_key}")
		}
	}
}

func (c *compiler) keyHeader(t *requestTemplate, name string, k *providerKey) {
	if h := t.header(name); h != nil {
		programs := h.value.programs()
		if len(programs) == 1 && slices.Contains(programs[0].uses.operation, "provider_key") {
			return
		}
		c.problem(k.at, "spec.provider_key", "the request has a header %s of its own", name)
		return
	}
	h, err := c.builder.compileHeader(name, "${operation.provider_key}", scopeRequest)
	if err != nil {
		c.fault(k.Name.at, "spec.provider_key.name", err)
		return
	}
	t.headers = append(t.headers, h)
}

// keyMember puts the key into the JSON body, at the path that name is.
func (c *compiler) keyMember(t *requestTemplate, r *request, k *providerKey) {
	field := "spec.provider_key.name"
	switch {
	case k.Name.value == "":
		c.problem(k.at, field, "it is missing: the path of the JSON member, such as meta.key")
		return
	case t.json == nil || r.JSON.root.kind != nodeMap:
		c.problem(k.at, "spec.provider_key.in", "the request has no json object to put the key into")
		return
	}
	body, err := withMember(r.JSON.root, strings.Split(k.Name.value, "."), "${operation.provider_key}")
	if err != nil {
		c.fault(k.Name.at, field, err)
		return
	}
	t.json = c.builder.compileJSON(body, scopeRequest, func(error) {}) // the author's part was reported before
}

// withMember returns a copy of a mapping with a text at a path.
func withMember(n *node, path []string, value string) (*node, error) {
	if n.kind != nodeMap || path[0] == "" {
		return nil, fmt.Errorf("the path does not lead to a member")
	}
	out := &node{kind: nodeMap, at: n.at, members: slices.Clone(n.members)}
	at := slices.IndexFunc(out.members, func(m member) bool { return m.name == path[0] })
	if len(path) == 1 {
		if at >= 0 {
			return nil, fmt.Errorf("the request's json has that member already")
		}
		out.members = append(out.members, member{name: path[0], at: n.at, value: &node{kind: nodeText, at: n.at, text: value}})
		return out, nil
	}
	inner := &node{kind: nodeMap, at: n.at}
	if at >= 0 {
		inner = out.members[at].value
	}
	inner, err := withMember(inner, path[1:], value)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		out.members = append(out.members, member{name: path[0], at: n.at, value: inner})
	} else {
		out.members[at].value = inner
	}
	return out, nil
}

// outcomes compiles the rules that read an answer.
func (c *compiler) outcomes() {
	for i := range c.doc.Spec.Outcomes {
		o := &c.doc.Spec.Outcomes[i]
		field := fmt.Sprintf("spec.outcomes[%d]", i)
		rule := outcomeRule{
			name:       fmt.Sprintf("outcomes[%d]", i),
			when:       c.expression(&o.When, field+".when", scopeOutcome, cel.BoolType),
			reference:  c.single(&o.Reference, field+".reference", scopeOutcome),
			code:       c.mixed(&o.Code, field+".code", scopeOutcome),
			message:    c.mixed(&o.Message, field+".message", scopeOutcome),
			retryAfter: c.mixed(&o.RetryAfter, field+".retry_after", scopeOutcome),
		}
		if o.Retryable.set {
			rule.retryable = &o.Retryable.value
		}
		rule.verdict, rule.class = c.verdict(o, field)
		c.tool.outcomes = append(c.tool.outcomes, rule)
		for _, p := range rule.programs() {
			c.tool.judgesInput = c.tool.judgesInput || len(p.uses.input) > 0
		}
	}
	if k := c.doc.Spec.Condition; k != nil {
		c.tool.exists = c.expression(&k.Exists, "spec.condition.exists", scopeOutcome, cel.BoolType)
		c.tool.judgesInput = c.tool.judgesInput || c.tool.exists != nil && len(c.tool.exists.uses.input) > 0
	}
	c.tool.compare = c.doc.Spec.Conflict.value == "look_up_then_compare"
	c.tool.keyed = c.doc.Spec.ProviderKey != nil
}

// programs lists the rule's expressions.
func (r *outcomeRule) programs() []*program {
	var list []*program
	for _, p := range []*program{r.when, r.reference} {
		if p != nil {
			list = append(list, p)
		}
	}
	for _, t := range []*template{r.code, r.message, r.retryAfter} {
		if t != nil {
			list = append(list, t.programs()...)
		}
	}
	return list
}

// verdict reads what a rule means, and refuses fields that mean nothing with it.
func (c *compiler) verdict(o *outcome, field string) (onceward.Verdict, onceward.ErrorClass) {
	class, _ := onceward.ParseErrorClass(o.Class.value)
	done := o.Is.value == "done"
	for _, f := range []struct {
		set  bool
		at   pos
		name string
		done bool // only with done
	}{
		{o.Reference.set, o.Reference.at, "reference", true},
		{o.Class.set, o.Class.at, "class", false},
		{o.Code.set, o.Code.at, "code", false},
		{o.Message.set, o.Message.at, "message", false},
		{o.RetryAfter.set, o.RetryAfter.at, "retry_after", false},
		{o.Retryable.set, o.Retryable.at, "retryable", false},
	} {
		if f.set && f.done != done {
			c.problem(f.at, field+"."+f.name, "it says nothing of an outcome that is %s", o.Is.value)
		}
	}
	switch o.Is.value {
	case "done":
		return onceward.VerdictDone, class
	case "not_done":
		return onceward.VerdictNotDone, class
	case "in_progress":
		return onceward.VerdictInProgress, class
	}
	return onceward.VerdictUnknown, class
}

// probe compiles the look-up.
func (c *compiler) probe() {
	p := c.doc.Spec.Probe
	if p == nil {
		return
	}
	t := &probeTemplate{
		request:   c.lookup(&p.Request, "spec.probe.request"),
		found:     c.single(&p.Found, "spec.probe.found", scopeOutcome),
		reference: c.single(&p.Reference, "spec.probe.reference", scopeItem),
		ours:      c.expression(&p.Ours, "spec.probe.ours", scopeItem, cel.BoolType),
	}
	t.ofTool = t.request.url != nil && strings.HasPrefix(t.request.url.origin, mcpScheme)
	t.readsError = strings.Contains(p.Found.value, "isError")
	for _, program := range []*program{t.found, t.reference, t.ours} {
		t.judgeInput = t.judgeInput || program != nil && len(program.uses.input) > 0
	}
	c.tool.probe = t
}
