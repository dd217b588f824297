package contract

import "testing"

// FuzzQuantity holds that durations, sizes and rates are bounded and positive,
// and that what is written for people reads as the same.
func FuzzQuantity(f *testing.F) {
	for _, seed := range []string{"10s", "1m30s", "90d", "1d12h", "36500d", "0s", "-1s", "1d-1s", "d", "1e9s", "256KiB", "16MiB", "1GiB", "1099511627776", "1 kB", "-1B", "9223372036854775807KiB", "10/s", "100 / m", "5000/24h", "1/0s", "9223372036854775807/s", "1/-1s", "0x10s", "1_0s", "µs", "1.5h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseDuration(text); err == nil {
			if d < 0 || d > durationMax {
				t.Fatalf("%q is the duration %s", text, d)
			}
			if again, err := parseDuration(formatDuration(d)); err != nil || again != d {
				t.Fatalf("%q is written %q, which reads as %s, %v", text, formatDuration(d), again, err)
			}
		}
		if n, err := parseSize(text); err == nil {
			if n < 0 || n > 1<<40 {
				t.Fatalf("%q is the size %d", text, n)
			}
			if again, err := parseSize(formatSize(n)); err != nil || again != n {
				t.Fatalf("%q is written %q, which reads as %d, %v", text, formatSize(n), again, err)
			}
		}
		if r, err := parseRate(text); err == nil && (r.Count < 1 || r.Per <= 0 || r.Per > durationMax) {
			t.Fatalf("%q is the rate %+v", text, r)
		}
	})
}
