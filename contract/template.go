package contract

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/types/ref"

	"github.com/onceward/onceward"
)

// template is a text with ${…} in it, compiled: literals and expressions take
// turns. $${ stands for a literal ${.
type template struct {
	parts []part
}

// part is a literal or an expression.
type part struct {
	literal string
	program *program // nil: a literal
}

// templateBuilder compiles the templates of one contract. Expressions that
// depend on env alone are evaluated on the spot.
type templateBuilder struct {
	env   ref.Val
	admit func(*program) error // looks up what an expression takes from env and secrets
}

// compile reads one template.
func (b *templateBuilder) compile(src string, s scope) (*template, error) {
	t := &template{}
	for rest := src; rest != ""; {
		start := strings.Index(rest, "${")
		if start < 0 {
			t.literal(rest)
			break
		}
		if start > 0 && rest[start-1] == '$' {
			t.literal(rest[:start-1] + "${")
			rest = rest[start+2:]
			continue
		}
		t.literal(rest[:start])
		expr, tail, ok := cutExpression(rest[start+2:])
		if !ok {
			return nil, fmt.Errorf("a ${ has no closing }")
		}
		if err := b.expression(t, expr, s); err != nil {
			return nil, err
		}
		rest = tail
	}
	return t, nil
}

// expression adds one ${…}.
func (b *templateBuilder) expression(t *template, src string, s scope) error {
	if strings.TrimSpace(src) == "" {
		return fmt.Errorf("a ${} is empty")
	}
	p, err := compile(src, s, nil)
	if err != nil {
		return err
	}
	if err := b.admit(p); err != nil {
		return err
	}
	t.parts = append(t.parts, part{program: p})
	return nil
}

// fold evaluates what depends on env alone, for places where a value is a text
// anyhow.
func (b *templateBuilder) fold(t *template) (*template, error) {
	folded := &template{}
	for _, p := range t.parts {
		switch {
		case p.program == nil:
			folded.literal(p.literal)
		case p.program.uses.static():
			s, err := p.program.text(&variables{env: b.env})
			if err != nil {
				return nil, err
			}
			folded.literal(s)
		default:
			folded.parts = append(folded.parts, p)
		}
	}
	return folded, nil
}

func (t *template) literal(s string) {
	if s == "" {
		return
	}
	if n := len(t.parts); n > 0 && t.parts[n-1].program == nil {
		t.parts[n-1].literal += s
		return
	}
	t.parts = append(t.parts, part{literal: s})
}

// lone returns the expression of a template that is one ${…}, nil otherwise.
func (t *template) lone() *program {
	if len(t.parts) == 1 {
		return t.parts[0].program
	}
	return nil
}

// constant returns the text of a template without expressions.
func (t *template) constant() (string, bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].program == nil:
		return t.parts[0].literal, true
	}
	return "", false
}

// programs yields the expressions.
func (t *template) programs() []*program {
	var list []*program
	for _, p := range t.parts {
		if p.program != nil {
			list = append(list, p.program)
		}
	}
	return list
}

// appendText appends the rendered text.
func (t *template) appendText(dst []byte, v *variables) ([]byte, error) {
	for _, p := range t.parts {
		if p.program == nil {
			dst = append(dst, p.literal...)
			continue
		}
		s, err := p.program.text(v)
		if err != nil {
			return nil, err
		}
		if len(dst)+len(s) > RequestBytesMax {
			return nil, errRequestTooLarge
		}
		dst = append(dst, s...)
	}
	return dst, nil
}

// text is appendText as a string.
func (t *template) text(v *variables) (string, error) {
	if s, ok := t.constant(); ok {
		return s, nil
	}
	if p := t.lone(); p != nil {
		return p.text(v)
	}
	b, err := t.appendText(nil, v)
	return string(b), err
}

// RequestBytesMax is the longest request body that is rendered.
const RequestBytesMax = 8 << 20

var errRequestTooLarge = errors.New("the rendered request is too large")

// cutExpression cuts CEL source at the } that ends a ${…}, past braces and
// texts inside it.
func cutExpression(s string) (expr, rest string, ok bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return s[:i], s[i+1:], true
			}
			depth--
		case '"', '\'':
			i = skipText(s, i)
		}
	}
	return "", "", false
}

// skipText returns the place of the quote that ends the CEL text which starts
// at i, or the end of s.
func skipText(s string, i int) int {
	quote := s[i : i+1]
	raw := i > 0 && (s[i-1] == 'r' || s[i-1] == 'R')
	if strings.HasPrefix(s[i:], quote+quote+quote) {
		quote = quote + quote + quote
	}
	for i += len(quote); i < len(s); i++ {
		switch {
		case s[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote) - 1
		}
	}
	return len(s)
}

// inputError is the refusal of an input that a place of the contract cannot be
// rendered with.
func inputError(field string, err error) error {
	var typed *onceward.Error
	if errors.As(err, &typed) {
		return err
	}
	code := onceward.CodeInvalidInput
	if errors.Is(err, errRequestTooLarge) {
		code = onceward.CodeTooLarge
	}
	return &onceward.Error{
		Code: code, Op: "render request", Message: field + ": " + err.Error(),
		Hint: "the input passes the schema but the contract cannot use it: change the input, or the contract",
	}
}
