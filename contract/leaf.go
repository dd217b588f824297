package contract

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// leaf is a field that is read as a whole. It reads itself and says what the
// published schema has to say of it, so that the two cannot drift apart.
type leaf interface {
	// read takes the value and returns what is wrong with it.
	read(n *node, f fieldInfo) error
	// jsonSchema is the leaf's schema without description and default.
	jsonSchema(f fieldInfo) map[string]any
	// place notes where the value stands.
	place(at pos)
}

// placed is what every leaf keeps of its place.
type placed struct {
	at  pos
	set bool // stands in the file; false also where the default was taken
}

func (p *placed) place(at pos) { p.at, p.set = at, true }

func (p *placed) stands() bool { return p.set }

// standingError is a fault inside a leaf, with its own place.
type standingError struct {
	at  pos
	err error
}

func (e *standingError) Error() string { return e.err.Error() }

// standing gives a fault a place, unless it has one.
func standing(at pos, err error) error {
	var placed *standingError
	if errors.As(err, &placed) {
		return err
	}
	return &standingError{at, err}
}

func wrongKind(n *node, want string) error {
	return fmt.Errorf("it has to be %s, and is %s", want, n.kind)
}

// choice is one of a closed list of words.
type choice struct {
	placed
	value string
}

func (c *choice) read(n *node, f fieldInfo) error {
	if n.kind != nodeText || !slices.Contains(f.enum, n.text) {
		return fmt.Errorf("it is one of %s", strings.Join(f.enum, ", "))
	}
	c.value = n.text
	return nil
}

func (c *choice) jsonSchema(f fieldInfo) map[string]any {
	if len(f.enum) == 1 {
		return map[string]any{"const": f.enum[0]}
	}
	return map[string]any{"enum": f.enum}
}

// text is free text.
type text struct {
	placed
	value string
}

const textBytesMax = 8 << 10

func (t *text) read(n *node, _ fieldInfo) error {
	if n.kind != nodeText {
		return wrongKind(n, "a text")
	}
	if len(n.text) > textBytesMax {
		return fmt.Errorf("it is longer than %d bytes", textBytesMax)
	}
	t.value = n.text
	return nil
}

func (t *text) jsonSchema(fieldInfo) map[string]any {
	return map[string]any{"type": "string", "maxLength": textBytesMax}
}

// texts is a list of texts.
type texts struct {
	placed
	items []text
}

func (t *texts) read(n *node, f fieldInfo) error {
	if n.kind != nodeList {
		return wrongKind(n, "a list")
	}
	for _, item := range n.items {
		var one text
		if err := one.read(item, f); err != nil {
			return standing(item.at, err)
		}
		one.place(item.at)
		t.items = append(t.items, one)
	}
	return nil
}

func (t *texts) jsonSchema(f fieldInfo) map[string]any {
	return map[string]any{"type": "array", "items": (&text{}).jsonSchema(f)}
}

func (t *texts) values() []string {
	values := make([]string, len(t.items))
	for i := range t.items {
		values[i] = t.items[i].value
	}
	return values
}

// yesNo is true or false.
type yesNo struct {
	placed
	value bool
}

func (v *yesNo) read(n *node, _ fieldInfo) error {
	if n.kind != nodeBool {
		return wrongKind(n, "true or false")
	}
	v.value = n.text == "true"
	return nil
}

func (v *yesNo) jsonSchema(fieldInfo) map[string]any { return map[string]any{"type": "boolean"} }

// count is a whole number of at least 1.
type count struct {
	placed
	value int
}

const countMax = 1_000_000

func (c *count) read(n *node, _ fieldInfo) error {
	v, err := strconv.Atoi(n.text)
	if n.kind != nodeNumber || err != nil || v < 1 || v > countMax {
		return fmt.Errorf("it is a whole number from 1 to %d", countMax)
	}
	c.value = v
	return nil
}

func (c *count) jsonSchema(fieldInfo) map[string]any {
	return map[string]any{"type": "integer", "minimum": 1, "maximum": countMax}
}

// span is a duration; with a field's "forever" option also the word forever.
type span struct {
	placed
	value   time.Duration
	forever bool
}

func (s *span) read(n *node, f fieldInfo) error {
	if n.kind != nodeText {
		return fmt.Errorf("it is a duration, such as 10s, 1m30s or 7d")
	}
	if f.forever && n.text == "forever" {
		s.forever = true
		return nil
	}
	v, err := parseDuration(n.text)
	s.value = v
	return err
}

// durationPattern is what the published schema says of a duration.
const durationPattern = `^([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))*$`

func (s *span) jsonSchema(f fieldInfo) map[string]any {
	one := map[string]any{"type": "string", "minLength": 1, "pattern": durationPattern}
	if !f.forever {
		return one
	}
	return map[string]any{"anyOf": []any{one, map[string]any{"const": "forever"}}}
}

// size is a number of bytes.
type size struct {
	placed
	value int64
}

func (s *size) read(n *node, _ fieldInfo) error {
	if n.kind != nodeText && n.kind != nodeNumber {
		return fmt.Errorf("it is a size, such as 256KiB or 16MiB")
	}
	v, err := parseSize(n.text)
	s.value = v
	return err
}

func (s *size) jsonSchema(fieldInfo) map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "integer", "minimum": 0},
		map[string]any{"type": "string", "pattern": `^[0-9]+ ?(B|kB|KiB|MB|MiB|GiB)?$`},
	}}
}

// rate is "10/s" or {count: 10, per: 1s}.
type rate struct {
	placed
	value onceward.Rate
}

func (r *rate) read(n *node, f fieldInfo) (err error) {
	if n.kind == nodeText {
		r.value, err = parseRate(n.text)
		return err
	}
	if n.kind != nodeMap {
		return fmt.Errorf("it is a rate, such as 10/s, or a mapping of count and per")
	}
	var c count
	var per span
	for _, m := range n.members {
		switch m.name {
		case "count":
			err = c.read(m.value, f)
		case "per":
			err = per.read(m.value, f)
		default:
			err = fmt.Errorf("it has count and per, nothing else")
		}
		if err != nil {
			return err
		}
	}
	if c.value == 0 || per.value == 0 {
		return fmt.Errorf("it needs both count and per")
	}
	r.value = onceward.Rate{Count: c.value, Per: per.value}
	return nil
}

func (r *rate) jsonSchema(f fieldInfo) map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "string", "pattern": `^[0-9]+ ?/ ?([0-9]+(\.[0-9]+)?)?(ms|s|m|h|d)$`},
		map[string]any{
			"type": "object", "required": []string{"count", "per"}, "additionalProperties": false,
			"properties": map[string]any{"count": (&count{}).jsonSchema(f), "per": (&span{}).jsonSchema(f)},
		},
	}}
}
