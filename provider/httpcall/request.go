package httpcall

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

// target is a request that was checked: where it goes and how it is written.
type target struct {
	origin  origin
	literal bool // the host is an address or localhost, listed as such
	host    string
	path    string // request target: path and query
	method  string
	header  []onceward.HeaderField
	length  int  // of the body
	hasBody bool // a Content-Length is written
	gzip    bool // the request itself asks for gzip
	agent   bool // the request itself names a User-Agent
}

// plan checks a request before anything is dialled: method, URL, host list,
// headers. A fault means that nothing was sent and that the same request will
// never be sent.
func (c *Client) plan(req *onceward.Request, opts *onceward.SendOptions) (*target, *fault) {
	if !token(req.Method) || req.Method == "CONNECT" || req.Method == "TRACE" {
		return nil, newFault(onceward.ClassValidation, codeMethod)
	}
	t := &target{method: req.Method, header: req.Header, length: len(req.Body)}
	t.hasBody = req.Body != nil || req.Method == "POST" || req.Method == "PUT" || req.Method == "PATCH"
	if f := t.setURL(req.URL); f != nil {
		return nil, f
	}
	if f := t.allow(opts.Hosts); f != nil {
		return nil, f
	}
	if f := t.checkHeader(); f != nil {
		return nil, f
	}
	return t, nil
}

func (t *target) setURL(raw string) *fault {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.User != nil || u.Host == "" || !t.setOrigin(u) {
		return newFault(onceward.ClassValidation, codeURL)
	}
	t.path = requestTarget(u)
	return nil
}

// setOrigin reads scheme, host and port; false: they are not usable.
func (t *target) setOrigin(u *url.URL) bool {
	switch u.Scheme {
	case "http":
		t.origin.port = "80"
	case "https":
		t.origin.tls, t.origin.port = true, "443"
	default:
		return false
	}
	host, ok := normalHost(u.Hostname())
	if !ok {
		return false
	}
	t.origin.host = host
	t.host = bracketed(host)
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return false
		}
		if p[0] == '0' {
			p = strconv.FormatUint(n, 10)
		}
		if p != t.origin.port {
			t.origin.port = p
			t.host += ":" + p
		}
	}
	return true
}

// requestTarget is path and query as they were written. Why not EscapedPath: it
// gives up the written form where that holds a blank, and with it the difference
// between %2F and a slash.
func requestTarget(u *url.URL) string {
	path := u.RawPath
	if path == "" {
		path = u.EscapedPath()
	}
	if path == "" {
		path = "/"
	}
	if u.ForceQuery || u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return percentEncoded(path)
}

// percentEncoded escapes what may not stand in a request line.
func percentEncoded(s string) string {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return escapeFrom(s, i)
		}
	}
	return s
}

func escapeFrom(s string, i int) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString(s[:i])
	for ; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Header names that a contract may not set: they belong to one hop, or would
// change where a message ends or whom it is for.
var refusedHeaders = map[string]bool{
	"host": true, "content-length": true, "transfer-encoding": true, "connection": true, "keep-alive": true,
	"proxy-connection": true, "proxy-authenticate": true, "proxy-authorization": true, "te": true, "trailer": true,
	"upgrade": true, "expect": true, "http2-settings": true,
}

func (t *target) checkHeader() *fault {
	var buf nameBuffer
	for i := range t.header {
		h := &t.header[i]
		if !token(h.Name) || !fieldValue(h.Value) || refusedHeaders[string(lower(h.Name, &buf))] {
			return newFault(onceward.ClassValidation, codeHeader)
		}
		switch {
		case strings.EqualFold(h.Name, "User-Agent"):
			t.agent = true
		case strings.EqualFold(h.Name, "Accept-Encoding"):
			t.gzip = strings.EqualFold(strings.TrimSpace(h.Value), "gzip")
		}
	}
	return nil
}

// appendHead writes request line and headers. The bytes depend on the request
// alone, so every attempt writes the same ones. Accept-Encoding is ours: only
// what is decoded here may be asked for.
func (t *target) appendHead(b []byte, agent string) []byte {
	b = append(b, t.method...)
	b = append(b, ' ')
	b = append(b, t.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, t.host...)
	if !t.agent {
		b = append(b, "\r\nUser-Agent: "...)
		b = append(b, agent...)
	}
	if t.gzip {
		b = append(b, "\r\nAccept-Encoding: gzip\r\n"...)
	} else {
		b = append(b, "\r\nAccept-Encoding: identity\r\n"...)
	}
	for i := range t.header {
		h := &t.header[i]
		if strings.EqualFold(h.Name, "Accept-Encoding") {
			continue
		}
		b = append(b, h.Name...)
		b = append(b, ": "...)
		b = append(b, h.Value...)
		b = append(b, "\r\n"...)
	}
	if t.hasBody {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(t.length), 10)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}

var tokenBytes = func() (set [256]bool) {
	for c := '0'; c <= 'z'; c++ {
		set[c] = c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a'
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		set[c] = true
	}
	return set
}()

// token reports whether s is a token of RFC 9110, as methods and names must be.
func token(s string) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return s != ""
}

// fieldValue reports whether s can stand as a header's value: no control
// character but a tab, so no line can be begun in it.
func fieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// nameBuffer is room for a header's name; longer ones are allocated.
type nameBuffer [64]byte

// lower returns a header's name in lower case, in buf where it fits.
func lower(name string, buf *nameBuffer) []byte {
	b := append(buf[:0], name...)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return b
}
