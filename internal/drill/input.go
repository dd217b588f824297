package drill

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/contract"
)

// leaf is a place in the input that holds a text, a number or a boolean.
type leaf struct {
	path     string // order.lines[0].note; empty: none
	steps    []any
	readable bool // takes the mark as it is
}

func (l leaf) plain() bool { return l.path == "" }

// mutation is a value for a leaf.
type mutation struct {
	leaf  leaf
	value any
}

// variations tries what an input can be changed to under a contract. The
// contract itself says what a change means: by the key and digest that it gives.
type variations struct {
	tool   *contract.Tool
	input  []byte
	caller bool
	base   *onceward.Prepared
	leaves []leaf
}

func newVariations(tool *contract.Tool, input []byte, caller bool) (*variations, error) {
	v := &variations{tool: tool, input: input, caller: caller}
	var err error
	if v.base, err = v.prepare(input); err != nil {
		return nil, fmt.Errorf("the example input: %w", err)
	}
	root, err := decodeInput(input)
	if err != nil {
		return nil, err
	}
	v.leaves = leavesOf(root, nil, "", nil)
	return v, nil
}

func (v *variations) prepare(input []byte) (*onceward.Prepared, error) {
	in := &onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: v.tool.Info().Name, Input: input}
	if v.caller {
		in.CallerKey = "drill"
	}
	return v.tool.Prepare(in, 0)
}

// markField finds the field that can carry the drill's mark: a key field that
// takes it as text, else one that takes some other value of its form. Only one
// is changed: another one may be a recipient or the name of a template.
func (v *variations) markField(wanted, mark string) (leaf, error) {
	byName := slices.Clone(v.leaves)
	slices.SortStableFunc(byName, func(a, b leaf) int { return rank(a.path) - rank(b.path) })
	for _, readable := range []bool{true, false} {
		for _, l := range byName {
			if wanted != "" && l.path != wanted {
				continue
			}
			old := valueAt(v.input, l)
			if wanted == "" && recipient(old) {
				continue
			}
			values := markValues(old, mark)
			if readable {
				values = values[:min(1, len(values))]
			}
			for _, value := range values {
				if p, err := v.prepare(withValue(v.input, l, value)); err == nil && p.Key != v.base.Key {
					l.readable = value == mark
					return l, nil
				}
			}
		}
	}
	if wanted != "" {
		return leaf{}, &onceward.Error{Code: onceward.CodeInvalidInput, Message: fmt.Sprintf("the input field %q is not there, is not in the key, or takes no other value", wanted)}
	}
	return leaf{}, &onceward.Error{Code: onceward.CodeInvalidInput, Message: "no field of the key takes another value than that of the example input", Hint: "name one with --key-field"}
}

// rank puts fields first whose name says that they name something.
func rank(path string) int {
	for i, word := range []string{"id", "number", "ref", "event", "key"} {
		if strings.HasSuffix(path, word) {
			return i
		}
	}
	return 9
}

// nobody is an address at which nobody can ever be (RFC 2606).
const nobody = "drill@example.invalid"

// recipient reports whether a value looks like somebody's address: a drill makes
// none up.
func recipient(v any) bool {
	s, ok := v.(string)
	return ok && (strings.HasPrefix(s, "+") || strings.Contains(s, "@"))
}

// markValues are values for a field, made from the mark; the first is the mark
// itself, for a text.
func markValues(old any, mark string) []any {
	sum := sha256.Sum256([]byte(mark))
	switch old := old.(type) {
	case string:
		h := hex.EncodeToString(sum[:])
		return []any{
			mark, strings.ReplaceAll(mark, "-", ""), strings.ToUpper(mark),
			h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:32], // a UUID
			sameForm(old, sum, false), sameForm(old, sum, true),
		}
	case json.Number:
		n := binary.BigEndian.Uint32(sum[:]) % 900_000_000
		return []any{json.Number(strconv.Itoa(int(n) + 100_000_000)), json.Number(strconv.Itoa(int(n)%9000 + 1000))}
	}
	return nil
}

// sameForm puts other digits for digits and, if wanted, other letters for letters.
func sameForm(old string, sum [sha256.Size]byte, letters bool) string {
	b := []byte(old)
	for i, c := range b {
		r := sum[i%len(sum)]
		switch {
		case c >= '0' && c <= '9':
			b[i] = '0' + r%10
		case !letters:
		case c >= 'a' && c <= 'z':
			b[i] = 'a' + r%26
		case c >= 'A' && c <= 'Z':
			b[i] = 'A' + r%26
		}
	}
	return string(b)
}

// marked is the example input under a mark.
func (s *subject) marked(mark string) ([]byte, error) {
	if s.fromCaller {
		return s.Input, nil
	}
	v := &variations{tool: s.Tool, input: s.Input}
	for _, value := range markValues(valueAt(s.Input, s.mark), mark) {
		input := withValue(s.Input, s.mark, value)
		if _, err := v.prepare(input); err == nil {
			return input, nil
		}
	}
	return nil, &onceward.Error{Code: onceward.CodeInvalidInput, Message: "the key field " + s.mark.path + " takes no value for this scenario"}
}

// meaning is what a change means to the contract.
type meaning uint8

const (
	changesMaterial meaning = iota // same key, another digest
	changesNothing                 // same key, same digest, other bytes
	asksPerson                     // a person has to approve it
	changesKey                     // another key
)

// means reports whether a change has that meaning.
func (v *variations) means(m meaning, p *onceward.Prepared) bool {
	switch m {
	case changesMaterial:
		return p.Key == v.base.Key && p.Digest != v.base.Digest
	case changesNothing:
		return p.Key == v.base.Key && p.Digest == v.base.Digest && !bytes.Equal(p.Input, v.base.Input)
	case asksPerson:
		return p.Approval
	case changesKey:
		return p.Key != v.base.Key
	}
	return false
}

// keyPart is the number of the first part of the key that a change changes.
func (v *variations) keyPart(m *mutation) int {
	p, err := v.prepare(withValue(v.input, m.leaf, m.value))
	if err != nil {
		return 0
	}
	var was, is []json.RawMessage
	if json.Unmarshal([]byte(v.base.Key), &was) != nil || json.Unmarshal([]byte(p.Key), &is) != nil {
		return 0
	}
	for i := range min(len(was), len(is)) {
		if !bytes.Equal(was[i], is[i]) {
			return i
		}
	}
	return 0
}

// find finds a change of that meaning; nil if the contract knows none for this
// input, an error if the wanted field does not have it.
func (v *variations) find(wanted string, m meaning) (*mutation, error) {
	for _, one := range slices.Concat(v.changes(), v.additions()) {
		if wanted != "" && one.leaf.path != wanted {
			continue
		}
		p, err := v.prepare(withValue(v.input, one.leaf, one.value))
		if err == nil && v.means(m, p) {
			return &one, nil
		}
	}
	if wanted != "" {
		return nil, &onceward.Error{Code: onceward.CodeInvalidInput, Message: fmt.Sprintf("no change of %q was found that means that under the contract", wanted)}
	}
	return nil, nil
}

// changes are other values for the fields that are there.
func (v *variations) changes() []mutation {
	choices := v.choices()
	var list []mutation
	for _, l := range v.leaves {
		values := slices.Clone(choices[l.path])
		switch old := valueAt(v.input, l).(type) {
		case string:
			if recipient(old) {
				values = append(values, nobody)
				break
			}
			values = append(values, old+" (reworded)", old+"x", sameForm(old, sha256.Sum256([]byte(l.path)), true))
		case json.Number:
			if n, err := old.Int64(); err == nil {
				values = append(values, json.Number(strconv.FormatInt(n+1, 10)), json.Number(strconv.FormatInt(n-1, 10)))
			}
			values = append(values, json.Number("0.5"))
		case bool:
			values = append(values, !old)
		}
		for _, value := range values {
			list = append(list, mutation{l, value})
		}
	}
	return list
}

// additions are fields that the schema knows and the input does not have.
func (v *variations) additions() []mutation {
	var list []mutation
	for name, values := range v.choices() {
		if !slices.ContainsFunc(v.leaves, func(l leaf) bool { return l.path == name }) {
			for _, value := range values {
				list = append(list, mutation{leaf{path: name, steps: []any{name}}, value})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b mutation) int { return strings.Compare(a.leaf.path, b.leaf.path) })
	return list
}

// choices are values that the schema offers for fields at the top.
func (v *variations) choices() map[string][]any {
	var schema struct {
		Properties map[string]struct {
			Enum []any
			Type any
		}
	}
	dec := json.NewDecoder(bytes.NewReader(v.tool.Info().InputSchema))
	dec.UseNumber()
	if dec.Decode(&schema) != nil {
		return nil
	}
	out := make(map[string][]any, len(schema.Properties))
	for name, p := range schema.Properties {
		out[name] = p.Enum
		if len(p.Enum) > 0 {
			continue
		}
		switch p.Type {
		case "string":
			out[name] = []any{"drill"}
		case "integer", "number":
			out[name] = []any{json.Number("1"), json.Number("2")}
		case "boolean":
			out[name] = []any{true, false}
		}
	}
	return out
}

func decodeInput(input []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, &onceward.Error{Code: onceward.CodeInvalidInput, Message: "the example input is not JSON"}
	}
	return root, nil
}

func leavesOf(v any, steps []any, path string, list []leaf) []leaf {
	step := func(s any) []any { return append(slices.Clone(steps), s) }
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			inner := name
			if path != "" {
				inner = path + "." + name
			}
			list = leavesOf(v[name], step(name), inner, list)
		}
	case []any:
		for i, item := range v {
			list = leavesOf(item, step(i), fmt.Sprintf("%s[%d]", path, i), list)
		}
	case nil:
	default:
		list = append(list, leaf{path: path, steps: steps})
	}
	return list
}

func valueAt(input []byte, l leaf) any {
	at, err := decodeInput(input)
	if err != nil {
		return nil
	}
	for _, step := range l.steps {
		switch step := step.(type) {
		case string:
			at = at.(map[string]any)[step]
		case int:
			at = at.([]any)[step]
		}
	}
	return at
}

// withValue is the input with another value at a leaf.
func withValue(input []byte, l leaf, value any) []byte {
	root, err := decodeInput(input)
	if err != nil || len(l.steps) == 0 {
		return input
	}
	at := root
	for _, step := range l.steps[:len(l.steps)-1] {
		switch step := step.(type) {
		case string:
			at = at.(map[string]any)[step]
		case int:
			at = at.([]any)[step]
		}
	}
	switch last := l.steps[len(l.steps)-1].(type) {
	case string:
		at.(map[string]any)[last] = value
	case int:
		at.([]any)[last] = value
	}
	out, err := json.Marshal(root)
	if err != nil {
		return input
	}
	return out
}
