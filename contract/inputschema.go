package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/onceward/onceward"
)

// inputSchema checks an input.
type inputSchema struct {
	schema *jsonschema.Schema
	quick  *quickSchema // nil: the schema says more than that
	json   []byte       // as shown to callers
}

const schemaURL = "contract:///input"

// noLoader refuses every reference that leads out of the contract.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded from outside") }

// remoteReference finds a $ref that leads out of the schema, nil if there is none.
func remoteReference(n *node) *node {
	for _, item := range n.items {
		if found := remoteReference(item); found != nil {
			return found
		}
	}
	for _, m := range n.members {
		switch m.name {
		case "enum", "const", "default", "examples":
			continue
		case "$ref", "$dynamicRef", "$recursiveRef":
			if m.value.kind == nodeText && !strings.HasPrefix(m.value.text, "#") {
				return m.value
			}
		}
		if found := remoteReference(m.value); found != nil {
			return found
		}
	}
	return nil
}

// compileSchema compiles the schema of an input, which is always an object. The
// faults stand where they are, as far as the compiler says.
func compileSchema(root *node) (*inputSchema, []error) {
	one := func(at pos, message string) []error { return []error{standing(at, errors.New(message))} }
	if t := root.member("type"); t != nil && (t.kind != nodeText || t.text != "object") {
		return nil, one(t.at, "an input is always an object")
	}
	if ref := remoteReference(root); ref != nil {
		return nil, one(ref.at, "a reference leads out of the contract: put the schema under $defs")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, root.value()); err != nil {
		return nil, one(root.at, "it is not a JSON Schema")
	}
	schema, err := c.Compile(schemaURL)
	var invalid *jsonschema.SchemaValidationError
	var validation *jsonschema.ValidationError
	switch {
	case err == nil:
		return &inputSchema{schema: schema, quick: quick(root), json: root.appendJSON(nil)}, nil
	case errors.As(err, &invalid) && errors.As(invalid.Err, &validation):
		return nil, metaFaults(root, validation)
	case root.member("$schema") != nil:
		return nil, one(root.member("$schema").at, "it is not a valid JSON Schema, or $schema is not one that is read")
	}
	return nil, one(root.at, "it is not a valid JSON Schema")
}

// metaFaults says where a schema breaks the rules of schemas: one fault for
// each place, whatever the alternatives that were tried there.
func metaFaults(root *node, e *jsonschema.ValidationError) []error {
	faults := map[string]string{}
	var places []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		place, message := pointer(e.InstanceLocation), keyword(e.ErrorKind)
		if known, found := faults[place]; !found {
			places = append(places, place)
		} else if known < message {
			return
		}
		faults[place] = message
	}
	walk(e)
	slices.Sort(places)
	errs := make([]error, 0, len(places))
	for _, place := range places {
		at := root.follow(strings.Split(place, "/")[1:]).at
		errs = append(errs, standing(at, fmt.Errorf("it is not a valid JSON Schema at %s: %s", place, faults[place])))
	}
	return errs
}

func pointer(steps []string) string { return "/" + strings.Join(steps, "/") }

// validate checks an input. The error names places and rules, not values.
func (s *inputSchema) validate(input *onceward.Node) error {
	if s.quick.accepts(input) {
		return nil
	}
	err := s.schema.Validate(plainValue(input))
	if err == nil {
		return nil
	}
	faults := []string{"it does not match the schema"}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		faults = schemaFaults(invalid, "the input", nil)
		slices.Sort(faults) // the validator's order is not stable
		faults = faults[:min(len(faults), schemaFaultsMax)]
	}
	return &onceward.Error{
		Code: onceward.CodeInvalidInput, Op: "check input", Message: strings.Join(faults, "; "),
		Hint: "the tool's input schema says what is expected",
	}
}

// plainValue is a JSON value in the form that the validator reads.
func plainValue(n *onceward.Node) any {
	switch n.Kind() {
	case onceward.NodeNull:
		return nil
	case onceward.NodeBool:
		b, _ := n.Bool()
		return b
	case onceward.NodeNumber:
		return json.Number(n.AppendCanonical(nil))
	case onceward.NodeString:
		s, _ := n.Text()
		return s
	case onceward.NodeArray:
		list := make([]any, 0, n.Len())
		for _, element := range n.Elements() {
			list = append(list, plainValue(element))
		}
		return list
	case onceward.NodeObject:
		object := make(map[string]any, n.Len())
		for name, member := range n.Members() {
			object[name] = plainValue(member)
		}
		return object
	}
	return nil
}

const schemaFaultsMax = 8

// schemaFaults lists the innermost faults, each once. whole names the value that
// was checked.
func schemaFaults(e *jsonschema.ValidationError, whole string, list []string) []string {
	if len(e.Causes) == 0 {
		fault := instancePath(e.InstanceLocation, whole) + ": " + keyword(e.ErrorKind)
		if !slices.Contains(list, fault) {
			list = append(list, fault)
		}
		return list
	}
	for _, cause := range e.Causes {
		list = schemaFaults(cause, whole, list)
	}
	return list
}

// keyword says in words which rule of a schema is broken. Values of the input
// do not appear; names do, cut and without control characters.
func keyword(k jsonschema.ErrorKind) string {
	switch v := k.(type) {
	case *kind.Type:
		return "it is " + v.Got + ", not " + strings.Join(v.Want, " or ")
	case *kind.Required:
		return "it lacks " + shownNames(v.Missing)
	case *kind.AdditionalProperties:
		return "it has no field " + shownNames(v.Properties)
	case *kind.Enum:
		return "it is not one of the allowed values"
	case *kind.Const:
		return "it is not the one allowed value"
	case *kind.Format:
		return "it is not a valid " + v.Want
	case *kind.Pattern:
		return "it does not match the pattern " + v.Want
	case *kind.MinLength:
		return "it is shorter than " + strconv.Itoa(v.Want) + " characters"
	case *kind.MaxLength:
		return "it is longer than " + strconv.Itoa(v.Want) + " characters"
	case *kind.Minimum:
		return "it is less than " + plainRat(v.Want)
	case *kind.Maximum:
		return "it is more than " + plainRat(v.Want)
	case *kind.ExclusiveMinimum:
		return "it is not more than " + plainRat(v.Want)
	case *kind.ExclusiveMaximum:
		return "it is not less than " + plainRat(v.Want)
	case *kind.MinItems:
		return "it has fewer than " + strconv.Itoa(v.Want) + " elements"
	case *kind.MaxItems:
		return "it has more than " + strconv.Itoa(v.Want) + " elements"
	case *kind.FalseSchema:
		return "no value is allowed here"
	}
	path := k.KeywordPath()
	if len(path) == 0 {
		return "it does not match the schema"
	}
	return "it does not match the rule " + path[len(path)-1]
}

// instancePath names a value of what was checked.
func instancePath(steps []string, whole string) string {
	if len(steps) == 0 {
		return whole
	}
	return strings.Join(steps, ".")
}

// plainRat writes a limit of a schema as a decimal number.
func plainRat(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}

// shownNames lists member names for a message.
func shownNames(names []string) string {
	const namesMax, nameRunesMax = 5, 64
	shown := make([]string, 0, namesMax)
	for _, name := range names {
		if len(shown) == namesMax {
			shown = append(shown, "more")
			break
		}
		name = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '?'
			}
			return r
		}, name)
		if runes := []rune(name); len(runes) > nameRunesMax {
			name = string(runes[:nameRunesMax]) + "…"
		}
		shown = append(shown, name)
	}
	return strings.Join(shown, ", ")
}
