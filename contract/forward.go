package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/onceward/onceward"
)

// forward makes a tool of requests that are sent on as they came.
type forward struct {
	pattern  pathPattern
	material []string // canonical header names
	caller   bool     // the caller's credentials go along
	base     string   // the URL that targets go below
	host     string
	held     Held

	recoverURL    *urlTemplate // nil: nothing stands for an answer that is gone
	recoverStatus int
}

// Held is what a proxy holds of the requests under way, by operation. It is safe
// for concurrent use.
type Held interface {
	// Headers are the header fields that the caller sent and that nobody stores.
	Headers(id onceward.OperationID) (fields []onceward.HeaderField, held bool)
	// Tap is whoever waits for the answer; nil: nobody.
	Tap(id onceward.OperationID) onceward.AnswerTap
}

// The members of a forwarded request, which is the input of a route's tool. The
// first four are what the proxy writes; the rest is derived from them whenever
// the input is read, so that the key is always that of what is sent.
const (
	fieldTarget      = "target"       // path and query below the upstream's URL, as they came
	fieldContentType = "content_type" // absent: none
	fieldRaw         = "raw"          // the body where it is UTF-8
	fieldRawBase64   = "raw_base64"   // the body where it is not
	fieldHeaders     = "headers"      // the material header fields, by lower-case names
	fieldPath        = "path"
	fieldQuery       = "query"
	fieldBody        = "body"
)

// forwardImmaterial is what says the same as another member, in other bytes.
var forwardImmaterial = func() (paths []onceward.Path) {
	for _, name := range []string{fieldTarget, fieldContentType, fieldRaw, fieldRawBase64} {
		p, err := onceward.ParsePath(name)
		if err != nil {
			panic(err) // a name of ours
		}
		paths = append(paths, p)
	}
	return paths
}()

// heldBack are header fields that are never stored, in lower case: whoever lists
// one of them as material gets a problem.
var heldBack = []string{"authorization", "cookie", "proxy-authorization", "x-api-key", "api-key", "idempotency-key"}

// ForwardInput is a request as the input of its route's tool. Header holds the
// fields of the request; only the material ones are taken. body may be nil.
func (u *Upstream) ForwardInput(target string, header http.Header, body []byte) []byte {
	out := appendJSONText([]byte(`{"`+fieldTarget+`":`), target)
	if ct := header.Get("Content-Type"); ct != "" {
		out = appendJSONText(append(out, `,"`+fieldContentType+`":`...), ct)
	}
	sep := `,"` + fieldHeaders + `":{`
	for _, name := range u.doc.material() {
		if values := header.Values(name); len(values) > 0 {
			out = appendJSONText(append(out, sep...), strings.ToLower(name))
			out = appendJSONText(append(out, ':'), strings.Join(values, ", "))
			sep = ","
		}
	}
	if sep == "," {
		out = append(out, '}')
	}
	switch {
	case len(body) == 0:
	case utf8.Valid(body):
		out = appendJSONText(append(out, `,"`+fieldRaw+`":`...), string(body))
	default:
		out = appendJSONText(append(out, `,"`+fieldRawBase64+`":`...), base64.StdEncoding.EncodeToString(body))
	}
	return append(out, '}')
}

// forwarded is a forwarded request, read.
type forwarded struct {
	target, contentType string
	header              []onceward.HeaderField // material
	body                []byte
}

// read reads the members that a forwarded request is made of.
func (f *forward) read(input *onceward.Node) (r forwarded, err error) {
	texts := map[string]*string{fieldTarget: &r.target, fieldContentType: &r.contentType}
	for name, value := range input.Members() {
		text, isText := value.Text()
		switch {
		case texts[name] != nil && isText:
			*texts[name] = text
		case name == fieldRaw && isText:
			r.body = []byte(text)
		case name == fieldRawBase64 && isText:
			if r.body, err = base64.StdEncoding.DecodeString(text); err != nil {
				return r, forwardError("raw_base64 is not base64")
			}
		case name == fieldHeaders && value.Kind() == onceward.NodeObject:
			if r.header, err = f.materialFields(value); err != nil {
				return r, err
			}
		case name == fieldPath || name == fieldQuery || name == fieldBody:
		default:
			return r, forwardError(fmt.Sprintf("the member %.40q is not one of a forwarded request", name))
		}
	}
	return r, nil
}

func (f *forward) materialFields(headers *onceward.Node) (fields []onceward.HeaderField, err error) {
	for name, value := range headers.Members() {
		text, ok := value.Text()
		canonical := http.CanonicalHeaderKey(name)
		if !ok || !headerText(text) || !slices.Contains(f.material, canonical) {
			return nil, forwardError(fmt.Sprintf("the header %.60q is not a material one of the upstream, or not a text", name))
		}
		fields = append(fields, onceward.HeaderField{Name: canonical, Value: text})
	}
	return fields, nil
}

func forwardError(message string) error {
	return &onceward.Error{Code: onceward.CodeInvalidInput, Op: "read forwarded request", Message: message, Hint: "send the request to the upstream's address here, as its own clients do"}
}

// expand adds what is derived: path parameters, query and body as values. What
// the input says of these itself has to be the same: an edit of the derived
// members would change what people see and not what is sent.
func (f *forward) expand(raw []byte) (*onceward.Node, error) {
	input, err := onceward.ParseJSON(raw)
	if err != nil {
		return nil, err
	}
	if input.Kind() != onceward.NodeObject {
		return nil, forwardError("the input is not an object")
	}
	r, err := f.read(input)
	if err != nil {
		return nil, err
	}
	derived, err := f.derive(&r)
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for name, value := range input.Members() {
		if name != fieldPath && name != fieldQuery && name != fieldBody {
			out = value.Append(append(appendJSONText(out, name), ':'), false)
			out = append(out, ',')
		}
	}
	whole, err := onceward.ParseJSON(append(append(out, derived...), '}'))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{fieldPath, fieldQuery, fieldBody} {
		given, there := input.Member(name)
		if made, ok := whole.Member(name); there && (!ok || !bytes.Equal(given.AppendCanonical(nil), made.AppendCanonical(nil))) {
			return nil, forwardError(name + " says something else than the request itself: a forwarded request is changed by whoever sends it")
		}
	}
	return whole, nil
}

// derive is path, query and body as the members of an object.
func (f *forward) derive(r *forwarded) ([]byte, error) {
	escaped, query, _ := strings.Cut(r.target, "?")
	params, ok := f.pattern.match(escaped)
	if !ok || checkURLText(r.target) != nil {
		return nil, forwardError("the target is not one of the route")
	}
	out := []byte(`"` + fieldPath + `":{`)
	for i, p := range params {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendJSONText(append(appendJSONText(out, p.name), ':'), p.value)
	}
	values, err := formValue(query)
	if err != nil {
		return nil, forwardError("the query cannot be read: " + err.Error())
	}
	out = values.append(append(out, `},"`+fieldQuery+`":`...))
	if len(r.body) == 0 {
		return out, nil
	}
	out = append(out, `,"`+fieldBody+`":`...)
	kind, _, _ := mime.ParseMediaType(r.contentType)
	switch {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		if _, err := onceward.ParseJSON(r.body); err != nil {
			return nil, err
		}
		return append(out, r.body...), nil
	case kind == "application/x-www-form-urlencoded":
		if values, err = formValue(string(r.body)); err != nil {
			return nil, forwardError("the form cannot be read: " + err.Error())
		}
		return values.append(out), nil
	case utf8.Valid(r.body) && !strings.HasPrefix(kind, "multipart/"):
		return appendJSONText(out, string(r.body)), nil
	}
	sum := sha256.Sum256(r.body)
	out = appendJSONText(append(out, `{"sha256":`...), hex.EncodeToString(sum[:]))
	return append(strconv.AppendInt(append(out, `,"bytes":`...), int64(len(r.body)), 10), '}'), nil
}

// formTree is a form with its bracketed names as a tree: meta[id]=1 is meta.id.
type formTree struct {
	texts   []string
	members []formMember
	list    bool // a[]= was read: always a list
}

type formMember struct {
	name string
	tree *formTree
}

// formDepthMax bounds the brackets of one name.
const formDepthMax = 16

// formValue reads a form, or a query. Names keep their order.
func formValue(encoded string) (*formTree, error) {
	root := &formTree{}
	for pair := range strings.SplitSeq(encoded, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		if err != nil || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("a field is not escaped as it should be")
		}
		if err := root.put(bracketSteps(name), value); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// bracketSteps splits a[b][c]; a name that is not of this form is one step.
func bracketSteps(name string) []string {
	head, rest, found := strings.Cut(name, "[")
	if !found || head == "" || !strings.HasSuffix(rest, "]") {
		return []string{name}
	}
	steps := append([]string{head}, strings.Split(strings.TrimSuffix(rest, "]"), "][")...)
	for _, s := range steps {
		if strings.ContainsAny(s, "[]") {
			return []string{name}
		}
	}
	return steps
}

func (t *formTree) put(steps []string, value string) error {
	if len(steps) > formDepthMax {
		return fmt.Errorf("a name has more than %d levels", formDepthMax)
	}
	for i, step := range steps {
		if step == "" && i == len(steps)-1 && i > 0 {
			t.list = true
			break
		}
		if len(t.texts) > 0 {
			return fmt.Errorf("a name has a value and parts")
		}
		at := slices.IndexFunc(t.members, func(m formMember) bool { return m.name == step })
		if at < 0 {
			t.members = append(t.members, formMember{step, &formTree{}})
			at = len(t.members) - 1
		}
		t = t.members[at].tree
	}
	if len(t.members) > 0 {
		return fmt.Errorf("a name has a value and parts")
	}
	t.texts = append(t.texts, value)
	return nil
}

// numbered reports whether the members are 0, 1, 2 and so on, in order.
func (t *formTree) numbered() bool {
	for i, m := range t.members {
		if m.name != strconv.Itoa(i) {
			return false
		}
	}
	return len(t.members) > 0
}

// append writes the tree as JSON: an object, a list where names were numbered or
// repeated, a text.
func (t *formTree) append(dst []byte) []byte {
	switch {
	case len(t.texts) == 1 && !t.list:
		return appendJSONText(dst, t.texts[0])
	case len(t.texts) > 0:
		dst = append(dst, '[')
		for i, s := range t.texts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONText(dst, s)
		}
		return append(dst, ']')
	}
	list := t.numbered()
	open, end := byte('{'), byte('}')
	if list {
		open, end = '[', ']'
	}
	dst = append(dst, open)
	for i, m := range t.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if !list {
			dst = append(appendJSONText(dst, m.name), ':')
		}
		dst = m.tree.append(dst)
	}
	return append(dst, end)
}

// CheckTarget refuses a request target (path and query) that a server could
// resolve to another resource than it says, or that is no target at all.
func CheckTarget(target string) error {
	path, _, _ := strings.Cut(target, "?")
	text, err := url.PathUnescape(path)
	if err != nil || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || checkURLText(target) != nil || hasDotSegment(text) || len(target) > URLBytesMax {
		return &onceward.Error{Code: onceward.CodeInvalidRequest, Message: "the address is not one that is passed on", Hint: "send a path without dot segments and without a fragment"}
	}
	return nil
}
