package contract

import (
	"fmt"
	"reflect"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/onceward/onceward"
)

// valueOf shows a JSON value to CEL without copying it.
func valueOf(n *onceward.Node) ref.Val {
	switch n.Kind() {
	case onceward.NodeNull:
		return types.NullValue
	case onceward.NodeBool:
		b, _ := n.Bool()
		return types.Bool(b)
	case onceward.NodeNumber:
		return numberFrom(string(n.AppendCanonical(nil)))
	case onceward.NodeString:
		s, _ := n.Text()
		return types.String(s)
	case onceward.NodeArray:
		return jsonArray{n}
	case onceward.NodeObject:
		return jsonObject{n}
	}
	return types.NullValue
}

// jsonObject is a JSON object as a CEL map.
type jsonObject struct{ node *onceward.Node }

var _ traits.Mapper = jsonObject{}

// whole is the same map with its members converted, for the rare operations
// that look at all of them.
func (o jsonObject) whole() traits.Mapper {
	members := make(map[ref.Val]ref.Val, o.node.Len())
	for name, n := range o.node.Members() {
		members[types.String(name)] = valueOf(n)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, members)
}

// ConvertToNative is that of a CEL map.
func (o jsonObject) ConvertToNative(t reflect.Type) (any, error) { return o.whole().ConvertToNative(t) }

// ConvertToType is that of a CEL map.
func (o jsonObject) ConvertToType(t ref.Type) ref.Val { return o.whole().ConvertToType(t) }

// Equal compares member by member.
func (o jsonObject) Equal(other ref.Val) ref.Val { return o.whole().Equal(other) }

// Type is a CEL map.
func (o jsonObject) Type() ref.Type { return types.MapType }

// Value is the JSON value itself.
func (o jsonObject) Value() any { return o.node }

// Contains reports whether there is a member of that name.
func (o jsonObject) Contains(key ref.Val) ref.Val {
	_, found := o.Find(key)
	return types.Bool(found)
}

// Get is the member of that name, or an error.
func (o jsonObject) Get(key ref.Val) ref.Val {
	if v, found := o.Find(key); found {
		return v
	}
	return types.NewErr("no such key: %v", key.Value())
}

// Find is the member of that name.
func (o jsonObject) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	n, ok := o.node.Member(string(name))
	if !ok {
		return nil, false
	}
	return valueOf(n), true
}

// Size is the number of members.
func (o jsonObject) Size() ref.Val { return types.Int(o.node.Len()) }

// Iterator yields the member names in canonical order.
func (o jsonObject) Iterator() traits.Iterator {
	names := make([]ref.Val, 0, o.node.Len())
	for name := range o.node.Members() {
		names = append(names, types.String(name))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, names).Iterator()
}

// jsonArray is a JSON array as a CEL list.
type jsonArray struct{ node *onceward.Node }

var _ traits.Lister = jsonArray{}

func (a jsonArray) whole() traits.Lister {
	elements := make([]ref.Val, 0, a.node.Len())
	for _, n := range a.node.Elements() {
		elements = append(elements, valueOf(n))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elements)
}

// ConvertToNative is that of a CEL list.
func (a jsonArray) ConvertToNative(t reflect.Type) (any, error) { return a.whole().ConvertToNative(t) }

// ConvertToType is that of a CEL list.
func (a jsonArray) ConvertToType(t ref.Type) ref.Val { return a.whole().ConvertToType(t) }

// Equal compares element by element.
func (a jsonArray) Equal(other ref.Val) ref.Val { return a.whole().Equal(other) }

// Type is a CEL list.
func (a jsonArray) Type() ref.Type { return types.ListType }

// Value is the JSON value itself.
func (a jsonArray) Value() any { return a.node }

// Add joins two lists.
func (a jsonArray) Add(other ref.Val) ref.Val { return a.whole().Add(other) }

// Contains reports whether an element equals the value.
func (a jsonArray) Contains(v ref.Val) ref.Val {
	for _, n := range a.node.Elements() {
		if equal(valueOf(n), v) == types.True {
			return types.True
		}
	}
	return types.False
}

// Get is the element at an index, or an error.
func (a jsonArray) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	n, ok := a.node.Element(int(i))
	if !ok {
		return types.NewErr("no such index: %d", int64(i))
	}
	return valueOf(n)
}

// Size is the number of elements.
func (a jsonArray) Size() ref.Val { return types.Int(a.node.Len()) }

// Iterator yields the elements in order.
func (a jsonArray) Iterator() traits.Iterator { return a.whole().Iterator() }

// headerMap shows header fields to CEL, by lower-case name: the first value of
// each, or the list of all. A look-up may use any case.
type headerMap struct {
	traits.Mapper
}

func newHeaderMap(fields []onceward.HeaderField, all bool) headerMap {
	values := make(map[ref.Val]ref.Val, len(fields))
	lists := make(map[string][]ref.Val)
	for _, f := range fields {
		name := asciiLower(f.Name)
		lists[name] = append(lists[name], types.String(f.Value))
	}
	for name, list := range lists {
		if all {
			values[types.String(name)] = types.NewRefValList(types.DefaultTypeAdapter, list)
			continue
		}
		values[types.String(name)] = list[0]
	}
	return headerMap{types.NewRefValMap(types.DefaultTypeAdapter, values)}
}

// Find looks a header field up by its name in any case.
func (h headerMap) Find(key ref.Val) (ref.Val, bool) {
	if name, ok := key.(types.String); ok {
		key = types.String(asciiLower(string(name)))
	}
	return h.Mapper.Find(key)
}

// Get is the header field of that name in any case, or an error.
func (h headerMap) Get(key ref.Val) ref.Val {
	if v, found := h.Find(key); found {
		return v
	}
	return types.NewErr("no such key: %v", key.Value())
}

// Contains reports whether there is a header field of that name in any case.
func (h headerMap) Contains(key ref.Val) ref.Val {
	_, found := h.Find(key)
	return types.Bool(found)
}

func asciiLower(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// errNoText says why a value cannot stand inside a text. It does not show it.
type errNoText struct{ kind string }

func (e errNoText) Error() string { return e.kind + " cannot stand inside a text" }

// textOf writes a CEL value as it stands inside a longer text.
func textOf(v ref.Val) (string, error) {
	switch x := v.(type) {
	case types.String:
		return string(x), nil
	case types.Bool:
		return fmt.Sprint(bool(x)), nil
	case types.Int, types.Uint:
		return fmt.Sprint(x.Value()), nil
	case decimal:
		return x.text, nil
	case types.Double:
		if r, ok := exact(x); ok {
			return textOf(fromExact(r))
		}
		return "", errNoText{"a number that is not finite"}
	case types.Timestamp:
		return textOf(x.ConvertToType(types.StringType))
	case types.Null:
		return "", errNoText{"null"}
	case *types.Optional:
		if x.HasValue() {
			return textOf(x.GetValue())
		}
		return "", errNoText{"an absent value"}
	case *types.Err:
		return "", x
	}
	switch v.(type) {
	case traits.Mapper:
		return "", errNoText{"an object"}
	case traits.Lister:
		return "", errNoText{"a list"}
	}
	return "", errNoText{"a " + v.Type().TypeName()}
}

// appendJSONValue appends a CEL value as JSON.
func appendJSONValue(dst []byte, v ref.Val) ([]byte, error) {
	switch x := v.(type) {
	case types.Null:
		return append(dst, "null"...), nil
	case types.String:
		return appendJSONText(dst, string(x)), nil
	case types.Bool, types.Int, types.Uint, types.Double, decimal:
		s, err := textOf(v)
		return append(dst, s...), err
	case types.Timestamp:
		s, err := textOf(v)
		return appendJSONText(dst, s), err
	case jsonObject:
		return x.node.Append(dst, false), nil
	case jsonArray:
		return x.node.Append(dst, false), nil
	case *types.Optional:
		if !x.HasValue() {
			return append(dst, "null"...), nil
		}
		return appendJSONValue(dst, x.GetValue())
	case traits.Mapper:
		return appendJSONMap(dst, x)
	case traits.Lister:
		dst = append(dst, '[')
		var err error
		for it, i := x.Iterator(), 0; it.HasNext() == types.True; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSONValue(dst, it.Next()); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	return nil, fmt.Errorf("a %s is no JSON value", v.Type().TypeName())
}

// appendJSONMap appends a CEL map in the order of its names, so that the same
// input gives the same bytes.
func appendJSONMap(dst []byte, m traits.Mapper) ([]byte, error) {
	var names []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		name, ok := it.Next().(types.String)
		if !ok {
			return nil, fmt.Errorf("a map whose names are not texts is no JSON value")
		}
		names = append(names, string(name))
	}
	slices.Sort(names)
	dst = append(dst, '{')
	var err error
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONText(dst, name), ':')
		if dst, err = appendJSONValue(dst, m.Get(types.String(name))); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
