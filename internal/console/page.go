package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// page is one request on its way through a route.
type page struct {
	*Console
	w     http.ResponseWriter
	req   *http.Request
	route *route
	who   onceward.Principal
	now   time.Time // the ledger's
}

// serve is the life of a request: who asks, whether he may, whether the form is
// ours, the use case, the page.
func (c *Console) serve(w http.ResponseWriter, req *http.Request, r *route) {
	p := &page{Console: c, w: w, req: req, route: r, now: c.ledger.Now()}
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			c.log.Error("page panicked", "path", r.Path, "panic", v, "stack", string(debug.Stack()))
			p.fail(onceward.Errorf(onceward.CodeInternal, "panic"))
		}
	}()
	if err := p.run(); err != nil {
		p.fail(err)
	}
}

func (p *page) run() error {
	if p.req.Method == http.MethodPost {
		p.req.Body = http.MaxBytesReader(p.w, p.req.Body, FormBytesMax)
		if err := p.req.ParseForm(); err != nil {
			if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
				return &onceward.Error{Code: onceward.CodeTooLarge, Message: word("error.form_size", tooLong.Limit>>20), Err: err}
			}
			return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: word("error.form"), Err: err}
		}
	}
	if p.route.Action != "" {
		var err error
		if p.who, err = p.opts.Authenticate(p.req); err != nil {
			return err
		}
		if err := onceward.Authorize(p.who, p.route.Action); err != nil {
			return err
		}
	}
	if p.req.Method == http.MethodPost {
		if err := p.opts.Sessions.CheckForm(p.req, p.req.PostForm.Get("form")); err != nil {
			return err
		}
	}
	return p.route.handle(p)
}

// may reports whether the principal has a role for an action: what a page shows
// follows from it, what is done is asked of the ledger anew.
func (p *page) may(a onceward.Action) bool { return onceward.Authorize(p.who, a) == nil }

// mayOn is may for one tool: what the credentials are narrowed to counts, too.
func (p *page) mayOn(a onceward.Action, tool onceward.ToolName, effect onceward.EffectClass) bool {
	return p.may(a) && p.who.Permits(tool, effect) == nil
}

// mayOnAll is may for what concerns every tool at once.
func (p *page) mayOnAll(a onceward.Action) bool {
	return p.may(a) && len(p.who.Tools)+len(p.who.Effects) == 0
}

// fail shows what is wrong. Whoever is not signed in is sent to where he can.
func (p *page) fail(err error) {
	if onceward.Is(err, onceward.CodeUnauthenticated) && p.req.Method == http.MethodGet && p.route.Path != "/live" {
		p.redirect("/signin?to=" + url.QueryEscape(p.req.URL.RequestURI()))
		return
	}
	p.Console.refuse(p, err)
}

// Refuse answers whoever was refused before or beside the pages.
func (c *Console) Refuse(w http.ResponseWriter, req *http.Request, err error) {
	p := &page{Console: c, w: w, req: req, route: &route{}, now: c.ledger.Now()}
	if who, failed := c.opts.Authenticate(req); failed == nil {
		p.who = who
	}
	c.refuse(p, err)
}

// errorView is what is said of an error.
type errorView struct {
	Status                        int
	Code, Message, Advice, Back   string
	SignInAt                      string // and back to where the form was
	SignIn, MayBeDone, Unexpected bool
}

func (c *Console) refuse(p *page, err error) {
	code := onceward.CodeOf(err)
	v := errorView{Status: c.opts.Status(code), Code: string(code), Message: messageOf(err), Advice: p.adviceOf(err), SignInAt: link("/signin", "to="+url.QueryEscape(p.back())),
		SignIn: code == onceward.CodeUnauthenticated, MayBeDone: onceward.AdviceFor(err).SideEffectPossible, Unexpected: code.ForOperators(), Back: p.back()}
	if v.Unexpected || code == onceward.CodeInternal {
		c.log.ErrorContext(p.req.Context(), "page refused", "path", p.route.Path, "code", v.Code, "error", err)
		v.Message = word("error.unexpected")
	}
	p.render(v.Status, "error", word("error.title"), v)
}

// messageOf is an error's own words, without what it was doing. Of an event that a
// state forbids, people are told why, and not by which name programs know it.
func messageOf(err error) string {
	var e *onceward.Error
	if !errors.As(err, &e) || e.Message == "" {
		return word("error.unexpected")
	}
	if m := notAllowed.FindStringSubmatch(e.Message); e.Code == onceward.CodeStateForbids && m != nil {
		if m[2] != "" {
			return m[2]
		}
		return word("error.state", wordOr("state.", m[1]))
	}
	return e.Message
}

// notAllowed is how the machine refuses an event.
var notAllowed = regexp.MustCompile(`^[a-z_]+ is not allowed in ([a-z_]+)(?:: (.+))?$`)

// adviceOf says what to do. Where an error speaks to programs, of routes and
// documents, the console's pages have words of their own for people.
func (p *page) adviceOf(err error) string {
	if own, ok := known("advice." + string(onceward.CodeOf(err))); ok && p.route.Path != "" {
		return own
	}
	return onceward.AdviceFor(err).Sentence
}

// back is the page from which a form was sent.
func (p *page) back() string {
	ref, err := url.Parse(p.req.Referer())
	if err != nil || ref.Host != p.req.Host || ref.Path == "" || ref.Path == "/signin" {
		return "/"
	}
	return local(ref.RequestURI())
}

// local is an address of this server; anything else is its first page.
func local(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") || strings.ContainsAny(s, "\\\r\n\t") || len(s) > 2048 {
		return "/"
	}
	return s
}

// redirect sends the browser on with a GET.
func (p *page) redirect(to string) {
	secure(p.w.Header())
	p.w.Header().Set("Cache-Control", "no-store")
	http.Redirect(p.w, p.req, to, http.StatusSeeOther)
}

// done sends the browser on, to a page that says what was done.
func (p *page) done(to, what string) error {
	sep := "?"
	if strings.Contains(to, "?") {
		sep = "&"
	}
	p.redirect(to + sep + "done=" + what)
	return nil
}

// show renders a page of this status.
func (p *page) show(name, title string, data any) error {
	p.render(http.StatusOK, name, title, data)
	return nil
}

// frame is what every page has around its own.
type frame struct {
	Title   string
	Page    string
	Nav     []navItem
	Who     string
	Tenant  string
	Form    string // to be carried by every form
	Session bool
	Done    string // what was done just now, in words
	Live    string // topic of the stream; empty: nothing changes by itself
	Now     time.Time
	Data    any
}

func (p *page) render(status int, name, title string, data any) {
	f := frame{Title: title, Page: name, Nav: p.nav(), Form: p.opts.Sessions.FormToken(p.w, p.req), Session: p.opts.Sessions.SignedIn(p.req), Now: p.now, Data: data}
	if p.who.Tenant != "" {
		f.Who, f.Tenant = p.who.String(), string(p.who.Tenant)
		if p.route.Live != nil {
			f.Live = p.route.Live(p)
		}
	}
	if what := p.req.URL.Query().Get("done"); what != "" && status == http.StatusOK {
		f.Done, _ = known("done." + what)
	}
	var buf bytes.Buffer
	if err := p.views[name]().ExecuteTemplate(&buf, "layout.html", f); err != nil {
		panic(err) // a defect: the recovery of the page logs and answers it
	}
	h := p.w.Header()
	secure(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(buf.Len()))
	p.w.WriteHeader(status)
	if p.req.Method != http.MethodHead {
		_, _ = p.w.Write(buf.Bytes()) // a browser that went away needs no page
	}
}

// navItem is a line of the navigation.
type navItem struct {
	Path, Label string
	Here        bool
	Count       int // of what waits; 0: nothing, or it is not counted
}

// nav lists the pages that the principal may read.
func (p *page) nav() []navItem {
	if p.who.Tenant == "" {
		return nil
	}
	counts := map[string]int{}
	if waiting, err := p.ledger.Waiting(p.req.Context(), p.who); err == nil {
		for _, w := range waiting {
			counts[kinds[w.State].link] = w.Count
		}
	}
	var items []navItem
	for _, n := range navigation {
		if p.may(n.action) {
			here := n.path == p.req.URL.Path || n.path != "/" && strings.HasPrefix(p.req.URL.Path, n.path+"/")
			items = append(items, navItem{Path: n.path, Label: word("nav." + n.name), Here: here, Count: counts[n.path]})
		}
	}
	return items
}

// operationID is the ID in the path.
func (p *page) operationID() (onceward.OperationID, error) {
	return onceward.ParseOperationID(p.req.PathValue("id"))
}

// field is a member of the form, without blanks around it. Browsers end the lines
// of a form with CR LF; people write lines.
func (p *page) field(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(p.req.PostForm.Get(name), "\r\n", "\n"))
}
