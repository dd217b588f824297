package onceward

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// pathBytesMax is the longest path that is shown or stored. Names come from
// outside; a longer path is cut, and a hash keeps two of them apart.
const pathBytesMax = 160

// Path names a value inside a JSON value: "subject", "customer.note",
// "items[3].note". A name with other characters than letters, digits, "_", "-"
// and "$" is quoted in brackets, as a JSON string: customer["first name"].
// The zero value is the empty path, the value itself.
type Path struct{ steps []pathStep }

// pathStep is one step: a member, an element, or every element.
type pathStep struct {
	name  string // canonical JSON string with its quotes; empty: an element
	index int
	every bool // [*]
}

// ParsePath reads a path. [*] stands for every element of an array. An error is
// an [Error] with CodeContractInvalid: paths are written in contracts.
func ParsePath(s string) (Path, error) {
	var path Path
	rest := s
	for rest != "" || len(path.steps) == 0 {
		if len(path.steps) > 0 && rest[0] == '.' {
			rest = rest[1:]
			if strings.HasPrefix(rest, "[") {
				return Path{}, pathError(s, rest, "expected a name after .")
			}
		} else if len(path.steps) > 0 && rest[0] != '[' {
			return Path{}, pathError(s, rest, "expected . or [")
		}
		step, tail, problem := parsePathStep(rest)
		if problem != "" {
			return Path{}, pathError(s, rest, problem)
		}
		path.steps = append(path.steps, step)
		rest = tail
	}
	if len(path.steps) > JSONDepthMax {
		return Path{}, pathError(s, "", "more than "+strconv.Itoa(JSONDepthMax)+" steps")
	}
	return path, nil
}

func pathError(path, rest, problem string) error {
	return &Error{
		Code:    CodeContractInvalid,
		Op:      "read path",
		Message: problem + " at character " + strconv.Itoa(1+utf8.RuneCountInString(path)-utf8.RuneCountInString(rest)) + " of " + strconv.Quote(path),
		Hint:    `write it as in customer.note, items[*].note or customer["first name"]`,
	}
}

// parsePathStep reads one step at the start of s.
func parsePathStep(s string) (step pathStep, rest string, problem string) {
	inside, bracket := strings.CutPrefix(s, "[")
	if !bracket {
		end := strings.IndexFunc(s, func(r rune) bool { return !plainNameRune(r) })
		if end < 0 {
			end = len(s)
		}
		if end == 0 {
			return step, "", "expected a name"
		}
		return pathStep{name: string(appendJSONString(nil, s[:end]))}, s[end:], ""
	}
	if rest, ok := strings.CutPrefix(inside, "*]"); ok {
		return pathStep{every: true}, rest, ""
	}
	if strings.HasPrefix(inside, `"`) {
		return parseQuotedStep(inside)
	}
	digits, rest, closed := strings.Cut(inside, "]")
	index, err := strconv.ParseUint(digits, 10, 31)
	if !closed || err != nil || len(digits) > 1 && digits[0] == '0' {
		return step, "", "expected an index, * or a quoted name in brackets"
	}
	return pathStep{index: int(index)}, rest, ""
}

// parseQuotedStep reads "name"] behind an opening bracket.
func parseQuotedStep(s string) (step pathStep, rest string, problem string) {
	p := parser{doc: new(document), src: []byte(s)}
	canon, flags, ok := p.str()
	if !ok {
		return step, "", p.fault.reason
	}
	rest, closed := strings.CutPrefix(s[p.pos:], "]")
	if !closed {
		return step, "", "expected ] after a quoted name"
	}
	p.doc.src = p.src
	return pathStep{name: string(p.doc.bytes(canon, flags&stringInText != 0))}, rest, ""
}

// String is the path in the form that [ParsePath] reads.
func (p Path) String() string {
	var dst []byte
	for _, step := range p.steps {
		switch {
		case step.every:
			dst = append(dst, "[*]"...)
		case step.name != "":
			dst = appendPathName(dst, []byte(step.name))
		default:
			dst = appendPathIndex(dst, step.index)
		}
	}
	return string(dst)
}

// leadsTo reports whether the step from a container leads to n, its at-th child.
func (s *pathStep) leadsTo(n *Node, at int) bool {
	if n.name == (span{}) {
		return s.every || s.name == "" && s.index == at
	}
	return s.name != "" && s.name == string(n.canonicalName())
}

// plainNameRune reports whether a name in a path may hold r without quotes.
func plainNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		r == '_' || r == '-' || r == '$' ||
		r >= utf8.RuneSelf && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// appendPathName appends the step to a member; name is a canonical JSON string.
// Characters that do not print are escaped: a path is shown in terminals and
// logs, and its names come from outside.
func appendPathName(dst, name []byte) []byte {
	inner := name[1 : len(name)-1]
	if len(inner) > 0 && bytes.IndexFunc(inner, func(r rune) bool { return !plainNameRune(r) }) < 0 {
		if len(dst) > 0 {
			dst = append(dst, '.')
		}
		return append(dst, inner...)
	}
	dst = append(dst, '[', '"')
	for _, r := range string(inner) {
		if unicode.IsPrint(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			dst = append(dst, '\\', 'u', hexDigits[unit>>12], hexDigits[unit>>8&0xf], hexDigits[unit>>4&0xf], hexDigits[unit&0xf])
		}
	}
	return append(dst, '"', ']')
}

// appendPathIndex appends the step to an element.
func appendPathIndex(dst []byte, index int) []byte {
	dst = strconv.AppendInt(append(dst, '['), int64(index), 10)
	return append(dst, ']')
}

// joinPath appends a path that appendPathName or appendPathIndex started.
func joinPath(dst []byte, path string) []byte {
	if len(dst) > 0 && path[0] != '[' {
		dst = append(dst, '.')
	}
	return append(dst, path...)
}

// shortPath is the path, or its start and a hash if it is too long to show.
func shortPath(path []byte) string {
	if len(path) <= pathBytesMax {
		return string(path)
	}
	sum := sha256.Sum256(path)
	start := path[:pathBytesMax-len("…")-16]
	for len(start) > 0 && !utf8.Valid(start) {
		start = start[:len(start)-1]
	}
	return string(bytes.TrimRight(start, `\`)) + "…" + hex.EncodeToString(sum[:8])
}
