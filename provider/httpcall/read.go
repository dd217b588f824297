package httpcall

import (
	"context"
	"net/url"
	"strings"

	"github.com/onceward/onceward"
)

// read is a read: it may follow redirects within the host list. The last answer
// seen is the evidence; one that leads elsewhere, too far or nowhere is returned
// as it is, for the contract to judge.
func (x *exchange) read(ctx context.Context) {
	x.secrets = secretValues(x.req.Header, x.opts.SecretHeader)
	req := x.req
	for hop := 0; ; hop++ {
		t, f := x.client.plan(req, x.opts)
		if f != nil && hop > 0 {
			return
		}
		if f == nil {
			x.forget()
			f = x.once(ctx, t)
		}
		if f != nil {
			f.record(&x.ev)
			return
		}
		if hop == maxRedirects || x.ev.BodyTooBig {
			return
		}
		if req = x.redirect(req); req == nil {
			return
		}
	}
}

// forget drops what the last hop saw; how far the requests went stays.
func (x *exchange) forget() {
	x.ev = onceward.Evidence{Reach: x.ev.Reach, StartedAt: x.ev.StartedAt, LastByteAt: x.ev.LastByteAt}
}

// redirect returns the request that a redirect asks for, or nil. Only GET and
// HEAD go on; TLS is not left; another origin gets no header that could be meant
// for the first one alone.
func (x *exchange) redirect(req *onceward.Request) *onceward.Request {
	switch x.ev.Status {
	case 301, 302, 303, 307, 308:
	default:
		return nil
	}
	if x.location == "" || req.Method != "GET" && req.Method != "HEAD" {
		return nil
	}
	from, err := url.Parse(req.URL)
	if err != nil {
		return nil
	}
	to, err := from.Parse(x.location)
	if err != nil || from.Scheme == "https" && to.Scheme != "https" {
		return nil
	}
	next := &onceward.Request{Method: req.Method, URL: to.String(), Header: req.Header}
	if !strings.EqualFold(from.Scheme, to.Scheme) || !strings.EqualFold(from.Host, to.Host) {
		next.Header = harmless(req.Header)
	}
	return next
}

func harmless(header []onceward.HeaderField) []onceward.HeaderField {
	var kept []onceward.HeaderField
	var buf nameBuffer
	for _, h := range header {
		switch string(lower(h.Name, &buf)) {
		case "accept", "accept-language", "user-agent":
			kept = append(kept, h)
		}
	}
	return kept
}
