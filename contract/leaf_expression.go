package contract

import (
	"fmt"
	"strings"

	"github.com/onceward/onceward"
)

// source is the text of one CEL expression.
type source struct {
	placed
	value string
}

func (s *source) read(n *node, _ fieldInfo) error {
	if n.kind == nodeBool { // true and false are expressions
		s.value = n.text
		return nil
	}
	if n.kind != nodeText || strings.TrimSpace(n.text) == "" {
		return fmt.Errorf("it is a CEL expression")
	}
	if strings.HasPrefix(strings.TrimSpace(n.text), "${") {
		return fmt.Errorf("it is a CEL expression as it stands, without ${}")
	}
	s.value = n.text
	return nil
}

func (s *source) jsonSchema(fieldInfo) map[string]any {
	return map[string]any{"type": []string{"string", "boolean"}, "minLength": 1}
}

// sources is a list of CEL expressions, or a single one.
type sources struct {
	placed
	items []source
}

func (s *sources) read(n *node, f fieldInfo) error {
	if n.kind == nodeText {
		n = &node{kind: nodeList, items: []*node{n}}
	}
	if n.kind != nodeList || len(n.items) == 0 || len(n.items) > onceward.KeyPartsMax {
		return fmt.Errorf("it is a list of 1 to %d CEL expressions", onceward.KeyPartsMax)
	}
	for _, item := range n.items {
		var one source
		if item.kind != nodeText {
			return standing(item.at, wrongKind(item, "a CEL expression"))
		}
		if err := one.read(item, f); err != nil {
			return standing(item.at, err)
		}
		one.place(item.at)
		s.items = append(s.items, one)
	}
	return nil
}

func (s *sources) jsonSchema(fieldInfo) map[string]any {
	one := map[string]any{"type": "string", "minLength": 1}
	return map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "minItems": 1, "maxItems": onceward.KeyPartsMax, "items": one}}}
}

// rule is the list as text that tells two lists apart.
func (s *sources) rule() string {
	text := []byte{'['}
	for i := range s.items {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendJSONText(text, s.items[i].value)
	}
	return string(append(text, ']'))
}

// rules is a list of key rules.
type rules struct {
	placed
	items []sources
}

const earlierRulesMax = 8

func (r *rules) read(n *node, f fieldInfo) error {
	if n.kind != nodeList || len(n.items) > earlierRulesMax {
		return fmt.Errorf("it is a list of up to %d earlier key rules, each a list of CEL expressions", earlierRulesMax)
	}
	for _, item := range n.items {
		var one sources
		if err := one.read(item, f); err != nil {
			return standing(item.at, err)
		}
		one.place(item.at)
		r.items = append(r.items, one)
	}
	return nil
}

func (r *rules) jsonSchema(f fieldInfo) map[string]any {
	return map[string]any{"type": "array", "maxItems": earlierRulesMax, "items": (&sources{}).jsonSchema(f)}
}

// pattern is one text with ${…} in it.
type pattern struct {
	placed
	value string
}

func (p *pattern) read(n *node, _ fieldInfo) error {
	switch n.kind {
	case nodeText:
		p.value = n.text
		return nil
	case nodeNumber, nodeBool: // 1.10 stays 1.10 in a text
		p.value = n.raw
		return nil
	case nodeNull, nodeList, nodeMap:
	}
	return wrongKind(n, "a text that may hold ${…}")
}

func (p *pattern) jsonSchema(fieldInfo) map[string]any {
	return map[string]any{"type": []string{"string", "number", "boolean"}}
}

// patterns is a mapping of names to texts with ${…} in them, in order.
type patterns struct {
	placed
	items []namedPattern
}

type namedPattern struct {
	name string
	at   pos
	pattern
}

const patternsMax = 256

func (p *patterns) read(n *node, f fieldInfo) error {
	if n.kind != nodeMap {
		return wrongKind(n, "a mapping of names to texts")
	}
	if len(n.members) > patternsMax {
		return fmt.Errorf("it has more than %d entries", patternsMax)
	}
	for _, m := range n.members {
		one := namedPattern{name: m.name, at: m.at}
		if err := one.read(m.value, f); err != nil {
			return standing(m.at, fmt.Errorf("%s: %w", m.name, err))
		}
		one.place(m.value.at)
		p.items = append(p.items, one)
	}
	return nil
}

func (p *patterns) jsonSchema(f fieldInfo) map[string]any {
	return map[string]any{"type": "object", "maxProperties": patternsMax, "additionalProperties": (&pattern{}).jsonSchema(f)}
}

// tree is any value, whose texts may hold ${…}.
type tree struct {
	placed
	root *node
}

func (t *tree) read(n *node, _ fieldInfo) error {
	t.root = n
	return nil
}

func (t *tree) jsonSchema(fieldInfo) map[string]any { return map[string]any{} }

// schema is a JSON Schema.
type schema struct {
	placed
	root *node
}

func (s *schema) read(n *node, _ fieldInfo) error {
	if n.kind != nodeMap {
		return wrongKind(n, "a JSON Schema")
	}
	s.root = n
	return nil
}

func (s *schema) jsonSchema(fieldInfo) map[string]any {
	return map[string]any{"type": "object"}
}
