package onceward_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"pgregory.net/rapid"
)

func parse(t fataler, raw string) *onceward.Node {
	t.Helper()
	n, err := onceward.ParseJSON([]byte(raw))
	if err != nil {
		t.Fatalf("ParseJSON(%q): %v", raw, err)
	}
	return n
}

func paths(t fataler, texts ...string) []onceward.Path {
	t.Helper()
	var out []onceward.Path
	for _, text := range texts {
		p, err := onceward.ParsePath(text)
		if err != nil {
			t.Fatalf("ParsePath(%q): %v", text, err)
		}
		out = append(out, p)
	}
	return out
}

func TestTreeKeepsTokensAsTheyCame(t *testing.T) {
	t.Parallel()
	n := parse(t, `{"z":{"amount": 1290.50, "big":12345678901234567890123 , "e":1E+2}, "s":"\u00e9\n", "t":true,"n":null}`)
	tests := []struct{ path, token, canonical string }{
		{"z.amount", `1290.50`, `1290.5`},
		{"z.big", `12345678901234567890123`, `12345678901234567890123`},
		{"z.e", `1E+2`, `100`},
		{"s", `"\u00e9\n"`, `"é\n"`},
		{"t", `true`, `true`},
		{"n", `null`, `null`},
		{"z", `{"amount": 1290.50, "big":12345678901234567890123 , "e":1E+2}`, `{"amount":1290.5,"big":12345678901234567890123,"e":100}`},
	}
	for _, tt := range tests {
		v, ok := n.Lookup(paths(t, tt.path)[0])
		if !ok {
			t.Errorf("nothing at %s", tt.path)
			continue
		}
		if v.Token() != tt.token || string(v.Append([]byte("x"), false)) != "x"+tt.token {
			t.Errorf("%s came as %s, want %s", tt.path, v.Token(), tt.token)
		}
		if got := string(v.Append([]byte("x"), true)); got != "x"+tt.canonical {
			t.Errorf("%s is %s in canonical form, want %s", tt.path, got, tt.canonical)
		}
	}
}

func TestTreeTellsKindsApart(t *testing.T) {
	t.Parallel()
	n := parse(t, `{"o":{"b":1,"\u0061":2},"a":[10,20],"s":"x\"\u0001\u00e9","t":true,"f":false,"n":null,"i":7}`)
	kinds := map[string]onceward.NodeKind{
		"o": onceward.NodeObject, "a": onceward.NodeArray, "s": onceward.NodeString, "t": onceward.NodeBool,
		"f": onceward.NodeBool, "n": onceward.NodeNull, "i": onceward.NodeNumber,
	}
	if n.Kind() != onceward.NodeObject || n.Len() != len(kinds) {
		t.Errorf("root is %s of %d", n.Kind(), n.Len())
	}
	words := map[string]string{"o": "object", "a": "array", "s": "string", "t": "boolean", "f": "boolean", "n": "null", "i": "number"}
	for name, v := range n.Members() {
		if v.Kind().String() != words[name] {
			t.Errorf("%s is called %s", name, v.Kind())
		}
		if v.Kind() != kinds[name] {
			t.Errorf("%s is %s, want %s", name, v.Kind(), kinds[name])
		}
		text, isText := v.Text()
		if isText != (name == "s") || isText && text != "x\"\x01é" {
			t.Errorf("text of %s is %q, %v", name, text, isText)
		}
		value, isBool := v.Bool()
		if isBool != (name == "t" || name == "f") || value != (name == "t") {
			t.Errorf("bool of %s is %v, %v", name, value, isBool)
		}
	}
	object, _ := n.Member("o")
	var names []string
	for name := range object.Members() {
		names = append(names, name)
	}
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("members in order %q", names)
	}
	array, _ := n.Member("a")
	var tokens []string
	for i, v := range array.Elements() {
		if e, ok := array.Element(i); !ok || e != v {
			t.Errorf("element %d is another one", i)
		}
		tokens = append(tokens, v.Token())
	}
	if !slices.Equal(tokens, []string{"10", "20"}) || array.Len() != 2 {
		t.Errorf("elements %q", tokens)
	}
	for range object.Members() {
		break // leaving early is allowed
	}
	for range array.Elements() {
		break
	}
	for range array.Members() {
		t.Error("an array has members")
	}
	for range object.Elements() {
		t.Error("an object has elements")
	}
}

func TestLookupDoesNotTakeAbsentForNull(t *testing.T) {
	t.Parallel()
	n := parse(t, `{"a":{"b":[{"c d":null}]},"":1,"x\"y":2}`)
	tests := []struct {
		path  string
		found bool
	}{
		{`a`, true}, {`a.b`, true}, {`a.b[0]`, true}, {`a.b[0]["c d"]`, true}, {`[""]`, true}, {`["x\"y"]`, true}, {`["\u0061"].b`, true},
		{`b`, false}, {`a.c`, false}, {`a.b[1]`, false}, {`a.b.c`, false}, {`a[0]`, false}, {`a.b[0].c`, false}, {`a.b[*]`, false},
		{`a.b[0]["c d"].x`, false},
	}
	for _, tt := range tests {
		if v, ok := n.Lookup(paths(t, tt.path)[0]); ok != tt.found || ok == (v == nil) {
			t.Errorf("Lookup(%s): found is %v", tt.path, ok)
		}
	}
	if v, ok := n.Lookup(onceward.Path{}); !ok || v != n {
		t.Error("the empty path is not the value itself")
	}
	if _, ok := n.Member("A"); ok {
		t.Error("a name is found in another case")
	}
	if _, ok := parse(t, "[1]").Element(-1); ok {
		t.Error("an element before the first is found")
	}
}

func TestVolatileFieldsAreNotMaterial(t *testing.T) {
	t.Parallel()
	const raw = `{"subject":"a","customer":{"id":1,"note":"b"},"items":[{"sku":1,"note":"c"},{"sku":2},3],"a b":{"c.d":1}}`
	tests := []struct {
		name     string
		volatile []string
		want     string
	}{
		{"none", nil, `{"a b":{"c.d":1},"customer":{"id":1,"note":"b"},"items":[{"note":"c","sku":1},{"sku":2},3],"subject":"a"}`},
		{"a member", []string{"subject"}, `{"a b":{"c.d":1},"customer":{"id":1,"note":"b"},"items":[{"note":"c","sku":1},{"sku":2},3]}`},
		{"the first member", []string{`["a b"]`}, `{"customer":{"id":1,"note":"b"},"items":[{"note":"c","sku":1},{"sku":2},3],"subject":"a"}`},
		{"inside", []string{"customer.note", `["a b"]["c.d"]`}, `{"a b":{},"customer":{"id":1},"items":[{"note":"c","sku":1},{"sku":2},3],"subject":"a"}`},
		{"in every element", []string{"items[*].note", "subject"}, `{"a b":{"c.d":1},"customer":{"id":1,"note":"b"},"items":[{"sku":1},{"sku":2},3]}`},
		{"in one element", []string{"items[1].sku"}, `{"a b":{"c.d":1},"customer":{"id":1,"note":"b"},"items":[{"note":"c","sku":1},{},3],"subject":"a"}`},
		{"an element", []string{"items[0]"}, `{"a b":{"c.d":1},"customer":{"id":1,"note":"b"},"items":[{"sku":2},3],"subject":"a"}`},
		{"all elements", []string{"items[*]"}, `{"a b":{"c.d":1},"customer":{"id":1,"note":"b"},"items":[],"subject":"a"}`},
		{"a parent and its child", []string{"customer.note", "customer"}, `{"a b":{"c.d":1},"items":[{"note":"c","sku":1},{"sku":2},3],"subject":"a"}`},
		{"every element and one", []string{"items[*].note", "items[0].sku"}, `{"a b":{"c.d":1},"customer":{"id":1,"note":"b"},"items":[{},{"sku":2},3],"subject":"a"}`},
		{"nothing there", []string{"note", "subject.x", "subject[0]", "customer[*]", "items.note", "items[7]"},
			`{"a b":{"c.d":1},"customer":{"id":1,"note":"b"},"items":[{"note":"c","sku":1},{"sku":2},3],"subject":"a"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := string(parse(t, raw).AppendWithout(nil, paths(t, tt.volatile...)))
			if got != tt.want {
				t.Errorf("without %q:\n got %s\nwant %s", tt.volatile, got, tt.want)
			}
			if again := canonical(t, got); again != got {
				t.Errorf("%s is not canonical, but %s", got, again)
			}
		})
	}
}

func TestPresenceOfAVolatileFieldMakesNoDifference(t *testing.T) {
	t.Parallel()
	volatile := paths(t, "subject")
	with := parse(t, `{"id":1,"subject":"x"}`).AppendWithout(nil, volatile)
	without := parse(t, `{"id":1}`).AppendWithout(nil, volatile)
	if string(with) != string(without) {
		t.Errorf("%s and %s", with, without)
	}
}

func TestPathsAreReadBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{drawText(t): map[string]any{drawText(t): []any{nil, drawNumber(t)}}}
		raw := string(spell(rand.New(rand.NewPCG(1, 2)), object))
		root := parse(t, raw)
		inner := root
		for range 2 {
			for _, v := range inner.Members() {
				inner = v
			}
		}
		last, _ := inner.Element(1)
		prints := onceward.FieldPrints(onceward.OperationID{}, root, nil)
		path := prints[len(prints)-1].Path
		found, ok := root.Lookup(paths(t, path)[0])
		if !ok || found.Token() != last.Token() {
			t.Fatalf("%s does not lead to %s in %s", path, last.Token(), raw)
		}
		if got := paths(t, path)[0].String(); got != path {
			t.Fatalf("%s is written as %s", path, got)
		}
	})
}

func TestBrokenPathsAreRefused(t *testing.T) {
	t.Parallel()
	broken := []string{
		"", ".", ".a", "a.", "a..b", "a.[0]", "a[", "a[]", "a[-1]", "a[01]", "a[1", "a[*", `a["b]`, `a["b"`, `a["b"x]`, "a[0]b", "a b",
		"*", "a.*", "a[b]", `a["\x"]`, "a[99999999999]", "a\x00", "a[\"\xff\"]", "\xff", "a.b\n", strings.Repeat("a.", 64) + "a",
	}
	for _, s := range broken {
		if p, err := onceward.ParsePath(s); !onceward.Is(err, onceward.CodeContractInvalid) {
			t.Errorf("ParsePath(%q) = %q, %v", s, p, err)
		}
	}
	const every = `a[*].b[2]["c d"]`
	if got := paths(t, every)[0].String(); got != every {
		t.Errorf("%s is written as %s", every, got)
	}
	_, err := onceward.ParsePath("customer..note")
	if err == nil || !strings.Contains(err.Error(), "expected a name at character 10") {
		t.Errorf("error is %v", err)
	}
}

func TestPathsShowNoControlCharacters(t *testing.T) {
	t.Parallel()
	prints := onceward.FieldPrints(onceward.OperationID{}, parse(t, "{\"a\u202eb\\u0007\U000e0041\":1}"), nil)
	want := `["a\u202eb\u0007\udb40\udc41"]`
	if len(prints) != 1 || prints[0].Path != want {
		t.Errorf("prints are %+v, want the path %s", prints, want)
	}
	if got := paths(t, want)[0].String(); got != want {
		t.Errorf("%s is written as %s", want, got)
	}
}
