package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Wire types are structs whose fields have tags:
//
//	json  the member's name; with omitempty or omitzero it may be left out
//	doc   what it means (OpenAPI)
//	enum  the name of its list of values in enums (OpenAPI)
//	max   the name of its limit in textLimits; a longer string is refused, and of
//	      a label whatever is not plain
//
// A member that is there is not null. One that may be left out is a pointer, a
// slice or a map, so that absent is told from empty. A json.RawMessage takes any
// value as it came: white space, escapes and digits untouched. A node is decoded
// later, by whoever refuses it alone.

// duration is a Go duration in a JSON string, such as "1m30s".
type duration time.Duration

// MarshalText is the Go style of durations.
func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText is its inverse, for programs that read answers.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

// String is the Go style of durations.
func (d duration) String() string { return time.Duration(d).String() }

var (
	rawJSONType  = reflect.TypeFor[json.RawMessage]()
	durationType = reflect.TypeFor[duration]()
	nodeType     = reflect.TypeFor[*onceward.Node]()
)

// textLimits are the limits that max tags name, in bytes.
var textLimits = map[string]int{"label": LabelBytesMax, "reference": ReferenceBytesMax, "reason": ReasonBytesMax, "version": onceward.VersionBytesMax, "event": onceward.OutboxTextBytesMax}

// decodeBody reads a JSON text into a wire type. Unknown members, duplicate
// members, wrong types, null and data behind the value are refused, with place
// and path; nothing is guessed.
func decodeBody(body []byte, into any) error {
	if len(body) == 0 {
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "the body is empty", Hint: "send a JSON object"}
	}
	n, err := onceward.ParseJSON(body)
	if err != nil {
		return envelopeError(err)
	}
	return decodeNode(n, into, "")
}

// envelopeError gives a text that is no JSON the request's code, unless the
// fault is inside of an operation's input.
func envelopeError(err error) error {
	var place *onceward.JSONError
	var e *onceward.Error
	if !errors.As(err, &place) || !errors.As(err, &e) || e.Code != onceward.CodeInvalidInput || insideInput(place.Path) {
		return err
	}
	hint := e.Hint
	if hint == "" {
		hint = "send one JSON object (RFC 8259) in UTF-8"
	}
	return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: e.Message, Hint: hint}
}

// insideInput reports whether a path leads into the input member of a request,
// or of one operation of a batch.
func insideInput(path string) bool {
	if rest, ok := strings.CutPrefix(path, "operations["); ok {
		if _, inside, ok := strings.Cut(rest, "]."); ok {
			path = inside
		}
	}
	return path == "input" || strings.HasPrefix(path, "input.") || strings.HasPrefix(path, "input[")
}

// decodeNode reads a node into the struct that into points to.
func decodeNode(n *onceward.Node, into any, path string) error {
	return decodeStruct(n, reflect.ValueOf(into).Elem(), path)
}

// plan is what decoding and the OpenAPI document know of a wire type.
type plan struct {
	fields []field
	byName map[string]int
}

type field struct {
	index    int
	name     string
	required bool
	max      int
	label    bool // a name of one line: its text is plain
	typ      reflect.Type
	tag      reflect.StructTag
}

var plans sync.Map // reflect.Type → *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{byName: map[string]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		p.byName[name] = len(p.fields)
		p.fields = append(p.fields, field{index: i, name: name, typ: f.Type, max: textLimits[f.Tag.Get("max")], label: f.Tag.Get("max") == "label" || f.Tag.Get("max") == "version", tag: f.Tag, required: !strings.Contains(options, "omit")})
	}
	stored, _ := plans.LoadOrStore(t, p)
	return stored.(*plan)
}

func decodeStruct(n *onceward.Node, into reflect.Value, path string) error {
	if n.Kind() != onceward.NodeObject {
		return wrongType(n, path, "an object")
	}
	p := planOf(into.Type())
	var seen [32]bool
	for name, member := range n.Members() {
		i, ok := p.byName[name]
		if !ok {
			return unknownMember(member, path, name, p)
		}
		seen[i] = true
		if err := decodeValue(member, into.Field(p.fields[i].index), join(path, name), &p.fields[i]); err != nil {
			return err
		}
	}
	for i := range p.fields {
		if p.fields[i].required && !seen[i] {
			return misplaced(onceward.CodeInvalidRequest, n, join(path, p.fields[i].name)+" is missing", "add the member")
		}
	}
	return nil
}

func decodeValue(n *onceward.Node, into reflect.Value, path string, f *field) error {
	switch into.Type() {
	case rawJSONType:
		into.SetBytes([]byte(n.Token()))
		return nil
	case nodeType:
		into.Set(reflect.ValueOf(n))
		return nil
	}
	if n.Kind() == onceward.NodeNull {
		return misplaced(onceward.CodeInvalidRequest, n, path+" is null", "leave the member out, or give it a value")
	}
	if into.Type() == durationType {
		return decodeDuration(n, into, path)
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return decodeValue(n, into.Elem(), path, f)
	case reflect.String:
		return decodeText(n, into, path, f)
	case reflect.Bool:
		b, ok := n.Bool()
		if !ok {
			return wrongType(n, path, "true or false")
		}
		into.SetBool(b)
	case reflect.Int:
		i, err := strconv.Atoi(string(n.AppendCanonical(nil)))
		if n.Kind() != onceward.NodeNumber || err != nil {
			return wrongType(n, path, "a whole number")
		}
		into.SetInt(int64(i))
	case reflect.Float64:
		v, err := strconv.ParseFloat(string(n.AppendCanonical(nil)), 64)
		if n.Kind() != onceward.NodeNumber || err != nil {
			return wrongType(n, path, "a number")
		}
		into.SetFloat(v)
	case reflect.Struct:
		return decodeStruct(n, into, path)
	case reflect.Slice:
		return decodeSlice(n, into, path, f)
	case reflect.Map:
		return decodeMap(n, into, path, f)
	default:
		panic(fmt.Sprintf("wire type %s is not decoded", into.Type()))
	}
	return nil
}

func decodeText(n *onceward.Node, into reflect.Value, path string, f *field) error {
	s, ok := n.Text()
	if !ok {
		return wrongType(n, path, "a string")
	}
	if f.max > 0 && len(s) > f.max {
		return misplaced(onceward.CodeTooLarge, n, fmt.Sprintf("%s is longer than %d bytes", path, f.max), "shorten it")
	}
	switch {
	case f.label && !onceward.PlainLine(s):
		return misplaced(onceward.CodeInvalidRequest, n, path+" has "+notPlain, labelHint)
	case f.label && s != "" && strings.TrimSpace(s) == "":
		return misplaced(onceward.CodeInvalidRequest, n, path+" is blank", "leave it out, or send visible text")
	case f.max > 0 && !printable(s):
		return misplaced(onceward.CodeInvalidRequest, n, path+" has a control character", "send text without control characters")
	}
	into.SetString(s)
	return nil
}

// printable reports whether s has no control character but tab and line break.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}

// What is said of a label that is not plain.
const (
	notPlain  = "a character that is not seen"
	labelHint = "send one line of visible text"
)

func decodeDuration(n *onceward.Node, into reflect.Value, path string) error {
	s, ok := n.Text()
	if !ok {
		return wrongType(n, path, `a duration in a string, such as "5s"`)
	}
	d, err := parseDuration(path, s)
	if err != nil {
		return err
	}
	into.SetInt(int64(d))
	return nil
}

// parseDuration reads a duration that is not negative.
func parseDuration(what, s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		return 0, &onceward.Error{Code: onceward.CodeUnsupportedPolicy, Message: what + " is negative", Hint: `"0s" does not wait`}
	}
	if err != nil {
		return 0, &onceward.Error{Code: onceward.CodeUnsupportedPolicy, Message: what + " is not a duration", Hint: `write it as in "5s" or "1m30s"; "0s" does not wait`}
	}
	return d, nil
}

func decodeSlice(n *onceward.Node, into reflect.Value, path string, f *field) error {
	if n.Kind() != onceward.NodeArray {
		return wrongType(n, path, "an array")
	}
	into.Set(reflect.MakeSlice(into.Type(), n.Len(), n.Len()))
	for i, element := range n.Elements() {
		if err := decodeValue(element, into.Index(i), fmt.Sprintf("%s[%d]", path, i), f); err != nil {
			return err
		}
	}
	return nil
}

func decodeMap(n *onceward.Node, into reflect.Value, path string, f *field) error {
	if n.Kind() != onceward.NodeObject {
		return wrongType(n, path, "an object")
	}
	into.Set(reflect.MakeMap(into.Type()))
	for name, member := range n.Members() {
		v := reflect.New(into.Type().Elem()).Elem()
		if err := decodeValue(member, v, join(path, name), f); err != nil {
			return err
		}
		into.SetMapIndex(reflect.ValueOf(name), v)
	}
	return nil
}

// pathNameMax is how much of a name that came from outside a message shows.
const pathNameMax = 60

func join(path, name string) string {
	if len(name) > pathNameMax {
		name = name[:pathNameMax] + "..."
	}
	if !printable(name) {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func wrongType(n *onceward.Node, path, want string) error {
	if path == "" {
		path = "the body"
	}
	return misplaced(onceward.CodeInvalidRequest, n, fmt.Sprintf("%s must be %s, not %s", path, want, kindInWords(n.Kind())), "change its type")
}

func kindInWords(k onceward.NodeKind) string {
	switch k {
	case onceward.NodeNull:
		return "null"
	case onceward.NodeArray, onceward.NodeObject:
		return "an " + k.String()
	case onceward.NodeBool, onceward.NodeNumber, onceward.NodeString:
	}
	return "a " + k.String()
}

// misplaced is a refusal with the place of the value that it is about.
func misplaced(code onceward.Code, n *onceward.Node, what, hint string) error {
	line, column := n.Place()
	return &onceward.Error{Code: code, Message: fmt.Sprintf("%s (line %d, column %d)", what, line, column), Hint: hint}
}

func unknownMember(member *onceward.Node, path, name string, p *plan) error {
	names := make([]string, len(p.fields))
	for i := range p.fields {
		names[i] = p.fields[i].name
	}
	line, column := member.NamePlace()
	return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: fmt.Sprintf("unknown member %s (line %d, column %d)", join(path, name), line, column),
		Hint: "the members are " + strings.Join(names, ", ")}
}
