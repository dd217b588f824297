package console

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// search is what the page of operations was asked for, as its form has it.
type search struct {
	Key, Reference, Correlation, Run, Tool, Actor string
	States                                        []string
	From, To                                      string // as fields of forms have times, in UTC
}

// Limits of saved searches: they are kept in a cookie.
const (
	filtersMax      = 12
	filterNameMax   = 40
	filterQueryMax  = 300 // bytes
	filterCookie    = "onceward_filters"
	filterCookieMax = 3500
)

func searchOf(q url.Values) search {
	one := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	s := search{Key: one("key"), Reference: one("reference"), Correlation: one("correlation"), Run: one("run"), Tool: one("tool"), Actor: one("actor"), From: one("from"), To: one("to")}
	for _, state := range onceward.AllStates {
		if slices.Contains(q["state"], state.String()) {
			s.States = append(s.States, state.String())
		}
	}
	return s
}

// At is the address of the search.
func (s search) At() string { return link("/operations", s.Query()) }

// Query is the search as the question of its address.
func (s search) Query() string {
	q := url.Values{}
	for name, value := range map[string]string{"key": s.Key, "reference": s.Reference, "correlation": s.Correlation, "run": s.Run, "tool": s.Tool, "actor": s.Actor, "from": s.From, "to": s.To} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(s.States) > 0 {
		q["state"] = s.States
	}
	return q.Encode()
}

// filter is the search as the ledger takes it.
func (s search) filter() (f onceward.Filter, err error) {
	f = onceward.Filter{Key: onceward.Key(s.Key), Reference: s.Reference, CorrelationID: s.Correlation, Run: s.Run, Actor: s.Actor, Limit: ListPage}
	if s.Tool != "" {
		if f.Tool, err = onceward.ParseToolName(s.Tool); err != nil {
			return f, err
		}
	}
	for _, name := range s.States {
		state, err := onceward.ParseState(name)
		if err != nil {
			return f, err
		}
		f.States = append(f.States, state)
	}
	f.From, f.To, err = timesOf(s.From, s.To)
	return f, err
}

// timesOf reads the two times of a search; each may be empty.
func timesOf(from, to string) (f, t time.Time, err error) {
	if f, err = timeField("search.from", from); err != nil {
		return f, t, err
	}
	if t, err = timeField("search.to", to); err != nil {
		return f, t, err
	}
	if !f.IsZero() && !t.IsZero() && !f.Before(t) {
		err = &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.times", from, to), Hint: word("error.times.hint")}
	}
	return f, t, err
}

// timeField reads a time as forms have it, to the minute, UTC. The label is the
// key of what the form calls it.
func timeField(label, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.time", word(label), short(40, s)), Hint: word("error.time.hint")}
}

// operationsView is the page of operations.
type operationsView struct {
	Search     search
	Narrowed   bool
	States     []stateChoice
	Tools      []string
	Presets    []preset
	Saved      []preset
	Operations []*onceward.Operation
	More       string // link to the next page; empty: there is none
	Partly     bool
	Until      time.Time // Partly: how far back it looked
	First      bool
	Now        time.Time
}

type stateChoice struct {
	Name string
	On   bool
}

// preset is a search with a name.
type preset struct{ Name, Query string }

// At is the address of the search.
func (p preset) At() string { return link("/operations", p.Query) }

// operations is GET /operations.
func operations(p *page) error {
	q := p.req.URL.Query()
	s := searchOf(q)
	f, err := s.filter()
	if err != nil {
		return err
	}
	if f.After, err = readCursor(q.Get("after")); err != nil {
		return err
	}
	// A name of an operation leads to it.
	if id, err := onceward.ParseOperationID(s.Key); err == nil {
		p.redirect("/operations/" + id.String())
		return nil
	}
	found, err := p.ledger.Search(p.req.Context(), p.who, f)
	if err != nil {
		return err
	}
	v := operationsView{Search: s, Narrowed: s.Query() != "", Operations: found.Operations, Partly: found.Partly, Until: found.Next.CreatedAt, First: q.Get("after") == "",
		Presets: presets(p.now), Saved: p.savedFilters(), Now: p.now}
	if found.Next != (onceward.Cursor{}) {
		v.More = link("/operations", s.Query(), "after="+writeCursor(found.Next))
	}
	for _, state := range onceward.AllStates {
		v.States = append(v.States, stateChoice{state.String(), slices.Contains(s.States, state.String())})
	}
	for _, t := range p.ledger.Tools() {
		v.Tools = append(v.Tools, string(t.Info().Name))
	}
	return p.show("operations", word("operations.title"), v)
}

// presets are searches that everybody needs.
func presets(now time.Time) []preset {
	return []preset{
		{word("operations.preset.unknown"), "state=outcome_unknown"},
		{word("operations.preset.people"), "state=awaiting_approval&state=needs_review"},
		{word("operations.preset.dead"), "state=failed&state=abandoned&state=needs_review"},
		{word("operations.preset.waiting"), "state=ready"},
		{word("operations.preset.hour"), "from=" + url.QueryEscape(dayOf(now.Add(-time.Hour)))},
	}
}

// link is an address with a question. Templates get addresses whole: a question
// that is put behind a path in a template is escaped as if it were one value.
func link(path string, queries ...string) string {
	queries = slices.DeleteFunc(queries, func(q string) bool { return q == "" })
	if len(queries) == 0 {
		return path
	}
	return path + "?" + strings.Join(queries, "&")
}

// writeCursor is a place as links have it.
func writeCursor(c onceward.Cursor) string {
	return strconv.FormatInt(c.CreatedAt.UnixMicro(), 10) + "." + c.ID.String()
}

func readCursor(s string) (c onceward.Cursor, err error) {
	if s == "" {
		return c, nil
	}
	micros, id, _ := strings.Cut(s, ".")
	at, err := strconv.ParseInt(micros, 10, 64)
	if err == nil {
		c.CreatedAt = time.UnixMicro(at).UTC()
		c.ID, err = onceward.ParseOperationID(id)
	}
	if err != nil {
		return c, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: word("error.cursor")}
	}
	return c, nil
}

// savedFilters reads the browser's own searches: text from a stranger.
func (p *page) savedFilters() []preset {
	c, err := p.req.Cookie(filterCookie)
	if err != nil || len(c.Value) > filterCookieMax {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	var all []preset
	if err != nil || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	kept := all[:0]
	for _, f := range all[:min(len(all), filtersMax)] {
		q, err := url.ParseQuery(f.Query)
		if s := searchOf(q).Query(); err == nil && isFilterName(f.Name) && s != "" && len(s) <= filterQueryMax {
			kept = append(kept, preset{f.Name, s})
		}
	}
	return kept
}

func (p *page) keepFilters(all []preset) error {
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err) // names and queries
	}
	value := base64.RawURLEncoding.EncodeToString(raw)
	if len(value) > filterCookieMax || len(all) > filtersMax {
		return &onceward.Error{Code: onceward.CodeTooLarge, Message: word("error.filters"), Hint: word("error.filters.hint")}
	}
	http.SetCookie(p.w, &http.Cookie{Name: filterCookie, Value: value, Path: "/operations", MaxAge: int((365 * 24 * time.Hour).Seconds()), HttpOnly: true,
		Secure: p.opts.Secure, SameSite: http.SameSiteLaxMode})
	return nil
}

// isFilterName reports whether a search may be called so: a few characters, each
// of which is seen.
func isFilterName(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= filterNameMax && onceward.Visible(s) == s
}

// saveFilter is POST /operations/filters.
func saveFilter(p *page) error {
	q, err := url.ParseQuery(p.field("query"))
	query, name := searchOf(q).Query(), onceward.Visible(p.field("name"))
	if err != nil || query == "" || len(query) > filterQueryMax || !isFilterName(name) {
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.filter"), Hint: word("error.filter.hint")}
	}
	all := slices.DeleteFunc(p.savedFilters(), func(f preset) bool { return f.Name == name })
	if err := p.keepFilters(append(all, preset{name, query})); err != nil {
		return err
	}
	return p.done("/operations?"+query, "filter_saved")
}

// dropFilter is POST /operations/filters/drop.
func dropFilter(p *page) error {
	name := p.field("name")
	if err := p.keepFilters(slices.DeleteFunc(p.savedFilters(), func(f preset) bool { return f.Name == name })); err != nil {
		return err
	}
	return p.done("/operations", "filter_dropped")
}
