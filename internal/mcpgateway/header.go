package mcpgateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/onceward/onceward"
)

// Headers of the stateless era that repeat what the body says, for whoever
// stands in between and reads no bodies.
const (
	methodHeader      = "Mcp-Method"
	nameHeader        = "Mcp-Name"
	paramHeaderPrefix = "Mcp-Param-"
	paramAnnotation   = "x-mcp-header" // in an input schema: the header of a property
)

// codeHeaderMismatch is the protocol's: headers and body say different things.
const codeHeaderMismatch = -32020

func headerMismatch(format string, args ...any) error {
	return &jsonrpc.Error{Code: codeHeaderMismatch, Message: fmt.Sprintf(format, args...)}
}

// agrees checks what a request's headers repeat of its body, before anybody acts
// on either: a proxy on the way may have let it pass because of its headers.
// The body is put back. Requests of the era of sessions repeat nothing but the
// version.
//
// Why not the SDK: it knows no tool of ours, and no task, and of a member that
// stands twice or in other letters it takes one.
func (g *Gateway) agrees(req *http.Request, who onceward.Principal, scope string) (id json.RawMessage, err error) {
	if err := headersOnce(req.Header); err != nil {
		return nil, err
	}
	if req.Method != http.MethodPost {
		return nil, nil
	}
	body, err := peek(req)
	if err != nil || len(body) > BodyBytesMax || !json.Valid(body) {
		return nil, nil // the SDK says what is wrong with it
	}
	if req.Header.Get(versionHeader) < versionModern {
		return agreesOfSessions(req.Header, body)
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return m.ID, unreadable(err)
	}
	if _, err := onceward.ParseJSON(body); err != nil { // such as a member that stands twice
		return m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the body is no single message: " + err.Error()}
	}
	if isTaskMethod(m.Method) && m.Params.TaskID != "" && req.Header.Get(nameHeader) != m.Params.TaskID {
		return m.ID, headerMismatch("Mcp-Name does not name the task of the body")
	}
	return m.ID, g.headersAgree(req, &m, who, scope)
}

// agreesOfSessions is agrees in the era of sessions, where a body may be a batch.
func agreesOfSessions(header http.Header, body []byte) (id json.RawMessage, err error) {
	all := []json.RawMessage{body}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) && json.Unmarshal(body, &all) != nil {
		return nil, nil
	}
	for _, one := range all {
		var m message
		if err := json.Unmarshal(one, &m); err != nil {
			return m.ID, unreadable(err)
		}
		if err := versionAgrees(header, &m); err != nil {
			return m.ID, err
		}
	}
	return nil, nil
}

// headersOnce refuses a header line of the protocol that stands twice: a proxy may
// have gone by the one, and we by the other.
func headersOnce(header http.Header) error {
	for _, name := range []string{versionHeader, methodHeader, nameHeader} {
		if len(header.Values(name)) > 1 {
			return headerMismatch("%s stands more than once", name)
		}
	}
	return nil
}

// versionAgrees refuses a version header that is not the body's version: by it
// everybody on the way tells the era, and so which headers have to be there.
func versionAgrees(header http.Header, m *message) error {
	said, _ := m.Params.Meta[metaVersion].(string)
	if said != "" && said != header.Get(versionHeader) {
		return headerMismatch("%s does not name the version of the body", versionHeader)
	}
	return nil
}

// headersAgree compares the headers of a call's parameters with its arguments.
func (g *Gateway) headersAgree(req *http.Request, m *message, who onceward.Principal, scope string) error {
	if m.Method != "tools/call" || m.Params.Name == StatusTool {
		return nil
	}
	o := g.find(req.Context(), who, scope, m.Params.Name)
	if o == nil {
		return nil
	}
	shown := o.definition()
	if shown == nil {
		return nil
	}
	return paramsAgree(req.Header, shown.get("inputSchema"), m.Params.Arguments)
}

// paramsAgree compares the headers of parameters with the arguments.
func paramsAgree(header http.Header, schema, arguments json.RawMessage) error {
	if !bytes.Contains(schema, []byte(paramAnnotation)) {
		return nil
	}
	var s paramSchema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil // what cannot be read annotates nothing
	}
	return s.agree(header, arguments, "")
}

// paramSchema is what an input schema says about headers. What is not reached
// through properties alone says nothing.
type paramSchema struct {
	Type       any                    `json:"type"`
	Header     any                    `json:"x-mcp-header"`
	Properties map[string]paramSchema `json:"properties"`
}

func (s *paramSchema) agree(header http.Header, object json.RawMessage, path string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		members = nil // no object: nothing of it is there
	}
	for name := range s.Properties {
		p := s.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		if err := p.agree(header, members[name], at); err != nil {
			return err
		}
		suffix, _ := p.Header.(string)
		if suffix == "" || p.Type != "string" && p.Type != "integer" && p.Type != "boolean" {
			continue
		}
		if err := paramAgrees(header.Values(paramHeaderPrefix+suffix), members[name]); err != nil {
			return headerMismatch("%s%s and the parameter %s: %v", paramHeaderPrefix, onceward.Visible(suffix), onceward.Visible(at), err)
		}
	}
	return nil
}

// paramAgrees compares the lines of one header with one argument.
func paramAgrees(lines []string, argument json.RawMessage) error {
	absent := len(argument) == 0 || string(argument) == "null"
	switch {
	case absent && len(lines) == 0:
		return nil
	case absent:
		return errors.New("the body has no such value")
	case len(lines) == 0:
		return errors.New("the header is missing")
	case len(lines) > 1:
		return errors.New("the header stands more than once")
	}
	text, err := paramText(lines[0])
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(argument, &value); err != nil {
		return errors.New("the body's value cannot be read")
	}
	same := false
	switch v := value.(type) {
	case string:
		same = v == text
	case bool:
		same = strconv.FormatBool(v) == text
	case float64: // 42 and 42.0 are one number
		n, err := strconv.ParseFloat(text, 64)
		same = err == nil && n == v && v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	if !same {
		return errors.New("they differ")
	}
	return nil
}

// paramText reads a header's value, which stands in Base64 where it is no plain
// text: =?base64?…?=.
func paramText(line string) (string, error) {
	inner, wrapped := strings.CutPrefix(line, "=?base64?")
	if !wrapped || !strings.HasSuffix(inner, "?=") {
		return line, nil
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?="))
	if err != nil {
		return "", errors.New("the header's Base64 cannot be read")
	}
	return string(raw), nil
}
