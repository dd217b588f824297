package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// apiVersion is the version of the API, not of the program.
const apiVersion = "1.0.0"

// OpenAPI returns the OpenAPI 3.1 document of the API, made from the route table
// and the wire types. It is the same on every call.
func OpenAPI() []byte {
	components := schemas{}
	paths := map[string]any{}
	for i := range routes {
		r := &routes[i]
		item, _ := paths[r.Path].(map[string]any)
		if item == nil {
			item = map[string]any{}
			paths[r.Path] = item
		}
		item[strings.ToLower(r.Method)] = r.openAPI(components)
	}
	document := map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title":   "Onceward",
			"version": apiVersion,
			"description": "One business intention, one stable key, one recorded outcome. A request that is repeated under its key gets the answer of the first; " +
				"it never makes a second effect.",
			"license": map[string]any{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"paths":    paths,
		"security": []any{map[string]any{"bearer": []any{}}, map[string]any{}},
		"components": map[string]any{
			"schemas":         components,
			"headers":         headerComponents(),
			"responses":       map[string]any{"Problem": problemResponse(components)},
			"securitySchemes": map[string]any{"bearer": map[string]any{"type": "http", "scheme": "bearer", "description": "Not needed on a loopback address without configured tokens."}},
		},
	}
	return encodeDocument(document)
}

func encodeDocument(document any) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		panic(err) // the document is made of maps, strings and numbers
	}
	return buf.Bytes()
}

func (r *route) openAPI(components schemas) map[string]any {
	out := map[string]any{"operationId": r.Name, "summary": r.Summary, "responses": r.responses(components)}
	if parameters := r.parameters(); len(parameters) > 0 {
		out["parameters"] = parameters
	}
	if r.Body != nil {
		mediaType := mediaJSON
		if _, raw := r.Body.(rawBytes); raw {
			mediaType = "*/*"
		}
		out["requestBody"] = map[string]any{"required": !r.BodyOptional, "content": jsonContent(mediaType, bodySchema(components, r.Body))}
	}
	if len(r.Refusals) > 0 {
		out["x-onceward-codes"] = r.Refusals
	}
	switch {
	case r.Signed:
		out["security"], out["description"] = []any{}, "Needs no token: the sender is known by its signature, and acts as the principal of its source."
	case r.public():
		out["security"] = []any{}
	default:
		out["description"] = "Needs the role " + rolesInWords(r.Action.Roles()) + "."
	}
	return out
}

func bodySchema(components schemas, body any) map[string]any {
	if _, ok := body.(rawInput); ok {
		return map[string]any{"description": "What the tool's input schema takes."}
	}
	if _, ok := body.(rawText); ok {
		return map[string]any{"type": "string"}
	}
	if _, ok := body.(rawBytes); ok {
		return map[string]any{"type": "string", "format": "binary", "description": "The bytes of the document, with their media type."}
	}
	return components.of(reflect.TypeOf(body), "")
}

func jsonContent(mediaType string, schema map[string]any) map[string]any {
	return map[string]any{mediaType: map[string]any{"schema": schema}}
}

func (r *route) parameters() []any {
	var out []any
	for _, name := range pathParams(r.Path) {
		out = append(out, map[string]any{"name": name, "in": "path", "required": true, "schema": textSchema()})
	}
	for _, p := range r.Query {
		out = append(out, map[string]any{"name": p.Name, "in": "query", "description": p.Doc, "schema": p.schema()})
	}
	for _, p := range r.Headers {
		out = append(out, map[string]any{"name": p.Name, "in": "header", "description": p.Doc, "schema": p.Schema})
	}
	return out
}

func (p *param) schema() map[string]any {
	if p.Repeats {
		return map[string]any{"type": "array", "items": p.Schema}
	}
	return p.Schema
}

// pathParams returns the names in braces.
func pathParams(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}

func (r *route) responses(components schemas) map[string]any {
	out := map[string]any{"default": map[string]any{"$ref": "#/components/responses/Problem"}}
	for _, a := range r.Answers {
		mediaType := mediaJSON
		if _, problem := a.Body.(Problem); problem {
			mediaType = mediaProblem
		}
		if _, raw := a.Body.(rawBytes); raw {
			mediaType = "*/*"
		}
		if _, text := a.Body.(rawText); text {
			mediaType = "text/plain"
		}
		response := map[string]any{"description": a.Doc}
		if a.Body != nil {
			response["content"] = jsonContent(mediaType, bodySchema(components, a.Body))
		}
		if names := r.answerHeaders(a); len(names) > 0 {
			headers := map[string]any{}
			for _, name := range names {
				headers[name] = map[string]any{"$ref": "#/components/headers/" + name}
			}
			response["headers"] = headers
		}
		out[strconv.Itoa(a.Status)] = response
	}
	return out
}

// answerHeaders are the headers of an answer about one operation.
func (r *route) answerHeaders(a answer) []string {
	var names []string
	switch a.Body.(type) {
	case OperationAnswer, ClaimAnswer, OperationState, ApproveAnswer, ReplayPlan, Problem:
		names = []string{"Onceward-Operation", "Onceward-Attempt", "Location", "Retry-After"}
	}
	if r.Decides && len(names) > 0 {
		names = append(names, "Onceward-Decision")
	}
	return names
}

func headerComponents() map[string]any {
	out := map[string]any{}
	for _, h := range answerHeaderDocs {
		out[h.Name] = map[string]any{"description": h.Doc, "schema": h.Schema}
	}
	return out
}

var answerHeaderDocs = []param{
	{Name: "Onceward-Operation", Schema: textSchema(), Doc: "The operation's ID."},
	{Name: "Onceward-Attempt", Schema: textSchema(), Doc: "The ID of its newest attempt; absent before the first."},
	{Name: "Onceward-Decision", Schema: enumSchema("decisions"), Doc: "How the request was answered."},
	{Name: "Location", Schema: textSchema(), Doc: "Where to ask for it, while it is not final."},
	{Name: "Retry-After", Schema: map[string]any{"type": "integer"}, Doc: "Seconds after which asking again makes sense; absent for an end that stays."},
	{Name: RequestIDHeader, Schema: textSchema(), Doc: "Names this request in the server's log."},
}

func problemResponse(components schemas) map[string]any {
	return map[string]any{
		"description": "Refused, or failed: docs/reference/errors.md lists the codes and their statuses.",
		"content":     jsonContent(mediaProblem, components.of(reflect.TypeFor[Problem](), "")),
		"headers":     map[string]any{"Retry-After": map[string]any{"$ref": "#/components/headers/Retry-After"}},
	}
}
