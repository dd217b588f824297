package onceward

import (
	"bytes"
	"fmt"
	"slices"
)

// parser reads one JSON text into a document, in one pass over its bytes.
// Its methods return false once p.fault is set.
type parser struct {
	doc   *document
	src   []byte
	pos   int
	depth int
	fault fault
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads src, which must not change while the document is in use.
func (d *document) parse(src []byte) error {
	d.src = src
	d.reserve(src)
	p := parser{doc: d, src: src}
	if !p.text() {
		return jsonError(src, &p.fault)
	}
	return nil
}

// reserve makes room for the values of src at once. A value follows a comma, an
// opening bracket or nothing, so their number is an upper bound.
func (d *document) reserve(src []byte) {
	values := 1 + bytes.Count(src, []byte{','}) + bytes.Count(src, []byte{'{'}) + bytes.Count(src, []byte{'['})
	if values = min(values, JSONValuesMax); values > cap(d.nodes) {
		d.nodes = make([]Node, 0, values)
		d.order = make([]int32, 0, values)
	}
	if d.stack == nil {
		d.stack = make([]int32, 0, min(values, 64))
	}
}

// text reads the whole text: one value with white space around it.
func (p *parser) text() bool {
	if len(p.src) > JSONBytesMax {
		return p.tooLarge(JSONBytesMax, "text is longer than %d bytes", JSONBytesMax)
	}
	if bytes.HasPrefix(p.src, byteOrderMark) {
		return p.fail(0, "byte order mark before the value", "send UTF-8 without a byte order mark")
	}
	p.space()
	if _, ok := p.value(); !ok {
		return false
	}
	p.space()
	if p.pos < len(p.src) {
		return p.fail(p.pos, "data after the end of the value", "send one JSON value")
	}
	return true
}

// value reads one value and returns its node's index.
func (p *parser) value() (int32, bool) {
	if len(p.doc.nodes) >= JSONValuesMax {
		return 0, p.tooLarge(p.pos, "more than %d values", JSONValuesMax)
	}
	if p.pos >= len(p.src) {
		return 0, p.fail(p.pos, "expected a value", "")
	}
	switch c := p.src[p.pos]; {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.stringValue()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't':
		return p.literal("true", NodeBool)
	case c == 'f':
		return p.literal("false", NodeBool)
	case c == 'n':
		return p.literal("null", NodeNull)
	case c == 'N' || c == 'I':
		return 0, p.fail(p.pos, "no JSON value starts here", "NaN and Infinity are not JSON")
	default:
		return 0, p.fail(p.pos, "no JSON value starts here", "")
	}
}

// add appends a node that starts at the given byte.
func (p *parser) add(kind NodeKind, from int) int32 {
	p.doc.nodes = append(p.doc.nodes, Node{doc: p.doc, kind: kind, token: span{uint32(from), uint32(from)}})
	return int32(len(p.doc.nodes) - 1)
}

func (p *parser) literal(word string, kind NodeKind) (int32, bool) {
	from := p.pos
	if len(p.src)-from < len(word) || string(p.src[from:from+len(word)]) != word {
		return 0, p.fail(from, "no JSON value starts here", "")
	}
	p.pos += len(word)
	i := p.add(kind, from)
	n := &p.doc.nodes[i]
	n.token.to = uint32(p.pos)
	n.canon = n.token
	return i, true
}

func (p *parser) stringValue() (int32, bool) {
	from := p.pos
	canon, flags, ok := p.str()
	if !ok {
		return 0, false
	}
	i := p.add(NodeString, from)
	n := &p.doc.nodes[i]
	n.token.to = uint32(p.pos)
	n.canon, n.inText = canon, flags&stringInText != 0
	return i, true
}

func (p *parser) array() (int32, bool) {
	self, open, ok := p.enter(NodeArray)
	if !ok {
		return 0, false
	}
	if p.accept(']') {
		return self, p.leave(self, open)
	}
	for element := 0; ; element++ {
		child, ok := p.value()
		if !ok {
			p.fault.within(appendPathIndex(nil, element))
			return 0, false
		}
		p.doc.stack = append(p.doc.stack, child)
		p.space()
		if p.accept(']') {
			return self, p.leave(self, open)
		}
		if !p.accept(',') {
			return 0, p.fail(p.pos, "expected , or ] after an element", "")
		}
		p.space()
	}
}

func (p *parser) object() (int32, bool) {
	self, open, ok := p.enter(NodeObject)
	if !ok {
		return 0, false
	}
	if p.accept('}') {
		return self, p.leave(self, open)
	}
	for {
		if !p.member() {
			return 0, false
		}
		p.space()
		if p.accept('}') {
			return self, p.leave(self, open)
		}
		if !p.accept(',') {
			return 0, p.fail(p.pos, "expected , or } after a member", "")
		}
		p.space()
	}
}

// member reads a name, a colon and a value.
func (p *parser) member() bool {
	at := p.pos
	if p.pos >= len(p.src) || p.src[p.pos] != '"' {
		return p.fail(at, "expected a member name in quotes", "")
	}
	name, flags, ok := p.str()
	if !ok {
		return false
	}
	p.space()
	if !p.accept(':') {
		return p.fail(p.pos, "expected : after a member name", "")
	}
	p.space()
	child, ok := p.value()
	if !ok {
		p.fault.within(appendPathName(nil, p.doc.bytes(name, flags&stringInText != 0)))
		return false
	}
	n := &p.doc.nodes[child]
	n.name, n.nameAt = name, uint32(at)
	n.nameInText, n.nameEscaped = flags&stringInText != 0, flags&stringEscaped != 0
	p.doc.stack = append(p.doc.stack, child)
	return true
}

// enter opens a container at its bracket; open is what leave needs.
func (p *parser) enter(kind NodeKind) (self int32, open int, ok bool) {
	if p.depth == JSONDepthMax {
		return 0, 0, p.tooLarge(p.pos, "nested deeper than %d levels", JSONDepthMax)
	}
	p.depth++
	self = p.add(kind, p.pos)
	p.pos++
	p.space()
	return self, len(p.doc.stack), true
}

// leave closes a container behind its bracket: its children move from the stack
// to their run, objects in canonical order.
func (p *parser) leave(self int32, open int) bool {
	p.depth--
	d := p.doc
	from := len(d.order)
	d.order = append(d.order, d.stack[open:]...)
	d.stack = d.stack[:open]
	n := &d.nodes[self]
	n.token.to = uint32(p.pos)
	n.canon = span{uint32(from), uint32(len(d.order))}
	if n.kind == NodeObject {
		return p.sortMembers(d.order[from:])
	}
	return true
}

// sortMembers puts members into canonical order and refuses two of one name.
func (p *parser) sortMembers(members []int32) bool {
	d := p.doc
	byName := func(a, b int32) int { return compareNames(&d.nodes[a], &d.nodes[b]) }
	if !strictlySorted(members, byName) {
		slices.SortFunc(members, byName)
	}
	for i := 1; i < len(members); i++ {
		a, b := &d.nodes[members[i-1]], &d.nodes[members[i]]
		if compareNames(a, b) != 0 {
			continue
		}
		p.fail(int(max(a.nameAt, b.nameAt)), "duplicate member name", "a name may stand once in an object, however it is escaped")
		p.fault.within(appendPathName(nil, a.canonicalName()))
		return false
	}
	return true
}

// strictlySorted spares the usual object a sort.
func strictlySorted(members []int32, compare func(a, b int32) int) bool {
	for i := 1; i < len(members); i++ {
		if compare(members[i-1], members[i]) >= 0 {
			return false
		}
	}
	return true
}

// space skips white space.
func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// accept skips c if it stands here.
func (p *parser) accept(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// fail sets the fault and returns false.
func (p *parser) fail(offset int, reason, hint string) bool {
	if offset == len(p.src) {
		reason += ", but the text ends"
	}
	p.fault = fault{code: CodeInvalidInput, offset: offset, reason: reason, hint: hint}
	return false
}

// tooLarge sets the fault of an exceeded limit and returns false.
func (p *parser) tooLarge(offset int, format string, limit int) bool {
	p.fault = fault{code: CodeTooLarge, offset: offset, reason: fmt.Sprintf(format, limit)}
	return false
}

// within adds the step that leads to the value in which the fault is.
func (f *fault) within(step []byte) { f.path = append(f.path, string(step)) }
