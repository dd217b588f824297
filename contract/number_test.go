package contract

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// evaluate compiles an expression over input and returns its text, or "error: …".
func evaluate(t testing.TB, expr, input string) string {
	t.Helper()
	p, err := compile(expr, scopeRequest, nil)
	if err != nil {
		t.Fatalf("compile %s: %v", expr, err)
	}
	n, err := onceward.ParseJSON([]byte(input))
	if err != nil {
		t.Fatalf("parse %s: %v", input, err)
	}
	v, err := p.eval(&variables{input: n})
	if err != nil {
		return "error: " + err.Error()
	}
	out, err := appendJSONValue(nil, v)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(out)
}

func TestNumbersAreExactInExpressions(t *testing.T) {
	t.Parallel()
	const input = `{"i":7,"f":7.0,"e":7e0,"d":12.10,"cents":1250,"big":9007199254740993,"next":9007199254740992,
		"huge":123456789012345678901234567890,"tiny":0.1,"tenth":0.2,"max":9223372036854775807,"over":9223372036854775808,"s":"7","l":[1,2.5],"sci":1.5e300}`
	for _, c := range []struct{ expr, want string }{
		// One value, one number, however it is written.
		{`input.i == input.f && input.f == input.e && input.i == 7 && input.f == 7.0`, `true`},
		{`string(input.f)`, `"7"`},
		{`input.i == input.s`, `false`},
		// Nothing is rounded on the way in.
		{`string(input.big)`, `"9007199254740993"`},
		{`input.big == input.next`, `false`},
		{`input.big > input.next`, `true`},
		{`string(input.huge)`, `"123456789012345678901234567890"`},
		{`input.huge`, `123456789012345678901234567890`},
		{`string(input.d)`, `"12.1"`},
		{`input.d == 12.1 && 12.1 == input.d`, `true`},
		{`input.over == 9223372036854775807`, `false`},
		// Arithmetic is exact, in either order, or an error.
		{`input.tiny + input.tenth`, `0.3`},
		{`input.tiny + input.tenth == 0.3`, `true`},
		{`0.1 + 0.2`, `0.3`},
		{`100 * input.d`, `1210`},
		{`input.d * 100`, `1210`},
		{`input.d * 100 == 1210`, `true`},
		{`1.5 - input.d`, `-10.6`},
		{`-input.d`, `-12.1`},
		{`input.cents / 100`, `12.5`},
		{`input.cents / 10`, `125`},
		{`100 / input.i`, `error: the result has no exact decimal value`},
		{`input.i / 0`, `error: division by zero`},
		{`input.max + 1`, `9223372036854775808`},
		{`input.max * 2`, `18446744073709551614`},
		{`input.huge + 1`, `123456789012345678901234567891`},
		{`input.i % 4`, `3`},
		{`input.d % 4`, `error: the remainder is taken of integers only`},
		{`input.sci * input.sci`, `2.25e600`},
		// Comparisons mix kinds of numbers, in either order.
		{`100 < input.huge && input.huge > 100`, `true`},
		{`12 < input.d && input.d <= 12.1 && 13 >= input.d`, `true`},
		{`input.d in [1, 12.1]`, `true`},
		{`2.5 in input.l && 1 in input.l`, `true`},
		{`input.l == [1, 2.5]`, `true`},
		{`input.l.exists(x, x == 2.5)`, `true`},
		{`input.i > "a"`, `error: a value has a type for which that is not defined`},
		// Conversions refuse to lose digits.
		{`double(input.big)`, `error: the number has more digits than a double keeps`},
		{`double(input.over)`, `error: the number has more digits than a double keeps`},
		{`double(input.max)`, `error: the number has more digits than a double keeps`},
		{`double(input.i)`, `7`},
		{`double("1.5") + input.tiny`, `1.6`},
		{`double(input.tiny)`, `0.1`},
		{`int(input.d)`, `error: the number is not a 64-bit integer`},
		{`int(input.f)`, `7`},
		{`int(input.s) + 1`, `8`},
	} {
		if got := evaluate(t, c.expr, input); got != c.want {
			t.Errorf("%s = %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestIntegerDivisionOfAStatusIsCELs(t *testing.T) {
	t.Parallel()
	p, err := compile("response.status / 100 == 4", scopeOutcome, nil)
	if err != nil {
		t.Fatal(err)
	}
	holds, err := p.holds(&variables{response: &responseVars{evidence: &onceward.Evidence{Status: 404}}})
	if err != nil || !holds {
		t.Errorf("404 / 100 == 4 is %v, %v", holds, err)
	}
}

func TestExpressionErrorsShowNoValues(t *testing.T) {
	t.Parallel()
	const secret = "4111111111111111x"
	for _, expr := range []string{
		`int(input.card)`, `timestamp(input.card)`, `duration(input.card)`, `input.card.date()`, `input.card.email()`, `input.card.e164()`,
		`input.map[input.card]`, `input.card.missing`, `input.card + 1`, `{"a": 1}[input.card]`, `input.absent`, `double(input.card)`, `bytes(input.n)`,
	} {
		got := evaluate(t, expr, `{"card":"`+secret+`","map":{},"n":41111111111111}`)
		if !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s = %s, want an error", expr, got)
		}
		if strings.Contains(got, "4111") {
			t.Errorf("%s shows the value: %s", expr, got)
		}
	}
	if got := evaluate(t, `input.customer.id.lower()`, `{"customer":{}}`); got != "error: the input has no customer.id" {
		t.Errorf("a missing field gives %q", got)
	}
}

func TestNormalisersOfKeyParts(t *testing.T) {
	t.Parallel()
	const input = `{"a":"  Ab\u0065\u0301 ","tel":"+44 20 7946 0000","mail":" Jo@EXAMPLE.com ","at":"2026-11-29T23:30:00-02:00","l":["x",1,true],"o":{"b":1,"a":2.50}}`
	for _, c := range []struct{ expr, want string }{
		{`input.a.trim()`, "\"Abe\u0301\""},
		{`input.a.trim().lower().nfc()`, "\"ab\u00e9\""},
		{`input.a.upper().trim()`, "\"ABE\u0301\""},
		{`input.tel.digits()`, `"442079460000"`},
		{`input.tel.e164()`, `"+442079460000"`},
		{`input.mail.email()`, `"Jo@example.com"`},
		{`input.at.date()`, `"2026-11-30"`},
		{`"a-b-c".replace("-", "")`, `"abc"`},
		{`"a-b-c".split("-")`, `["a","b","c"]`},
		{`input.l.join("/")`, `"x/1/true"`},
		{`json(input.o)`, `"{\"b\":1,\"a\":2.50}"`},
		{`base64.encode(bytes("u:p"))`, `"dTpw"`},
		{`input.?x.orValue("none")`, `"none"`},
		{`input.?x`, `error: it is absent`},
		{`{"b": input.o, "a": [1, null]}`, `{"a":[1,null],"b":{"b":1,"a":2.50}}`},
	} {
		if got := evaluate(t, c.expr, input); got != c.want {
			t.Errorf("%s = %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	t.Parallel()
	list := "[" + strings.Repeat("1,", 4999) + "1]"
	if got := evaluate(t, `input.l.all(a, input.l.all(b, a == b))`, `{"l":`+list+`}`); got != "error: it takes too many steps with this input" {
		t.Errorf("25 million steps give %.80s", got)
	}
	long := strings.Repeat("a", 2000)
	if got := evaluate(t, `input.s.replace("a", input.s)`, `{"s":"`+long+`"}`); !strings.HasPrefix(got, "error: replace() would make a text longer") {
		t.Errorf("a text of 4 MB gives %.80s", got)
	}
	if _, err := compile(strings.Repeat("(", 300)+"1"+strings.Repeat(")", 300), scopeKey, nil); err == nil {
		t.Error("300 nested parentheses compile")
	}
	if _, err := compile(strings.Repeat("1+", 5000)+"1", scopeKey, nil); err == nil {
		t.Error("a source of 10,001 characters compiles")
	}
}
