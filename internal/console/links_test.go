package console_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

var (
	linkPattern = regexp.MustCompile(` href="([^"]*)"`)
	namePattern = regexp.MustCompile(`^[a-z]+$`)
)

// TestEveryLinkLeadsToAPage follows each link from the first page on, as somebody
// does who may do everything.
func TestEveryLinkLeadsToAPage(t *testing.T) {
	t.Parallel()
	const pagesMin = 100
	w := newWorld(t)
	w.story()
	b := w.visit("ada", onceward.AllRoles...)
	seen := map[string]bool{"/": true}
	for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		p := b.get(at)
		if p.status != 200 {
			t.Errorf("%s is linked and answers %d", at, p.status)
			continue
		}
		if !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range linkPattern.FindAllStringSubmatch(p.text, -1) {
			to, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil || to.Host != "" {
				t.Errorf("%s links to %q: %v", at, m[1], err)
				continue
			}
			if to.Path == "" && to.RawQuery == "" {
				if !strings.Contains(p.text, ` id="`+to.Fragment+`"`) {
					t.Errorf("%s links to #%s and has none", at, to.Fragment)
				}
				continue
			}
			for name := range to.Query() {
				if !namePattern.MatchString(name) {
					t.Errorf("%s links to %q, which asks for %q", at, m[1], name)
				}
			}
			if next := to.RequestURI(); !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	if len(seen) < pagesMin {
		t.Errorf("only %d pages are linked, want %d at least", len(seen), pagesMin)
	}
}

func TestSearchOfEverybodyFindsWhatItSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.story()
	b := w.visit("ada", onceward.AllRoles...)
	found := b.get(b.get("/operations").link("Unknown now")).want(200, s.unknown.String())
	found.lacks(s.failed.String(), s.review.String(), s.approved.String())
	found = b.get(b.get("/operations").link("Dead letters")).want(200, s.failed.String(), s.review.String())
	found.lacks(s.unknown.String(), s.approved.String())
	saved := found.submit("/operations/filters", "name", "dead & gone").want(200)
	b.get(saved.link("dead &amp; gone")).want(200, s.failed.String()).lacks(s.unknown.String())
}

// link is the address behind a link's text.
func (p *page) link(text string) string {
	p.Helper()
	m := regexp.MustCompile(` href="([^"]*)"[^>]*>` + regexp.QuoteMeta(text) + `</a>`).FindStringSubmatch(p.text)
	if m == nil {
		p.Fatalf("%s has no link %q:\n%s", p.url, text, p.text)
	}
	return html.UnescapeString(m[1])
}
