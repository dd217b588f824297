package httpcall

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

const (
	redacted  = "[redacted]"
	secretMin = 8 // shorter values are not looked for: they would hit by chance
)

// secretValues collects the values of a request that must not come back in
// evidence: what stands in a header that carries credentials, by its name or
// because it is listed.
func secretValues(header []onceward.HeaderField, listed []string) []string {
	var values []string
	var buf nameBuffer
	for i := range header {
		name := lower(header[i].Name, &buf)
		if secretName(name) || listedName(header[i].Name, listed) {
			values = appendSecret(values, bytes.Contains(name, []byte("cookie")), header[i].Value)
		}
	}
	return values
}

// Parts of the names of headers that carry credentials.
var secretParts = [][]byte{
	[]byte("auth"), []byte("cookie"), []byte("token"), []byte("secret"), []byte("password"), []byte("signature"), []byte("credential"),
	[]byte("api-key"), []byte("apikey"), []byte("access-key"), []byte("subscription-key"), []byte("application-key"),
}

// secretName knows headers that carry credentials by their lower-case names. An
// idempotency key is none: its echo is evidence.
func secretName(low []byte) bool {
	if bytes.Contains(low, []byte("idempot")) {
		return false
	}
	return slices.ContainsFunc(secretParts, func(part []byte) bool { return bytes.Contains(low, part) })
}

func listedName(name string, listed []string) bool {
	return slices.ContainsFunc(listed, func(l string) bool { return strings.EqualFold(l, name) })
}

func appendSecret(values []string, cookie bool, value string) []string {
	if cookie {
		for pair := range strings.SplitSeq(value, ";") {
			_, v, _ := strings.Cut(pair, "=")
			values = appendLong(values, strings.TrimSpace(v))
		}
		return values
	}
	scheme, credential, found := strings.Cut(value, " ")
	if !found {
		return appendLong(values, value)
	}
	credential = strings.TrimSpace(credential)
	if strings.EqualFold(scheme, "Basic") {
		if plain, err := base64.StdEncoding.DecodeString(credential); err == nil {
			_, password, _ := strings.Cut(string(plain), ":")
			values = appendLong(values, password)
		}
	}
	return appendLong(values, credential)
}

func appendLong(values []string, v string) []string {
	if len(v) < secretMin {
		return values
	}
	return append(values, v)
}

// scrub removes echoed secrets from a body. It returns body itself where there
// are none.
func (x *exchange) scrub(body []byte) []byte { return scrub(body, x.secrets) }

func scrub(body []byte, secrets []string) []byte {
	for _, s := range secrets {
		if bytes.Contains(body, []byte(s)) {
			body = bytes.ReplaceAll(body, []byte(s), []byte(redacted))
		}
	}
	return body
}

// evidenceHeader turns an answer's header into evidence: by name, repeated
// fields in their order, without cookies and credentials, valid text.
func (x *exchange) evidenceHeader(h http.Header) []onceward.HeaderField {
	names := make([]string, 0, len(h))
	total := 0
	var buf nameBuffer
	for name, values := range h {
		if droppedName(lower(name, &buf)) || listedName(name, x.opts.RedactHeader) {
			continue
		}
		names = append(names, name)
		total += len(values)
	}
	slices.Sort(names)
	fields := make([]onceward.HeaderField, 0, total)
	for _, name := range names {
		for _, v := range h[name] {
			fields = append(fields, onceward.HeaderField{Name: clean(name), Value: x.cleanValue(v)})
		}
	}
	return fields
}

// droppedName knows answer headers that hand out credentials.
func droppedName(low []byte) bool {
	switch string(low) {
	case "set-cookie", "set-cookie2", "authorization", "authentication-info":
		return true
	}
	return bytes.HasPrefix(low, []byte("proxy-"))
}

func (x *exchange) cleanValue(v string) string {
	for _, s := range x.secrets {
		if strings.Contains(v, s) {
			v = strings.ReplaceAll(v, s, redacted)
		}
	}
	return clean(v)
}

// clean makes a header text that every store and every encoder takes.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, control) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if control(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
