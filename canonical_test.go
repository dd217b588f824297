package onceward_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"pgregory.net/rapid"
)

// fataler is what helpers need of *testing.T, *testing.F and *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func canonical(t fataler, raw string) string {
	t.Helper()
	out, err := onceward.Canonicalize([]byte(raw))
	if err != nil {
		t.Fatalf("Canonicalize(%.200q): %v", raw, err)
	}
	return string(out)
}

func TestCanonicalFormOfOneMeaning(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raw, want string }{
		{"members sorted", `{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{"a name sorts before a longer one", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"members sorted inside arrays", `[{"b":1,"a":2}]`, `[{"a":2,"b":1}]`},
		{"elements keep their order", `[3,1,2]`, `[3,1,2]`},
		{"white space dropped", " {\t\"a\" :\r\n[ 1 , 2 ] } ", `{"a":[1,2]}`},
		{"empty containers", `[ { } , [ ] ]`, `[{},[]]`},
		{"unnecessary escapes undone", `"\u0061\/\u00e9\uD83D\uDE00"`, `"a/é😀"`},
		{"necessary escapes short", `"\u0022\u005c\u0008\u000C\u000a\u000d\u0009"`, `"\"\\\b\f\n\r\t"`},
		{"other control characters in lower case", `"\u001F\u0000"`, `"\u001f\u0000"`},
		{"delete and line separator stand for themselves", `"\u007f\u2028"`, "\"\x7f\u2028\""},
		{"names sorted unescaped, not as written", `{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{"a control character sorts before a letter", `{"a":1,"\n":2}`, `{"\n":2,"a":1}`},
		{"a quote sorts by itself, not by its backslash", `{"[":1,"\"":2,"\\":3,"#":4}`, `{"\"":2,"#":4,"[":1,"\\":3}`},
		{"a newline sorts behind a tab", `{"\n":1,"\t":2,"\u0001":3}`, `{"\u0001":3,"\t":2,"\n":1}`},
		{"all short escapes in names", `{"\r":1,"\f":2,"\b":3,"\\":4," ":5}`, `{"\b":3,"\f":2,"\r":1," ":5,"\\":4}`},
		{"a name sorts before a longer one, with escapes", `{"\na":1,"\n":2}`, `{"\n":2,"\na":1}`},
		{"code point order beyond the basic plane", "{\"\U0001f600\":1,\"\uffff\":2}", "{\"\uffff\":2,\"\U0001f600\":1}"},
		{"null stays", `{"a":null}`, `{"a":null}`},
		{"literals", `[true,false,null]`, `[true,false,null]`},
		{"a scalar alone", ` 7 `, `7`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := canonical(t, tt.raw); got != tt.want {
				t.Errorf("Canonicalize(%q) = %q, want %q", tt.raw, got, tt.want)
			}
		})
	}
}

func TestCanonicalNumberIsItsExactDecimalValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		want      string
		spellings string
	}{
		{"0", "0 -0 0.0 -0.000 0e0 0e999999999999999999999 -0E-5"},
		{"1", "1 1.0 1e0 10e-1 0.1e1 0.01E+2 1.000e-0 100e-02"},
		{"-1", "-1 -1.0 -1e0"},
		{"100", "100 1e2 1E2 1e+2 100.0 0.001e5"},
		{"1.5", "1.5 1.50 15e-1 0.15e1"},
		{"0.001", "0.001 1e-3 0.1e-2 0.0010"},
		{"9007199254740993", "9007199254740993 9007199254740993.0 9.007199254740993e15"},
		{"9007199254740992", "9007199254740992"},
		{"123456789012345678901234567890", "123456789012345678901234567890 12345678901234567890123456789e1"},
		{"-18446744073709551617", "-18446744073709551617"},
		{"100000000000000000000", "100000000000000000000 1e20"},
		{"1e21", "1e21 1000000000000000000000 10E20"},
		{"1.2e22", "1.2e22 12000000000000000000000"},
		{"12" + strings.Repeat("0", 20), "12" + strings.Repeat("0", 20)},
		{"0." + strings.Repeat("0", 20) + "1", "1e-21"},
		{"1e-22", "1e-22 0.1e-21 0." + strings.Repeat("0", 21) + "1"},
		{"-1.25e-30", "-1.25e-30 -125e-32"},
		{"0.1", "0.1 0.10000"},
		{"0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"},
		{"1e10000", "1e10000 10e9999"},
		{"9.9e-10000", "9.9e-10000 99e-10001"},
		{"1", "1" + strings.Repeat("0", 5000) + "e-5000"},
		{"1", "0." + strings.Repeat("0", 4999) + "1e5000"},
	}
	for _, tt := range tests {
		for spelling := range strings.FieldsSeq(tt.spellings) {
			if got := canonical(t, spelling); got != tt.want {
				t.Errorf("Canonicalize(%.60s) = %.60s, want %s", spelling, got, tt.want)
			}
			if got := canonical(t, "["+spelling+"]"); got != "["+tt.want+"]" {
				t.Errorf("Canonicalize([%.60s]) = %.60s, want [%s]", spelling, got, tt.want)
			}
		}
	}
}

func TestDifferentMeaningsStayDifferent(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{
		{`100`, `"100"`},
		{`9007199254740993`, `9007199254740992`},
		{`0.1`, `0.1000000000000000055511151231257827`},
		{`1e400`, `1e401`},
		{`1`, `-1`},
		{`{"a":null}`, `{}`},
		{`null`, `"null"`},
		{`""`, `null`},
		{`[]`, `{}`},
		{`[[1],2]`, `[1,[2]]`},
		{`["ab","c"]`, `["a","bc"]`},
		{"\"\u00e9\"", "\"e\u0301\""},
		{`"ABC"`, `"abc"`},
		{`"\u0000"`, `""`},
		{`"a "`, `"a"`},
		{`{"a":1,"b":2}`, `{"a":2,"b":1}`},
	}
	for _, pair := range pairs {
		if a, b := canonical(t, pair[0]), canonical(t, pair[1]); a == b {
			t.Errorf("%s and %s are both %s", pair[0], pair[1], a)
		}
	}
}

func TestRefusedJSONSaysWhereAndWhy(t *testing.T) {
	t.Parallel()
	type place struct {
		offset, line, column int
		path, reason         string
	}
	tests := []struct {
		name, raw string
		want      place
	}{
		{"nothing", "", place{0, 1, 1, "", "expected a value, but the text ends"}},
		{"white space only", "\n ", place{2, 2, 2, "", "expected a value, but the text ends"}},
		{"duplicate member", `{"a":1,"b":2,"a":3}`, place{13, 1, 14, "a", "duplicate member name"}},
		{"duplicate by escape", "{\"x\":{\n  \"a\":1, \"\\u0061\":1}}", place{16, 2, 10, "x.a", "duplicate member name"}},
		{"duplicate with an escape in both", `{"\n":1,"\u000a":1}`, place{8, 1, 9, `["\n"]`, "duplicate member name"}},
		{"duplicate of an equal value", `[{"a":1,"a":1}]`, place{8, 1, 9, "[0].a", "duplicate member name"}},
		{"NaN", `{"amount":NaN}`, place{10, 1, 11, "amount", "no JSON value starts here"}},
		{"Infinity", `[1,Infinity]`, place{3, 1, 4, "[1]", "no JSON value starts here"}},
		{"minus Infinity", `-Infinity`, place{0, 1, 1, "", "- without a digit"}},
		{"minus alone", `-`, place{0, 1, 1, "", "- without a digit"}},
		{"leading zero", `{"a":007}`, place{5, 1, 6, "a", "number with a leading zero"}},
		{"leading zero, negative", `-01`, place{0, 1, 1, "", "number with a leading zero"}},
		{"leading plus", `+1`, place{0, 1, 1, "", "no JSON value starts here"}},
		{"point without digit", `1.`, place{2, 1, 3, "", "expected a digit after the decimal point, but the text ends"}},
		{"point first", `.5`, place{0, 1, 1, "", "no JSON value starts here"}},
		{"exponent without digit", `[1e+]`, place{4, 1, 5, "[0]", "expected a digit in the exponent"}},
		{"hexadecimal", `0x10`, place{1, 1, 2, "", "data after the end of the value"}},
		{"lone high surrogate", `{"a":"x\ud800y"}`, place{7, 1, 8, "a", "lone surrogate in a string"}},
		{"lone low surrogate", `"\udc00"`, place{1, 1, 2, "", "lone surrogate in a string"}},
		{"high surrogate twice", `"\ud800\ud800"`, place{1, 1, 2, "", "lone surrogate in a string"}},
		{"low surrogate twice", `"\udc00\udc00"`, place{1, 1, 2, "", "lone surrogate in a string"}},
		{"high surrogate before another escape", `"\ud800\n"`, place{1, 1, 2, "", "lone surrogate in a string"}},
		{"surrogate in a name", `{"\udfff":1}`, place{2, 1, 3, "", "lone surrogate in a string"}},
		{"surrogate encoded in UTF-8", "\"\xed\xa0\x80\"", place{1, 1, 2, "", "invalid UTF-8 in a string"}},
		{"invalid UTF-8", "{\"é\":\"ab\xff\"}", place{9, 1, 9, "é", "invalid UTF-8 in a string"}},
		{"overlong UTF-8", "\"\xc0\x80\"", place{1, 1, 2, "", "invalid UTF-8 in a string"}},
		{"cut UTF-8 behind an escape", "\"\\n\xe2\x82\"", place{3, 1, 4, "", "invalid UTF-8 in a string"}},
		{"invalid UTF-8 outside a string", "[\xff]", place{1, 1, 2, "[0]", "no JSON value starts here"}},
		{"byte order mark", "\xef\xbb\xbf{}", place{0, 1, 1, "", "byte order mark before the value"}},
		{"control character in a string", "\"a\nb\"", place{2, 1, 3, "", "unescaped control character in a string"}},
		{"NUL in a string behind an escape", "\"\\n\x00\"", place{3, 1, 4, "", "unescaped control character in a string"}},
		{"unknown escape", `"\x"`, place{1, 1, 2, "", "unknown escape in a string"}},
		{"short unicode escape", `"\u12"`, place{1, 1, 2, "", `\u without four hexadecimal digits`}},
		{"unicode escape with other letters", `"\u12g4"`, place{1, 1, 2, "", `\u without four hexadecimal digits`}},
		{"escape at the end", `"\`, place{2, 1, 3, "", `expected an escape after \, but the text ends`}},
		{"unended string", `["abc`, place{5, 1, 6, "[0]", `expected " at the end of a string, but the text ends`}},
		{"unended string behind an escape", `"\n`, place{3, 1, 4, "", `expected " at the end of a string, but the text ends`}},
		{"unended object", `{"a":1`, place{6, 1, 7, "", "expected , or } after a member, but the text ends"}},
		{"unended array", `[1`, place{2, 1, 3, "", "expected , or ] after an element, but the text ends"}},
		{"trailing comma in an array", `[1,]`, place{3, 1, 4, "[1]", "no JSON value starts here"}},
		{"trailing comma in an object", `{"a":1,}`, place{7, 1, 8, "", "expected a member name in quotes"}},
		{"no quotes around a name", `{a:1}`, place{1, 1, 2, "", "expected a member name in quotes"}},
		{"no colon", `{"a" 1}`, place{5, 1, 6, "", "expected : after a member name"}},
		{"no comma", `{"a":1 "b":2}`, place{7, 1, 8, "", "expected , or } after a member"}},
		{"wrong bracket", `[1}`, place{2, 1, 3, "", "expected , or ] after an element"}},
		{"cut literal", `tru`, place{0, 1, 1, "", "no JSON value starts here"}},
		{"literal with a tail", `nullx`, place{4, 1, 5, "", "data after the end of the value"}},
		{"two values", "{}\n{}", place{3, 2, 1, "", "data after the end of the value"}},
		{"comment", `{} // x`, place{3, 1, 4, "", "data after the end of the value"}},
		{"deep place", `{"customer":{"items":[1,{"first name":tru}]}}`, place{38, 1, 39, `customer.items[1]["first name"]`, "no JSON value starts here"}},
		{"digits", `{"a":1` + strings.Repeat("2", 1000) + `}`, place{5, 1, 6, "a", "number with more than 1000 significant digits"}},
		{"exponent", `1e10001`, place{0, 1, 1, "", "number with an exponent beyond ±10000"}},
		{"exponent of a long number", `-12e10000`, place{0, 1, 1, "", "number with an exponent beyond ±10000"}},
		{"negative exponent", `0.1e-10000`, place{0, 1, 1, "", "number with an exponent beyond ±10000"}},
		{"exponent that would wrap around", `1e18446744073709551616`, place{0, 1, 1, "", "number with an exponent beyond ±10000"}},
		{"exponent beyond any integer", `1e-99999999999999999999999999`, place{0, 1, 1, "", "number with an exponent beyond ±10000"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := onceward.Canonicalize([]byte(tt.raw))
			var refused *onceward.JSONError
			if !errors.As(err, &refused) {
				t.Fatalf("Canonicalize(%q) = %q, %v; want a JSONError", tt.raw, out, err)
			}
			got := place{refused.Offset, refused.Line, refused.Column, refused.Path, refused.Reason}
			if got != tt.want {
				t.Errorf("Canonicalize(%q):\n got %+v\nwant %+v", tt.raw, got, tt.want)
			}
			if code := onceward.CodeOf(err); code != onceward.CodeInvalidInput {
				t.Errorf("code is %s", code)
			}
			if !strings.Contains(err.Error(), tt.want.reason) {
				t.Errorf("%q does not say %q", err, tt.want.reason)
			}
		})
	}
}

func TestRefusalMessageHasReasonAndPlace(t *testing.T) {
	t.Parallel()
	_, err := onceward.Canonicalize([]byte("{\"a\":\n {\"secret\":1,\"secret\":2}}"))
	want := "read JSON: duplicate member name at line 2, column 14 (byte 19) in a.secret"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestHugeNamesDoNotFillErrors(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("é", 100_000)
	_, err := onceward.Canonicalize([]byte(`{"` + name + `":1,"` + name + `":2}`))
	if err == nil || len(err.Error()) > 400 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

func TestLimitsOfSizeDepthAndCount(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	sized := func(bytes int) string { return `"` + strings.Repeat("x", bytes-2) + `"` }
	counted := func(values int) string { return "[" + strings.Repeat("1,", values-2) + "1]" }
	tests := []struct {
		name     string
		at, over string
	}{
		{"depth", nested(onceward.JSONDepthMax), nested(onceward.JSONDepthMax + 1)},
		{"depth of objects", strings.Repeat(`{"a":`, onceward.JSONDepthMax) + "1" + strings.Repeat("}", onceward.JSONDepthMax),
			strings.Repeat(`{"a":`, onceward.JSONDepthMax+1)},
		{"depth bomb", nested(1), strings.Repeat("[", 1_000_000)},
		{"size", sized(onceward.JSONBytesMax), sized(onceward.JSONBytesMax + 1)},
		{"count", counted(onceward.JSONValuesMax), counted(onceward.JSONValuesMax + 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := onceward.Canonicalize([]byte(tt.at)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := onceward.Canonicalize([]byte(tt.over))
			if !onceward.Is(err, onceward.CodeTooLarge) {
				t.Errorf("over the limit: %v", err)
			}
			if _, err := onceward.ParseJSON([]byte(tt.over)); !onceward.Is(err, onceward.CodeTooLarge) {
				t.Errorf("ParseJSON over the limit: %v", err)
			}
		})
	}
}

func TestSiblingsDoNotAddDepth(t *testing.T) {
	t.Parallel()
	canonical(t, "["+strings.Repeat("[[]],", 1000)+"[]]")
}

func TestDigitsAreCountedByValue(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("7", onceward.NumberDigitsMax)
	for _, number := range []string{digits, digits + "000", "0.000" + digits + "000", "-" + digits} {
		canonical(t, number)
	}
}

func TestDifferencePastTheFirstMegabyteIsFound(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 2<<20)
	a := canonical(t, `{"body":"`+body+`","last":1}`)
	b := canonical(t, `{"body":"`+body+`","last":2}`)
	c := canonical(t, `{"body":"`+body+`y","last":1}`)
	if a == b || a == c {
		t.Error("inputs that differ behind the first megabyte have one canonical form")
	}
}

func TestCanonicalFormSharesNoMemoryWithItsInput(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"a":"one","b":[1,2]}`)
	out, err := onceward.Canonicalize(raw)
	if err != nil {
		t.Fatal(err)
	}
	node, err := onceward.ParseJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] = 'X'
	}
	if string(out) != `{"a":"one","b":[1,2]}` || node.Token() != string(out) {
		t.Errorf("after the input changed: %s and %s", out, node.Token())
	}
}

func TestEqualMeaningHasEqualCanonicalForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := drawValue(t, 4)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		first, second := spell(rng, value), spell(rng, value)
		a, b := canonical(t, string(first)), canonical(t, string(second))
		if a != b {
			t.Fatalf("one value:\n%s\n%s\nhas two forms:\n%s\n%s", first, second, a, b)
		}
		if again := canonical(t, a); again != a {
			t.Fatalf("canonical form of %s is %s", a, again)
		}
		if !reflect.DeepEqual(exact(decode(t, []byte(a))), exact(value)) {
			t.Fatalf("%s became %s", first, a)
		}
		tool := onceward.ToolName("tickets.create")
		other := mutate(rng, value)
		c := canonical(t, string(spell(rng, other)))
		if a == c || onceward.MaterialDigest(tool, []byte(a)) == onceward.MaterialDigest(tool, []byte(c)) {
			t.Fatalf("two values:\n%#v\n%#v\nhave one form: %s", value, other, a)
		}
	})
}

// exact replaces numbers by their exact values in lowest terms.
func exact(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = exact(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = exact(v[name])
		}
		return out
	case json.Number:
		negative, digits, exponent := significant(string(v))
		if digits == "" {
			negative, exponent = false, 0
		}
		return [3]any{negative, digits, exponent}
	}
	return v
}

func TestNumbersAreEqualExactlyIfTheirFormsAre(t *testing.T) {
	t.Parallel()
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if rapid.Bool().Draw(t, "respell") {
			b = spellNumber(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), a)
		}
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if !okX || !okY {
			t.Fatalf("not read by big.Rat: %s, %s", a, b)
		}
		if equal := canonical(t, a) == canonical(t, b); equal != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s: forms equal is %v", a, b, equal)
		}
	})
}

// stricter are the refusals of texts that encoding/json lets pass.
var stricter = []string{
	"duplicate member name", "lone surrogate in a string", "invalid UTF-8 in a string", "significant digits",
	"number with an exponent beyond", "text is longer than", "nested deeper than", "more than 262144 values",
}

func FuzzCanonicalize(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.50,-0,1e400],"a":{"x":null,"\u00e9":"\ud83d\ude00"}}`, `{"a":1,"\u0061":2}`, `[NaN]`, `"\ud800"`,
		"\"\xff\"", `{"\n":1,"\"":2,"\\":3}`, ` [ true , false ] `, `1e-10000`, `{"a":{"a":{"a":[[[]]]}}}`, "", "\xef\xbb\xbf1",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		form, err := onceward.Canonicalize(raw)
		node, nodeErr := onceward.ParseJSON(raw)
		if (err == nil) != (nodeErr == nil) {
			t.Fatalf("Canonicalize says %v, ParseJSON says %v", err, nodeErr)
		}
		valid := json.Valid(raw)
		if err != nil {
			var refused *onceward.JSONError
			if !errors.As(err, &refused) || refused.Offset < 0 || refused.Offset > len(raw) {
				t.Fatalf("refusal without a place: %#v", err)
			}
			if valid && !containsAny(refused.Reason, stricter) {
				t.Fatalf("valid JSON is refused: %v", err)
			}
			return
		}
		if !valid {
			t.Fatalf("accepted what is no JSON: %q", raw)
		}
		if got := string(node.AppendCanonical(nil)); got != string(form) {
			t.Fatalf("tree gives %q, Canonicalize gives %q", got, form)
		}
		if again := canonical(t, string(form)); again != string(form) {
			t.Fatalf("%q is not stable: %q", form, again)
		}
		value := decode(t, raw)
		if !reflect.DeepEqual(exact(value), exact(decode(t, form))) {
			t.Fatalf("%q became %q", raw, form)
		}
		other := spell(rand.New(rand.NewPCG(seed, 0)), value)
		if len(other) <= onceward.JSONBytesMax && canonical(t, string(other)) != string(form) {
			t.Fatalf("%q and %q are one value with two forms", raw, other)
		}
	})
}

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// benchmarkText is a document of about the given size, as callers send them.
func benchmarkText(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"source":"shop","event_id":"evt_01HZX3","amount":1290.50,"currency":"EUR","customer":{"name":"Zoë Müller","email":"zoe@example.com"},"items":[`)
	item := `{"sku":"A-1001","quantity":2,"price":19.90,"note":"gift wrap, please\nthank you"}`
	b.WriteString(item)
	for b.Len()+len(item) < size {
		b.WriteString("," + item)
	}
	b.WriteString("]}")
	return b.Bytes()
}

func BenchmarkCanonicalize(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"200B", 200}, {"4KiB", 4 << 10}, {"1MiB", 1 << 20}} {
		raw := benchmarkText(size.bytes)
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := onceward.Canonicalize(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseJSON(b *testing.B) {
	raw := benchmarkText(200)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := onceward.ParseJSON(raw); err != nil {
			b.Fatal(err)
		}
	}
}
