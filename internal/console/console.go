package console

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/onceward/onceward"
)

// Limits of the console.
const (
	// FormBytesMax is the longest form: an edited input is in one.
	FormBytesMax = 5 << 20
	// ListPage is how many rows a list has.
	ListPage = 50
)

// Sessions is how browsers stay known.
type Sessions interface {
	BeginWithToken(w http.ResponseWriter, req *http.Request, token string) error
	End(w http.ResponseWriter, req *http.Request) error
	SignedIn(req *http.Request) bool
	FormToken(w http.ResponseWriter, req *http.Request) string
	CheckForm(req *http.Request, token string) error
}

// Finding is what a linter has to say of a contract.
type Finding struct {
	Severity, Rule, Message, Fix string
	Line                         int
}

// Options make a Console. Ledger, Authenticate, Sessions and Status are needed.
type Options struct {
	Ledger       *onceward.Ledger
	Authenticate func(*http.Request) (onceward.Principal, error)
	Sessions     Sessions
	// Status is the HTTP status of an error's code.
	Status func(onceward.Code) int
	// SignInAt is where a person signs in at the identity provider; empty: there is none.
	SignInAt string
	// Lint says what is to be known of a contract in force; nil: nobody looks.
	Lint func(onceward.Tool) []Finding
	// Drill returns the newest results of drills, as onceward drill --json wrote
	// them; nil: there are none.
	Drill func() (*Drill, error)
	// Secure says that browsers reach the server over TLS only: cookies are marked so.
	Secure bool
	// Log gets defects; nil discards.
	Log *slog.Logger
}

// Console is the http.Handler of the pages. It is safe for concurrent use.
type Console struct {
	opts   Options
	ledger *onceward.Ledger
	log    *slog.Logger
	mux    *http.ServeMux
	views  map[string]func() *template.Template
	assets map[string]asset // by path
	live   *hub
}

// New makes the console. CodeConfigInvalid: an option is missing.
func New(opts Options) (*Console, error) {
	if opts.Ledger == nil || opts.Authenticate == nil || opts.Sessions == nil || opts.Status == nil {
		return nil, onceward.Errorf(onceward.CodeConfigInvalid, "a console needs a ledger, sessions and statuses")
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Lint == nil {
		opts.Lint = func(onceward.Tool) []Finding { return nil }
	}
	if opts.Drill == nil {
		opts.Drill = func() (*Drill, error) { return nil, nil }
	}
	c := &Console{opts: opts, ledger: opts.Ledger, log: opts.Log, mux: http.NewServeMux(), assets: map[string]asset{}, live: newHub(opts.Ledger, opts.Log)}
	css, js := c.embed("console.css", "text/css; charset=utf-8"), c.embed("console.js", "text/javascript; charset=utf-8")
	icon := c.embed("icon.svg", "image/svg+xml")
	c.views = templates(map[string]string{"css": css, "js": js, "icon": icon})
	for i := range routes {
		r := &routes[i]
		c.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, req *http.Request) { c.serve(w, req, r) })
	}
	return c, nil
}

// Handler serves the console's paths, and hands everything else to next.
func (c *Console) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if c.ServeAsset(w, req) {
			return
		}
		if p := req.URL.Path; p != "" && p[0] == '/' && p == path.Clean(p) {
			if _, pattern := c.mux.Handler(req); pattern != "" {
				c.mux.ServeHTTP(w, req)
				return
			}
			if first, _, _ := strings.Cut(p[1:], "/"); sections[first] {
				c.elsewhere(w, req)
				return
			}
		}
		next.ServeHTTP(w, req)
	})
}

// elsewhere answers what no page of a section answers. Whoever loads the address
// of a form, as after a refusal, gets the page above it; a method that an address
// does not have is told so.
func (c *Console) elsewhere(w http.ResponseWriter, req *http.Request) {
	has := func(method, at string) bool {
		_, pattern := c.mux.Handler(&http.Request{Method: method, Host: req.Host, URL: &url.URL{Path: at}})
		return pattern != ""
	}
	here := req.URL.Path
	switch {
	case req.Method == http.MethodGet && has(post, here):
		for here = path.Dir(here); !has(get, here); here = path.Dir(here) {
		}
		(&page{Console: c, w: w, req: req}).redirect(here)
	case has(get, here) || has(post, here):
		var allowed []string
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			if has(m, here) {
				allowed = append(allowed, m)
			}
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		c.Refuse(w, req, &onceward.Error{Code: onceward.CodeMethodNotAllowed, Message: word("error.method", req.Method)})
	default:
		c.Refuse(w, req, &onceward.Error{Code: onceward.CodeRouteNotFound, Message: word("error.no_page")})
	}
}

// Drain ends the streams of live updates, so that the server can go away.
func (c *Console) Drain() { c.live.close() }

// Run follows the ledger for pages that are open, until ctx ends.
func (c *Console) Run(ctx context.Context) { c.live.run(ctx) }

//go:embed static pages english.txt
var files embed.FS

// asset is a file that pages refer to by a name that has its content's hash.
type asset struct {
	mediaType string
	body      []byte
}

// embed names a file of static/ by its content, so that browsers may keep it.
func (c *Console) embed(name, mediaType string) string {
	body, err := files.ReadFile("static/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	sum := sha256.Sum256(body)
	at := "/console/" + hex.EncodeToString(sum[:8]) + "/" + name
	c.assets[at] = asset{mediaType, body}
	return at
}

// ServeAsset serves the stylesheet, the script and the icon.
func (c *Console) ServeAsset(w http.ResponseWriter, req *http.Request) bool {
	a, ok := c.assets[req.URL.Path]
	if !ok || req.Method != http.MethodGet && req.Method != http.MethodHead {
		return false
	}
	secure(w.Header())
	w.Header().Set("Content-Type", a.mediaType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body) // whoever went away needs no stylesheet
	return true
}

// policy lets a page use what this server serves, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets what every answer of the console has.
//
// Why the referrer is kept for this origin: without one, browsers send forms with
// an Origin of null, which the server refuses.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}
