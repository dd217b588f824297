package contract

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// Upstream is one compiled document of kind Upstream: a server whose clients ask
// us in its place. Each of its routes is a Tool of its own. It is immutable and
// safe for concurrent use.
type Upstream struct {
	doc    *upstreamDocument
	file   string
	base   string // scheme://host[:port][/path], no slash at the end
	host   string
	own    *requestTemplate // url and the header fields that we add
	routes []Route
	hosts  []string

	secrets func(name string) (string, error)
	names   toolNames
	missing []missing
}

// Route is a request of an upstream that becomes an operation.
type Route struct {
	Tool    onceward.ToolName
	Method  string
	Match   string // the path, as it is written
	Keyless bool   // a request without a key passes, once and without an operation
	KeyRule bool   // the contract derives the key; the caller's is validated and not used

	path pathPattern
}

// Unlisted says what happens to a request that no route names.
type Unlisted string

// The ways with a request that no route names.
const (
	UnlistedRefuse    Unlisted = "refuse"
	UnlistedPassReads Unlisted = "pass_reads" // GET, HEAD and OPTIONS pass
	UnlistedPass      Unlisted = "pass"       // a write passes, too, once and without an operation
)

// Name is the upstream's name, as it stands in /proxy/NAME/.
func (u *Upstream) Name() string { return u.doc.Metadata.Name.value }

// Description is what the upstream is, for people; may be empty.
func (u *Upstream) Description() string { return u.doc.Metadata.Description.value }

// File is the file that the document was read from.
func (u *Upstream) File() string { return u.file }

// Listen is the upstream's own address, host:port; empty: none.
func (u *Upstream) Listen() string { return u.doc.Spec.Listen.value }

// HostName is the upstream's own host name, in lower case; empty: none.
func (u *Upstream) HostName() string { return strings.ToLower(u.doc.Spec.HostName.value) }

// Unlisted is what happens to a request that no route names.
func (u *Upstream) Unlisted() Unlisted { return Unlisted(u.doc.Spec.Unlisted.value) }

// CallerCredentials reports whether the caller's own credentials go along.
func (u *Upstream) CallerCredentials() bool { return u.doc.Spec.Credentials.value == credentialsCaller }

// Wait is how long a request waits for its operation.
func (u *Upstream) Wait() time.Duration { return u.doc.Spec.Wait.value }

// Deadline is how long a request that passes may wait for the start of its answer.
func (u *Upstream) Deadline() time.Duration { return u.doc.Spec.Deadline.value }

// Hosts is the egress allow-list of requests that pass: the host of the URL.
func (u *Upstream) Hosts() []string { return u.hosts }

// Routes lists the routes in order. The slice must not be changed.
func (u *Upstream) Routes() []Route { return u.routes }

// Material lists the header fields that are part of what a request means, in
// canonical form.
func (u *Upstream) Material() []string { return u.doc.material() }

// URL is where a request target (path and query, as they came) leads to.
func (u *Upstream) URL(target string) string { return u.base + target }

// Headers are the fields that we add to a request that passes. Those with a
// secret are left out where the caller's own credentials go along.
func (u *Upstream) Headers() ([]onceward.HeaderField, error) {
	v := &variables{env: u.own.env, secret: secretMap{names: u.names.secrets, lookup: u.secrets}}
	var fields []onceward.HeaderField
	for i := range u.own.headers {
		h := &u.own.headers[i]
		if h.secret && u.CallerCredentials() {
			continue
		}
		f, err := h.render(v)
		if err != nil {
			return nil, fmt.Errorf("render header %s of upstream %s: %w", h.name, u.Name(), err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// Route finds the route of a request by its method and its path as it came.
func (u *Upstream) Route(method, escapedPath string) (*Route, bool) {
	for i := range u.routes {
		if r := &u.routes[i]; r.Method == method {
			if _, ok := r.path.match(escapedPath); ok {
				return r, true
			}
		}
	}
	return nil, false
}

// credentialsCaller is the word for the caller's own credentials.
const credentialsCaller = "caller"

func (d *upstreamDocument) material() []string {
	names := d.Spec.Material.values()
	for i := range names {
		names[i] = http.CanonicalHeaderKey(names[i])
	}
	return names
}

// pathPattern is the path of a route, by segments.
type pathPattern []pathPiece

type pathPiece struct {
	literal string // unescaped; of a parameter: its name
	param   bool
	rest    bool // the parameter takes all segments that are left
}

var paramName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parsePattern reads the path of a route.
func parsePattern(s string) (pathPattern, error) {
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "?#") {
		return nil, fmt.Errorf("a path starts with / and has no query: POST /v1/charges")
	}
	var p pathPattern
	segments := strings.Split(s[1:], "/")
	for i, seg := range segments {
		name, ok := strings.CutPrefix(seg, "{")
		if !ok {
			text, err := url.PathUnescape(seg)
			if err != nil || strings.ContainsAny(seg, "{}") || dotSegment(text) || seg == "" && len(segments) > 1 {
				return nil, fmt.Errorf("the segment %q is neither a text nor {name}", seg)
			}
			p = append(p, pathPiece{literal: text})
			continue
		}
		name, ok = strings.CutSuffix(name, "}")
		name, rest := strings.CutSuffix(name, "...")
		if !ok || !paramName.MatchString(name) || rest && i < len(segments)-1 {
			return nil, fmt.Errorf("the segment %q is not {name}, nor {name...} at the end", seg)
		}
		if slices.ContainsFunc(p, func(q pathPiece) bool { return q.param && q.literal == name }) {
			return nil, fmt.Errorf("the parameter %s stands twice", name)
		}
		p = append(p, pathPiece{literal: name, param: true, rest: rest})
	}
	return p, nil
}

// pathParam is one parameter of a path, unescaped.
type pathParam struct{ name, value string }

// match reads a path as it came. Segments that are empty or dots match nothing:
// servers resolve them differently.
func (p pathPattern) match(escaped string) ([]pathParam, bool) {
	if !strings.HasPrefix(escaped, "/") {
		return nil, false
	}
	segments := strings.Split(escaped[1:], "/")
	var params []pathParam
	for i, piece := range p {
		if i >= len(segments) {
			return nil, false
		}
		raw := segments[i]
		if piece.rest {
			raw = strings.Join(segments[i:], "/")
			segments = segments[:i+1]
		}
		text, err := url.PathUnescape(raw)
		if err != nil || hasDotSegment(text) || text == "" && len(segments) > 1 {
			return nil, false
		}
		switch {
		case piece.param && text == "":
			return nil, false
		case piece.param:
			params = append(params, pathParam{piece.literal, text})
		case text != piece.literal:
			return nil, false
		}
	}
	return params, len(segments) == len(p)
}

// upstreamListen checks an address of an upstream's own.
func upstreamListen(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("it is host:port, such as 127.0.0.1:8701")
	}
	return nil
}
