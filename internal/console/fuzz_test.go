package console

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// FuzzSavedSearches holds that no cookie makes its reader panic, and that what is
// read of one is bounded and leads to searches of ours alone.
func FuzzSavedSearches(f *testing.F) {
	for _, seed := range []string{`[{"Name":"mine","Query":"state=failed&tool=a.b"}]`, `[{"Name":"","Query":""}]`, `[null,{"Query":"%zz"}]`, `{}`, `[{"Name":"a","Query":"key=%00&state=x&other=1"}]`, "[" + strings.Repeat(`{"Name":"a","Query":"key=1"},`, 20) + "{}]", "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, cookie := range []string{base64.RawURLEncoding.EncodeToString(value), string(value)} {
			req := httptest.NewRequest(http.MethodGet, "/operations", nil)
			req.Header.Set("Cookie", filterCookie+"="+cookie)
			saved := (&page{req: req}).savedFilters()
			if len(saved) > filtersMax {
				t.Fatalf("%q holds %d searches", value, len(saved))
			}
			for _, s := range saved {
				q, err := url.ParseQuery(s.Query)
				if err != nil || searchOf(q).Query() != s.Query || len(s.Name) > filterNameMax || len(s.Query) > filterQueryMax {
					t.Fatalf("%q holds the search %+v, %v", value, s, err)
				}
			}
		}
	})
}

// FuzzPlace holds that no place in a list, and no address to go back to, makes its
// reader panic, or leads off this server.
func FuzzPlace(f *testing.F) {
	for _, seed := range []string{"", "1780000000000000.op_u4bg70ae7qgmank42u9h5alrik", "5_1780000000000000.op_u4bg70ae7qgmank42u9h5alrik", "1.2.3.4", "-1.-1.-1.-1", "9223372036854775807.x", "_", "/operations?key=a", "//evil.example", "/\\evil.example", "javascript:alert(1)", "a\nb", "\u202etxt\x1b[31m"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := readCursor(s); err == nil && s != "" {
			if again, err := readCursor(writeCursor(c)); err != nil || again != c {
				t.Fatalf("%q is the place %v, which is written as %v, %v", s, c, again, err)
			}
		}
		if c, err := readReviewCursor(s); err == nil && s != "" {
			if again, err := readReviewCursor(writeReviewCursor(c)); err != nil || again != c {
				t.Fatalf("%q is the place %v, which is written as %v, %v", s, c, again, err)
			}
		}
		if c, err := readTrailCursor(s); err == nil && s != "" {
			if again, err := readTrailCursor(writeTrailCursor(c)); err != nil || again != c {
				t.Fatalf("%q is the place %v, which is written as %v, %v", s, c, again, err)
			}
		}
		base := &url.URL{Scheme: "https", Host: "onceward.example", Path: "/"}
		if u, err := base.Parse(local(s)); err != nil || u.Host != base.Host || u.Scheme != base.Scheme {
			t.Fatalf("%q leads to %q", s, local(s))
		}
		if text := onceward.Visible(s); !utf8.ValidString(text) || strings.ContainsAny(text, "\r\x00\x1b\u202e") {
			t.Fatalf("%q is shown as %q", s, text)
		}
	})
}
