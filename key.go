package onceward

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// KeyBytesMax is the longest key, derived or given by the caller, in bytes.
	KeyBytesMax = 255
	// KeyPartsMax is how many parts a derived key may have.
	KeyPartsMax = 16

	// longKeyPrefix is how much of a long key stays readable before its digest:
	// 200 bytes, "~" and 52 characters fit into KeyBytesMax.
	longKeyPrefix = 200
	longKeyMark   = '~'
	longKeyDomain = "onceward/long-key/v1\n"

	forkWord = "fork"
)

// KeyPartError says which part of a derived key is unusable. It unwraps to an
// [Error] with CodeKeyInvalid.
type KeyPartError struct {
	// Index is the part's place, counted from 0.
	Index int
	// Reason is what is wrong with it; it does not quote the part.
	Reason string
}

// Error is the place and the reason.
func (e *KeyPartError) Error() string { return e.refusal().Error() }

// Unwrap returns the *[Error] with the code.
func (e *KeyPartError) Unwrap() error { return e.refusal() }

func (e *KeyPartError) refusal() *Error {
	return &Error{
		Code:    CodeKeyInvalid,
		Op:      "derive key",
		Message: fmt.Sprintf("key part %d %s", e.Index+1, e.Reason),
		Hint:    "send the field that the part is taken from; a request without it has no stable key",
	}
}

// DeriveKey joins the parts of a key rule into one key: their canonical JSON
// array, never a concatenation, so that ("ab", "c") and ("a", "bc") stay apart.
// An array longer than [KeyBytesMax] is replaced by its readable start and the
// digest of the whole, which no shorter key can equal: an array ends in "]".
//
// A part that is empty, blank or not UTF-8 is a [KeyPartError]: such a part
// would let two events without an ID share one record. No parts, or more than
// [KeyPartsMax], is an [Error] with CodeKeyInvalid.
func DeriveKey(parts []string) (Key, error) {
	if len(parts) == 0 || len(parts) > KeyPartsMax {
		return "", &Error{Code: CodeKeyInvalid, Op: "derive key", Message: fmt.Sprintf("a key has 1 to %d parts, not %d", KeyPartsMax, len(parts))}
	}
	for i, part := range parts {
		switch {
		case part == "":
			return "", &KeyPartError{i, "is empty"}
		case strings.TrimSpace(part) == "":
			return "", &KeyPartError{i, "is blank"}
		case !utf8.ValidString(part):
			return "", &KeyPartError{i, "is not valid UTF-8"}
		}
	}
	return boundedKey(appendJSONStrings(make([]byte, 0, KeyBytesMax), parts...)), nil
}

// boundedKey makes a key of a canonical JSON array.
func boundedKey(array []byte) Key {
	if len(array) <= KeyBytesMax {
		return Key(array)
	}
	sum := sha256.Sum256(append([]byte(longKeyDomain), array...))
	end := longKeyPrefix
	for !utf8.RuneStart(array[end]) {
		end--
	}
	key := append(slices.Clone(array[:end]), longKeyMark)
	return Key(base32hex.AppendEncode(key, sum[:]))
}

// ForkKey is the key of a wanted second effect: the array of the old key, the
// word "fork", and the fork's own key, bounded as by [DeriveKey]. The same fork
// asked for twice is one fork.
//
// An old key that is an array itself stands in it as an array, not as a string.
// Why: every part of a derived key is a string, so that no business field can
// be made to look like a fork.
func ForkKey(old, fork Key) Key {
	array := []byte{'['}
	if keyIsArray(old) {
		array = append(array, old...)
	} else {
		array = appendJSONString(array, string(old))
	}
	array = append(appendJSONString(append(array, ','), forkWord), ',')
	array = appendJSONString(array, string(fork))
	return boundedKey(append(array, ']'))
}

// ForkedFrom is the key of the operation of which a key names a fork; false: it
// names none, or is too long for it to be read. A derived key of three fields may
// look like the fork of an operation that there is not.
func ForkedFrom(key Key) (old Key, is bool) {
	n, err := ParseJSON([]byte(key))
	if err != nil || n.Len() != 3 {
		return "", false
	}
	first, has := n.Element(0)
	second, both := n.Element(1)
	if !has || !both {
		return "", false
	}
	if word, text := second.Text(); !text || word != forkWord {
		return "", false
	}
	if text, is := first.Text(); is {
		return Key(text), true
	}
	return Key(first.AppendCanonical(nil)), true
}

// unfork is the derived key of the operation that a fork was made of first; a
// key that is no fork's is itself. Parts of a derived key are strings, and what a
// fork was made of is an array.
func unfork(key Key) Key {
	for {
		n, err := ParseJSON([]byte(key))
		if err != nil || n.Len() != 3 {
			return key
		}
		first, ok := n.Element(0)
		if !ok {
			return key
		}
		if text, ok := first.Text(); ok {
			if Key(text).shortened() {
				return Key(text)
			}
			return key
		}
		key = Key(first.AppendCanonical(nil))
	}
}

// shortened reports whether a key was too long to be kept whole, so that what it
// was made of cannot be read from it.
func (k Key) shortened() bool {
	mark := len(k) - 1 - base32hex.EncodedLen(sha256.Size)
	return mark > 0 && k[mark] == longKeyMark
}

// keyIsArray reports whether a key is the canonical text of a JSON array.
func keyIsArray(key Key) bool {
	if !strings.HasPrefix(string(key), "[") {
		return false
	}
	canonical, err := Canonicalize([]byte(key))
	return err == nil && string(canonical) == string(key)
}

// ParseCallerKey reads the key of an Idempotency-Key header from its field
// lines. Raw and quoted forms name one key: abc and "abc" (a structured-field
// string, RFC 8941, whose \" and \\ are unescaped). Spaces and tabs around the
// value are not part of it.
//
// No line is an [Error] with CodeKeyMissing. More than one line, and anything
// that [ValidateCallerKey] refuses, is one with CodeKeyInvalid; nothing is cut
// to fit, and the message does not quote the key.
func ParseCallerKey(headerLines []string) (Key, error) {
	switch len(headerLines) {
	case 0:
		return "", &Error{Code: CodeKeyMissing, Op: "read key", Message: "no Idempotency-Key header"}
	case 1:
	default:
		return "", errCallerKey("more than one Idempotency-Key header line")
	}
	value := strings.Trim(headerLines[0], " \t")
	if strings.HasPrefix(value, `"`) {
		unquoted, problem := unquoteField(value)
		if problem != "" {
			return "", errCallerKey(problem)
		}
		value = unquoted
	}
	return ValidateCallerKey(value)
}

// ValidateCallerKey checks a key as it stands, such as the key member of a
// request body: 1 to [KeyBytesMax] visible ASCII characters, case kept.
// Anything else is an [Error] with CodeKeyInvalid.
func ValidateCallerKey(s string) (Key, error) {
	switch {
	case s == "":
		return "", errCallerKey("the key is empty")
	case len(s) > KeyBytesMax:
		return "", errCallerKey(fmt.Sprintf("the key is longer than %d characters", KeyBytesMax))
	case !visibleASCII(s):
		return "", errCallerKey("the key has a character that is not visible ASCII")
	}
	return Key(s), nil
}

func errCallerKey(message string) error {
	return &Error{
		Code:    CodeKeyInvalid,
		Op:      "read key",
		Message: message,
		Hint:    fmt.Sprintf("a key is 1 to %d visible ASCII characters, such as a UUID or an order number, in one header line", KeyBytesMax),
	}
}

// unquoteField reads a structured-field string that is the whole of s.
func unquoteField(s string) (text, problem string) {
	out := make([]byte, 0, len(s))
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			if i != len(s)-1 {
				return "", "the quoted key has something behind its closing quote"
			}
			return string(out), ""
		case '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", `the quoted key has a \ before another character than " or \`
			}
		}
		out = append(out, s[i])
	}
	return "", "the quoted key has no closing quote"
}

// visibleASCII reports whether s holds visible ASCII characters only.
func visibleASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
