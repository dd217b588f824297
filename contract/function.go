package contract

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
	"golang.org/x/text/unicode/norm"

	"github.com/onceward/onceward"
)

// functionBytesMax is the longest text that one of our functions makes. It keeps
// a small input from asking for a large memory.
const functionBytesMax = 1 << 20

// functions are the functions of expressions besides CEL's own: normalisers of
// key parts, and what it takes to shape a provider's fields.
func functions() []cel.EnvOption {
	return []cel.EnvOption{
		textFunction("trim", onceward.NormalizeTrim),
		textFunction("lower", onceward.NormalizeLower),
		textFunction("nfc", func(s string) (string, error) { return norm.NFC.String(s), nil }),
		textFunction("digits", onceward.NormalizeDigits),
		textFunction("e164", onceward.NormalizeE164),
		textFunction("email", onceward.NormalizeEmail),
		textFunction("date", onceward.NormalizeDate),
		textFunction("upper", func(s string) (string, error) { return strings.ToUpper(s), nil }),
		replaceFunction(), splitFunction(), joinFunction(), jsonFunction(),
		ext.Encoders(),
		cel.OptionalTypes(),
	}
}

// functionNames lists the functions of this file, for the reference page.
var functionNames = []string{"trim", "lower", "nfc", "digits", "e164", "email", "date", "upper", "replace", "split", "join", "json"}

// textFunction makes .name() on texts.
func textFunction(name string, apply func(string) (string, error)) cel.EnvOption {
	call := func(v ref.Val) ref.Val {
		out, err := apply(string(v.(types.String)))
		var typed *onceward.Error
		switch {
		case errors.As(err, &typed):
			return refusal("%s(): %s", name, typed.Message)
		case err != nil:
			return refusal("%s() refuses the text", name)
		}
		return types.String(out)
	}
	return cel.Function(name, cel.MemberOverload("onceward_"+name, []*cel.Type{cel.StringType}, cel.StringType, cel.UnaryBinding(call)))
}

// plainError is a fault of an expression whose words show no value of the input.
type plainError struct{ message string }

func (e *plainError) Error() string { return e.message }

// refusal is a CEL error whose words may be shown.
func refusal(format string, args ...any) ref.Val {
	return types.WrapErr(&plainError{fmt.Sprintf(format, args...)})
}

func tooLong(name string) ref.Val {
	return refusal("%s() would make a text longer than %d bytes", name, functionBytesMax)
}

// replaceFunction is text.replace(old, new), every occurrence.
func replaceFunction() cel.EnvOption {
	call := func(args ...ref.Val) ref.Val {
		s, from, to := string(args[0].(types.String)), string(args[1].(types.String)), string(args[2].(types.String))
		if from == "" {
			return refusal("replace() needs something to replace")
		}
		if len(s)+strings.Count(s, from)*len(to) > functionBytesMax {
			return tooLong("replace")
		}
		return types.String(strings.ReplaceAll(s, from, to))
	}
	return cel.Function("replace", cel.MemberOverload("onceward_replace", []*cel.Type{cel.StringType, cel.StringType, cel.StringType}, cel.StringType, cel.FunctionBinding(call)))
}

// splitFunction is text.split(separator).
func splitFunction() cel.EnvOption {
	call := func(a, b ref.Val) ref.Val {
		s, sep := string(a.(types.String)), string(b.(types.String))
		if sep == "" || strings.Count(s, sep) > functionBytesMax/64 {
			return refusal("split() needs a separator, and makes at most %d parts", functionBytesMax/64)
		}
		parts := strings.Split(s, sep)
		list := make([]ref.Val, len(parts))
		for i, part := range parts {
			list[i] = types.String(part)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, list)
	}
	return cel.Function("split", cel.MemberOverload("onceward_split", []*cel.Type{cel.StringType, cel.StringType}, cel.ListType(cel.StringType), cel.BinaryBinding(call)))
}

// joinFunction is list.join(separator).
func joinFunction() cel.EnvOption {
	call := func(a, b ref.Val) ref.Val {
		list, ok := a.(traits.Lister)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a)
		}
		sep := string(b.(types.String))
		var out strings.Builder
		for it, i := list.Iterator(), 0; it.HasNext() == types.True; i++ {
			part, err := textOf(it.Next())
			if err != nil {
				return refusal("join(): %v", err)
			}
			if i > 0 {
				out.WriteString(sep)
			}
			if out.Len()+len(part) > functionBytesMax {
				return tooLong("join")
			}
			out.WriteString(part)
		}
		return types.String(out.String())
	}
	return cel.Function("join", cel.MemberOverload("onceward_join", []*cel.Type{cel.ListType(cel.DynType), cel.StringType}, cel.StringType, cel.BinaryBinding(call)))
}

// jsonFunction is json(value): the value's JSON text, for providers that take
// JSON inside a text.
func jsonFunction() cel.EnvOption {
	call := func(v ref.Val) ref.Val {
		out, err := appendJSONValue(nil, v)
		switch {
		case err != nil:
			return refusal("json(): %v", err)
		case len(out) > functionBytesMax:
			return tooLong("json")
		}
		return types.String(out)
	}
	return cel.Function("json", cel.Overload("onceward_json", []*cel.Type{cel.DynType}, cel.StringType, cel.UnaryBinding(call)))
}
