package contract

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// fieldInfo is what a field's tags say. The tags, of the structs in document.go,
// are the one place for names, defaults and meanings: loader, published schema
// and reference page read them.
type fieldInfo struct {
	name     string
	required bool
	forever  bool     // a duration that may be forever
	enum     []string // of a choice
	fallback string   // default, as it would stand in the file
	doc      string
	index    []int // of the field, through structs whose fields stand in line
	typ      reflect.Type
}

// fieldsOf lists the fields of a struct of document.go.
func fieldsOf(t reflect.Type) []fieldInfo {
	var fields []fieldInfo
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, ok := sf.Tag.Lookup("field")
		if !ok {
			continue
		}
		words := strings.Split(tag, ",")
		if slices.Contains(words[1:], "inline") {
			fields = append(fields, inlined(sf)...)
			continue
		}
		f := fieldInfo{name: words[0], index: sf.Index, typ: sf.Type, fallback: sf.Tag.Get("default"), doc: sf.Tag.Get("doc")}
		for _, word := range words[1:] {
			f.required = f.required || word == "required"
			f.forever = f.forever || word == "forever"
		}
		if enum := sf.Tag.Get("enum"); enum != "" {
			f.enum = strings.Split(enum, "|")
		}
		fields = append(fields, f)
	}
	return fields
}

// inlined are the fields of a struct whose fields stand in line with those
// around it, but for the ones that it omits.
func inlined(sf reflect.StructField) []fieldInfo {
	omitted := strings.Split(sf.Tag.Get("omit"), "|")
	var fields []fieldInfo
	for _, f := range fieldsOf(sf.Type) {
		if !slices.Contains(omitted, f.name) {
			f.index = append(slices.Clone(sf.Index), f.index...)
			fields = append(fields, f)
		}
	}
	return fields
}

// group is what every struct of document.go starts with: where it stands.
type group struct {
	at    pos
	given bool // stands in the file
}

func (g *group) stand(at pos) { g.at, g.given = at, true }

// stander is a struct of document.go, as opposed to a leaf.
type stander interface{ stand(at pos) }

// decoder reads a node tree into the structs of document.go.
type decoder struct {
	file     string
	problems Problems
}

func (d *decoder) problem(at pos, field, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: at.line, Column: at.column, Field: field, Message: fmt.Sprintf(format, args...)})
}

// decode reads a mapping into the struct that v is.
func (d *decoder) decode(n *node, v reflect.Value, path string) {
	if n.kind != nodeMap {
		d.problem(n.at, path, "%v", wrongKind(n, "a mapping"))
		return
	}
	v.Addr().Interface().(stander).stand(n.at)
	fields := fieldsOf(v.Type())
	d.unknown(n, fields, path)
	for _, f := range fields {
		value := n.member(f.name)
		inner := joinField(path, f.name)
		switch {
		case value != nil:
			d.field(value, v.FieldByIndex(f.index), f, inner)
		case f.required:
			d.problem(n.at, inner, "it is missing")
		default:
			d.absent(v.FieldByIndex(f.index), f)
		}
	}
}

func joinField(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// unknown reports every name that is no field.
func (d *decoder) unknown(n *node, fields []fieldInfo, path string) {
	for _, m := range n.members {
		known := false
		for _, f := range fields {
			known = known || f.name == m.name
		}
		if known {
			continue
		}
		if near := nearest(m.name, fields); near != "" {
			d.problem(m.at, joinField(path, m.name), "there is no such field; did you mean %s?", near)
			continue
		}
		d.problem(m.at, joinField(path, m.name), "there is no such field")
	}
}

// field reads one value, which stands in the file.
func (d *decoder) field(n *node, v reflect.Value, f fieldInfo, path string) {
	switch {
	case n.kind == nodeNull && !isTree(v):
		d.problem(n.at, path, "it has no value: leave the field out to get its default")
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, v.Elem(), path)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path)
	default:
		if l, ok := v.Addr().Interface().(leaf); ok {
			d.leaf(n, l, f, path)
			return
		}
		d.decode(n, v, path)
	}
}

func isTree(v reflect.Value) bool { return v.Type() == reflect.TypeFor[tree]() }

const listItemsMax = 256

// list reads a list of structs.
func (d *decoder) list(n *node, v reflect.Value, path string) {
	if n.kind != nodeList {
		d.problem(n.at, path, "%v", wrongKind(n, "a list"))
		return
	}
	if len(n.items) > listItemsMax {
		d.problem(n.at, path, "it has more than %d entries", listItemsMax)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		d.decode(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func (d *decoder) leaf(n *node, l leaf, f fieldInfo, path string) {
	l.place(n.at)
	err := l.read(n, f)
	if err == nil {
		return
	}
	at := n.at
	var placed *standingError
	if errors.As(err, &placed) {
		at = placed.at
	}
	d.problem(at, path, "%v", err)
}

// absent gives a field its default.
func (d *decoder) absent(v reflect.Value, f fieldInfo) {
	if _, ok := v.Addr().Interface().(stander); ok && v.Kind() == reflect.Struct {
		for _, inner := range fieldsOf(v.Type()) {
			d.absent(v.FieldByIndex(inner.index), inner)
		}
		return
	}
	if f.fallback == "" {
		return
	}
	l, ok := v.Addr().Interface().(leaf)
	if !ok {
		return
	}
	if err := l.read(fallbackNode(f.fallback), f); err != nil {
		d.problem(pos{}, f.name, "default: %v", err)
	}
}

// fallbackNode is a default as if it stood in the file.
func fallbackNode(s string) *node {
	switch {
	case s == "true" || s == "false":
		return &node{kind: nodeBool, text: s}
	case strings.Trim(s, "0123456789") == "":
		return &node{kind: nodeNumber, text: s}
	}
	return &node{kind: nodeText, text: s}
}

// nearest is the field whose name is at most two edits away, "" if none is.
func nearest(name string, fields []fieldInfo) string {
	best, least := "", 3
	for _, f := range fields {
		if n := edits(strings.ToLower(name), strings.ToLower(f.name)); n < least && n < len(f.name) {
			best, least = f.name, n
		}
	}
	return best
}

// edits is the Levenshtein distance of two short names.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
