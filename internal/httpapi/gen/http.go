package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/httpapi"
)

// What of an OpenAPI document the page is made from.
type document struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas map[string]schema
		Headers map[string]parameter
	}
}

type operation struct {
	OperationID, Summary, Description string
	Parameters                        []parameter
	RequestBody                       *struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]response
	Codes     []string `json:"x-onceward-codes"`
}

type response struct {
	Description string
	Content     map[string]media
}

type media struct{ Schema schema }

type parameter struct {
	Name, In, Description string
	Schema                schema
}

type schema struct {
	Ref         string `json:"$ref"`
	Type        string
	Format      string
	Description string
	Enum        []string
	Examples    []string
	MaxLength   int
	Required    []string
	Properties  map[string]schema
	Items       *schema
	Additional  json.RawMessage `json:"additionalProperties"`
}

func (s schema) refName() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// inWords is a type as a reader wants it.
func (s schema) inWords() string {
	switch {
	case s.Ref != "":
		return fmt.Sprintf("[%s](#%s)", s.refName(), strings.ToLower(s.refName()))
	case len(s.Enum) > 12:
		return "string"
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case len(s.Examples) > 0:
		return "duration"
	case s.Format == "date-time":
		return "time"
	case s.Type == "array":
		return "list of " + s.Items.inWords()
	case s.Type == "":
		return "any JSON value"
	}
	return s.Type
}

const httpIntro = `<!-- Made by internal/httpapi/gen from the route table; make generate writes it anew. -->
# HTTP API

The same description for machines is served at ` + "`/openapi.json`" + ` (OpenAPI 3.1).

## What holds everywhere

- Bodies are JSON in UTF-8 with ` + "`Content-Type: application/json`" + ` and no content coding. Unknown members, members that
  stand twice, wrong types, ` + "`null`" + ` and data behind the value are refused with line, column and path. Numbers of an
  ` + "`input`" + ` are kept digit by digit. Unknown query parameters are refused too.
- Times are RFC 3339 in UTC, durations are Go's (` + "`5s`, `1m30s`" + `).
- Refusals and failures are problems: [errors.md](errors.md) has the codes and their statuses. A refused request
  leaves no record.
- A key comes from the contract, or from the caller: the header ` + "`Idempotency-Key`" + ` or the member ` + "`key`" + `. Where the
  contract derives the key, the caller's is checked and then ignored.
- ` + "`decision`" + ` says how a request for an operation was answered: ` + "`fresh`" + ` it created the operation, ` + "`replayed`" + ` the stored
  end was returned, ` + "`joined`" + ` it waited with the first, ` + "`escalated`" + ` the outcome is unknown or a person has to act,
  ` + "`blocked`" + ` it was refused.
- A server on a loopback address answers to its address and port, ` + "`localhost`" + ` and configured names only (` + "`Host`" + `),
  and to no page of another origin (` + "`Origin`, `Sec-Fetch-Site`" + `): what a browser can be made to send gets
  ` + "`origin_refused`" + `.
- A caller that hangs up ends its waiting and nothing else: the write goes on and is recorded.
- A result is shown to the principal that asked first and to the roles operator and auditor; anybody else of the
  tenant sees the status, and ` + "`result_withheld`" + `.

`

// httpPage is docs/reference/http.md.
func httpPage(openAPI []byte) []byte {
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		panic(err) // it was made a moment ago
	}
	var b bytes.Buffer
	b.WriteString(httpIntro)
	writeLimits(&b)
	writeOverview(&b, &d)
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			op := d.Paths[path][method]
			writeOperation(&b, strings.ToUpper(method)+" "+path, &op)
		}
	}
	b.WriteString("## Answer headers\n\n| header | meaning |\n| --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Headers)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, d.Components.Headers[name].Description)
	}
	b.WriteString("\n## Types\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		writeType(&b, name, d.Components.Schemas[name])
	}
	return b.Bytes()
}

func writeLimits(b *bytes.Buffer) {
	b.WriteString("| limit | value |\n| --- | --- |\n")
	for _, l := range []struct {
		what  string
		value any
	}{
		{"body", fmt.Sprintf("%d bytes by default", httpapi.DefaultBodyBytesMax)},
		{"nesting of a body, envelope included", fmt.Sprintf("%d levels", onceward.JSONDepthMax)},
		{"values in a body", onceward.JSONValuesMax},
		{"significant digits of a number; exponent", fmt.Sprintf("%d; %d", onceward.NumberDigitsMax, onceward.NumberExponentMax)},
		{"operations in a batch", httpapi.BatchItemsMax},
		{"query string", fmt.Sprintf("%d bytes", httpapi.QueryBytesMax)},
		{"key", fmt.Sprintf("%d characters", onceward.KeyBytesMax)},
		{"run, correlation ID, claim token", fmt.Sprintf("%d bytes", httpapi.LabelBytesMax)},
		{"claim token, at least", fmt.Sprintf("%d characters", onceward.ClaimTokenMin)},
		{"reference", fmt.Sprintf("%d bytes", httpapi.ReferenceBytesMax)},
		{"reason", fmt.Sprintf("%d bytes", httpapi.ReasonBytesMax)},
		{"page", fmt.Sprintf("%d operations, %d at most", httpapi.DefaultPage, onceward.MaxPage)},
		{"wait", fmt.Sprintf("%s, %s at most", onceward.DefaultWait, onceward.MaxWait)},
		// internal/webserver's; a test there holds these lines to its constants.
		{"request header", "32768 bytes"},
		{"a request header arrives within", "10s"},
		{"a whole request arrives within", "30s"},
		{"a request is answered within, waiting included", "2m0s"},
		{"a connection is kept open between requests for", "2m0s"},
		{"connections served at once; more wait", "8192"},
	} {
		fmt.Fprintf(b, "| %s | %v |\n", l.what, l.value)
	}
	b.WriteByte('\n')
}

func writeOverview(b *bytes.Buffer, d *document) {
	b.WriteString("## Routes\n\n| call | does |\n| --- | --- |\n")
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			fmt.Fprintf(b, "| `%s %s` | %s |\n", strings.ToUpper(method), path, d.Paths[path][method].Summary)
		}
	}
	b.WriteByte('\n')
}

func writeOperation(b *bytes.Buffer, title string, op *operation) {
	fmt.Fprintf(b, "### %s\n\n%s", title, op.Summary)
	if op.Description != "" {
		b.WriteString(" " + op.Description)
	}
	b.WriteString("\n\n")
	if len(op.Parameters) > 0 {
		b.WriteString("| parameter | in | type | meaning |\n| --- | --- | --- | --- |\n")
		for _, p := range op.Parameters {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.In, p.Schema.inWords(), p.Description)
		}
		b.WriteByte('\n')
	}
	if body := op.RequestBody; body != nil {
		writeRequestBody(b, body.Content["application/json"].Schema, body.Required)
	}
	b.WriteString("| status | body | meaning |\n| --- | --- | --- |\n")
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if r := op.Responses[status]; status != "default" {
			for _, m := range r.Content {
				fmt.Fprintf(b, "| %s | %s | %s |\n", status, m.Schema.inWords(), r.Description)
			}
		}
	}
	b.WriteByte('\n')
	if len(op.Codes) > 0 {
		fmt.Fprintf(b, "Refusals of its own: `%s`.\n\n", strings.Join(op.Codes, "`, `"))
	}
}

func writeRequestBody(b *bytes.Buffer, s schema, required bool) {
	switch {
	case s.Ref != "" && required:
		fmt.Fprintf(b, "Body: %s.\n\n", s.inWords())
	case s.Ref != "":
		fmt.Fprintf(b, "Body: none, or %s.\n\n", s.inWords())
	case s.Description != "":
		fmt.Fprintf(b, "Body: %s\n\n", s.Description)
	default:
		b.WriteString("Body: none, or an empty object.\n\n")
	}
}

func writeType(b *bytes.Buffer, name string, s schema) {
	fmt.Fprintf(b, "\n### %s\n\n| member | type | | meaning |\n| --- | --- | --- | --- |\n", name)
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[member]
		presence := ""
		if slices.Contains(s.Required, member) {
			presence = "always"
		}
		meaning := p.Description
		if p.MaxLength > 0 {
			meaning = strings.TrimSpace(fmt.Sprintf("%s At most %d bytes.", meaning, p.MaxLength))
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", member, p.inWords(), presence, meaning)
	}
}
