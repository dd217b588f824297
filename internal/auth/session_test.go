package auth

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzLocalPath holds that nobody is led off this server by the sign-in, as a
// browser reads addresses, and that the cookie of a sign-in reads as it was made.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/", "/reviews/op_1?a=b#c", "//evil.example", "/\\evil.example", "https://evil.example", "/%2f/evil", "/\tevil", "/a//b", "javascript:alert(1)", "/..//evil.example", "\x00/"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://onceward.example/auth/login")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		to := localPath(s)
		u, err := base.Parse(to)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil || strings.ContainsAny(to, "\\\r\n\t") || strings.HasPrefix(to, "//") {
			t.Fatalf("%q leads to %q", s, to)
		}
		if secret, path, ok := cut(s); ok && len(secret)+len(path) > len(s) {
			t.Fatalf("the cookie %q has the parts %q and %q", s, secret, path)
		}
	})
}
