package onceward

import (
	"strings"
	"time"
	"unicode"
)

// The normalisers below bring one spelling to a key part that comes in several.
// A contract names those that it wants; none is applied by itself. Each refuses,
// with CodeKeyInvalid, what it cannot bring to one spelling without a guess: a
// guess could give two intentions one key.

// emailBytesMax is the longest address that SMTP can carry (RFC 5321).
const emailBytesMax = 254

// NormalizeTrim removes white space, as Unicode has it, from both ends. It
// never fails.
func NormalizeTrim(s string) (string, error) { return strings.TrimSpace(s), nil }

// NormalizeLower maps every letter to lower case, in no particular language. It
// never fails.
func NormalizeLower(s string) (string, error) { return strings.ToLower(s), nil }

// NormalizeDigits keeps the digits 0 to 9 and drops everything else; leading
// zeros stay. No digit at all, and a digit of another script, are refused.
func NormalizeDigits(s string) (string, error) {
	var out []byte
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			out = append(out, byte(r))
		case unicode.IsDigit(r):
			return "", errNormalize("digits", "a digit is not one of 0 to 9")
		}
	}
	if len(out) == 0 {
		return "", errNormalize("digits", "there is no digit")
	}
	return string(out), nil
}

// NormalizeDate brings a date (2026-11-29) or a time with its offset (RFC 3339)
// to the date YYYY-MM-DD. A time counts as the date that it is in UTC, so that
// one instant has one date whatever offset it was sent with. A time without an
// offset is refused.
func NormalizeDate(s string) (string, error) {
	s = strings.ToUpper(strings.TrimSpace(s))
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.Format(time.DateOnly), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return "", errNormalize("date", "it is neither YYYY-MM-DD nor a time as in 2026-11-29T09:30:00Z")
	}
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return "", errNormalize("date", "in UTC its year is not one of 0000 to 9999")
	}
	return t.Format(time.DateOnly), nil
}

// NormalizeEmail trims an address and maps its domain to lower case. The part
// before the @ is kept as it is: whether its case, dots or tags matter is up to
// the receiving server. A display name, quotes and comments are refused.
func NormalizeEmail(s string) (string, error) {
	s = strings.TrimSpace(s)
	at := strings.LastIndexByte(s, '@')
	switch {
	case at <= 0 || at == len(s)-1 || strings.IndexByte(s, '@') != at:
		return "", errNormalize("email", "it is not one name, one @ and one domain")
	case len(s) > emailBytesMax:
		return "", errNormalize("email", "it is longer than 254 bytes")
	case strings.ContainsAny(s, `"(),:;<>[\]`) || strings.ContainsFunc(s, unprintable):
		return "", errNormalize("email", "it holds a character that a plain address has not")
	}
	return s[:at+1] + strings.ToLower(s[at+1:]), nil
}

func unprintable(r rune) bool {
	return r == unicode.ReplacementChar || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

// NormalizeE164 brings a telephone number to "+" and 7 to 15 digits by dropping
// spaces, dashes and parentheses. A number without its country code is refused,
// and so is a trunk zero in parentheses, as in +44 (0)20: with the zero it would
// be another number.
func NormalizeE164(s string) (string, error) {
	const digitsMin, digitsMax = 7, 15
	if strings.Contains(s, "(0)") {
		return "", errNormalize("e164", "it has a trunk zero in parentheses")
	}
	number := strings.Map(func(r rune) rune {
		if r == '(' || r == ')' || unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) {
			return -1
		}
		return r
	}, s)
	digits, plus := strings.CutPrefix(number, "+")
	if !plus || strings.HasPrefix(digits, "0") {
		return "", errNormalize("e164", "it does not start with + and a country code")
	}
	if strings.Trim(digits, "0123456789") != "" || len(digits) < digitsMin || len(digits) > digitsMax {
		return "", errNormalize("e164", "it is not + and 7 to 15 digits")
	}
	return number, nil
}

func errNormalize(normalizer, problem string) error {
	return &Error{Code: CodeKeyInvalid, Op: "normalize key part as " + normalizer, Message: problem}
}
