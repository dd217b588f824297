package onceward_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func TestNormalizersBringSpellingsTogether(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		normalize func(string) (string, error)
		spellings []string
		want      string // empty: refused
	}{
		{"trim", onceward.NormalizeTrim, []string{"a b", " a b\t", "\u00a0a b\n"}, "a b"},
		{"lower", onceward.NormalizeLower, []string{"straße é", "STRAßE É"}, "straße é"},
		{"digits", onceward.NormalizeDigits, []string{"0042", "INV-00/42", " 00 42"}, "0042"},
		{"digits: none", onceward.NormalizeDigits, []string{"", "INV"}, ""},
		{"digits: another script", onceward.NormalizeDigits, []string{"1\u0661", "\uff11"}, ""},
		{"date", onceward.NormalizeDate, []string{"2026-11-29", " 2026-11-29 ", "2026-11-29T00:00:00Z", "2026-11-29t23:59:59.999z", "2026-11-30T01:30:00+02:00", "2026-11-28T23:30:00-05:00"}, "2026-11-29"},
		{"date: leap day", onceward.NormalizeDate, []string{"2028-02-29"}, "2028-02-29"},
		{"date: broken", onceward.NormalizeDate, []string{"", "2026-02-29", "2026-13-01", "29.11.2026", "11/29/2026", "20261129", "2026-11-29T10:00:00", "2026-1-2", "0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"}, ""},
		{"email", onceward.NormalizeEmail, []string{"Zoe.M+x@example.com", " Zoe.M+x@EXAMPLE.com\n"}, "Zoe.M+x@example.com"},
		{"email: other domain letters", onceward.NormalizeEmail, []string{"a@BÜCHER.example"}, "a@bücher.example"},
		{"email: broken", onceward.NormalizeEmail, []string{"", "a", "@b", "a@", "a@b@c", "Zoe <a@b.c>", "a b@c.d", "a@b\u0000c", "a@b\xff", `"a"@b.c`, "a(x)@b.c", strings.Repeat("a", 250) + "@b.cd"}, ""},
		{"e164", onceward.NormalizeE164, []string{"+442071838750", "+44 20 7183 8750", "+44-20-7183\u201187\u00a050", " +44 (20) 71838750 "}, "+442071838750"},
		{"e164: shortest", onceward.NormalizeE164, []string{"+1234567"}, "+1234567"},
		{"e164: longest", onceward.NormalizeE164, []string{"+123456789012345"}, "+123456789012345"},
		{"e164: broken", onceward.NormalizeE164, []string{"", "+", "442071838750", "0044 20 71838750", "+044 20 71838750", "+44 (0)20 7183 8750", "+123456", "+1234567890123456", "+4420718x8750", "++442071838750", "+44.20.7183", "+\u0661234567"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range tt.spellings {
				got, err := tt.normalize(s)
				if got != tt.want || (err == nil) == (tt.want == "") {
					t.Errorf("%q becomes %q, %v; want %q", s, got, err, tt.want)
				}
				if err != nil && !onceward.Is(err, onceward.CodeKeyInvalid) {
					t.Errorf("%q: code is %s", s, onceward.CodeOf(err))
				}
				if again, err := tt.normalize(got); tt.want != "" && (err != nil || again != got) {
					t.Errorf("%q becomes %q, %v when normalized again", got, again, err)
				}
			}
		})
	}
}
