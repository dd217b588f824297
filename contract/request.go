package contract

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"cel.dev/cel-go/common/types/ref"

	"github.com/onceward/onceward"
)

// requestTemplate is a request, compiled.
type requestTemplate struct {
	field   string // spec.request, for messages
	method  string
	url     *urlTemplate
	headers []headerTemplate
	json    jsonTemplate
	form    []formField
	text    *template
	body    bool
	env     ref.Val // of an upstream, whose header fields are rendered without an operation
}

// formField is one field of a form body.
type formField struct {
	name  string
	value *template
}

// bodyBuffers keeps buffers of rendered bodies between calls.
var bodyBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

const pooledBodyMax = 64 << 10

// render makes the request without its secret headers.
func (r *requestTemplate) render(v *variables) (*onceward.Request, error) {
	out := &onceward.Request{Method: r.method}
	var err error
	if out.URL, err = r.url.render(v); err != nil {
		return nil, inputError(r.field+".url", err)
	}
	out.Header = make([]onceward.HeaderField, 0, len(r.headers))
	for i := range r.headers {
		if r.headers[i].secret {
			continue
		}
		h, err := r.headers[i].render(v)
		if err != nil {
			return nil, inputError(r.field+".headers."+r.headers[i].name, err)
		}
		out.Header = append(out.Header, h)
	}
	out.Body, err = r.renderBody(v)
	return out, err
}

// renderBody makes the body, nil if there is none.
func (r *requestTemplate) renderBody(v *variables) ([]byte, error) {
	if !r.body {
		return nil, nil
	}
	pooled := bodyBuffers.Get().(*[]byte)
	buf, err := r.appendBody((*pooled)[:0], v)
	if err != nil {
		bodyBuffers.Put(pooled)
		return nil, err
	}
	body := append(make([]byte, 0, len(buf)), buf...)
	if cap(buf) <= pooledBodyMax {
		*pooled = buf
		bodyBuffers.Put(pooled)
	}
	if len(body) > RequestBytesMax {
		return nil, inputError(r.field, errRequestTooLarge)
	}
	return body, nil
}

func (r *requestTemplate) appendBody(dst []byte, v *variables) ([]byte, error) {
	switch {
	case r.json != nil:
		out, err := r.json.append(dst, v)
		var inner *fieldError
		switch {
		case errors.As(err, &inner):
			return nil, inputError(r.field+".json."+inner.field, inner.err)
		case err != nil:
			return nil, inputError(r.field+".json", err)
		}
		return out, nil
	case r.form != nil:
		return r.appendForm(dst, v)
	}
	out, err := r.text.appendText(dst, v)
	if err != nil {
		return nil, inputError(r.field+".body", err)
	}
	return out, nil
}

func (r *requestTemplate) appendForm(dst []byte, v *variables) ([]byte, error) {
	for _, f := range r.form {
		if p := f.value.lone(); p != nil {
			if _, plain, err := p.node(v); plain && errors.Is(err, errAbsent) {
				continue
			}
		}
		s, err := f.value.text(v)
		if err != nil {
			return nil, inputError(r.field+".form."+f.name, err)
		}
		if len(dst)+len(s) > RequestBytesMax {
			return nil, inputError(r.field+".form."+f.name, errRequestTooLarge)
		}
		if len(dst) > 0 {
			dst = append(dst, '&')
		}
		dst = append(dst, url.QueryEscape(f.name)...)
		dst = append(append(dst, '='), url.QueryEscape(s)...)
	}
	return dst, nil
}

// hasSecrets reports whether a header is added at the moment of sending, and
// whether such a header looks at the input.
func (r *requestTemplate) hasSecrets() (secrets, input bool) {
	for i := range r.headers {
		if r.headers[i].secret {
			secrets, input = true, input || r.headers[i].input
		}
	}
	return secrets, input
}

// secretHeaders renders the headers that hold secrets.
func (r *requestTemplate) secretHeaders(v *variables) ([]onceward.HeaderField, error) {
	var fields []onceward.HeaderField
	for i := range r.headers {
		if !r.headers[i].secret {
			continue
		}
		h, err := r.headers[i].render(v)
		if err != nil {
			return nil, fmt.Errorf("render header %s: %w", r.headers[i].name, err)
		}
		fields = append(fields, h)
	}
	return fields, nil
}

// header finds a header field by its name in any case.
func (r *requestTemplate) header(name string) *headerTemplate {
	for i := range r.headers {
		if strings.EqualFold(r.headers[i].name, name) {
			return &r.headers[i]
		}
	}
	return nil
}

// programs lists every expression of the request.
func (r *requestTemplate) programs() []*program {
	list := r.urlPrograms()
	addParts := func(parts []part) { list = append(list, (&template{parts}).programs()...) }
	for i := range r.headers {
		addParts(r.headers[i].value.parts)
	}
	for _, f := range r.form {
		addParts(f.value.parts)
	}
	if r.text != nil {
		addParts(r.text.parts)
	}
	return append(list, jsonPrograms(r.json)...)
}

// urlPrograms lists the expressions of the URL.
func (r *requestTemplate) urlPrograms() []*program {
	var list []*program
	for i := range r.url.segments {
		list = append(list, (&template{r.url.segments[i].parts}).programs()...)
	}
	return append(list, (&template{r.url.query}).programs()...)
}

func jsonPrograms(t jsonTemplate) []*program {
	var list []*program
	switch p := t.(type) {
	case jsonValue:
		list = append(list, p.program)
	case jsonText:
		list = p.template.programs()
	case jsonArrayTemplate:
		for _, element := range p {
			list = append(list, jsonPrograms(element)...)
		}
	case jsonObjectTemplate:
		for _, m := range p.members {
			list = append(list, jsonPrograms(m.value)...)
		}
	}
	return list
}
