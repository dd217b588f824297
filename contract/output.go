package contract

import (
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/onceward/onceward"
)

// CheckOutput holds the output of a step to a JSON Schema that came with its
// request, as [onceward.Options] asks for it. CodeInvalidRequest: the schema is
// none. CodeOutputInvalid: the output breaks it.
func CheckOutput(schema, output []byte) error {
	invalid := &onceward.Error{Code: onceward.CodeInvalidRequest, Op: "check output", Message: "schema is not a valid JSON Schema, or refers to something outside of it",
		Hint: "send a JSON Schema (2020-12 unless $schema says otherwise) with everything under $defs"}
	n, err := onceward.ParseJSON(schema)
	if err != nil {
		return invalid
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, plainValue(n)); err != nil {
		return invalid
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return invalid
	}
	value, err := onceward.ParseJSON(output)
	if err != nil {
		return outputInvalid("the output is not JSON")
	}
	return (&inputSchema{schema: compiled}).validateOutput(value)
}

// validateOutput checks an output. The error names places and rules, not values.
func (s *inputSchema) validateOutput(output *onceward.Node) error {
	err := s.schema.Validate(plainValue(output))
	if err == nil {
		return nil
	}
	faults := []string{"it does not match the schema"}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		faults = schemaFaults(invalid, "the output", nil)
		slices.Sort(faults) // the validator's order is not stable
		faults = faults[:min(len(faults), schemaFaultsMax)]
	}
	return outputInvalid(strings.Join(faults, "; "))
}
