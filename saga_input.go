package onceward

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A text of a step's input that is "${steps.NAME.reference}" as a whole stands
// for the reference of that step's effect, "${steps.NAME.result}" for its result,
// and "${steps.NAME.result.a.0.b}" for a member of it. Any other text is itself.
const (
	sagaReferStart = "${steps."
	sagaReferEnd   = "}"
)

// sagaReference is what a text refers to.
type sagaReference struct {
	step string
	path []string // empty: the reference
}

// sagaRefers reads a text; ok is false if it is itself.
func sagaRefers(text string, steps []SagaStep) (r sagaReference, ok bool, err error) {
	inner, ok := strings.CutPrefix(text, sagaReferStart)
	if !ok || !strings.HasSuffix(inner, sagaReferEnd) {
		return r, false, nil
	}
	inner = strings.TrimSuffix(inner, sagaReferEnd)
	for _, step := range steps {
		rest, named := strings.CutPrefix(inner, step.Name+".")
		if !named {
			continue
		}
		words := strings.Split(rest, ".")
		switch {
		case rest == "reference":
			return sagaReference{step: step.Name}, true, nil
		case words[0] == "result" && !slices.Contains(words, ""):
			return sagaReference{step: step.Name, path: words}, true, nil
		}
	}
	return r, true, &Error{Code: CodeInvalidRequest, Op: "read saga", Message: fmt.Sprintf("%.100q names neither the reference nor the result of an earlier step", text),
		Hint: `write "${steps.NAME.reference}" or "${steps.NAME.result.MEMBER}"`}
}

// checkReferences holds the inputs of a step that comes next to the steps before
// it; what undoes it may also name itself.
func (s *Saga) checkReferences(next *SagaStep) error {
	check := func(input []byte, steps []SagaStep) error {
		_, err := replaceTexts(input, func(text string) (any, error) {
			_, _, err := sagaRefers(text, steps)
			return text, err
		})
		return err
	}
	if err := check(next.Input, s.Steps); err != nil || next.Undo == nil {
		return err
	}
	return check(next.Undo.Input, append(slices.Clone(s.Steps), *next))
}

// renderStep puts into an input what it refers to. CodeInvalidInput: a step has
// no such reference or result.
func (l *Ledger) renderStep(ctx context.Context, s *Saga, input []byte) ([]byte, error) {
	if !bytes.Contains(input, []byte(sagaReferStart)) {
		return input, nil
	}
	return replaceTexts(input, func(text string) (any, error) {
		r, ok, err := sagaRefers(text, s.Steps)
		if !ok || err != nil {
			return text, err
		}
		return l.stepValue(ctx, s.Step(r.step), r.path)
	})
}

// stepValue reads the reference of a step's effect, or a part of its result.
func (l *Ledger) stepValue(ctx context.Context, step *SagaStep, path []string) (any, error) {
	missing := func(what string) error {
		return &Error{Code: CodeInvalidInput, Op: "render step", OperationID: step.Operation, Message: "the step " + step.Name + " has no " + what}
	}
	op, err := l.writer.Read(ctx, step.Operation)
	switch {
	case err != nil:
		return nil, err
	case op == nil:
		return nil, missing("operation")
	case len(path) == 0 && op.Reference == "":
		return nil, missing("reference")
	case len(path) == 0:
		return op.Reference, nil
	case op.Result == nil || !op.Result.BodyKept:
		return nil, missing("result that is kept")
	}
	v, err := decodeJSON(op.Result.Body)
	if err != nil {
		return nil, missing("result in JSON")
	}
	for i, word := range path[1:] {
		next, ok := memberOf(v, word)
		if !ok {
			return nil, missing(strings.Join(path[:i+2], "."))
		}
		v = next
	}
	return v, nil
}

func memberOf(v any, word string) (any, bool) {
	switch in := v.(type) {
	case map[string]any:
		next, ok := in[word]
		return next, ok
	case []any:
		if i, err := strconv.Atoi(word); err == nil && i >= 0 && i < len(in) {
			return in[i], true
		}
	}
	return nil, false
}

func decodeJSON(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // numbers stay as they stand
	err = d.Decode(&v)
	return v, err
}

// replaceTexts puts what the function returns in place of each text of a JSON value.
func replaceTexts(input []byte, f func(text string) (any, error)) ([]byte, error) {
	v, err := decodeJSON(input)
	if err != nil {
		return nil, err
	}
	if v, err = replaceIn(v, f); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func replaceIn(v any, f func(text string) (any, error)) (out any, err error) {
	switch in := v.(type) {
	case string:
		return f(in)
	case []any:
		for i := range in {
			if in[i], err = replaceIn(in[i], f); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range in {
			if in[name], err = replaceIn(in[name], f); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
