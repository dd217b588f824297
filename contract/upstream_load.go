package contract

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/onceward/onceward"
)

// Defaults of a route that differ from those of a tool.
const (
	routeKeepBytes = 1 << 20 // of an answer: whoever repeats the request gets it whole
	routeNotAfter  = "24h"   // where the caller's credentials are needed: nobody waits longer for a caller to come back
)

var upstreamNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// loadUpstream compiles one document of kind Upstream, and its routes as tools;
// nil if there is a problem.
func loadUpstream(root *node, filename string, opts Options) (*Upstream, []*Tool, Problems) {
	d := &decoder{file: filename}
	doc := &upstreamDocument{}
	d.decode(root, reflect.ValueOf(doc).Elem(), "")
	if len(d.problems) > 0 {
		return nil, nil, d.problems
	}
	c := &upstreamCompiler{
		compiler: compiler{file: filename, opts: opts, doc: &document{}, tool: &Tool{doc: &document{}}},
		up:       &Upstream{doc: doc, file: filename, secrets: opts.Secrets},
	}
	tools := c.compileUpstream(root)
	if len(c.problems) > 0 {
		return nil, nil, c.problems
	}
	return c.up, tools, nil
}

// upstreamCompiler turns one document into an Upstream and its tools.
type upstreamCompiler struct {
	compiler
	up *Upstream
}

func (c *upstreamCompiler) compileUpstream(root *node) []*Tool {
	doc := c.up.doc
	m, spec := &doc.Metadata, &doc.Spec
	if !upstreamNamePattern.MatchString(m.Name.value) {
		c.problem(m.Name.at, "metadata.name", "a name is lower-case letters, digits, dots, dashes and underscores, at most 64, such as stripe")
	}
	if m.Owners.both() {
		c.problem(m.Owners.Owner.at, "metadata.owner", "both owners are named already")
	}
	if spec.Listen.set {
		c.fault(spec.Listen.at, "spec.listen", upstreamListen(spec.Listen.value))
	}
	if spec.HostName.set && checkHost(spec.HostName.value) != nil {
		c.problem(spec.HostName.at, "spec.host_name", "it is a host name, such as stripe.onceward.internal")
	}
	if spec.Wait.value > onceward.MaxWait {
		c.problem(spec.Wait.at, "spec.wait", "it is longer than %s", onceward.MaxWait)
	}
	if spec.Deadline.value <= 0 {
		c.problem(spec.Deadline.at, "spec.deadline", "it is longer than 0s")
	}
	for i, name := range spec.Material.items {
		if !headerName(name.value) || slices.Contains(heldBack, strings.ToLower(name.value)) {
			c.problem(name.at, fmt.Sprintf("spec.material[%d]", i), "it is the name of a header field that may be stored; credentials may not")
		}
	}
	c.base()
	if len(c.problems) > 0 {
		return nil
	}
	var tools []*Tool
	for i := range spec.Routes {
		if t := c.route(root, i); t != nil {
			tools = append(tools, t)
		}
	}
	return tools
}

// base compiles the URL and the header fields that we add.
func (c *upstreamCompiler) base() {
	spec := &c.up.doc.Spec
	c.doc.Spec.Request = &request{URL: spec.URL} // where a value that stands in is looked for
	c.values = map[string]string{}
	c.builder = &templateBuilder{env: types.NewStringStringMap(types.DefaultTypeAdapter, c.values), admit: c.admit}
	t := &requestTemplate{field: "spec", method: "GET", env: c.builder.env}
	var err error
	t.url, err = c.builder.compileURL(spec.URL.value, scopeKey)
	c.fault(spec.URL.at, "spec.url", err)
	if err == nil {
		c.up.base, err = baseOf(t.url)
		c.fault(spec.URL.at, "spec.url", err)
		c.up.host, c.up.hosts = t.url.host, []string{t.url.host}
	}
	for i := range spec.Headers.items {
		h := &spec.Headers.items[i]
		c.header(t, h, requestParts{field: "spec", headerScope: scopeHeader})
		if f := t.header(h.name); f != nil && slices.ContainsFunc(f.value.programs(), func(p *program) bool {
			return slices.ContainsFunc(p.uses.names, func(n string) bool { return n != "env" && n != "secret" })
		}) {
			c.problem(h.pattern.at, "spec.headers."+h.name, "it is made of env and secret only: it goes with every request")
		}
	}
	c.up.own, c.up.names, c.up.missing = t, c.tool.names, c.tool.missing
}

// baseOf is a URL that no value changes, without the slash at its end.
func baseOf(u *urlTemplate) (string, error) {
	if u.query != nil {
		return "", fmt.Errorf("it has no query: that comes with the requests")
	}
	s, err := u.render(&variables{})
	return strings.TrimSuffix(s, "/"), err
}

// route compiles one route as a tool.
func (c *upstreamCompiler) route(root *node, i int) *Tool {
	doc := c.up.doc
	r := &doc.Spec.Routes[i]
	field := fmt.Sprintf("spec.routes[%d]", i)
	method, path, _ := strings.Cut(r.Match.value, " ")
	pattern, err := parsePattern(strings.TrimSpace(path))
	if err != nil {
		c.problem(r.Match.at, field+".match", "%v", err)
		return nil
	}
	if !slices.Contains(routeMethods, method) {
		c.problem(r.Match.at, field+".match", "its method is one of %s", strings.Join(routeMethods, ", "))
		return nil
	}
	alone := aloneRoot(root, i)
	inner := &compiler{file: c.file, opts: c.opts, doc: c.routeDocument(r, method), tool: &Tool{file: c.file, secrets: c.opts.Secrets}}
	inner.tool.doc = inner.doc
	inner.tool.forward = &forward{
		pattern: pattern, material: doc.material(), caller: c.up.CallerCredentials(), base: c.up.base, host: c.up.host, held: c.opts.Held,
	}
	inner.compile(alone, alone.appendJSON(nil))
	inner.recovery(r.Recover, inner.tool.forward)
	for _, p := range inner.problems {
		p.Field = strings.Replace(p.Field, "spec.", field+".", 1)
		c.problems = append(c.problems, p)
	}
	if len(inner.problems) > 0 {
		return nil
	}
	inner.tool.immaterial = append(inner.tool.immaterial, forwardImmaterial...)
	info := inner.tool.info
	info.Policy.CallerCredentials = c.up.CallerCredentials()
	info.Forwarded = true
	c.up.routes = append(c.up.routes, Route{
		Tool: info.Name, Method: method, Match: path, Keyless: r.Keyless.value == "pass", KeyRule: inner.tool.key != nil, path: pattern,
	})
	return inner.tool
}

// recovery compiles the read whose answer stands for the write's own.
func (c *compiler) recovery(r *recovery, f *forward) {
	if r == nil {
		return
	}
	u, err := c.builder.compileURL(r.URL.value, scopeProbe)
	c.fault(r.URL.at, "spec.recover.url", err)
	switch {
	case err == nil && !strings.HasPrefix(f.base+"/", u.origin+"/"):
		c.problem(r.URL.at, "spec.recover.url", "it is on another host than the upstream")
	case r.Status.value < 200 || r.Status.value > 299:
		c.problem(r.Status.at, "spec.recover.status", "it is a status of success: 200 to 299")
	}
	f.recoverURL, f.recoverStatus = u, r.Status.value
}

// routeMethods are the methods that a route may name.
var routeMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// routeDocument is a route as the document of a tool.
func (c *upstreamCompiler) routeDocument(r *upstreamRoute, method string) *document {
	up := c.up.doc
	doc := &document{Metadata: metadata{Name: r.Name, Description: r.Description, Owners: up.Metadata.Owners}, Spec: r.Spec}
	doc.at = r.at
	doc.Metadata.Name.value = up.Metadata.Name.value + "." + r.Name.value
	spec := &doc.Spec
	spec.at = r.at
	spec.Executor.value = "onceward"
	deadline := r.Deadline
	if !deadline.set {
		deadline = up.Spec.Deadline
	}
	spec.Request = &request{URL: up.Spec.URL, Headers: up.Spec.Headers, Deadline: deadline}
	spec.Request.at = r.Match.at
	spec.Request.Method.value = method
	spec.Request.URL.at = up.Spec.URL.at
	if !spec.Answer.KeepBytes.set {
		spec.Answer.KeepBytes.value = routeKeepBytes
	}
	if c.up.CallerCredentials() && !spec.NotAfter.set {
		_ = spec.NotAfter.read(&node{kind: nodeText, text: routeNotAfter}, fieldInfo{}) // a duration of ours
	}
	return doc
}

// aloneRoot is the document with one route alone, and without what does not
// change a write: what is stored for the operations of that route, and compiled
// again for them.
func aloneRoot(root *node, route int) *node {
	spec := root.member("spec")
	alone := &node{kind: nodeMap, at: spec.at}
	for _, m := range spec.members {
		switch m.name {
		case "url", "credentials", "headers", "material", "deadline":
			alone.members = append(alone.members, m)
		case "routes":
			one := &node{kind: nodeList, at: m.value.at, items: m.value.items[route : route+1]}
			alone.members = append(alone.members, member{name: m.name, at: m.at, value: one})
		}
	}
	out := &node{kind: nodeMap, at: root.at}
	for _, m := range root.members {
		if m.name == "spec" {
			m.value = alone
		}
		out.members = append(out.members, m)
	}
	return out
}
