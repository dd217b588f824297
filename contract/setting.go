package contract

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

// Setting is one field of a contract as it is in force.
type Setting struct {
	Field   string // under spec, as in retry.backoff.max
	Value   string // as it would stand in the file, or in words where nothing does
	Default bool   // the file leaves it out
	Meaning string // one sentence
}

// Settings lists what is in force besides the templates, which the source
// shows: every field that holds one value, with its default where the file
// leaves it out. A group that is left out and has no defaults is one line.
func (t *Tool) Settings() []Setting {
	var list []Setting
	t.settings(reflect.ValueOf(&t.doc.Spec).Elem(), "", &list)
	return list
}

func (t *Tool) settings(v reflect.Value, path string, list *[]Setting) {
	for _, f := range fieldsOf(v.Type()) {
		field, name := v.FieldByIndex(f.index), joinField(path, f.name)
		if field.Kind() == reflect.Pointer {
			if field.IsNil() {
				*list = append(*list, Setting{Field: name, Value: "none", Default: true, Meaning: firstSentence(f.doc)})
				continue
			}
			field = field.Elem()
		}
		if field.Type() == reflect.TypeFor[lookup]() || field.Kind() == reflect.Slice {
			continue
		}
		if _, isGroup := field.Addr().Interface().(stander); isGroup {
			t.settings(field, name, list)
			continue
		}
		if s, ok := t.setting(field.Addr().Interface(), name, f); ok {
			*list = append(*list, s)
		}
	}
}

// setting is one field; ok is false for templates and schemas.
func (t *Tool) setting(field any, name string, f fieldInfo) (s Setting, ok bool) {
	value, ok := valueText(field)
	if !ok {
		return s, false
	}
	s = Setting{Field: name, Value: value, Default: !field.(interface{ stands() bool }).stands(), Meaning: firstSentence(f.doc)}
	if s.Default && f.fallback == "" {
		s.Value = t.unsaid(name)
	}
	return s, true
}

// valueText is a field's value as it would stand in the file.
func valueText(field any) (value string, ok bool) {
	switch l := field.(type) {
	case *choice:
		return l.value, true
	case *text:
		return l.value, true
	case *texts:
		return strings.Join(l.values(), ", "), true
	case *yesNo:
		return strconv.FormatBool(l.value), true
	case *count:
		return strconv.Itoa(l.value), true
	case *span:
		if l.forever {
			return "forever", true
		}
		return formatDuration(l.value), true
	case *size:
		return formatSize(l.value), true
	case *rate:
		return strconv.Itoa(l.value.Count) + "/" + formatDuration(l.value.Per), true
	case *source:
		return l.value, true
	case *sources:
		var list []string
		for i := range l.items {
			list = append(list, l.items[i].value)
		}
		return strings.Join(list, ", "), true
	}
	return "", false
}

// unsaid is what a field without a fixed default is if the file leaves it out.
func (t *Tool) unsaid(name string) string {
	switch name {
	case "lease":
		return formatDuration(t.info.Policy.Lease)
	case "hosts":
		if slices.Contains(t.hosts, standInHost) {
			return "those of the URLs, of which a variable is not set here"
		}
		return strings.Join(t.hosts, ", ")
	case "key":
		if t.info.KeyFromCaller {
			return "given by the caller"
		}
		return "none"
	case "volatile":
		return "none"
	case "not_after":
		return "no limit"
	case "rate":
		return "no bound"
	case "serialize_by":
		return "nothing: operations run side by side"
	case "keep.subject":
		return "the tenant's, where something is encrypted"
	case "conflict":
		return "the effect is done"
	case "probe.settle":
		return "0s: not found counts as proof at once"
	case "provider_key.max":
		return strconv.Itoa(onceward.KeyBytesMax)
	case "approval.by":
		return "every approver of the tenant"
	case "probe.ours":
		return "every effect that is found"
	}
	return "not said"
}

// firstSentence is the first sentence of a field's documentation.
func firstSentence(doc string) string {
	for _, end := range []string{". ", ": "} {
		if head, _, found := strings.Cut(doc, end); found && len(head) > 20 {
			doc = head
		}
	}
	return strings.TrimSuffix(doc, ".")
}
