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
	for i := range header {
		name := lower(header[i].Name)
		if secretName(name) || listedName(name, listed) {
			values = appendSecret(values, name, header[i].Value)
		}
	}
	return values
}

// secretName knows headers that carry credentials. An idempotency key is none:
// its echo is evidence.
func secretName(name string) bool {
	if strings.Contains(name, "idempot") {
		return false
	}
	for _, part := range []string{"auth", "cookie", "token", "secret", "password", "api-key", "apikey", "access-key", "subscription-key", "application-key", "signature", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func listedName(name string, listed []string) bool {
	return slices.ContainsFunc(listed, func(l string) bool { return strings.EqualFold(l, name) })
}

func appendSecret(values []string, name, value string) []string {
	if strings.Contains(name, "cookie") {
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
func (x *exchange) scrub(body []byte) []byte {
	for _, s := range x.secrets {
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
	for name, values := range h {
		low := lower(name)
		if droppedName(low) || listedName(low, x.opts.RedactHeader) {
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
func droppedName(low string) bool {
	switch low {
	case "set-cookie", "set-cookie2", "authorization", "authentication-info":
		return true
	}
	return strings.HasPrefix(low, "proxy-")
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
