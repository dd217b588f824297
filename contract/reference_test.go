package contract

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward"
)

const referencePage = "../docs/reference/contract.md"

// TestReferencePageSaysWhatTheLoaderReads keeps the parts of the page that are
// made from the code; with -update it writes them anew.
func TestReferencePageSaysWhatTheLoaderReads(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for name, part := range map[string]string{
		"fields": "\n" + fieldTables(reflect.TypeFor[document](), true), "workflow": "\n" + fieldTables(reflect.TypeFor[workflowDocument](), false), "upstream": "\n" + fieldTables(reflect.TypeFor[upstreamDocument](), false), "source": "\n" + fieldTables(reflect.TypeFor[eventSourceDocument](), false), "mcpserver": "\n" + fieldTables(reflect.TypeFor[mcpServerDocument](), false), "lint": "\n" + lintTable(), "limits": "\n" + limitTable(), "cost": thousands(exprCostMax),
	} {
		begin, end := "<!-- "+name+" -->", "<!-- /"+name+" -->"
		before, rest, ok := strings.Cut(page, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("the page has no part %s", name)
		}
		page = before + begin + part + end + after
	}
	if *update {
		if err := os.WriteFile(referencePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(data), page); diff != "" && !*update {
		t.Errorf("the page is behind the code; with -update it is written anew:\n%s", diff)
	}
	for _, name := range functionNames {
		if !strings.Contains(page, name+"(") {
			t.Errorf("the page does not name the function %s()", name)
		}
	}
}

// fieldTables is one table for each group of fields.
func fieldTables(document reflect.Type, withLookup bool) string {
	var b strings.Builder
	var write func(t reflect.Type, path string)
	write = func(t reflect.Type, path string) {
		title := path
		if title == "" {
			title = "the document"
		}
		fmt.Fprintf(&b, "### %s\n\n| field | is | default | meaning |\n| --- | --- | --- | --- |\n", title)
		var inner []fieldInfo
		for _, f := range fieldsOf(t) {
			if len(f.index) > 1 && t.Field(f.index[0]).Type == reflect.TypeFor[spec]() {
				continue // as in a Tool: the page has it there
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, wordFor(f), defaultFor(f), strings.ReplaceAll(f.doc, "|", `\|`))
			if isGroup(f.typ) && !slices.Contains(sharedGroups, f.typ) {
				inner = append(inner, f)
			}
		}
		b.WriteString("\n")
		for _, f := range inner {
			write(elem(f.typ), joinField(path, f.name))
		}
	}
	write(document, "")
	if !withLookup {
		return b.String()
	}
	b.WriteString("### probe.request, source.request, audit.request\n\n")
	b.WriteString("| field | is | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range fieldsOf(reflect.TypeFor[lookup]()) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, wordFor(f), defaultFor(f), f.doc)
	}
	return b.String() + "\n"
}

// sharedGroups stand in several places and get one table.
var sharedGroups = []reflect.Type{reflect.TypeFor[lookup]()}

func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

func isGroup(t reflect.Type) bool {
	_, isLeaf := reflect.New(elem(t)).Interface().(leaf)
	return !isLeaf
}

// wordFor says what a field's value is.
func wordFor(f fieldInfo) string {
	switch {
	case f.typ.Kind() == reflect.Slice:
		return "list of fields"
	case isGroup(f.typ):
		return "fields"
	}
	switch reflect.New(f.typ).Interface().(type) {
	case *choice:
		return "`" + strings.Join(f.enum, "` `") + "`"
	case *text:
		return "text"
	case *texts:
		return "list of texts"
	case *yesNo:
		return "`true` `false`"
	case *count:
		return "number"
	case *span:
		if f.forever {
			return "duration, `forever`"
		}
		return "duration"
	case *size:
		return "size"
	case *rate:
		return "rate"
	case *source:
		return "CEL"
	case *sources:
		return "list of CEL"
	case *rules:
		return "list of lists of CEL"
	case *pattern:
		return "template"
	case *patterns:
		return "names to templates"
	case *tree:
		return "JSON template"
	case *schema:
		return "JSON Schema"
	}
	return "?"
}

func defaultFor(f fieldInfo) string {
	switch {
	case f.required:
		return "needed"
	case f.fallback != "":
		return "`" + f.fallback + "`"
	}
	return ""
}

func lintTable() string {
	var b strings.Builder
	b.WriteString("| rule | at worst | what it finds |\n| --- | --- | --- |\n")
	for _, r := range LintRules {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Severity, r.About)
	}
	return b.String()
}

func limitTable() string {
	var b strings.Builder
	b.WriteString("| of | limit |\n| --- | --- |\n")
	for _, row := range []struct {
		of    string
		limit string
	}{
		{"a file", thousands(FileBytesMax) + " bytes, " + thousands(DocumentsMax) + " documents"},
		{"a document", thousands(DocumentBytesMax) + " bytes, " + thousands(documentNodesMax) + " values, " + thousands(documentDepthMax) + " levels"},
		{"an expression", thousands(exprCharactersMax) + " characters"},
		{"a text that a function makes", thousands(functionBytesMax) + " bytes"},
		{"a key rule", thousands(onceward.KeyPartsMax) + " parts; `key_was` has up to " + thousands(earlierRulesMax) + " rules"},
		{"a rendered URL, a header value, a body", thousands(URLBytesMax) + ", " + thousands(HeaderBytesMax) + ", " + thousands(RequestBytesMax) + " bytes"},
		{"an input, or a JSON answer that is read", thousands(onceward.JSONBytesMax) + " bytes"},
		{"`answer.judge_bytes`", thousands(judgeBytesMax) + " bytes"},
		{"effects that one look-up may find", thousands(foundMax)},
		{"a secret", thousands(secretBytesMax) + " bytes"},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row.of, row.limit)
	}
	return b.String()
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
