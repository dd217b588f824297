package contract

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

var _ onceward.CallerBound = (*Tool)(nil)

// Forwards reports whether the tool is a route of an upstream, whose input is a
// request that is sent on as it came.
func (t *Tool) Forwards() bool { return t.forward != nil }

// renderForward makes the request that was forwarded, without what is not stored.
func (t *Tool) renderForward(v *variables) (*onceward.Request, error) {
	r, err := t.forward.read(v.input)
	if err != nil {
		return nil, err
	}
	out, err := t.request.render(v) // method, and the header fields of the contract
	if err != nil {
		return nil, err
	}
	out.URL = t.forward.base + r.target
	if len(out.URL) > URLBytesMax {
		return nil, &onceward.Error{Code: onceward.CodeTooLarge, Op: "render request", Message: fmt.Sprintf("the URL is longer than %d bytes", URLBytesMax)}
	}
	if r.contentType != "" {
		if !headerText(r.contentType) || len(r.contentType) > HeaderBytesMax {
			return nil, forwardError("the content type is not one")
		}
		out.Header = append(out.Header, onceward.HeaderField{Name: "Content-Type", Value: r.contentType})
	}
	for _, f := range r.header {
		if !hasField(out.Header, f.Name) {
			out.Header = append(out.Header, f)
		}
	}
	out.Body = r.body
	return out, nil
}

func hasField(fields []onceward.HeaderField, name string) bool {
	return slices.ContainsFunc(fields, func(f onceward.HeaderField) bool { return strings.EqualFold(f.Name, name) })
}

// Recover returns where the object of a done operation is read whose own answer
// is gone, and the status that the answer had; ok is false where the contract
// names no such read, or what it needs is not kept.
func (t *Tool) Recover(op *onceward.Operation) (address string, status int, ok bool) {
	if t.forward == nil || t.forward.recoverURL == nil || op.Reference == "" || op.Input == nil {
		return "", 0, false
	}
	v, err := t.operationVariables(op, true)
	if err != nil {
		return "", 0, false
	}
	address, err = t.forward.recoverURL.render(v)
	return address, t.forward.recoverStatus, err == nil
}

// Sendable is onceward.CallerBound's.
func (t *Tool) Sendable(op *onceward.Operation) bool {
	if t.forward == nil || !t.forward.caller {
		return true
	}
	if secrets, _ := t.request.hasSecrets(); secrets {
		return true // of our own, for when the caller is gone
	}
	_, held := t.forward.fields(op.ID)
	return held
}

// Tap is onceward.CallerBound's.
func (t *Tool) Tap(op *onceward.Operation) onceward.AnswerTap {
	if t.forward == nil || t.forward.held == nil {
		return nil
	}
	return t.forward.held.Tap(op.ID)
}

func (f *forward) fields(id onceward.OperationID) ([]onceward.HeaderField, bool) {
	if f.held == nil {
		return nil, false
	}
	return f.held.Headers(id)
}

// withCaller adds what the caller sent along and nobody stores to the fields of
// a request. own are our own credentials.
func (f *forward) withCaller(op *onceward.Operation, own []onceward.HeaderField) ([]onceward.HeaderField, error) {
	fields, held := f.fields(op.ID)
	switch {
	case !held && f.caller && len(own) == 0:
		return nil, fmt.Errorf("send operation %s: %w", op.ID, onceward.ErrCallerGone)
	case !held:
		return own, nil
	case f.caller:
		own = nil
	}
	var stored []onceward.HeaderField
	if op.Request != nil {
		stored = op.Request.Header
	}
	for _, h := range fields {
		if !hasField(stored, h.Name) && (f.caller || !hasField(own, h.Name)) {
			own = append(own, h)
		}
	}
	return own, nil
}

// lookAsCaller adds the caller's credentials to a look-up at the upstream itself.
func (f *forward) lookAsCaller(op *onceward.Operation, req *onceward.Request) {
	u, err := url.Parse(req.URL)
	base, _ := url.Parse(f.base)
	fields, held := f.fields(op.ID)
	if err != nil || !held || !f.caller || u.Scheme != base.Scheme || u.Host != base.Host {
		return
	}
	for _, h := range fields {
		if strings.EqualFold(h.Name, "Authorization") && !hasField(req.Header, h.Name) || strings.EqualFold(h.Name, "X-Api-Key") && !hasField(req.Header, h.Name) {
			req.Header = append(req.Header, h)
		}
	}
}
