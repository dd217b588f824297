package onceward

import (
	"iter"
	"slices"
)

// NodeKind says what a JSON value is. The zero value is no kind.
type NodeKind uint8

// The kinds of JSON values.
const (
	NodeNull NodeKind = iota + 1
	NodeBool
	NodeNumber
	NodeString
	NodeArray
	NodeObject
)

// String is the word that JSON has for the kind.
func (k NodeKind) String() string {
	switch k {
	case NodeNull:
		return "null"
	case NodeBool:
		return "boolean"
	case NodeNumber:
		return "number"
	case NodeString:
		return "string"
	case NodeArray:
		return "array"
	case NodeObject:
		return "object"
	}
	return "no value"
}

// Node is one value of a JSON text that [ParseJSON] read. It is immutable and
// safe for concurrent use; it keeps the value both as it came and in canonical
// form, and keeps the memory of the whole text alive.
type Node struct {
	doc    *document
	kind   NodeKind
	inText bool // canon lies in doc.text
	token  span // the value as it came, in doc.src
	canon  span // of a scalar: its canonical text; of a container: its run in doc.order

	name        span // canonical member name with its quotes; empty in an array
	nameAt      uint32
	nameInText  bool
	nameEscaped bool // the canonical name has an escape in it
}

// span is a part of a buffer, as offsets.
type span struct{ from, to uint32 }

// ParseJSON reads one JSON text under the rules and limits of [Canonicalize],
// with the same errors. The tree shares no memory with raw.
func ParseJSON(raw []byte) (*Node, error) {
	d := new(document)
	if err := d.parse(slices.Clone(raw)); err != nil {
		return nil, err
	}
	d.stack = nil
	return &d.nodes[0], nil
}

// bytes returns a span of the canonical text or of the source.
func (d *document) bytes(s span, inText bool) []byte {
	if inText {
		return d.text[s.from:s.to:s.to]
	}
	return d.src[s.from:s.to:s.to]
}

// children returns the node indices of a container's children.
func (n *Node) children() []int32 {
	if n.kind != NodeArray && n.kind != NodeObject {
		return nil
	}
	return n.doc.order[n.canon.from:n.canon.to]
}

func (n *Node) child(i int32) *Node { return &n.doc.nodes[i] }

// canonicalName is the member's name as a canonical JSON string.
func (n *Node) canonicalName() []byte { return n.doc.bytes(n.name, n.nameInText) }

// canonicalScalar is the canonical text of a value that is no container.
func (n *Node) canonicalScalar() []byte { return n.doc.bytes(n.canon, n.inText) }

// Kind says what the value is.
func (n *Node) Kind() NodeKind { return n.kind }

// Token is the value as it came: white space inside, order of members, escapes
// and the digits of numbers are those of the text that was read.
func (n *Node) Token() string { return string(n.doc.bytes(n.token, false)) }

// Place is where the value starts in the text that was read, as a line and a
// column counted from 1; for a member, NamePlace is where its name starts.
func (n *Node) Place() (line, column int) { return lineAndColumn(n.doc.src, int(n.token.from)) }

// NamePlace is the place of a member's name; of any other value, the start of
// the text.
func (n *Node) NamePlace() (line, column int) { return lineAndColumn(n.doc.src, int(n.nameAt)) }

// Text returns the unescaped content of a string; ok is false for other kinds.
func (n *Node) Text() (text string, ok bool) {
	if n.kind != NodeString {
		return "", false
	}
	return unquote(n.canonicalScalar()), true
}

// Bool returns the value of true or false; ok is false for other kinds.
func (n *Node) Bool() (value, ok bool) {
	return n.kind == NodeBool && n.canonicalScalar()[0] == 't', n.kind == NodeBool
}

// Len is the number of members or elements; 0 for a value that is no container.
func (n *Node) Len() int { return len(n.children()) }

// Members yields the members of an object by their unescaped names, in
// canonical order. It yields nothing for other kinds.
func (n *Node) Members() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		if n.kind != NodeObject {
			return
		}
		for _, i := range n.children() {
			c := n.child(i)
			if !yield(unquote(c.canonicalName()), c) {
				return
			}
		}
	}
}

// Elements yields the elements of an array in order. It yields nothing for
// other kinds.
func (n *Node) Elements() iter.Seq2[int, *Node] {
	return func(yield func(int, *Node) bool) {
		if n.kind != NodeArray {
			return
		}
		for at, i := range n.children() {
			if !yield(at, n.child(i)) {
				return
			}
		}
	}
}

// Member returns the member of an object with this unescaped name. It is
// absent, not null, if ok is false.
func (n *Node) Member(name string) (member *Node, ok bool) {
	return n.memberByCanonicalName(string(appendJSONString(nil, name)))
}

func (n *Node) memberByCanonicalName(name string) (*Node, bool) {
	if n.kind != NodeObject {
		return nil, false
	}
	for _, i := range n.children() {
		if c := n.child(i); string(c.canonicalName()) == name {
			return c, true
		}
	}
	return nil, false
}

// Element returns the element of an array at an index, counted from 0.
func (n *Node) Element(index int) (element *Node, ok bool) {
	if n.kind != NodeArray || index < 0 || index >= n.Len() {
		return nil, false
	}
	return n.child(n.children()[index]), true
}

// Lookup follows a path from this value. A path with [*] leads nowhere.
func (n *Node) Lookup(path Path) (found *Node, ok bool) {
	found = n
	for _, step := range path.steps {
		switch {
		case step.every:
			return nil, false
		case step.name != "":
			found, ok = found.memberByCanonicalName(step.name)
		default:
			found, ok = found.Element(step.index)
		}
		if !ok {
			return nil, false
		}
	}
	return found, true
}

// Append appends the value, in canonical form or as it came.
func (n *Node) Append(dst []byte, canonical bool) []byte {
	if canonical {
		return n.AppendCanonical(dst)
	}
	return append(dst, n.doc.bytes(n.token, false)...)
}

// AppendCanonical appends the value's canonical form; see [Canonicalize].
func (n *Node) AppendCanonical(dst []byte) []byte { return n.AppendWithout(dst, nil) }

// AppendWithout appends the canonical form of what is left of the value without
// the volatile fields. A removed member or element is gone as if it had never
// been there, so that whether a volatile field is present makes no difference
// either. A path that leads nowhere removes nothing; a container whose fields
// are all removed stays, empty.
func (n *Node) AppendWithout(dst []byte, volatile []Path) []byte {
	if n.kind != NodeArray && n.kind != NodeObject {
		return append(dst, n.canonicalScalar()...)
	}
	openWith, closeWith := byte('['), byte(']')
	if n.kind == NodeObject {
		openWith, closeWith = '{', '}'
	}
	dst = append(dst, openWith)
	empty := true
	for at, i := range n.children() {
		c := n.child(i)
		rest, removed := c.volatileWithin(at, volatile)
		if removed {
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		if n.kind == NodeObject {
			dst = append(append(dst, c.canonicalName()...), ':')
		}
		dst = c.AppendWithout(dst, rest)
	}
	return append(dst, closeWith)
}

// volatileWithin takes the step from a container to this child, its at-th:
// which of the paths go on inside, and whether one ends here and removes it.
func (n *Node) volatileWithin(at int, paths []Path) (rest []Path, removed bool) {
	for _, path := range paths {
		if !path.steps[0].leadsTo(n, at) {
			continue
		}
		if len(path.steps) == 1 {
			return nil, true
		}
		rest = append(rest, Path{path.steps[1:]})
	}
	return rest, false
}
