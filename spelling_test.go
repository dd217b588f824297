package onceward_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// The tests of the canonical form need many spellings of one value. What is
// here makes them without the code under test: values are those of
// encoding/json with UseNumber.

// spell writes a value as JSON in one of its many spellings.
func spell(rng *rand.Rand, v any) []byte {
	s := speller{rng: rng}
	s.value(v)
	s.space()
	return s.out
}

type speller struct {
	rng *rand.Rand
	out []byte
}

func (s *speller) space() {
	for s.rng.IntN(4) == 0 {
		s.out = append(s.out, " \t\n\r"[s.rng.IntN(4)])
	}
}

func (s *speller) value(v any) {
	s.space()
	switch v := v.(type) {
	case nil:
		s.out = append(s.out, "null"...)
	case bool:
		s.out = strconv.AppendBool(s.out, v)
	case json.Number:
		s.out = append(s.out, spellNumber(s.rng, string(v))...)
	case string:
		s.text(v)
	case []any:
		s.list('[', ']', len(v), func(i int) { s.value(v[i]) })
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		s.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		s.list('{', '}', len(names), func(i int) {
			s.space()
			s.text(names[i])
			s.space()
			s.out = append(s.out, ':')
			s.value(v[names[i]])
		})
	default:
		panic(fmt.Sprintf("no JSON value: %T", v))
	}
}

func (s *speller) list(open, end byte, count int, item func(int)) {
	s.out = append(s.out, open)
	for i := range count {
		if i > 0 {
			s.space()
			s.out = append(s.out, ',')
		}
		item(i)
	}
	s.space()
	s.out = append(s.out, end)
}

func (s *speller) text(t string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	s.out = append(s.out, '"')
	for _, r := range t {
		escape, hasShort := short[r]
		must := r < 0x20 || r == '"' || r == '\\'
		switch choice := s.rng.IntN(8); {
		case hasShort && (must && choice < 4 || choice < 2):
			s.out = append(s.out, escape...)
		case must || choice == 2:
			for _, unit := range utf16.AppendRune(nil, r) {
				format := []string{`\u%04x`, `\u%04X`}[s.rng.IntN(2)]
				s.out = fmt.Appendf(s.out, format, unit)
			}
		default:
			s.out = append(s.out, string(r)...)
		}
	}
	s.out = append(s.out, '"')
}

// significant splits a number into sign, digits without zeros at either end,
// and exponent; no digits are zero.
func significant(number string) (negative bool, digits string, exponent int) {
	number, negative = strings.CutPrefix(number, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	if power != "" {
		exponent, _ = strconv.Atoi(power)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	return negative, short, exponent + len(digits) - len(short)
}

// spellNumber writes the same number in another way.
func spellNumber(rng *rand.Rand, number string) string {
	negative, digits, exponent := significant(number)
	sign := ""
	if negative || digits == "" && rng.IntN(2) == 0 {
		sign = "-"
	}
	if digits == "" {
		return sign + []string{"0", "0.0", "0e0", "0.000E+77", "0e-5"}[rng.IntN(5)]
	}
	for range rng.IntN(4) {
		digits += "0"
		exponent--
	}
	if exponent > 0 && exponent < 30 && rng.IntN(2) == 0 {
		digits += strings.Repeat("0", exponent)
		exponent = 0
	}
	point := rng.IntN(len(digits) + 1)
	if exponent == 0 && rng.IntN(2) == 0 {
		point = len(digits)
	}
	whole, fraction := digits[:point], digits[point:]
	exponent += len(fraction)
	if whole == "" {
		whole = "0"
		for range rng.IntN(4) {
			fraction = "0" + fraction
			exponent++
		}
	}
	text := sign + whole
	if fraction != "" {
		text += "." + fraction
	}
	if exponent == 0 && rng.IntN(4) > 0 {
		return text
	}
	text += []string{"e", "E"}[rng.IntN(2)]
	if exponent < 0 {
		text += "-"
		exponent = -exponent
	} else if rng.IntN(2) == 0 {
		text += "+"
	}
	return text + strings.Repeat("0", rng.IntN(3)) + strconv.Itoa(exponent)
}

// decode reads JSON by encoding/json.
func decode(t fataler, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decode %q: %v", text, err)
	}
	return v
}

// drawValue draws a JSON value.
func drawValue(t *rapid.T, depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return drawNumber(t)
	case 4:
		return drawText(t)
	case 5:
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "elements"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	default:
		object := make(map[string]any)
		for range rapid.IntRange(0, 5).Draw(t, "members") {
			object[drawText(t)] = drawValue(t, depth-1)
		}
		return object
	}
}

func drawText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "b", "ab", "amount", "é", "e\u0301", "\x00", "\x1f", "\u007f", "\"", "\\", "\\u0041", "/", "\u2028", "\U0001f600", "\uffff", "\ufffd"}),
		rapid.StringN(0, 6, -1),
	).Draw(t, "text")
}

func drawNumber(t *rapid.T) json.Number {
	digits := rapid.StringMatching(`0|-?[1-9][0-9]{0,30}`).Draw(t, "digits")
	if exponent := rapid.OneOf(rapid.Just(0), rapid.IntRange(-60, 60), rapid.IntRange(-9000, 9000)).Draw(t, "exponent"); exponent != 0 {
		digits += "e" + strconv.Itoa(exponent)
	}
	return json.Number(digits)
}

// mutate returns the value with one leaf, or one member, made another.
func mutate(rng *rand.Rand, v any) any {
	switch v := v.(type) {
	case []any:
		v = slices.Clone(v)
		if len(v) == 0 || rng.IntN(6) == 0 {
			return append(v, nil)
		}
		i := rng.IntN(len(v))
		v[i] = mutate(rng, v[i])
		return v
	case map[string]any:
		v = maps.Clone(v)
		if names := slices.Sorted(maps.Keys(v)); len(names) > 0 && rng.IntN(6) > 0 {
			name := names[rng.IntN(len(names))]
			v[name] = mutate(rng, v[name])
			return v
		}
		name := "added"
		for _, taken := v[name]; taken; _, taken = v[name] {
			name += "+"
		}
		v[name] = nil
		return v
	case json.Number:
		return mutateNumber(rng, string(v))
	case string:
		return []any{v + "\x00", v + " ", "x" + v, nil, []any{v}}[rng.IntN(5)]
	case bool:
		return []any{!v, strconv.FormatBool(v), nil}[rng.IntN(3)]
	default:
		return []any{false, json.Number("0"), "", "null", []any{}, map[string]any{}}[rng.IntN(6)]
	}
}

func mutateNumber(rng *rand.Rand, number string) any {
	negative, digits, exponent := significant(number)
	sign := map[bool]string{true: "-"}[negative]
	switch rng.IntN(4) {
	case 0:
		return number
	case 1:
		if digits != "" {
			return json.Number(fmt.Sprintf("%s%se%d", map[bool]string{false: "-"}[negative], digits, exponent))
		}
	case 2:
		if digits != "" {
			return json.Number(fmt.Sprintf("%s%se%d", sign, digits, exponent+1))
		}
	}
	return json.Number(fmt.Sprintf("%s%s1e%d", sign, digits, exponent-1))
}
