package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// presence is what a schema says of a field.
type presence uint8

const (
	presenceUnknown   presence = iota // the schema does not say
	presenceForbidden                 // no input can have it
	presenceUndeclared
	presenceOptional
	presenceRequired
)

// presenceOf follows a look-up through a schema, as far as properties lead.
func presenceOf(schema *node, steps []chainStep) presence {
	result := presenceRequired
	for _, step := range steps {
		if schema == nil || schema.kind != nodeMap {
			return presenceUnknown
		}
		for _, word := range []string{"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "$dynamicRef"} {
			if schema.member(word) != nil {
				return presenceUnknown
			}
		}
		if !step.named {
			return result
		}
		properties := schema.member("properties")
		var property *node
		if properties != nil && properties.kind == nodeMap {
			property = properties.member(step.name)
		}
		if property == nil {
			return undeclared(schema)
		}
		if !requires(schema, step.name) {
			result = presenceOptional
		}
		schema = property
	}
	return result
}

func undeclared(schema *node) presence {
	more := schema.member("additionalProperties")
	switch {
	case more == nil:
		return presenceUndeclared
	case more.kind == nodeBool && more.text == "false":
		return presenceForbidden
	}
	return presenceUnknown
}

func requires(schema *node, name string) bool {
	required := schema.member("required")
	if required == nil || required.kind != nodeList {
		return false
	}
	return slices.ContainsFunc(required.items, func(n *node) bool { return n.kind == nodeText && n.text == name })
}

// inputPlace is a place of the contract that looks at the input.
type inputPlace struct {
	field    string
	at       pos
	programs []*program
	rule     string // what it is when the field may be absent; empty: that is fine there
	message  string
	fix      string
}

// inputs compares what expressions read with what the schema lets in.
func (l *linter) inputs() {
	if l.t.forward != nil {
		return // a request is whatever its client sends
	}
	schema := l.schemaRoot()
	for _, place := range l.inputPlaces() {
		for _, p := range place.programs {
			for _, use := range p.uses.input {
				l.inputUse(schema, place, p, use)
			}
		}
	}
	for i := range l.spec.Volatile.items {
		v := &l.spec.Volatile.items[i]
		if presenceOf(schema, stepsOfPath(v.value)) == presenceForbidden {
			l.find(SeverityWarning, v.at, "unknown_volatile", "the schema has no field "+v.value, "correct the path, or add the field to the schema")
		}
	}
	l.formats(schema)
}

// stepsOfPath reads the names at the start of a path as look-up steps; what
// follows an element of a list is not looked at.
func stepsOfPath(path string) []chainStep {
	head, _, _ := strings.Cut(path, "[")
	var steps []chainStep
	for name := range strings.SplitSeq(head, ".") {
		if name != "" {
			steps = append(steps, chainStep{named: true, name: name})
		}
	}
	return steps
}

func (l *linter) inputUse(schema *node, place inputPlace, p *program, use inputUse) {
	path := use.path
	if parsed, err := onceward.ParsePath(use.path); err == nil {
		path = parsed.String()
	}
	switch presenceOf(schema, use.steps) {
	case presenceForbidden:
		l.find(SeverityError, place.at, "unknown_input", place.field+" reads input."+path+", which the schema does not let in", "correct the name, or add the field to the schema")
	case presenceUndeclared:
		l.find(SeverityWarning, place.at, "unknown_input", place.field+" reads input."+path+", which the schema does not declare", "add the field to the schema")
	case presenceOptional:
		if place.rule != "" && !use.tested && !testsItself(p, use) {
			l.find(SeverityWarning, place.at, place.rule, fmt.Sprintf("%s reads input.%s, which the schema does not require: %s", place.field, path, place.message), place.fix)
		}
	case presenceUnknown, presenceRequired:
	}
}

// testsItself reports whether the expression asks has() of the same field.
func testsItself(p *program, use inputUse) bool {
	return slices.ContainsFunc(p.uses.input, func(other inputUse) bool { return other.tested && other.path == use.path })
}

// inputPlaces lists every place that reads the input.
func (l *linter) inputPlaces() []inputPlace {
	var places []inputPlace
	for i, p := range l.t.key {
		places = append(places, inputPlace{
			field: fmt.Sprintf("key[%d]", i), at: l.spec.Key.items[i].at, programs: []*program{p}, rule: "key_reads_optional",
			message: "a request without it is refused", fix: "add it to required, or take the key from a field that is always there",
		})
	}
	if l.t.approval != nil {
		places = append(places, inputPlace{
			field: "approval.when", at: l.spec.Approval.When.at, programs: []*program{l.t.approval}, rule: "approval_reads_optional",
			message: "a request without it asks a person", fix: "write has(input.FIELD) && … where absent means no approval",
		})
	}
	if l.t.serialBy != nil {
		places = append(places, l.templatePlace("serialize_by", l.spec.SerializeBy.at, []*program{l.t.serialBy}))
	}
	if l.t.subject != nil {
		places = append(places, l.templatePlace("keep.subject", l.spec.Keep.Subject.at, []*program{l.t.subject}))
	}
	if r := l.t.request; r != nil {
		places = append(places, l.templatePlace("request.url", l.spec.Request.URL.at, r.urlPrograms()))
		for i := range r.headers {
			places = append(places, l.templatePlace("request.headers."+r.headers[i].name, l.spec.Request.at, r.headers[i].value.programs()))
		}
		places = append(places, inputPlace{field: "request.json", at: l.spec.Request.JSON.at, programs: jsonPrograms(r.json)})
	}
	if p := l.t.probe; p != nil {
		places = append(places, l.templatePlace("probe.request", l.spec.Probe.Request.URL.at, p.request.programs()))
		places = append(places, inputPlace{field: "probe", at: l.spec.Probe.at, programs: present(p.found, p.reference, p.ours)})
	}
	for i := range l.t.outcomes {
		places = append(places, inputPlace{field: l.t.outcomes[i].name, at: l.spec.Outcomes[i].at, programs: l.t.outcomes[i].programs()})
	}
	return places
}

func (l *linter) templatePlace(field string, at pos, programs []*program) inputPlace {
	return inputPlace{
		field: field, at: at, programs: programs, rule: "template_reads_optional",
		message: "a request without it is refused", fix: "add it to required, or give it a value with input.?FIELD.orValue(\"…\")",
	}
}

func present(programs ...*program) []*program {
	return slices.DeleteFunc(programs, func(p *program) bool { return p == nil })
}

// knownFormats are the formats that the validator checks.
var knownFormats = []string{
	"date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri", "iri-reference",
	"json-pointer", "regex", "relative-json-pointer", "time", "uri", "uri-reference", "uri-template", "uuid", "period", "semver",
}

// formats reports formats that nothing checks.
func (l *linter) formats(n *node) {
	for _, m := range n.members {
		if m.name == "format" && m.value.kind == nodeText && !slices.Contains(knownFormats, m.value.text) {
			l.find(SeverityWarning, m.at, "unknown_format", "nothing checks the format "+m.value.text, "use a format of JSON Schema, or a pattern")
		}
		l.formats(m.value)
	}
	for _, item := range n.items {
		l.formats(item)
	}
}
