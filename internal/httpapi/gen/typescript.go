package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const typescriptIntro = `// Made by internal/httpapi/gen from the OpenAPI document; make generate writes it anew.
`

// wireType is what the OpenAPI document says of a value, as far as its types go.
type wireType struct {
	Ref         string               `json:"$ref"`
	Type        string               `json:"type"`
	Enum        []string             `json:"enum"`
	Description string               `json:"description"`
	Properties  map[string]*wireType `json:"properties"`
	Required    []string             `json:"required"`
	Items       *wireType            `json:"items"`
	Additional  json.RawMessage      `json:"additionalProperties"`
}

// typescript is the wire types of the document as TypeScript interfaces.
func typescript(document []byte) []byte {
	var doc struct {
		Components struct {
			Schemas map[string]*wireType `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		panic(err) // the document is made here
	}
	var b bytes.Buffer
	b.WriteString(typescriptIntro)
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		b.WriteByte('\n')
		comment(&b, "", s.Description)
		if s.Type != "object" || len(s.Properties) == 0 {
			fmt.Fprintf(&b, "export type %s = %s;\n", name, s.typescript())
			continue
		}
		fmt.Fprintf(&b, "export interface %s {\n", name)
		for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[member]
			comment(&b, "  ", p.Description)
			optional := "?"
			if slices.Contains(s.Required, member) {
				optional = ""
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", member, optional, p.typescript())
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

func comment(b *bytes.Buffer, indent, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "* /"))
	}
}

// typescript is the type of one value.
func (s *wireType) typescript() string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, w := range s.Enum {
			words[i] = "'" + w + "'"
		}
		return strings.Join(words, " | ")
	}
	switch s.Type {
	case "string", "boolean":
		return s.Type
	case "integer", "number":
		return "number"
	case "array":
		item := s.Items.typescript()
		if strings.Contains(item, " ") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		var values wireType
		if err := json.Unmarshal(s.Additional, &values); err != nil || string(s.Additional) == "false" {
			return "Record<string, unknown>"
		}
		return "Record<string, " + values.typescript() + ">"
	}
	return "unknown"
}
