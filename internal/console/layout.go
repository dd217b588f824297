package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// templates are the pages, each with the layout and the parts around it. A page is
// parsed when it is first shown: most servers show few of them, or none, and all
// of them together are as large as everything else that a server at rest keeps.
func templates(assets map[string]string) map[string]func() *template.Template {
	base := sync.OnceValue(func() *template.Template { return layout(assets) })
	views := map[string]func() *template.Template{}
	names, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		panic(err) // the pattern is right
	}
	for _, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "pages/"), ".html")
		if name != "layout" && !strings.HasPrefix(name, "part_") {
			views[name] = sync.OnceValue(func() *template.Template { return template.Must(template.Must(base().Clone()).ParseFS(files, file)) })
		}
	}
	return views
}

// layout is what all pages share.
func layout(assets map[string]string) *template.Template {
	base := template.New("").Funcs(template.FuncMap{
		"w": word, "wordOr": wordOr, "counted": counted, "text": visibleText, "marked": marked, "sentence": sentence, "at": timeElement, "day": dayOf, "ago": ago, "took": took, "n": func(n any) string { return grouped(toInt(n)) },
		"badge": badge, "short": short, "asset": func(name string) string { return assets[name] }, "dict": dict, "state": stateWord, "event": eventWord, "json": pretty, "bytes": func(s string) []byte { return []byte(s) }, "list": func(v ...any) []any { return v },
		"since": func(now, at time.Time) string { return took(now.Sub(at)) },
	})
	return template.Must(base.ParseFS(files, "pages/layout.html", "pages/part_*.html"))
}

// dict makes a map for a part: key, value, key, value.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// visibleText escapes a text that came from elsewhere, and marks what a reader
// would not see in it.
func visibleText(v any) template.HTML {
	s := fmt.Sprint(v)
	seen := onceward.Visible(s)
	if seen == s {
		return template.HTML(template.HTMLEscapeString(s)) // #nosec G203 -- it is escaped
	}
	return marked(seen)
}

// sentence is an error's text as people read it: errors begin small and end with
// nothing. A first word that may be a name stays as it is.
func sentence(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if first != "" && !strings.ContainsFunc(first, func(r rune) bool { return r < 'a' || r > 'z' }) {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// written is a character as onceward.Visible writes it out.
var written = regexp.MustCompile(`⟦(?:U\+[0-9A-F]{4,6}|byte [0-9A-F]{2})⟧`)

// marked escapes a text in which what a reader would not see is written out, and
// marks that. Its own letters may look the same: then they are marked too.
func marked(s string) template.HTML {
	var b strings.Builder
	at := 0
	for _, m := range written.FindAllStringIndex(s, -1) {
		b.WriteString(template.HTMLEscapeString(s[at:m[0]]))
		b.WriteString(`<mark class="hidden-char" title="` + template.HTMLEscapeString(word("hidden")) + `">` + s[m[0]:m[1]] + `</mark>`)
		at = m[1]
	}
	b.WriteString(template.HTMLEscapeString(s[at:]))
	return template.HTML(b.String()) // #nosec G203 -- every part is escaped, or one of a few letters
}

// timeElement is a time in UTC; the script writes it in the viewer's zone.
func timeElement(t time.Time) template.HTML {
	if t.IsZero() {
		return template.HTML(`<span class="none">` + template.HTMLEscapeString(word("never")) + `</span>`) // #nosec G203 -- it is escaped
	}
	t = t.UTC()
	utc := t.Format("2006-01-02 15:04:05") + " UTC"
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339Nano) + `" title="` + utc + `">` + utc + `</time>`) // #nosec G203 -- digits
}

// dayOf is a time as fields of forms have it.
func dayOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04")
}

// took is a duration as people say it, in at most two units.
func took(d time.Duration) string {
	if d < 0 {
		d = -d
	}
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	}
	units := []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.of {
			continue
		}
		text := strconv.FormatInt(int64(d/u.of), 10) + " " + u.name
		if i+1 < len(units) {
			if rest := d % u.of / units[i+1].of; rest > 0 {
				text += " " + strconv.FormatInt(int64(rest), 10) + " " + units[i+1].name
			}
		}
		return text
	}
	return ""
}

// ago says how long ago, or in how long, a time is.
func ago(now, t time.Time) string {
	switch {
	case t.IsZero():
		return word("never")
	case t.After(now):
		return word("in", took(t.Sub(now)))
	}
	return word("ago", took(now.Sub(t)))
}

// grouped writes a number with thin gaps between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func toInt(v any) int64 {
	switch n := v.(type) {
	case int:
		return int64(n)
	case int64:
		return n
	}
	return 0
}

// short is the beginning of a long name, for columns.
func short(n int, v any) string {
	s := fmt.Sprint(v)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// pretty is JSON over several lines, or the text as it is.
func pretty(b []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil {
		return string(b)
	}
	return out.String()
}

// badge is a state as a coloured word; the word alone says it.
func badge(s onceward.State) template.HTML {
	return template.HTML(`<span class="badge ` + tone(s) + `">` + template.HTMLEscapeString(stateWord(s)) + `</span>`) // #nosec G203 -- it is escaped
}

func stateWord(s onceward.State) string { return wordOr("state.", s.String()) }

// tone is how much a state needs somebody's eyes.
func tone(s onceward.State) string {
	switch s {
	case onceward.StateSucceeded:
		return "good"
	case onceward.StateOutcomeUnknown, onceward.StateEffectPending:
		return "open"
	case onceward.StateNeedsReview, onceward.StateAwaitingApproval:
		return "ask"
	case onceward.StateFailed, onceward.StateAbandoned:
		return "bad"
	case onceward.StateReady, onceward.StateCancelled, onceward.StateCompensated:
		return "calm"
	}
	return "calm"
}

// eventWord is an event, or an action of the audit trail, in words. What the happy
// path writes has no event: then the trail says what the operation became.
func eventWord(name string) string {
	if state, became := strings.CutPrefix(name, "became_"); became {
		return word("event.became", wordOr("state.", state))
	}
	return wordOr("event.", name)
}
