package httpapi

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// appender appends a value to JSON, byte for byte as encoding/json writes it
// without escapes for HTML. What it does not know itself it leaves to encoding/json.
//
// Why not encoding/json alone: an answer has forty members, most of them left out,
// three times and a body. Showing and writing one took 4.1 µs and 25 allocations
// with it, and takes 2.9 µs and 20 so (BenchmarkAnswer).
type appender func(dst []byte, v reflect.Value) []byte

var appenders sync.Map // reflect.Type → appender

func appenderOf(t reflect.Type) appender {
	if a, ok := appenders.Load(t); ok {
		return a.(appender)
	}
	a, _ := appenders.LoadOrStore(t, newAppender(t))
	return a.(appender)
}

var (
	headersType       = reflect.TypeFor[map[string][]string]()
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

func newAppender(t reflect.Type) appender {
	switch p := reflect.PointerTo(t); {
	case t == timeType:
		return appendTime
	case t == rawJSONType:
		return appendRaw
	case t == headersType:
		return appendHeaders
	case p.Implements(jsonMarshalerType) || p.Implements(textMarshalerType):
		return appendOther
	}
	switch t.Kind() {
	case reflect.String:
		return func(dst []byte, v reflect.Value) []byte { return appendText(dst, v.String()) }
	case reflect.Bool:
		return func(dst []byte, v reflect.Value) []byte { return strconv.AppendBool(dst, v.Bool()) }
	case reflect.Int, reflect.Int64:
		return func(dst []byte, v reflect.Value) []byte { return strconv.AppendInt(dst, v.Int(), 10) }
	case reflect.Pointer:
		return appendPointer
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return appendSlice
		}
	case reflect.Struct:
		if members, known := membersOf(t); known {
			return func(dst []byte, v reflect.Value) []byte { return appendMembers(dst, v, members) }
		}
	default:
	}
	return appendOther
}

// appendOther has encoding/json write what no appender knows.
func appendOther(dst []byte, v reflect.Value) []byte {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.enc.Encode(v.Interface()); err != nil {
		panic(err) // a defect: the wire types here can always be encoded
	}
	return append(dst, bytes.TrimSuffix(e.buf.Bytes(), []byte{'\n'})...)
}

// member is a field of a struct, as its json tag has it.
type member struct {
	index               int
	name                string // quoted, with the colon
	omitEmpty, omitZero bool
	append              appender
}

// membersOf are the members of a wire type; not known: it has what only
// encoding/json can write.
func membersOf(t reflect.Type) (all []member, known bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		m := member{index: i, name: string(appendText(nil, name)) + ":", omitEmpty: options == "omitempty", omitZero: options == "omitzero"}
		_, zeroes := reflect.PointerTo(f.Type).MethodByName("IsZero")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" || options != "" && !m.omitEmpty && !m.omitZero || m.omitZero && zeroes && f.Type != timeType {
			return nil, false
		}
		m.append = appenderOf(f.Type)
		all = append(all, m)
	}
	return all, true
}

func appendMembers(dst []byte, v reflect.Value, members []member) []byte {
	opening := byte('{')
	for i := range members {
		m := &members[i]
		f := v.Field(m.index)
		if m.omitEmpty && isEmpty(f) || m.omitZero && isZero(f) {
			continue
		}
		dst = m.append(append(append(dst, opening), m.name...), f)
		opening = ','
	}
	if opening == '{' {
		dst = append(dst, opening)
	}
	return append(dst, '}')
}

// isEmpty is what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
	}
	return v.IsZero()
}

// isZero is what omitzero leaves out.
func isZero(v reflect.Value) bool {
	if v.Type() == timeType {
		return timeOf(v).IsZero()
	}
	return v.IsZero()
}

func appendPointer(dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	return appenderOf(v.Type().Elem())(dst, v.Elem())
}

func appendSlice(dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	element := appenderOf(v.Type().Elem())
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, v.Index(i))
	}
	return append(dst, ']')
}

// timeOf is the time in v, without a copy on the heap where v can be pointed to.
func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}

func appendTime(dst []byte, v reflect.Value) []byte {
	dst, err := timeOf(v).AppendText(append(dst, '"'))
	if err != nil {
		panic(err) // a defect: a year of five digits
	}
	return append(dst, '"')
}

func appendRaw(dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	buf := bytes.NewBuffer(dst)
	if err := json.Compact(buf, v.Bytes()); err != nil {
		panic(err) // a defect: what is shown as JSON is JSON
	}
	return buf.Bytes()
}

func appendHeaders(dst []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(dst, "null"...)
	}
	fields := v.Interface().(map[string][]string)
	names := make([]string, 0, 8)
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTexts(append(appendText(dst, name), ':'), fields[name])
	}
	return append(dst, '}')
}

func appendTexts(dst []byte, all []string) []byte {
	if all == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, s := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, s)
	}
	return append(dst, ']')
}

// appendText appends a text as a JSON string.
func appendText(dst []byte, s string) []byte {
	ascii := true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ' || c == '"' || c == '\\':
			return appendOther(dst, reflect.ValueOf(s))
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii && (!utf8.ValidString(s) || strings.ContainsAny(s, "\u2028\u2029")) {
		return appendOther(dst, reflect.ValueOf(s))
	}
	return append(append(append(dst, '"'), s...), '"')
}
