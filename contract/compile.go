package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/onceward/onceward"
)

// compiler turns one document into a Tool and collects every problem on the way.
type compiler struct {
	file     string
	doc      *document
	opts     Options
	tool     *Tool
	problems Problems
	builder  *templateBuilder
	values   map[string]string // env, as far as it is used
}

func (c *compiler) problem(at pos, field, format string, args ...any) {
	c.problems = append(c.problems, Problem{File: c.file, Line: at.line, Column: at.column, Field: field, Message: fmt.Sprintf(format, args...)})
}

// fault reports an error, at its own place if it has one.
func (c *compiler) fault(at pos, field string, err error) {
	if err == nil {
		return
	}
	var placed *standingError
	if errors.As(err, &placed) {
		at = placed.at
	}
	var inner *fieldError
	if errors.As(err, &inner) {
		sep := "."
		if strings.HasPrefix(inner.field, "[") {
			sep = ""
		}
		field, err = field+sep+inner.field, inner.err
	}
	c.problem(at, field, "%v", err)
}

// compile does everything. The order matters only in that env is known before
// templates are folded, which admit sees to.
func (c *compiler) compile(root *node, text []byte) {
	c.values = map[string]string{}
	c.builder = &templateBuilder{env: types.NewStringStringMap(types.DefaultTypeAdapter, c.values), admit: c.admit}
	c.tool.env = c.builder.env
	c.metadata()
	c.facts()
	c.input()
	c.keys()
	c.request()
	c.outcomes()
	c.probe()
	c.around()
	c.rules()
	c.placeMissing(root)
	c.info(root, text)
}

var toolNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)

func (c *compiler) metadata() {
	m := &c.doc.Metadata
	if !toolNamePattern.MatchString(m.Name.value) {
		c.problem(m.Name.at, "metadata.name", "a name is lower-case letters, digits, dots, dashes and underscores, at most 128, such as tickets.create")
	}
	if m.Owners.both() {
		c.problem(m.Owners.Owner.at, "metadata.owner", "both owners are named already")
	}
}

func (c *compiler) input() {
	s := &c.doc.Spec.Input
	root := s.root
	if root == nil {
		root = &node{kind: nodeMap, members: []member{{name: "type", value: &node{kind: nodeText, text: "object"}}}}
	}
	var faults []error
	c.tool.schema, faults = compileSchema(root)
	for _, err := range faults {
		c.fault(s.at, "spec.input", err)
	}
}

// expression compiles one CEL expression; nil after a problem.
func (c *compiler) expression(s *source, field string, scope scope, want *cel.Type) *program {
	if s.value == "" {
		return nil
	}
	p, err := compile(s.value, scope, want)
	if err == nil {
		err = c.admit(p)
	}
	if err != nil {
		c.fault(s.at, field, err)
		return nil
	}
	return p
}

// single compiles a pattern that is one ${…}; nil if absent or after a problem.
func (c *compiler) single(s *pattern, field string, scope scope) *program {
	if s.value == "" {
		return nil
	}
	t, err := c.builder.compile(s.value, scope)
	if err != nil {
		c.fault(s.at, field, err)
		return nil
	}
	p := t.lone()
	if p == nil {
		c.problem(s.at, field, "it is one ${…}, nothing before or behind it")
	}
	return p
}

// mixed compiles a pattern of text and ${…}; nil if absent or after a problem.
func (c *compiler) mixed(s *pattern, field string, scope scope) *template {
	if s.value == "" {
		return nil
	}
	t, err := c.builder.compile(s.value, scope)
	if err == nil {
		t, err = c.builder.fold(t)
	}
	if err != nil {
		c.fault(s.at, field, err)
		return nil
	}
	return t
}

// jsonBody compiles a JSON template.
func (c *compiler) jsonBody(n *node, field string, s scope) jsonTemplate {
	return c.builder.compileJSON(n, s, func(err error) { c.fault(n.at, field, err) })
}

func (c *compiler) keys() {
	spec := &c.doc.Spec
	for i := range spec.Volatile.items {
		v := &spec.Volatile.items[i]
		path, err := onceward.ParsePath(v.value)
		if err != nil {
			c.problem(v.at, fmt.Sprintf("spec.volatile[%d]", i), "it is not a path into the input, such as subject, customer.note or items[*].note")
			continue
		}
		c.tool.volatile = append(c.tool.volatile, path)
	}
	c.tool.key = c.keyRule(&spec.Key, "spec.key")
	c.tool.immaterial = slices.Clone(c.tool.volatile)
	for _, part := range c.tool.key {
		if path, err := onceward.ParsePath(part.uses.normalised); err == nil && part.uses.normalised != "" {
			c.tool.immaterial = append(c.tool.immaterial, path)
		}
	}
	for i := range spec.KeyWas.items {
		if rule := c.keyRule(&spec.KeyWas.items[i], fmt.Sprintf("spec.key_was[%d]", i)); rule != nil {
			c.tool.keyWas = append(c.tool.keyWas, rule)
		}
	}
	if spec.KeyWas.set && !spec.Key.set {
		c.problem(spec.KeyWas.at, "spec.key_was", "earlier rules need a present one: add key")
	}
}

// keyRule compiles a key rule.
func (c *compiler) keyRule(s *sources, field string) []*program {
	var rule []*program
	looks := false // at the input
	for i := range s.items {
		inner := fmt.Sprintf("%s[%d]", field, i)
		p := c.expression(&s.items[i], inner, scopeKey, nil)
		if p == nil {
			continue
		}
		looks = looks || len(p.uses.input) > 0
		for _, use := range p.uses.input {
			if path := c.volatilePath(use); path != "" {
				c.problem(s.items[i].at, inner, "it looks at %s, which is volatile: a retry would be another intention", path)
			}
		}
		rule = append(rule, p)
	}
	if len(rule) == len(s.items) && len(rule) > 0 && !looks {
		c.problem(s.at, field, "it does not look at the input: all requests would be one intention")
	}
	return rule
}

// volatilePath is the volatile field that a look-up reads, "" if none.
func (c *compiler) volatilePath(use inputUse) string {
	if use.path == "" {
		return ""
	}
	path, err := onceward.ParsePath(use.path)
	if err != nil {
		return ""
	}
	read := path.String()
	for _, v := range c.tool.volatile {
		name := v.String()
		if read == name || strings.HasPrefix(read, name+".") || strings.HasPrefix(read, name+"[") {
			return name
		}
	}
	return ""
}

// messageOf is the sentence of a typed error, without what was being done.
func messageOf(err error) string {
	var typed *onceward.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}

// around compiles what stands around the write: approval, serialisation, undo,
// source and audit.
func (c *compiler) around() {
	spec := &c.doc.Spec
	if a := spec.Approval; a != nil {
		c.tool.approval = c.expression(&a.When, "spec.approval.when", scopeRequest, cel.BoolType)
		if a.Expires.value == 0 {
			c.problem(a.Expires.at, "spec.approval.expires", "it is longer than 0s")
		}
		c.reminders(a)
	}
	c.tool.serialBy = c.expression(&spec.SerializeBy, "spec.serialize_by", scopeRequest, nil)
	c.tool.subject = c.expression(&spec.Keep.Subject, "spec.keep.subject", scopeRequest, nil)
	if c.tool.subject != nil && keepOf(spec.Keep.Input.value) != onceward.KeepEncrypted && keepOf(spec.Keep.Result.value) != onceward.KeepEncrypted {
		c.problem(spec.Keep.Subject.at, "spec.keep.subject", "neither input nor result is kept encrypted: nothing would be the subject's")
	}
	if u := spec.Compensate; u != nil {
		c.tool.undo = c.undo(u)
	}
	if s := spec.Source; s != nil {
		c.tool.reread = &rereadTemplate{
			request: c.lookup(&s.Request, "spec.source.request"),
			value:   c.single(&s.Value, "spec.source.value", scopeOutcome),
			was:     c.single(&s.Was, "spec.source.was", scopeRequest),
		}
	}
	if a := spec.Audit; a != nil {
		c.tool.audit = &auditTemplate{
			request:   c.lookup(&a.Request, "spec.audit.request"),
			found:     c.single(&a.Found, "spec.audit.found", scopeOutcome),
			reference: c.single(&a.Reference, "spec.audit.reference", scopeItem),
			operation: c.single(&a.Operation, "spec.audit.operation", scopeItem),
		}
	}
}

func (c *compiler) undo(u *compensate) *undoTemplate {
	if !toolNamePattern.MatchString(u.Tool.value) {
		c.problem(u.Tool.at, "spec.compensate.tool", "it is not the name of a tool")
	}
	input := c.jsonBody(u.Input.root, "spec.compensate.input", scopeProbe)
	if u.By.value == "key" && slices.ContainsFunc(jsonPrograms(input), func(p *program) bool { return slices.Contains(p.uses.operation, "reference") }) {
		c.problem(u.Input.at, "spec.compensate.input", "with by: key the effect has no reference yet: use operation.provider_key")
	}
	return &undoTemplate{tool: onceward.ToolName(u.Tool.value), input: input, byKey: u.By.value == "key"}
}
