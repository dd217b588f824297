package contract

import (
	"encoding/json"
	"strconv"
	"strings"
)

// nodeKind says what a YAML value is.
type nodeKind uint8

const (
	nodeNull nodeKind = iota + 1
	nodeBool
	nodeNumber
	nodeText
	nodeList
	nodeMap
)

// String is the word that messages use.
func (k nodeKind) String() string {
	switch k {
	case nodeNull:
		return "nothing"
	case nodeBool:
		return "true or false"
	case nodeNumber:
		return "a number"
	case nodeText:
		return "a text"
	case nodeList:
		return "a list"
	case nodeMap:
		return "a mapping"
	}
	return "no value"
}

// pos is a place in a file, from 1.
type pos struct{ line, column int }

// node is one YAML value with its place: plain data, anchors resolved, no
// duplicate names.
type node struct {
	kind    nodeKind
	at      pos
	text    string // of text; the JSON token of a number; "true" or "false"
	raw     string // of a number or a bool: as it is written
	items   []*node
	members []member
}

// member is one entry of a mapping, in order of appearance.
type member struct {
	name  string
	at    pos
	value *node
}

// member returns the value of a name, nil if absent.
func (n *node) member(name string) *node {
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// appendJSON appends the value as JSON, in order of appearance.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case nodeNull:
		return append(dst, "null"...)
	case nodeBool, nodeNumber:
		return append(dst, n.text...)
	case nodeText:
		return appendJSONText(dst, n.text)
	case nodeList:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	case nodeMap:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = m.value.appendJSON(append(appendJSONText(dst, m.name), ':'))
		}
		return append(dst, '}')
	}
	return dst
}

// value is the data in the form that the JSON Schema compiler reads.
func (n *node) value() any {
	switch n.kind {
	case nodeNull:
		return nil
	case nodeBool:
		return n.text == "true"
	case nodeNumber:
		return json.Number(n.text)
	case nodeText:
		return n.text
	case nodeList:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.value()
		}
		return list
	case nodeMap:
		object := make(map[string]any, len(n.members))
		for _, m := range n.members {
			object[m.name] = m.value.value()
		}
		return object
	}
	return nil
}

// at follows a JSON Schema location ("properties", "id", "0") as far as it leads.
func (n *node) follow(steps []string) *node {
	for _, step := range steps {
		next := n.member(step)
		if i, err := strconv.Atoi(step); err == nil && n.kind == nodeList && i >= 0 && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

const hexDigits = "0123456789abcdef"

// appendJSONText appends a JSON string: quoted, escaped where JSON demands it.
// Bytes that are not UTF-8 become U+FFFD.
func appendJSONText(dst []byte, s string) []byte {
	s = strings.ToValidUTF8(s, "\uFFFD")
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
