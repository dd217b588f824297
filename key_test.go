package onceward_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"pgregory.net/rapid"
)

func deriveKey(t fataler, parts ...string) onceward.Key {
	t.Helper()
	key, err := onceward.DeriveKey(parts)
	if err != nil {
		t.Fatalf("DeriveKey(%q): %v", parts, err)
	}
	return key
}

func TestDerivedKeyIsTheArrayOfItsParts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		parts []string
		want  onceward.Key
	}{
		{[]string{"shop", "evt-1"}, `["shop","evt-1"]`},
		{[]string{"one"}, `["one"]`},
		{[]string{`a"b\`, "é\n\x00"}, `["a\"b\\","é\n\u0000"]`},
		{[]string{" padded "}, `[" padded "]`},
	}
	for _, tt := range tests {
		if got := deriveKey(t, tt.parts...); got != tt.want {
			t.Errorf("DeriveKey(%q) = %s, want %s", tt.parts, got, tt.want)
		}
	}
}

func TestKeyPartsDoNotRunIntoEachOther(t *testing.T) {
	t.Parallel()
	lists := [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"a", "b", "c"}, {"a,b", "c"}, {`a","b`, "c"}, {"c", "ab"}, {"AB", "c"}, {"e\u0301"}, {"\u00e9"}}
	seen := make(map[onceward.Key][]string)
	for _, parts := range lists {
		key := deriveKey(t, parts...)
		if other, taken := seen[key]; taken {
			t.Errorf("%q and %q have the key %s", parts, other, key)
		}
		seen[key] = parts
	}
}

func TestUnusableKeyPartIsNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		parts []string
		index int
		want  string
	}{
		{[]string{"", "a"}, 0, "key part 1 is empty"},
		{[]string{"a", ""}, 1, "key part 2 is empty"},
		{[]string{"a", "b", " \t\u00a0\n"}, 2, "key part 3 is blank"},
		{[]string{"a", "b\xff"}, 1, "key part 2 is not valid UTF-8"},
	}
	for _, tt := range tests {
		key, err := onceward.DeriveKey(tt.parts)
		var part *onceward.KeyPartError
		if !errors.As(err, &part) || part.Index != tt.index || key != "" || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("DeriveKey(%q) = %q, %v", tt.parts, key, err)
		}
		if !onceward.Is(err, onceward.CodeKeyInvalid) {
			t.Errorf("code is %s", onceward.CodeOf(err))
		}
	}
	many := strings.Split(strings.Repeat("x", onceward.KeyPartsMax+1), "")
	for _, parts := range [][]string{nil, {}, many} {
		if key, err := onceward.DeriveKey(parts); !onceward.Is(err, onceward.CodeKeyInvalid) || key != "" {
			t.Errorf("DeriveKey of %d parts = %q, %v", len(parts), key, err)
		}
	}
	deriveKey(t, many[1:]...)
}

func TestLongDerivedKeysStayReadableAndApart(t *testing.T) {
	t.Parallel()
	want := onceward.Key(`["shop","` + strings.Repeat("x", 191) + "~284h28grgsdjf27tvvgafsbs5qglbj7m79nrf9e287f60ve0hr6g")
	if got := deriveKey(t, "shop", strings.Repeat("x", 300)); got != want {
		t.Errorf("long key is %s", got)
	}
	fits := strings.Repeat("x", onceward.KeyBytesMax-len(`[""]`))
	if got := deriveKey(t, fits); got != onceward.Key(`["`+fits+`"]`) {
		t.Errorf("a key that just fits is %s", got)
	}
	if got := deriveKey(t, strings.Repeat("é", 200)); !strings.HasPrefix(string(got), `["`+strings.Repeat("é", 99)+"~") {
		t.Errorf("a long key is cut inside a character or elsewhere: %q", got)
	}
	if got := deriveKey(t, "x"+strings.Repeat("é", 200)); !strings.HasPrefix(string(got), `["x`+strings.Repeat("é", 98)+"~") {
		t.Errorf("a long key is cut inside a character: %q", got)
	}
	seen := make(map[onceward.Key]bool)
	for _, last := range []string{"", "x", "y", "xx"} {
		seen[deriveKey(t, fits+"x"+last)] = true
	}
	for _, parts := range [][]string{{fits, "1"}, {fits, "2"}, {fits + `","1`}} {
		seen[deriveKey(t, parts...)] = true
	}
	for key := range seen {
		if len(key) > onceward.KeyBytesMax {
			t.Errorf("key of %d bytes", len(key))
		}
	}
	if len(seen) != 7 {
		t.Errorf("7 long keys became %d", len(seen))
	}
}

func TestDerivedKeysAreBoundedTextAndInjective(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.StringMatching(`[ -~]{1,20}`), rapid.StringN(1, 300, -1), rapid.SampledFrom([]string{"~", "]", `"`, "\x00", "é"}))
	list := rapid.SliceOfN(part, 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		x, errX := onceward.DeriveKey(a)
		y, errY := onceward.DeriveKey(b)
		if errX != nil || errY != nil {
			return // blank parts
		}
		if len(x) > onceward.KeyBytesMax || strings.ToValidUTF8(string(x), "") != string(x) || strings.ContainsRune(string(x), 0) {
			t.Fatalf("key of %q is %q", a, x)
		}
		if json.Valid([]byte(x)) == strings.Contains(string(x), "~") && !strings.Contains(strings.Join(a, ""), "~") {
			t.Fatalf("key of %q is %q", a, x)
		}
		equal := strings.Join(quoteAll(a), ",") == strings.Join(quoteAll(b), ",")
		if (x == y) != equal {
			t.Fatalf("%q and %q: %q and %q", a, b, x, y)
		}
	})
}

func quoteAll(parts []string) []string {
	var out []string
	for _, part := range parts {
		quoted, _ := json.Marshal(part)
		out = append(out, string(quoted))
	}
	return out
}

func TestForkHasItsOwnKey(t *testing.T) {
	t.Parallel()
	derived := deriveKey(t, "shop", "evt-1")
	tests := []struct{ old, fork, want onceward.Key }{
		{"order-1", "again", `["order-1","fork","again"]`},
		{derived, "again", `[["shop","evt-1"],"fork","again"]`},
		{`["order-1","fork","again"]`, "b", `[["order-1","fork","again"],"fork","b"]`},
		{`["a", "b"]`, "again", `["[\"a\", \"b\"]","fork","again"]`},
		{`[x`, "again", `["[x","fork","again"]`},
	}
	for _, tt := range tests {
		if got := onceward.ForkKey(tt.old, tt.fork); got != tt.want {
			t.Errorf("ForkKey(%s, %s) = %s, want %s", tt.old, tt.fork, got, tt.want)
		}
	}
	if forged := deriveKey(t, string(derived), "fork", "again"); forged == onceward.ForkKey(derived, "again") {
		t.Errorf("business fields can forge the fork %s", forged)
	}
	long := onceward.Key(strings.Repeat("x", onceward.KeyBytesMax))
	first, second := onceward.ForkKey(long, long), onceward.ForkKey(long, long[1:])
	if len(first) > onceward.KeyBytesMax || len(second) > onceward.KeyBytesMax || first == second {
		t.Errorf("forks of a long key are %s and %s", first, second)
	}
}

func TestCallerKeyRawOrQuotedIsOneKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", onceward.KeyBytesMax)
	tests := []struct {
		line string
		want onceward.Key
	}{
		{`abc`, "abc"},
		{`"abc"`, "abc"},
		{"  abc\t", "abc"},
		{`ABC`, "ABC"},
		{`"a\"b"`, `a"b`},
		{`a"b`, `a"b`},
		{`a"`, `a"`},
		{`"a\\b"`, `a\b`},
		{`a\b`, `a\b`},
		{`"\"abc\""`, `"abc"`},
		{`a,b;c=1`, "a,b;c=1"},
		{"!~", "!~"},
		{long, onceward.Key(long)},
		{`"` + long + `"`, onceward.Key(long)},
		{`"` + strings.Repeat(`\"`, onceward.KeyBytesMax) + `"`, onceward.Key(strings.Repeat(`"`, onceward.KeyBytesMax))},
	}
	for _, tt := range tests {
		if got, err := onceward.ParseCallerKey([]string{tt.line}); err != nil || got != tt.want {
			t.Errorf("ParseCallerKey(%q) = %q, %v; want %q", tt.line, got, err, tt.want)
		}
	}
}

func TestUnusableCallerKeyIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []string
		code  onceward.Code
	}{
		{"none", nil, onceward.CodeKeyMissing},
		{"two lines", []string{"abc", "abc"}, onceward.CodeKeyInvalid},
		{"two lines, one empty", []string{"abc", ""}, onceward.CodeKeyInvalid},
		{"empty", []string{""}, onceward.CodeKeyInvalid},
		{"blank", []string{" \t "}, onceward.CodeKeyInvalid},
		{"empty in quotes", []string{`""`}, onceward.CodeKeyInvalid},
		{"256 characters", []string{strings.Repeat("k", 256)}, onceward.CodeKeyInvalid},
		{"256 characters in quotes", []string{`"` + strings.Repeat("k", 256) + `"`}, onceward.CodeKeyInvalid},
		{"space inside", []string{"a b"}, onceward.CodeKeyInvalid},
		{"space inside quotes", []string{`"a b"`}, onceward.CodeKeyInvalid},
		{"space at the end inside quotes", []string{`"a "`}, onceward.CodeKeyInvalid},
		{"two lines joined by a proxy", []string{"a, b"}, onceward.CodeKeyInvalid},
		{"two quoted lines joined", []string{`"a","b"`}, onceward.CodeKeyInvalid},
		{"parameters", []string{`"a";p=1`}, onceward.CodeKeyInvalid},
		{"control character", []string{"a\x01b"}, onceward.CodeKeyInvalid},
		{"NUL", []string{"a\x00"}, onceward.CodeKeyInvalid},
		{"line end", []string{"a\r\n"}, onceward.CodeKeyInvalid},
		{"delete", []string{"a\x7f"}, onceward.CodeKeyInvalid},
		{"beyond ASCII", []string{"é"}, onceward.CodeKeyInvalid},
		{"beyond ASCII in quotes", []string{`"é"`}, onceward.CodeKeyInvalid},
		{"no closing quote", []string{`"abc`}, onceward.CodeKeyInvalid},
		{"quote alone", []string{`"`}, onceward.CodeKeyInvalid},
		{"escaped closing quote", []string{`"abc\"`}, onceward.CodeKeyInvalid},
		{"unknown escape", []string{`"a\n"`}, onceward.CodeKeyInvalid},
		{"cut escape", []string{`"a\`}, onceward.CodeKeyInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, err := onceward.ParseCallerKey(tt.lines)
			if key != "" || onceward.CodeOf(err) != tt.code {
				t.Errorf("ParseCallerKey(%q) = %q, %v; want %s", tt.lines, key, err, tt.code)
			}
		})
	}
}

func TestBodyKeyIsTakenAsItStands(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"abc", `"abc"`, `a\b`, strings.Repeat("k", onceward.KeyBytesMax)} {
		if key, err := onceward.ValidateCallerKey(s); err != nil || string(key) != s {
			t.Errorf("ValidateCallerKey(%q) = %q, %v", s, key, err)
		}
	}
	for _, s := range []string{"", " ", " abc", "a b", "a\n", "é", "a\x00", strings.Repeat("k", 256)} {
		if key, err := onceward.ValidateCallerKey(s); key != "" || !onceward.Is(err, onceward.CodeKeyInvalid) {
			t.Errorf("ValidateCallerKey(%q) = %q, %v", s, key, err)
		}
	}
}

func FuzzParseCallerKey(f *testing.F) {
	for _, seed := range []string{"abc", `"abc"`, `"a\"b\\"`, " abc ", "a b", "", `"`, `"a";b=1`, "é", strings.Repeat("k", 256)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, err := onceward.ParseCallerKey([]string{line})
		if err != nil {
			if key != "" || !onceward.Is(err, onceward.CodeKeyInvalid) {
				t.Fatalf("ParseCallerKey(%q) = %q, %v", line, key, err)
			}
			return
		}
		if again, err := onceward.ValidateCallerKey(string(key)); err != nil || again != key {
			t.Fatalf("%q gives a key that is none: %q, %v", line, key, err)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(key)) + `"`
		if again, err := onceward.ParseCallerKey([]string{quoted}); err != nil || again != key {
			t.Fatalf("%q is the key %q, but quoted %q, %v", line, key, again, err)
		}
		raw := strings.Trim(line, " \t")
		if raw != string(key) && !strings.HasPrefix(raw, `"`) {
			t.Fatalf("raw %q became %q", line, key)
		}
	})
}

func BenchmarkDeriveKey(b *testing.B) {
	parts := []string{"shop", "evt_01HZX3"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := onceward.DeriveKey(parts); err != nil {
			b.Fatal(err)
		}
	}
}
