package contract

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/onceward/onceward"
)

// Limits of a contract file.
const (
	FileBytesMax     = 1 << 20 // of one file
	DocumentsMax     = 256     // in one file
	DocumentBytesMax = 128 << 10
	emptyLinesMax    = 64     // in a row: the YAML parser takes quadratic time over them
	documentNodesMax = 20_000 // values in one document, aliases counted as often as they are used
	documentDepthMax = 64
)

// rawDocument is one document of a file.
type rawDocument struct {
	text []byte
	line int // of its first line in the file, from 1
}

// splitDocuments cuts a file at its document markers. YAML allows a line that
// starts with "---" or "..." nowhere else, not even inside a block text.
func splitDocuments(data []byte) []rawDocument {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var docs []rawDocument
	start, startLine, line := 0, 1, 0
	cut := func(end int) {
		if text := data[start:end]; !blank(text) {
			docs = append(docs, rawDocument{text: text, line: startLine})
		}
	}
	for from := 0; from < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[from:], '\n'); i >= 0 {
			end = from + i + 1
		}
		line++
		rest, found := bytes.CutPrefix(data[from:end], []byte("---"))
		if !found {
			rest, found = bytes.CutPrefix(data[from:end], []byte("..."))
		}
		if found && blank(rest) {
			cut(from)
			start, startLine = end, line+1
		}
		from = end
	}
	cut(len(data))
	return docs
}

// blank reports whether a document holds nothing but space and comments.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// yamlReader turns one document into a node tree.
type yamlReader struct {
	file     string
	line     int // first line of the document in its file
	anchors  map[string]*node
	nodes    int
	problems Problems
}

// readYAML reads one document; nil if it has problems.
func readYAML(file string, doc rawDocument) (*node, Problems) {
	r := &yamlReader{file: file, line: doc.line, anchors: map[string]*node{}}
	if !utf8.Valid(doc.text) {
		r.problem(pos{}, "the file is not UTF-8")
		return nil, r.problems
	}
	if len(doc.text) > DocumentBytesMax {
		r.problem(pos{}, "the document is longer than %d bytes", DocumentBytesMax)
		return nil, r.problems
	}
	if line := emptyLines(doc.text); line > 0 {
		r.problem(pos{line: doc.line + line - 1}, "more than %d empty lines in a row", emptyLinesMax)
		return nil, r.problems
	}
	body := r.parse(doc.text)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	root := r.node(body, 0)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return root, nil
}

// emptyLines is the line at which there are too many empty lines in a row, 0 if
// there are not.
func emptyLines(text []byte) int {
	line, run := 0, 0
	for l := range bytes.Lines(text) {
		line++
		if run++; len(bytes.TrimSpace(l)) > 0 {
			run = 0
		}
		if run > emptyLinesMax {
			return line
		}
	}
	return 0
}

func (r *yamlReader) problem(at pos, format string, args ...any) *node {
	if at.line == 0 {
		at.line = r.line
	}
	r.problems = append(r.problems, Problem{File: r.file, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)})
	return nil
}

// parse runs the YAML parser.
//
// Why recover: the parser is not ours, and a contract that makes it panic must
// not take down a server that reloads.
func (r *yamlReader) parse(text []byte) (body ast.Node) {
	defer func() {
		if recover() != nil {
			r.problem(pos{}, "the YAML cannot be read")
		}
	}()
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax) && syntax.GetToken() != nil:
		p := syntax.GetToken().Position
		r.problem(pos{p.Line + r.line - 1, p.Column}, "%s", plainMessage(syntax.GetMessage()))
	case err != nil:
		r.problem(pos{}, "the YAML cannot be read")
	case len(file.Docs) != 1:
		r.problem(pos{}, "a document marker --- stands alone on its line")
	default:
		return file.Docs[0].Body
	}
	return nil
}

// quoted is what a parser's message quotes from the file.
var quoted = regexp.MustCompile("\"[^\"]*\"|'[^']*'|`[^`]*`")

// plainMessage keeps the first line of a parser's message, without what it
// quotes from the file beyond a single character.
func plainMessage(message string) string {
	if strings.Contains(message, "\t") {
		return "a tab cannot stand here: indent with spaces"
	}
	message, _, _ = strings.Cut(message, "\n")
	return quoted.ReplaceAllStringFunc(message, func(q string) string {
		if utf8.RuneCountInString(q) == len("'x'") {
			return q
		}
		return "…"
	})
}

func (r *yamlReader) at(n ast.Node) pos {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return pos{}
	}
	p := n.GetToken().Position
	return pos{p.Line + r.line - 1, p.Column}
}

// node converts one value. It returns nil after a problem.
func (r *yamlReader) node(n ast.Node, depth int) *node {
	at := r.at(n)
	if r.nodes++; r.nodes > documentNodesMax {
		if r.nodes == documentNodesMax+1 {
			r.problem(at, "the document holds more than %d values", documentNodesMax)
		}
		return nil
	}
	if depth > documentDepthMax {
		return r.problem(at, "nested deeper than %d levels", documentDepthMax)
	}
	switch v := n.(type) {
	case nil:
		return &node{kind: nodeNull, at: pos{line: r.line}}
	case *ast.NullNode:
		return &node{kind: nodeNull, at: at}
	case *ast.BoolNode:
		return &node{kind: nodeBool, at: at, text: strconv.FormatBool(v.Value), raw: v.Token.Value}
	case *ast.IntegerNode:
		return &node{kind: nodeNumber, at: at, text: fmt.Sprint(v.Value), raw: v.Token.Value}
	case *ast.FloatNode:
		return r.float(v, at)
	case *ast.StringNode:
		return &node{kind: nodeText, at: at, text: v.Value}
	case *ast.LiteralNode:
		return &node{kind: nodeText, at: at, text: v.Value.Value}
	case *ast.SequenceNode:
		return r.list(v, at, depth)
	case *ast.MappingNode:
		return r.mapping(v.Values, at, depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{v}, at, depth)
	case *ast.AnchorNode:
		value := r.node(v.Value, depth)
		if value != nil && v.Name != nil {
			r.anchors[v.Name.GetToken().Value] = value
		}
		return value
	case *ast.AliasNode:
		return r.alias(v, at)
	case *ast.TagNode:
		return r.problem(at, "tags are not read: leave it out")
	case *ast.InfinityNode, *ast.NanNode:
		return r.problem(at, "the number is not finite")
	default:
		return r.problem(at, "this YAML is not read in a contract")
	}
}

// float takes the number as it is written, so that no digit is lost.
func (r *yamlReader) float(v *ast.FloatNode, at pos) *node {
	token := strings.TrimPrefix(strings.ReplaceAll(v.Token.Value, "_", ""), "+")
	canonical, err := onceward.Canonicalize([]byte(token))
	if err != nil {
		return r.problem(at, "the number is not written as in JSON")
	}
	return &node{kind: nodeNumber, at: at, text: string(canonical), raw: v.Token.Value}
}

func (r *yamlReader) list(v *ast.SequenceNode, at pos, depth int) *node {
	list := &node{kind: nodeList, at: at, items: make([]*node, 0, len(v.Values))}
	for _, item := range v.Values {
		if value := r.node(item, depth+1); value != nil {
			list.items = append(list.items, value)
		}
	}
	return list
}

func (r *yamlReader) mapping(values []*ast.MappingValueNode, at pos, depth int) *node {
	m := &node{kind: nodeMap, at: at}
	seen := make(map[string]pos, len(values))
	for _, v := range values {
		name, ok := r.name(v.Key)
		if !ok {
			continue
		}
		nameAt := r.at(v.Key)
		if first, twice := seen[name]; twice {
			r.problem(nameAt, "the name stands twice in one mapping, first in line %d", first.line)
			continue
		}
		seen[name] = nameAt
		if len(m.members) == 0 {
			m.at = nameAt
		}
		if value := r.node(v.Value, depth+1); value != nil {
			if value.kind == nodeNull && value.at.column == 0 {
				value.at = nameAt
			}
			m.members = append(m.members, member{name: name, at: nameAt, value: value})
		}
	}
	return m
}

// name reads a mapping's name: a text, or a number or a word that is one by its
// spelling, as it is written.
func (r *yamlReader) name(key ast.MapKeyNode) (string, bool) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, true
	case *ast.MergeKeyNode:
		r.problem(r.at(key), "merge keys are not read: write the fields out")
	default:
		r.problem(r.at(key), "a name is a plain text")
	}
	return "", false
}

// alias repeats an anchor's value at the alias's place.
func (r *yamlReader) alias(v *ast.AliasNode, at pos) *node {
	name := ""
	if v.Value != nil && v.Value.GetToken() != nil {
		name = v.Value.GetToken().Value
	}
	target, ok := r.anchors[name]
	if !ok {
		return r.problem(at, "the alias has no anchor before it")
	}
	if r.nodes += target.count(); r.nodes > documentNodesMax {
		return r.problem(at, "the document holds more than %d values", documentNodesMax)
	}
	return target
}

// count is how many values there are in a value, itself included.
func (n *node) count() int {
	count := 1
	for _, item := range n.items {
		count += item.count()
	}
	for _, m := range n.members {
		count += m.value.count()
	}
	return count
}
