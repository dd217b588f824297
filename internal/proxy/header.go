package proxy

import (
	"net/http"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// TokenHeader carries our own credentials where Authorization is the upstream's.
const TokenHeader = "Onceward-Token"

// tokenPrefix is how our tokens begin: such a value in the upstream's place is
// ours, so that a client can be given one in place of its API key.
const tokenPrefix = "ow_"

// ownToken finds the token of ours that a request carries; empty: none.
func ownToken(h http.Header) (string, error) {
	found := slices.Clone(h.Values(TokenHeader))
	for _, v := range h.Values("Authorization") {
		if scheme, token, _ := strings.Cut(v, " "); strings.EqualFold(scheme, "Bearer") && isOurs(token) {
			found = append(found, token)
		}
	}
	for _, v := range h.Values("X-Api-Key") {
		if isOurs(v) {
			found = append(found, v)
		}
	}
	if len(found) > 1 {
		return "", &onceward.Error{Code: onceward.CodeUnauthenticated, Op: "authenticate", Message: "the request carries more than one token of this server", Hint: "send one"}
	}
	if len(found) == 0 {
		return "", nil
	}
	return strings.TrimSpace(found[0]), nil
}

func isOurs(v string) bool { return strings.HasPrefix(strings.TrimSpace(v), tokenPrefix) }

// asOurs is the request as our own authentication sees it: with our token and
// nothing else that could be a credential.
func asOurs(req *http.Request, token string) *http.Request {
	out := *req
	out.Header = http.Header{}
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	return &out
}

// unauthenticated says where the token stands in a proxied request.
func unauthenticated(err error) error {
	if !onceward.Is(err, onceward.CodeUnauthenticated) {
		return err
	}
	return &onceward.Error{Code: onceward.CodeUnauthenticated, Op: "authenticate", Message: "this server does not know who asks",
		Hint: "send " + TokenHeader + ": ow_…, or the token in place of the upstream's own API key", Err: err}
}

// notForwarded are request header fields that belong to this hop, to us, or to
// the message that is made anew. Lower case.
var notForwarded = map[string]bool{
	"host": true, "connection": true, "keep-alive": true, "proxy-connection": true, "proxy-authorization": true, "proxy-authenticate": true,
	"te": true, "trailer": true, "transfer-encoding": true, "upgrade": true, "expect": true, "http2-settings": true, "content-length": true,
	"cookie": true, "forwarded": true, "x-forwarded-for": true, "x-forwarded-host": true, "x-forwarded-proto": true, "x-real-ip": true, "via": true,
}

// harmless are the fields of a request that go along where the caller's
// credentials do not. Lower case.
var harmless = map[string]bool{"accept": true, "accept-language": true, "user-agent": true, "content-type": true}

// forwardable are the fields of a request that go to the upstream.
func (x *exchange) forwardable() []onceward.HeaderField {
	hop := strings.Join(x.req.Header.Values("Connection"), ",")
	material := x.up.Material()
	var out []onceward.HeaderField
	for name, values := range x.req.Header {
		low := strings.ToLower(name)
		listed := slices.Contains(material, name)
		if notForwarded[low] || ours(low) || named(hop, low) || !x.up.CallerCredentials() && !harmless[low] && !listed {
			continue
		}
		for _, v := range values {
			if !carriesOurs(low, v) {
				out = append(out, onceward.HeaderField{Name: name, Value: v})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b onceward.HeaderField) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// carriesOurs reports whether a field holds a token of ours.
func carriesOurs(low, v string) bool {
	switch low {
	case "authorization":
		_, token, _ := strings.Cut(v, " ")
		return isOurs(token)
	case "x-api-key":
		return isOurs(v)
	}
	return false
}

// named reports whether a comma-separated list of names has name in it.
func named(list, name string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(part), name) {
			return true
		}
	}
	return false
}

// without drops fields by their lower-case names.
func without(fields []onceward.HeaderField, names ...string) []onceward.HeaderField {
	return slices.DeleteFunc(fields, func(f onceward.HeaderField) bool { return slices.Contains(names, strings.ToLower(f.Name)) })
}

// overlaid are the fields with ours in place of those of the same name.
func overlaid(fields, ours []onceward.HeaderField) []onceward.HeaderField {
	for _, f := range ours {
		fields = append(without(fields, strings.ToLower(f.Name)), f)
	}
	return fields
}
