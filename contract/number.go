package contract

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/onceward/onceward"
)

// How numbers enter CEL: a whole number that fits 64 bits is a CEL int, however
// it is written (1, 1.0 and 1e0 are one). Every other number, literals of
// expressions included, is a decimal with its exact value. Arithmetic that
// mixes the two is exact; where the exact result has no end (1/3) or leaves the
// limits of the canonical form, it is an error. Only double() makes a binary
// floating-point number, and refuses what it would round.
//
// Why not CEL's double for 12.10: money would be rounded by whoever adds it up,
// silently, and 2^53+1 would become another order number.

// decimal is a number that is no 64-bit integer.
type decimal struct {
	text string // canonical
}

var decimalType = types.NewOpaqueType("onceward.decimal")

// numberFrom turns the canonical text of a JSON number into a CEL value.
func numberFrom(canonical string) ref.Val {
	if len(canonical) <= len("-9223372036854775808") {
		if i, err := strconv.ParseInt(canonical, 10, 64); err == nil {
			return types.Int(i)
		}
	}
	return decimal{canonical}
}

// exact returns the value of a number; ok is false for what is none.
func exact(v ref.Val) (r *big.Rat, ok bool) {
	switch n := v.(type) {
	case types.Int:
		return new(big.Rat).SetInt64(int64(n)), true
	case types.Uint:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(n))), true
	case types.Double:
		if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
			return nil, false
		}
		return new(big.Rat).SetString(strconv.FormatFloat(float64(n), 'g', -1, 64))
	case decimal:
		return new(big.Rat).SetString(n.text)
	}
	return nil, false
}

// fromExact turns an exact value back into a CEL value, or an error where that
// needs rounding.
func fromExact(r *big.Rat) ref.Val {
	if r.IsInt() && r.Num().IsInt64() {
		return types.Int(r.Num().Int64())
	}
	digits, ends := r.FloatPrec()
	if !ends || digits > onceward.NumberExponentMax {
		return refusal("the result has no exact decimal value")
	}
	canonical, err := onceward.Canonicalize([]byte(r.FloatString(digits)))
	if err != nil {
		return refusal("the result has too many digits")
	}
	return numberFrom(string(canonical))
}

// ConvertToNative is not offered: decimals leave CEL as text.
func (d decimal) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a decimal cannot become %v", t)
}

// ConvertToType converts to string always, to int and double where that loses nothing.
func (d decimal) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.StringType:
		return types.String(d.text)
	case types.TypeType:
		return decimalType
	case types.DoubleType:
		return toDouble(d)
	case types.IntType:
		return refusal("the number is not a 64-bit integer")
	}
	return refusal("a decimal cannot become %s", t.TypeName())
}

// toDouble converts a number, or refuses where a digit would be lost. A double
// counts as the shortest decimal number that names it.
func toDouble(v ref.Val) ref.Val {
	own, ok := exact(v)
	if !ok {
		return v.ConvertToType(types.DoubleType)
	}
	f, _ := own.Float64()
	if back, ok := exact(types.Double(f)); ok && own.Cmp(back) == 0 {
		return types.Double(f)
	}
	return refusal("the number has more digits than a double keeps")
}

// Equal compares exact values.
func (d decimal) Equal(other ref.Val) ref.Val {
	own, _ := exact(d)
	r, ok := exact(other)
	return types.Bool(ok && own.Cmp(r) == 0)
}

// Type is the CEL type.
func (d decimal) Type() ref.Type { return decimalType }

// Value is the canonical text.
func (d decimal) Value() any { return d.text }

// numeric reports whether a value is a number.
func numeric(v ref.Val) bool {
	switch v.(type) {
	case types.Int, types.Uint, types.Double, decimal:
		return true
	}
	return false
}

// exactCall replaces a CEL operator so that numbers are exact.
type exactCall struct {
	interpreter.InterpretableCall
	function string
	args     []interpreter.InterpretableV2
}

// Exec evaluates the operator.
func (c *exactCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var values [2]ref.Val
	for i, arg := range c.args {
		v := arg.Exec(frame)
		if types.IsUnknownOrError(v) {
			return v
		}
		values[i] = v
	}
	if len(c.args) == 1 {
		return c.unary(values[0])
	}
	return c.binary(values[0], values[1])
}

// Eval evaluates the operator.
func (c *exactCall) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, c.Exec)
}

func (c *exactCall) unary(v ref.Val) ref.Val {
	switch c.function {
	case operators.Negate:
		if r, ok := exact(v); ok {
			return fromExact(r.Neg(r))
		}
		if n, ok := v.(traits.Negater); ok {
			return n.Negate()
		}
	case overloads.TypeConvertString:
		return v.ConvertToType(types.StringType)
	case overloads.TypeConvertInt:
		return v.ConvertToType(types.IntType)
	case overloads.TypeConvertDouble:
		return toDouble(v)
	}
	return types.MaybeNoSuchOverloadErr(v)
}

func (c *exactCall) binary(a, b ref.Val) ref.Val {
	switch c.function {
	case operators.Equals:
		return equal(a, b)
	case operators.NotEquals:
		if same, ok := equal(a, b).(types.Bool); ok {
			return !same
		}
		return refusal("the values cannot be compared")
	}
	if !numeric(a) || !numeric(b) {
		return c.plain(a, b)
	}
	if i, ok := a.(types.Int); ok {
		if j, ok := b.(types.Int); ok {
			if v, ok := c.integers(i, j); ok {
				return v
			}
		}
	}
	x, xOK := exact(a)
	y, yOK := exact(b)
	if !xOK || !yOK {
		return refusal("NaN and infinity are not numbers")
	}
	switch c.function {
	case operators.Add:
		return fromExact(x.Add(x, y))
	case operators.Subtract:
		return fromExact(x.Sub(x, y))
	case operators.Multiply:
		return fromExact(x.Mul(x, y))
	case operators.Divide:
		if y.Sign() == 0 {
			return refusal("division by zero")
		}
		return fromExact(x.Quo(x, y))
	case operators.Modulo:
		return refusal("the remainder is taken of integers only")
	}
	return c.ordered(types.Int(x.Cmp(y)))
}

// integers spares the usual case the exact arithmetic; ok is false where the
// result is no 64-bit integer.
func (c *exactCall) integers(i, j types.Int) (v ref.Val, ok bool) {
	switch c.function {
	case operators.Add:
		v = i.Add(j)
	case operators.Subtract:
		v = i.Subtract(j)
	case operators.Multiply:
		v = i.Multiply(j)
	case operators.Modulo:
		return i.Modulo(j), true
	case operators.Divide:
		if j == 0 || i%j != 0 {
			return nil, false
		}
		v = i.Divide(j)
	default:
		return c.ordered(i.Compare(j)), true
	}
	return v, !types.IsError(v)
}

// equal compares numbers by value and everything else as CEL does.
func equal(a, b ref.Val) ref.Val {
	if numeric(a) && numeric(b) {
		x, xOK := exact(a)
		y, yOK := exact(b)
		return types.Bool(xOK && yOK && x.Cmp(y) == 0)
	}
	return types.Equal(a, b)
}

// plain is the operator as CEL has it, for what are not two numbers.
func (c *exactCall) plain(a, b ref.Val) ref.Val {
	switch c.function {
	case operators.Add:
		if v, ok := a.(traits.Adder); ok {
			return v.Add(b)
		}
	case operators.Subtract:
		if v, ok := a.(traits.Subtractor); ok {
			return v.Subtract(b)
		}
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		if v, ok := a.(traits.Comparer); ok {
			return c.ordered(v.Compare(b))
		}
	}
	return types.MaybeNoSuchOverloadErr(a)
}

// ordered turns a comparison into the operator's answer.
func (c *exactCall) ordered(order ref.Val) ref.Val {
	n, ok := order.(types.Int)
	if !ok {
		return order
	}
	switch c.function {
	case operators.Less:
		return types.Bool(n < 0)
	case operators.LessEquals:
		return types.Bool(n <= 0)
	case operators.Greater:
		return types.Bool(n > 0)
	case operators.GreaterEquals:
		return types.Bool(n >= 0)
	}
	return types.MaybeNoSuchOverloadErr(order)
}

// exactNumbers replaces operators and number literals while a program is
// planned. typeOf tells the declared type of a part of the expression.
func exactNumbers(typeOf func(id int64) *types.Type) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if c, ok := i.(interpreter.InterpretableConst); ok {
			if d, ok := c.Value().(types.Double); ok {
				if r, ok := exact(d); ok {
					return interpreter.NewConstValue(c.ID(), fromExact(r)), nil
				}
			}
			return i, nil
		}
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || !exactOperator(call, typeOf) {
			return i, nil
		}
		return &exactCall{InterpretableCall: call, function: call.Function(), args: call.Args()}, nil
	}
}

// exactOperator reports whether an operator may meet a number that is no 64-bit
// integer. Operands that are declared as int are left to CEL, with its integer
// division: response.status / 100 == 4.
func exactOperator(call interpreter.InterpretableCall, typeOf func(id int64) *types.Type) bool {
	switch call.Function() {
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		overloads.TypeConvertString, overloads.TypeConvertInt, overloads.TypeConvertDouble:
	default:
		return false
	}
	integers := true
	for _, arg := range call.Args() {
		t := typeOf(arg.ID())
		if t == nil {
			return true
		}
		switch t.Kind() {
		case types.IntKind:
		case types.DynKind, types.DoubleKind, types.UintKind, types.AnyKind, types.TypeParamKind:
			integers = false
		default:
			return false
		}
	}
	return !integers
}
