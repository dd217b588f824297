package onceward_test

import (
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// FuzzPath holds that no text makes the reader of paths panic, and that what it
// reads is written as text that reads as the same path.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"subject", "customer.note", "items[3].note", "items[*]", `customer["first name"]`, `a["\ud83d\ude00"]`, `["a"]`, "a..b", "a[", "a[-1]", "a[99999999999999999999]", `a["\u0000"]`, "ünï", "\xff", `a["\ud800"]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := onceward.ParsePath(text)
		if err != nil {
			if !onceward.Is(err, onceward.CodeContractInvalid) || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q is refused with %q", text, err)
			}
			return
		}
		again, err := onceward.ParsePath(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q is written %q, which reads as %q, %v", text, p, again, err)
		}
	})
}
