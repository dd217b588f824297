package contract

import (
	"errors"
	"fmt"
	"strings"
)

// jsonTemplate is a part of a JSON body, compiled.
type jsonTemplate interface {
	// append writes the value. errAbsent: a lone look-up leads nowhere.
	append(dst []byte, v *variables) ([]byte, error)
}

// jsonLiteral is a part without expressions, written once.
type jsonLiteral []byte

func (l jsonLiteral) append(dst []byte, _ *variables) ([]byte, error) { return append(dst, l...), nil }

// jsonValue is a text that is one ${…}: the value keeps its type, and a plain
// look-up into the input keeps its JSON token.
type jsonValue struct{ program *program }

func (p jsonValue) append(dst []byte, v *variables) ([]byte, error) {
	n, ok, err := p.program.node(v)
	switch {
	case err != nil:
		return nil, err
	case ok:
		dst = n.Append(dst, false)
	default:
		out, err := p.program.eval(v)
		if err != nil {
			return nil, err
		}
		if dst, err = appendJSONValue(dst, out); err != nil {
			return nil, err
		}
	}
	if len(dst) > RequestBytesMax {
		return nil, errRequestTooLarge
	}
	return dst, nil
}

// jsonText is a text with ${…} inside.
type jsonText struct{ template *template }

func (p jsonText) append(dst []byte, v *variables) ([]byte, error) {
	s, err := p.template.text(v)
	if err != nil {
		return nil, err
	}
	return appendJSONText(dst, s), nil
}

// jsonObjectTemplate is an object; a member whose lone look-up leads nowhere is
// left out.
type jsonObjectTemplate struct {
	members []jsonMember
}

type jsonMember struct {
	label []byte // "name":
	field string // for messages
	value jsonTemplate
}

func (p jsonObjectTemplate) append(dst []byte, v *variables) ([]byte, error) {
	dst = append(dst, '{')
	empty := true
	for _, m := range p.members {
		before := len(dst)
		if !empty {
			dst = append(dst, ',')
		}
		next, err := m.value.append(append(dst, m.label...), v)
		if errors.Is(err, errAbsent) {
			dst = dst[:before]
			continue
		}
		if err != nil {
			return nil, within(m.field, err)
		}
		dst, empty = next, false
	}
	return append(dst, '}'), nil
}

// jsonArrayTemplate is an array; an element may not be absent.
type jsonArrayTemplate []jsonTemplate

func (p jsonArrayTemplate) append(dst []byte, v *variables) ([]byte, error) {
	dst = append(dst, '[')
	for i, element := range p {
		if i > 0 {
			dst = append(dst, ',')
		}
		next, err := element.append(dst, v)
		if errors.Is(err, errAbsent) {
			err = &plainError{"the input has no such field"}
		}
		if err != nil {
			return nil, within(fmt.Sprintf("[%d]", i), err)
		}
		dst = next
	}
	return append(dst, ']'), nil
}

// fieldError is a fault in a part of a rendered value.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// within puts a field in front of a fault's place.
func within(field string, err error) error {
	var inner *fieldError
	if !errors.As(err, &inner) {
		return &fieldError{field, err}
	}
	if strings.HasPrefix(inner.field, "[") {
		return &fieldError{field + inner.field, inner.err}
	}
	return &fieldError{field + "." + inner.field, inner.err}
}

// compileJSON reads a JSON body template. What is wrong is reported with the
// path inside the body; the result is then of no use.
func (b *templateBuilder) compileJSON(n *node, s scope, report func(err error)) jsonTemplate {
	inside := func(field string) func(error) {
		return func(err error) { report(within(field, err)) }
	}
	switch n.kind {
	case nodeText:
		t, err := b.compileJSONText(n, s)
		if err != nil {
			report(standing(n.at, err))
		}
		return t
	case nodeList:
		list := make(jsonArrayTemplate, len(n.items))
		for i, item := range n.items {
			list[i] = b.compileJSON(item, s, inside(fmt.Sprintf("[%d]", i)))
		}
		return folded(list)
	case nodeMap:
		object := jsonObjectTemplate{}
		for _, m := range n.members {
			if strings.Contains(m.name, "${") {
				report(standing(m.at, fmt.Errorf("a member name holds no ${}")))
			}
			object.members = append(object.members, jsonMember{
				label: append(appendJSONText(nil, m.name), ':'), field: m.name, value: b.compileJSON(m.value, s, inside(m.name)),
			})
		}
		return folded(object)
	case nodeNull, nodeBool, nodeNumber:
	}
	return jsonLiteral(n.appendJSON(nil))
}

func (b *templateBuilder) compileJSONText(n *node, s scope) (jsonTemplate, error) {
	t, err := b.compile(n.text, s)
	if err != nil {
		return nil, err
	}
	if p := t.lone(); p != nil {
		if !p.uses.static() {
			return jsonValue{p}, nil
		}
		out, err := jsonValue{p}.append(nil, &variables{env: b.env})
		return jsonLiteral(out), err
	}
	if t, err = b.fold(t); err != nil {
		return nil, err
	}
	if text, ok := t.constant(); ok {
		return jsonLiteral(appendJSONText(nil, text)), nil
	}
	return jsonText{t}, nil
}

// folded turns a container of literals into one literal.
func folded(t jsonTemplate) jsonTemplate {
	switch c := t.(type) {
	case jsonArrayTemplate:
		for _, element := range c {
			if _, ok := element.(jsonLiteral); !ok {
				return t
			}
		}
	case jsonObjectTemplate:
		for _, m := range c.members {
			if _, ok := m.value.(jsonLiteral); !ok {
				return t
			}
		}
	default:
		return t
	}
	out, err := t.append(nil, nil)
	if err != nil {
		return t
	}
	return jsonLiteral(out)
}
