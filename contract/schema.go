package contract

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// schemaID identifies the published schema.
const schemaID = "urn:onceward:contract:v1"

// Schema is the JSON Schema (2020-12) of a contract document, for editors and
// for checks outside. It is made from the same fields that the loader reads; the
// loader knows more: expressions, templates and combinations of fields.
func Schema() []byte {
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     schemaID,
		"title":   "Onceward contract",
		"$defs": map[string]any{
			kindTool:      objectSchema(reflect.TypeFor[document]()),
			kindWorkflow:  objectSchema(reflect.TypeFor[workflowDocument]()),
			kindSource:    objectSchema(reflect.TypeFor[eventSourceDocument]()),
			kindUpstream:  objectSchema(reflect.TypeFor[upstreamDocument]()),
			kindMCPServer: objectSchema(reflect.TypeFor[mcpServerDocument]()),
		},
		"allOf":    []any{kindSchema(kindTool), kindSchema(kindWorkflow), kindSchema(kindUpstream), kindSchema(kindSource), kindSchema(kindMCPServer)},
		"required": []string{"kind"}, "properties": map[string]any{"kind": map[string]any{"enum": []string{kindTool, kindWorkflow, kindUpstream, kindSource, kindMCPServer}}},
	}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil { // maps of plain values always marshal
		panic("contract: schema does not marshal: " + err.Error())
	}
	return append(out, '\n')
}

// kindSchema holds a document of a kind to the schema of that kind.
func kindSchema(kind string) map[string]any {
	return map[string]any{
		"if":   map[string]any{"properties": map[string]any{"kind": map[string]any{"const": kind}}, "required": []string{"kind"}},
		"then": map[string]any{"$ref": "#/$defs/" + kind},
	}
}

// objectSchema describes a struct of document.go.
func objectSchema(t reflect.Type) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, f := range fieldsOf(t) {
		properties[f.name] = fieldSchema(f)
		if f.required {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func fieldSchema(f fieldInfo) map[string]any {
	s := typeSchema(f)
	if f.doc != "" {
		s["description"] = f.doc
	}
	if f.fallback != "" {
		s["default"] = fallbackValue(f.fallback)
	}
	return s
}

func typeSchema(f fieldInfo) map[string]any {
	t := f.typ
	switch {
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "maxItems": listItemsMax, "items": objectSchema(t.Elem())}
	case t.Kind() == reflect.Pointer:
		return objectSchema(t.Elem())
	}
	if l, ok := reflect.New(t).Interface().(leaf); ok {
		return l.jsonSchema(f)
	}
	return objectSchema(t)
}

// fallbackValue is a default as JSON has it.
func fallbackValue(s string) any {
	if b, err := strconv.ParseBool(s); err == nil && (s == "true" || s == "false") {
		return b
	}
	if strings.Trim(s, "0123456789") == "" {
		return json.Number(s)
	}
	return s
}
