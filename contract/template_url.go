package contract

import (
	"fmt"
	"net/url"
	"strings"
)

// URLBytesMax is the longest URL that is rendered.
const URLBytesMax = 8 << 10

// urlTemplate is a URL whose scheme and host are fixed at load.
type urlTemplate struct {
	origin   string // scheme://host[:port]
	host     string // host[:port], lower case
	segments []urlPiece
	query    []part // literal text and values, behind the ?; nil: none
}

// urlPiece is one path segment with the / before it.
type urlPiece struct{ parts []part }

// compileURL reads a URL template.
//
// Invariant: everything up to the end of the host is literal or comes from env
// at load, so that no input can choose who is talked to.
func (b *templateBuilder) compileURL(src string, s scope) (*urlTemplate, error) {
	t, err := b.compile(src, s)
	if err != nil {
		return nil, err
	}
	if t, err = b.foldURL(t); err != nil {
		return nil, err
	}
	if len(t.parts) == 0 || t.parts[0].program != nil {
		return nil, errHostChanges
	}
	u := &urlTemplate{}
	head := t.parts[0].literal
	scheme, rest, ok := strings.Cut(head, "://")
	if !ok || scheme != "http" && scheme != "https" && scheme+"://" != mcpScheme {
		if strings.ContainsAny(head, ":/") || len(t.parts) == 1 {
			return nil, fmt.Errorf("the URL does not start with http:// or https://")
		}
		return nil, errHostChanges
	}
	end := strings.IndexAny(rest, "/?#")
	switch {
	case end >= 0:
	case len(t.parts) > 1:
		return nil, errHostChanges
	default:
		end = len(rest)
	}
	u.host = strings.ToLower(rest[:end])
	u.origin = scheme + "://" + u.host
	if err := checkHost(u.host); err != nil {
		return nil, err
	}
	t.parts[0].literal = rest[end:]
	return u, u.behind(t.parts)
}

var errHostChanges = fmt.Errorf("a value could change the host: the host is literal or ${env.NAME}, and a / ends it before the first value")

// foldURL puts env values in, and joins them without a doubled slash: base URLs
// are written with and without one at their end. One that ends before its host
// keeps its slashes: the path would become the host.
func (b *templateBuilder) foldURL(t *template) (*template, error) {
	for i := range t.parts {
		p := &t.parts[i]
		if p.program == nil || !p.program.uses.static() {
			continue
		}
		s, err := p.program.text(&variables{env: b.env})
		if err != nil {
			return nil, err
		}
		if i+1 < len(t.parts) && strings.HasPrefix(t.parts[i+1].literal, "/") && !strings.HasSuffix(s, "://") {
			s = strings.TrimSuffix(s, "/")
		}
		*p = part{literal: s}
	}
	return b.fold(t)
}

func checkHost(host string) error {
	if strings.Contains(host, "@") {
		return fmt.Errorf("a URL holds no user or password: use a header")
	}
	u, err := url.Parse("http://" + host + "/")
	if err != nil || u.Hostname() == "" || u.Host != host || strings.HasSuffix(host, ":") || strings.ContainsAny(host, "%\\ ") {
		return fmt.Errorf("the URL has no valid host")
	}
	return nil
}

// behind reads path and query.
func (u *urlTemplate) behind(parts []part) error {
	inQuery := false
	for _, p := range parts {
		if p.program != nil {
			u.value(p, inQuery)
			continue
		}
		text := p.literal
		if !inQuery {
			path, query, found := strings.Cut(text, "?")
			if err := u.path(path); err != nil {
				return err
			}
			if !found {
				continue
			}
			inQuery, text = true, query
			if u.query == nil {
				u.query = []part{}
			}
		}
		if err := checkURLText(text); err != nil {
			return err
		}
		if text != "" {
			u.query = append(u.query, part{literal: text})
		}
	}
	return u.checkSegments()
}

// value adds an expression where it stands.
func (u *urlTemplate) value(p part, inQuery bool) {
	if inQuery {
		u.query = append(u.query, p)
		return
	}
	last := &u.segments[len(u.segments)-1]
	last.parts = append(last.parts, p)
}

// path adds literal path text; each / starts a segment.
func (u *urlTemplate) path(text string) error {
	if err := checkURLText(text); err != nil {
		return err
	}
	for i, piece := range strings.Split(text, "/") {
		switch {
		case i > 0:
			u.segments = append(u.segments, urlPiece{})
		case piece == "":
			continue
		case len(u.segments) == 0:
			return errHostChanges
		}
		if piece != "" {
			last := &u.segments[len(u.segments)-1]
			last.parts = append(last.parts, part{literal: piece})
		}
	}
	return nil
}

// checkSegments refuses literal dot segments: servers resolve them differently.
func (u *urlTemplate) checkSegments() error {
	for _, s := range u.segments {
		if len(s.parts) == 1 && dotSegment(s.parts[0].literal) && s.parts[0].program == nil {
			return fmt.Errorf("the path holds . or .. as a segment")
		}
	}
	return nil
}

func dotSegment(s string) bool { return s == "." || s == ".." }

// checkURLText refuses what may not stand in a URL as it is.
func checkURLText(s string) error {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '#':
			return fmt.Errorf("a # is never sent: leave the fragment out")
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return fmt.Errorf("the URL holds a character that has to be percent-encoded")
		case c == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])):
			return fmt.Errorf("a %% in the URL is not followed by two hexadecimal digits")
		}
	}
	return nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// addQuery adds a query parameter whose value is an expression.
func (u *urlTemplate) addQuery(name string, p *program) {
	separator := "&"
	if len(u.query) == 0 {
		separator = ""
	}
	u.query = append(u.query, part{literal: separator + string(appendPercent(nil, name)) + "="}, part{program: p})
}

// render makes the URL.
//
// Invariant: a value never leaves its segment or parameter. It is encoded, and
// one that would make a segment empty, "." or ".." is refused: a client, a proxy
// or the server would resolve it to another resource. So is one that holds such
// a segment behind a slash, for servers that decode before they split.
func (u *urlTemplate) render(v *variables) (string, error) {
	dst := make([]byte, 0, 128)
	dst = append(dst, u.origin...)
	var err error
	for i := range u.segments {
		s := &u.segments[i]
		dst = append(dst, '/')
		from := len(dst)
		if dst, err = appendURLParts(dst, s.parts, v, true); err != nil {
			return "", err
		}
		if s.dynamic() && (len(dst) == from || dotSegment(string(dst[from:]))) {
			return "", fmt.Errorf("a value makes a segment of the path empty or a dot segment")
		}
	}
	if len(u.segments) == 0 {
		dst = append(dst, '/')
	}
	if u.query != nil {
		if dst, err = appendURLParts(append(dst, '?'), u.query, v, false); err != nil {
			return "", err
		}
	}
	if len(dst) > URLBytesMax {
		return "", fmt.Errorf("the URL is longer than %d bytes", URLBytesMax)
	}
	return string(dst), nil
}

// constantSegment is the one segment of a path, decoded; empty: it depends on
// the input, or there is not one.
func (u *urlTemplate) constantSegment() string {
	if len(u.segments) != 1 || u.segments[0].dynamic() || len(u.segments[0].parts) != 1 {
		return ""
	}
	s, err := url.PathUnescape(u.segments[0].parts[0].literal)
	if err != nil {
		return ""
	}
	return s
}

func (s *urlPiece) dynamic() bool {
	for _, p := range s.parts {
		if p.program != nil {
			return true
		}
	}
	return false
}

func appendURLParts(dst []byte, parts []part, v *variables, path bool) ([]byte, error) {
	for _, p := range parts {
		if p.program == nil {
			dst = append(dst, p.literal...)
			continue
		}
		s, err := p.program.text(v)
		if err != nil {
			return nil, err
		}
		if len(s) > URLBytesMax {
			return nil, fmt.Errorf("a value in the URL is longer than %d bytes", URLBytesMax)
		}
		if path && hasDotSegment(s) {
			return nil, fmt.Errorf("a value in the path holds . or .. as a segment")
		}
		dst = appendPercent(dst, s)
	}
	return dst, nil
}

// hasDotSegment reports whether a text with slashes holds "." or ".." between
// two of them.
func hasDotSegment(s string) bool {
	if !strings.ContainsAny(s, `/\`) {
		return false
	}
	for _, piece := range strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '\\' }) {
		if dotSegment(piece) {
			return true
		}
	}
	return false
}

// appendPercent percent-encodes everything but the unreserved characters of
// RFC 3986, so that a value means the same in path and query.
func appendPercent(dst []byte, s string) []byte {
	const upperHex = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~' {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', upperHex[c>>4], upperHex[c&0xf])
	}
	return dst
}
