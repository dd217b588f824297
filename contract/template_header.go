package contract

import (
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// HeaderBytesMax is the longest header value that is rendered.
const HeaderBytesMax = 8 << 10

// headerTemplate is one header field.
type headerTemplate struct {
	name   string
	value  *template
	secret bool // rendered at the moment of sending, never stored
	input  bool // looks at the input
}

// reservedHeaders belong to the connection, or name the host.
var reservedHeaders = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection",
	"Proxy-Authorization", "Upgrade", "Te", "Trailer", "Expect", "Content-Encoding", "Accept-Encoding", "Via",
}

// compileHeader reads one header field.
func (b *templateBuilder) compileHeader(name, value string, s scope) (headerTemplate, error) {
	h := headerTemplate{name: name}
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !headerName(name):
		return h, fmt.Errorf("it is not a header name")
	case slices.Contains(reservedHeaders, canonical):
		return h, fmt.Errorf("this header belongs to the connection")
	}
	t, err := b.compile(value, s)
	if err != nil {
		return h, err
	}
	for _, p := range t.programs() {
		h.secret = h.secret || len(p.uses.secret) > 0
		h.input = h.input || len(p.uses.input) > 0
	}
	if h.value, err = b.fold(t); err != nil {
		return h, err
	}
	for _, p := range h.value.parts {
		if p.program == nil && !headerText(p.literal) {
			return h, fmt.Errorf("a header value holds no line break or control character")
		}
	}
	return h, nil
}

// headerName reports whether a text is a token of RFC 9110.
func headerName(s string) bool {
	if s == "" || len(s) > 256 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0 {
			continue
		}
		return false
	}
	return true
}

// headerText reports whether a text may stand in a header value.
func headerText(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// render makes the header field.
//
// Invariant: no value holds a line break, so that no input adds a header field
// or a second request.
func (h *headerTemplate) render(v *variables) (onceward.HeaderField, error) {
	value, err := h.value.text(v)
	switch {
	case err != nil:
		return onceward.HeaderField{}, err
	case len(value) > HeaderBytesMax:
		return onceward.HeaderField{}, fmt.Errorf("the value is longer than %d bytes", HeaderBytesMax)
	case !headerText(value):
		return onceward.HeaderField{}, fmt.Errorf("the value holds a line break or a control character")
	}
	return onceward.HeaderField{Name: h.name, Value: strings.Trim(value, " \t")}, nil
}
