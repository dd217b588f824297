package contract

import (
	"testing"

	"github.com/onceward/onceward"
)

// quickSeeds are schemas with inputs that the quick way knows, and others.
var quickSeeds = []struct {
	schema, input string
	accepted      bool
}{
	{`{"type":"object","properties":{"amount":{"type":"integer"},"currency":{"type":"string"}}}`, `{"amount":12,"currency":"EUR","more":1}`, true},
	{`{"type":"object","properties":{"amount":{"type":"integer"}}}`, `{"amount":1.5}`, false},
	{`{"type":"object","properties":{"amount":{"type":"integer"}}}`, `{"amount":99999999999999999999}`, false},
	{`{"type":"object","properties":{"amount":{"type":"number"}}}`, `{"amount":1.5e400}`, true},
	{`{"type":"object","properties":{"amount":{"minimum":1,"maximum":9}}}`, `{"amount":9}`, true},
	{`{"type":"object","properties":{"amount":{"minimum":1,"maximum":9}}}`, `{"amount":0}`, false},
	{`{"type":"object","properties":{"amount":{"minimum":1}}}`, `{"amount":"none"}`, true},
	{`{"type":"object","required":["a","b"]}`, `{"a":null,"b":false}`, true},
	{`{"type":"object","required":["a","b"]}`, `{"a":1,"c":1}`, false},
	{`{"type":"object","additionalProperties":false,"properties":{"a":{}}}`, `{"a":[{"x":1}]}`, true},
	{`{"type":"object","additionalProperties":false,"properties":{"a":{}}}`, `{"b":1}`, false},
	{`{"properties":{"a":{"enum":["x","y"]}}}`, `{"a":"y"}`, true},
	{`{"properties":{"a":{"enum":["x","y"]}}}`, `{"a":1}`, false},
	{`{"properties":{"a":{"minLength":2,"maxLength":3}}}`, `{"a":"äöü"}`, true},
	{`{"properties":{"a":{"minLength":2,"maxLength":3}}}`, `{"a":"é"}`, false},
	{`{"properties":{"a":{"type":"string","pattern":"^[A-Z]{3}$"}}}`, `{"a":"EUR"}`, true},
	{`{"properties":{"a":{"type":"string","pattern":"^[A-Z]{3}$"}}}`, `{"a":"eur"}`, false},
	{`{"properties":{"a":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2}}}`, `{"a":["x","y"]}`, true},
	{`{"properties":{"a":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2}}}`, `{"a":["x",1]}`, false},
	{`{"properties":{"a":{"type":"array","maxItems":2}}}`, `{"a":[1,2,3]}`, false},
	{`{"properties":{"a":{"type":"null"},"b":{"type":"boolean"}}}`, `{"a":null,"b":true}`, true},
	{`{"properties":{"a":{"type":"null"}}}`, `{"a":0}`, false},
	{`{"properties":{"a":{"format":"email"}}}`, `{"a":"a@example.com"}`, false},
	{`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":"x"}`, false},
	{`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, `{"a":"x"}`, false},
	{`{"allOf":[{"required":["a"]}]}`, `{"a":1}`, false},
}

// What the quick way accepts, the validator accepts.
func TestQuickSchemaAcceptsOnlyWhatTheValidatorAccepts(t *testing.T) {
	t.Parallel()
	for _, seed := range quickSeeds {
		quick, valid := bothWays(t, seed.schema, seed.input)
		if quick != seed.accepted {
			t.Errorf("%s accepts %s: %t, want %t", seed.schema, seed.input, quick, seed.accepted)
		}
		if quick && !valid {
			t.Errorf("%s accepts %s, the validator does not", seed.schema, seed.input)
		}
	}
}

func FuzzQuickSchema(f *testing.F) {
	for _, seed := range quickSeeds {
		f.Add(seed.schema, seed.input)
	}
	f.Fuzz(func(t *testing.T, schema, input string) {
		if quick, valid := bothWays(t, schema, input); quick && !valid {
			t.Errorf("%s accepts %s, the validator does not", schema, input)
		}
	})
}

// bothWays asks both whether a schema accepts an input; neither does where one of
// the two is not what it should be.
func bothWays(t *testing.T, schema, input string) (quick, valid bool) {
	t.Helper()
	root, problems := readYAML("schema", rawDocument{text: []byte(schema), line: 1})
	if len(problems) > 0 || root == nil || root.kind != nodeMap {
		return false, false
	}
	s, faults := compileSchema(root)
	n, err := onceward.ParseJSON([]byte(input))
	if len(faults) > 0 || err != nil || n.Kind() != onceward.NodeObject {
		return false, false
	}
	return s.quick.accepts(n), s.schema.Validate(plainValue(n)) == nil
}
