package contract

import (
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// quickSchema is a schema of a few common keywords, made for
// saying yes quickly: what it accepts, the validator accepts. A no says nothing:
// then the validator is asked, and finds the words.
//
// Why: the validator wants the input in another form and counts in fractions, a
// third of what a repeat costs.
type quickSchema struct {
	typed           bool
	kind            onceward.NodeKind // where it is typed
	whole           bool              // a number has to be an integer
	required        []string
	properties      map[string]*quickSchema
	closed          bool     // no other members
	words           []string // what a text may be; nil: any
	pattern         *regexp.Regexp
	items           *quickSchema
	characters, len bounds
	size            bounds // of a number
}

// bounds are inclusive; nil: none.
type bounds struct{ least, most *int64 }

func (b bounds) none() bool { return b.least == nil && b.most == nil }

func (b bounds) hold(n int64) bool {
	return (b.least == nil || n >= *b.least) && (b.most == nil || n <= *b.most)
}

var quickKinds = map[string]onceward.NodeKind{
	"null": onceward.NodeNull, "boolean": onceward.NodeBool, "string": onceward.NodeString,
	"number": onceward.NodeNumber, "integer": onceward.NodeNumber, "array": onceward.NodeArray, "object": onceward.NodeObject,
}

// quick makes a quickSchema of a valid schema; nil: it says more than that.
func quick(n *node) *quickSchema {
	if n.kind != nodeMap {
		return nil
	}
	s := &quickSchema{}
	for _, m := range n.members {
		if !s.keyword(m.name, m.value) {
			return nil
		}
	}
	return s
}

// keyword takes one in; false: it is not one of the few.
func (s *quickSchema) keyword(name string, v *node) bool {
	switch name {
	case "title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly":
		return true
	case "type":
		s.kind, s.typed = quickKinds[v.text]
		s.whole = v.text == "integer"
		return v.kind == nodeText && s.typed // not a list of types
	case "required":
		s.required = textList(v)
		return s.required != nil
	case "enum":
		s.words = textList(v)
		return s.words != nil
	case "properties":
		s.properties = make(map[string]*quickSchema, len(v.members))
		for _, m := range v.members {
			if s.properties[m.name] = quick(m.value); s.properties[m.name] == nil {
				return false
			}
		}
		return v.kind == nodeMap
	case "additionalProperties":
		s.closed = v.text == "false"
		return v.kind == nodeBool
	case "pattern":
		var err error
		s.pattern, err = regexp.Compile(v.text) // as the validator does
		return v.kind == nodeText && err == nil
	case "items":
		s.items = quick(v)
		return s.items != nil
	case "minLength":
		return bound(&s.characters.least, v)
	case "maxLength":
		return bound(&s.characters.most, v)
	case "minItems":
		return bound(&s.len.least, v)
	case "maxItems":
		return bound(&s.len.most, v)
	case "minimum":
		return bound(&s.size.least, v)
	case "maximum":
		return bound(&s.size.most, v)
	}
	return false
}

// textList reads a list of texts; nil: it is none.
func textList(n *node) []string {
	list := make([]string, 0, len(n.items))
	for _, item := range n.items {
		if item.kind != nodeText {
			return nil
		}
		list = append(list, item.text)
	}
	if n.kind != nodeList {
		return nil
	}
	return list
}

func bound(to **int64, n *node) bool {
	v, err := strconv.ParseInt(n.text, 10, 64)
	*to = &v
	return n.kind == nodeNumber && err == nil
}

// accepts says yes where the validator would. A nil quickSchema never does.
func (s *quickSchema) accepts(n *onceward.Node) bool {
	if s == nil || s.typed && n.Kind() != s.kind {
		return false
	}
	switch n.Kind() {
	case onceward.NodeObject:
		return s.words == nil && s.acceptsObject(n)
	case onceward.NodeArray:
		return s.words == nil && s.acceptsArray(n)
	case onceward.NodeString:
		return s.acceptsText(n)
	case onceward.NodeNumber:
		return s.words == nil && s.acceptsNumber(n)
	case onceward.NodeNull, onceward.NodeBool:
		return s.words == nil
	}
	return false
}

func (s *quickSchema) acceptsObject(n *onceward.Node) bool {
	needed := len(s.required)
	for name, member := range n.Members() {
		if slices.Contains(s.required, name) {
			needed--
		}
		switch inner, known := s.properties[name]; {
		case known && !inner.accepts(member), !known && s.closed:
			return false
		}
	}
	return needed == 0
}

func (s *quickSchema) acceptsArray(n *onceward.Node) bool {
	if !s.len.hold(int64(n.Len())) {
		return false
	}
	if s.items == nil {
		return true
	}
	for _, element := range n.Elements() {
		if !s.items.accepts(element) {
			return false
		}
	}
	return true
}

func (s *quickSchema) acceptsText(n *onceward.Node) bool {
	if s.words == nil && s.pattern == nil && s.characters.none() {
		return true
	}
	text, _ := n.Text()
	return s.characters.hold(int64(utf8.RuneCountInString(text))) &&
		(s.words == nil || slices.Contains(s.words, text)) && (s.pattern == nil || s.pattern.MatchString(text))
}

// acceptsNumber knows the integers that fit. The canonical form of another has a
// point or an exponent, or does not fit.
func (s *quickSchema) acceptsNumber(n *onceward.Node) bool {
	if !s.whole && s.size.none() {
		return true
	}
	var digits [24]byte
	v, err := strconv.ParseInt(string(n.AppendCanonical(digits[:0])), 10, 64)
	return err == nil && s.size.hold(v)
}
