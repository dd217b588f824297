package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/onceward/onceward"
)

// call is one request on its way through a route.
type call struct {
	*API
	w     http.ResponseWriter
	req   *http.Request
	route *route
	who   onceward.Principal
	query url.Values
}

// serve is the life of a request: who asks, whether he may, what he asks, the
// use case, the answer. A body is read only for whoever may send it.
func (a *API) serve(w http.ResponseWriter, req *http.Request, r *route) {
	c := &call{API: a, w: w, req: req, route: r}
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v)
		}
	}()
	if err := c.run(); err != nil {
		c.fail(err)
	}
}

func (c *call) run() error {
	if c.route.Signed {
		return c.route.handle(c) // its query is the sender's own
	}
	if !c.route.public() {
		who, err := c.opts.Authenticate(c.req)
		if err != nil {
			return err
		}
		c.who = who
		if err := onceward.Authorize(who, c.route.Action); err != nil {
			return err
		}
	}
	if err := c.readQuery(); err != nil {
		return err
	}
	return c.route.handle(c)
}

func rolesInWords(roles []onceward.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return strings.Join(words, " or ")
}

// fail answers with a problem and logs what its reader cannot mend.
func (c *call) fail(err error) {
	p := problemOf(err)
	if c.route.Decides && blocks(onceward.Code(p.Code)) {
		p.Decision = string(onceward.DecisionBlocked)
	}
	if p.Status >= http.StatusInternalServerError {
		c.log500(p, err)
	}
	writeProblem(c.w, c.req, p)
}

// log500 logs every defect, and what the ledger cannot do once a second.
func (c *call) log500(p *Problem, err error) {
	if p.Status != http.StatusInternalServerError {
		now := c.opts.Now().Unix()
		if last := c.warned.Load(); last == now || !c.warned.CompareAndSwap(last, now) {
			return
		}
	}
	line := []any{"route", c.route.Name, "code", p.Code, "request", c.w.Header().Get(RequestIDHeader), "error", err}
	var e *onceward.Error
	if errors.As(err, &e) && e.Hint != "" {
		line = append(line, "hint", e.Hint)
	}
	c.log.ErrorContext(c.req.Context(), "request refused", line...)
}

// panicked answers a defect without a word about it, and logs it with its stack.
func (c *call) panicked(v any) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	c.log.Error("request panicked", "route", c.route.Name, "request", c.w.Header().Get(RequestIDHeader), "panic", v, "stack", string(debug.Stack()))
	WriteProblem(c.w, c.req, onceward.Errorf(onceward.CodeInternal, "panic"))
}

func (c *call) readQuery() error {
	if c.req.URL.RawQuery == "" {
		return nil
	}
	if len(c.req.URL.RawQuery) > QueryBytesMax {
		return onceward.Errorf(onceward.CodeTooLarge, "the query string is longer than %d bytes", QueryBytesMax)
	}
	q, err := url.ParseQuery(c.req.URL.RawQuery)
	if err != nil {
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "the query string cannot be read", Hint: "separate parameters by & and escape their values"}
	}
	for name, values := range q {
		p := c.route.param(name)
		if p == nil {
			return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: fmt.Sprintf("this path has no parameter %.60q", name), Hint: c.route.paramsInWords()}
		}
		if len(values) > 1 && !p.Repeats {
			return onceward.Errorf(onceward.CodeInvalidRequest, "the parameter %s is given %d times", name, len(values))
		}
	}
	c.query = q
	return nil
}

// param returns a query parameter; absent is told from empty.
func (c *call) param(name string) (value string, given bool) {
	v, ok := c.query[name]
	if !ok {
		return "", false
	}
	return v[0], true
}

// bodies keeps read buffers of usual size between requests.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// body reads the whole request body and hands it to use, which must not keep
// it. An empty body is handed over as none if the route takes none.
func (c *call) body(use func(body []byte) error) error {
	if c.req.ContentLength == 0 || c.req.Body == nil || c.req.Body == http.NoBody {
		return use(nil)
	}
	limit := c.opts.BodyBytesMax
	if c.req.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	buf := bodies.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= pooledBytesMax {
			buf.Reset()
			bodies.Put(buf)
		}
	}()
	// Invariant: nothing in front of this replaces a body and leaves its length:
	// net/http reads no more than the length that was told.
	sent := c.req.Body
	if c.req.ContentLength < 0 {
		sent = http.MaxBytesReader(c.w, sent, limit)
	}
	if _, err := buf.ReadFrom(sent); err != nil {
		return bodyError(err, limit)
	}
	if buf.Len() == 0 {
		return use(nil)
	}
	if err := checkMediaType(c.req.Header); err != nil {
		return err
	}
	return use(buf.Bytes())
}

func bodyTooLarge(limit int64) error {
	return &onceward.Error{Code: onceward.CodeTooLarge, Message: fmt.Sprintf("the body is longer than %d bytes", limit),
		Hint: "send less; a large payload belongs where the operation can refer to it"}
}

// bodyError says why a body could not be read. Nothing was done with what came
// of it, so this is a refusal, whatever the reason.
func bodyError(err error, limit int64) error {
	var tooLarge *http.MaxBytesError
	message := "the body cannot be read"
	switch {
	case errors.As(err, &tooLarge):
		return bodyTooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		message = "the body did not arrive in time"
	case errors.Is(err, io.ErrUnexpectedEOF):
		message = "the body ends before its promised end"
	}
	return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: message, Hint: "send the whole request again with the same key", Err: err}
}

// checkMediaType accepts JSON in UTF-8, sent as it is.
func checkMediaType(h http.Header) error {
	if v := h["Content-Encoding"]; len(v) > 0 && !(len(v) == 1 && strings.EqualFold(v[0], "identity")) {
		return &onceward.Error{Code: onceward.CodeUnsupportedMedia, Message: "the body has a content coding", Hint: "send it without Content-Encoding"}
	}
	if v := h["Content-Type"]; len(v) == 1 {
		if v[0] == mediaJSON {
			return nil
		}
		kind, params, err := mime.ParseMediaType(v[0])
		charset, has := params["charset"]
		if err == nil && kind == mediaJSON && (!has && len(params) == 0 || len(params) == 1 && strings.EqualFold(charset, "utf-8")) {
			return nil
		}
	}
	return &onceward.Error{Code: onceward.CodeUnsupportedMedia, Message: "the body is not declared as JSON", Hint: "send Content-Type: application/json"}
}

const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
)

// read decodes the body into a wire type. needed says that an empty body is refused.
func (c *call) read(into any, needed bool) error {
	return c.body(func(body []byte) error {
		if body == nil && !needed {
			return nil
		}
		return decodeBody(body, into)
	})
}
