package onceward_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"pgregory.net/rapid"
)

func prints(t fataler, raw string, volatile ...string) []onceward.FieldPrint {
	t.Helper()
	return onceward.FieldPrints(knownIdentity.OperationID(), parse(t, raw), paths(t, volatile...))
}

// flatObject is an object of count members that hold their own number.
func flatObject(count int, change map[int]string) string {
	var members []string
	for i := range count {
		value, changed := change[i]
		if !changed {
			value = fmt.Sprint(i)
		}
		members = append(members, fmt.Sprintf(`"f%03d":%s`, i, value))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestDifferingFieldsAreNamed(t *testing.T) {
	t.Parallel()
	nested := func(inner string) string { return `{"x":{"list":[` + strings.Repeat("0,", 80) + `0]` + inner + `}}` }
	tests := []struct {
		name, a, b string
		volatile   []string
		want       []string
	}{
		{"equal", `{"a":1,"b":{"c":[1,2]}}`, `{"b":{"c":[1.0,2]},"a":1e0}`, nil, nil},
		{"a value", `{"a":1,"b":2}`, `{"a":1,"b":3}`, nil, []string{"b"}},
		{"a type", `{"a":100}`, `{"a":"100"}`, nil, []string{"a"}},
		{"added", `{"a":1}`, `{"a":1,"b":null}`, nil, []string{"b"}},
		{"removed", `{"a":1,"b":{"c":1}}`, `{"a":1}`, nil, []string{"b"}},
		{"leaves", `{"c":{"d":1,"e":2,"f":3}}`, `{"c":{"d":1,"e":9,"g":3}}`, nil, []string{"c.e", "c.f", "c.g"}},
		{"an element", `{"items":[{"n":1},{"n":2}]}`, `{"items":[{"n":1},{"n":3}]}`, nil, []string{"items[1].n"}},
		{"a longer list", `{"items":[1]}`, `{"items":[1,2]}`, nil, []string{"items[1]"}},
		{"a container for a value", `{"a":{"b":1}}`, `{"a":1}`, nil, []string{"a"}},
		{"a container for an empty one", `{"a":{"b":1}}`, `{"a":{}}`, nil, []string{"a"}},
		{"one empty container for another", `{"a":{"x":[],"y":1}}`, `{"a":{"x":{},"y":1}}`, nil, []string{"a.x"}},
		{"volatile", `{"a":1,"b":"x","c":[{"n":1}]}`, `{"a":1,"b":"y","c":[{"n":2}]}`, []string{"b", "c[*].n"}, nil},
		{"volatile and material", `{"c":{"n":1,"m":1}}`, `{"c":{"n":2,"m":2}}`, []string{"c.n"}, []string{"c.m"}},
		{"nothing material inside", `{"c":{"x":{},"y":1}}`, `{"c":{"x":{"n":1},"y":2}}`, []string{"c.x.n"}, []string{"c.y"}},
		{"a container that holds volatile fields only", `{"c":{"x":{"n":1},"y":1}}`, `{"c":{"y":1}}`, []string{"c.x.n"}, []string{"c.x"}},
		{"volatile beyond the last print", flatObject(70, nil), flatObject(70, map[int]string{66: "0"}), []string{"f066"}, nil},
		{"all members gone", `{}`, `{"a":1}`, nil, []string{"a"}},
		{"no object", `1`, `2`, nil, []string{"$"}},
		{"arrays", `[1,2]`, `[1,3]`, nil, []string{"[1]"}},
		{"an empty array and an empty object", `[]`, `{}`, nil, []string{"$"}},
		{"too many leaves for leaves", nested(`,"y":1`), nested(`,"y":2`), nil, []string{"x"}},
		{"many leaves and few", nested(``), `{"x":{"y":1}}`, nil, []string{"x"}},
		{"the last member that has a print", flatObject(64, nil), flatObject(64, map[int]string{63: "0"}), nil, []string{"f063"}},
		{"more members than prints", flatObject(70, nil), flatObject(70, map[int]string{3: "0", 68: "0"}), nil, []string{"(other fields)", "f003"}},
		{"many members and few", flatObject(70, nil), flatObject(1, nil), nil,
			slices.Sorted(slices.Values(append([]string{"(other fields)"}, names(1, 63)...)))},
		{"few members and many", flatObject(1, map[int]string{0: "7"}), flatObject(70, nil), nil,
			slices.Sorted(slices.Values(append([]string{"(other fields)"}, names(0, 63)...)))},
		{"a field that the other may hold unnamed", `{"g":1}`, flatObject(70, nil), nil,
			slices.Sorted(slices.Values(append([]string{"(other fields)"}, names(0, 63)...)))},
		{"names like syntax", `{"a.b":1,"a":{"b":1}}`, `{"a.b":2,"a":{"b":2}}`, nil, []string{`["a.b"]`, "a.b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := prints(t, tt.a, tt.volatile...), prints(t, tt.b, tt.volatile...)
			if got := onceward.DifferingFields(a, b); !slices.Equal(got, tt.want) {
				t.Errorf("differing fields are %q, want %q", got, tt.want)
			}
			if got := onceward.DifferingFields(b, a); !slices.Equal(got, tt.want) {
				t.Errorf("the other way round they are %q, want %q", got, tt.want)
			}
		})
	}
}

func names(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("f%03d", i))
	}
	return out
}

func TestFieldPrintsAgreeWithTheCanonicalForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{"x": drawValue(t, 3), drawText(t): drawValue(t, 3)}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		raw := string(spell(rng, value))
		same := onceward.DifferingFields(prints(t, raw), prints(t, string(spell(rng, value))))
		if len(same) > 0 {
			t.Fatalf("two spellings of one value differ in %q", same)
		}
		other := string(spell(rng, mutate(rng, value)))
		if len(onceward.DifferingFields(prints(t, raw), prints(t, other))) == 0 {
			t.Fatalf("no differing field between\n%s\n%s", raw, other)
		}
	})
}

func TestEqualValuesCannotBeLinkedByTheirPrints(t *testing.T) {
	t.Parallel()
	input := parse(t, `{"a":"secret","b":"secret","c":{"a":"secret"}}`)
	seen := make(map[[8]byte]bool)
	for _, key := range []onceward.Key{"1", "2"} {
		for _, p := range onceward.FieldPrints(onceward.NewOperationID("acme", "a.b", key), input, nil) {
			if seen[p.Sum] {
				t.Errorf("the print of %s under key %s was there before", p.Path, key)
			}
			seen[p.Sum] = true
		}
	}
	if len(seen) != 2*4 {
		t.Errorf("%d prints", len(seen))
	}
}

func TestFieldPrintIsStable(t *testing.T) {
	t.Parallel()
	got := prints(t, `{"amount":1e2}`)
	if len(got) != 1 || got[0].Path != "amount" || !got[0].Top || hex.EncodeToString(got[0].Sum[:]) != "8b691982c55f2907" {
		t.Errorf("prints are %+v", got)
	}
}

func TestFieldPrintsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 10_000)
	for name, raw := range map[string]string{
		"members": flatObject(5000, nil),
		"leaves":  `{"a":[` + strings.Repeat("1,", 5000) + `1]}`,
		"names":   `{"` + long + `":{"` + long + `1":1,"` + long + `2":2}}`,
		"nested":  strings.Repeat(`{"name":`, 60) + "1" + strings.Repeat("}", 60),
	} {
		list := prints(t, raw)
		stored := onceward.AppendFieldPrints(nil, list)
		if len(list) > 2*onceward.FieldPrintsMax || len(stored) > 4<<10 {
			t.Errorf("%s: %d prints in %d bytes", name, len(list), len(stored))
		}
		if back, err := onceward.ParseFieldPrints(stored); err != nil || !reflect.DeepEqual(back, list) {
			t.Errorf("%s: read back with %v", name, err)
		}
	}
	got := onceward.DifferingFields(prints(t, `{"`+long+`":{"`+long+`1":1,"`+long+`2":2}}`), prints(t, `{"`+long+`":{"`+long+`1":1,"`+long+`2":3}}`))
	if len(got) != 1 {
		t.Errorf("long names differ in %q", got)
	}
}

func TestFieldPrintsAreReadBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := prints(t, string(spell(rand.New(rand.NewPCG(1, 1)), drawValue(t, 4))))
		stored := onceward.AppendFieldPrints([]byte("x"), list)[1:]
		back, err := onceward.ParseFieldPrints(stored)
		if err != nil || len(back) != len(list) || len(list) > 0 && !reflect.DeepEqual(back, list) {
			t.Fatalf("%+v is read as %+v, %v", list, back, err)
		}
		if cut := rapid.IntRange(1, len(stored)).Draw(t, "cut"); cut < len(stored) {
			if _, err := onceward.ParseFieldPrints(stored[:cut]); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
				t.Fatalf("cut to %d of %d bytes: %v", cut, len(stored), err)
			}
		}
		if _, err := onceward.ParseFieldPrints(append(slices.Clone(stored), 0)); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
			t.Fatalf("with a byte behind: %v", err)
		}
	})
	if none, err := onceward.ParseFieldPrints(nil); none != nil || err != nil {
		t.Errorf("no bytes are %v, %v", none, err)
	}
}

func TestBrokenFieldPrintsAreRefused(t *testing.T) {
	t.Parallel()
	sum := bytes.Repeat([]byte{7}, 8)
	broken := map[string][]byte{
		"unknown format":          {2, 0},
		"no count":                {1},
		"too many":                {1, 0xff, 0x7f},
		"path that shares nobody": slices.Concat([]byte{1, 1, 3, 1, 'a'}, sum),
		"length beyond the end":   {1, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 'a'},
		"endless number":          {1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	}
	for name, b := range broken {
		if got, err := onceward.ParseFieldPrints(b); !onceward.Is(err, onceward.CodeLedgerCorrupt) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func BenchmarkFieldPrints(b *testing.B) {
	n := parse(b, string(benchmarkText(200)))
	id := knownIdentity.OperationID()
	b.ReportAllocs()
	for b.Loop() {
		onceward.FieldPrints(id, n, nil)
	}
}
