package onceward

import (
	"bytes"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// What the canonical form of a string that was read is like.
const (
	stringInText  = 1 << iota // it differs from the source and lies in document.text
	stringEscaped             // it has an escape in it
)

// str reads a string at its opening quote. The result is the span of its
// canonical form, quotes included, in document.text or in the source.
func (p *parser) str() (canon span, flags uint8, ok bool) {
	from := p.pos
	seen := byte(0)
	for i := from + 1; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '"':
			if seen >= utf8.RuneSelf && !p.validUTF8(from+1, i) {
				return span{}, 0, false
			}
			p.pos = i + 1
			return span{uint32(from), uint32(p.pos)}, 0, true
		case c == '\\':
			return p.escapedString(i)
		case c < 0x20:
			return span{}, 0, p.failControl(i)
		default:
			seen |= c
		}
	}
	return span{}, 0, p.fail(len(p.src), "expected \" at the end of a string", "")
}

// escapedString reads a string that starts at p.pos and has its first backslash
// at i, and writes its canonical form to document.text.
func (p *parser) escapedString(i int) (canon span, flags uint8, ok bool) {
	text := p.doc.text
	start := len(text)
	flags = stringInText
	from := p.pos // of what is not yet copied
	for i < len(p.src) {
		c := p.src[i]
		switch {
		case c == '"':
			if !p.validUTF8(p.pos+1, i) {
				return span{}, 0, false
			}
			p.doc.text = append(text, p.src[from:i+1]...)
			p.pos = i + 1
			return span{uint32(start), uint32(len(p.doc.text))}, flags, true
		case c == '\\':
			r, width, ok := p.unescape(i)
			if !ok {
				return span{}, 0, false
			}
			text = append(text, p.src[from:i]...)
			if r < 0x20 || r == '"' || r == '\\' {
				text = appendEscape(text, byte(r))
				flags |= stringEscaped
			} else {
				text = utf8.AppendRune(text, r)
			}
			i += width
			from = i
		case c < 0x20:
			return span{}, 0, p.failControl(i)
		default:
			i++
		}
	}
	return span{}, 0, p.fail(len(p.src), "expected \" at the end of a string", "")
}

// unescape reads the escape at the backslash at i: the character that it stands
// for, and its width in bytes.
func (p *parser) unescape(i int) (r rune, width int, ok bool) {
	if i+1 >= len(p.src) {
		return 0, 0, p.fail(len(p.src), "expected an escape after \\", "")
	}
	switch c := p.src[i+1]; c {
	case '"', '\\', '/':
		return rune(c), 2, true
	case 'b':
		return '\b', 2, true
	case 'f':
		return '\f', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'u':
		return p.unescapeUnicode(i)
	default:
		return 0, 0, p.fail(i, "unknown escape in a string", "")
	}
}

// unescapeUnicode reads an escape of four hex digits, or the two of a surrogate
// pair, at i.
func (p *parser) unescapeUnicode(i int) (r rune, width int, ok bool) {
	const highFirst, lowFirst, lowLast = 0xd800, 0xdc00, 0xdfff
	r, ok = hex4(p.src, i+2)
	if !ok {
		return 0, 0, p.fail(i, "\\u without four hexadecimal digits", "")
	}
	if r < highFirst || r > lowLast {
		return r, 6, true
	}
	if r < lowFirst && i+7 < len(p.src) && p.src[i+6] == '\\' && p.src[i+7] == 'u' {
		if low, ok := hex4(p.src, i+8); ok && low >= lowFirst && low <= lowLast {
			return 0x10000 + (r-highFirst)<<10 + (low - lowFirst), 12, true
		}
	}
	return 0, 0, p.fail(i, "lone surrogate in a string", "a character beyond U+FFFF takes two \\u escapes, high before low")
}

// hex4 reads four hexadecimal digits at i.
func hex4(s []byte, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range s[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// validUTF8 refuses a string's source bytes that are not UTF-8.
func (p *parser) validUTF8(from, to int) bool {
	s := p.src[from:to]
	if utf8.Valid(s) {
		return true
	}
	i := 0
	for i < len(s) {
		r, width := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && width == 1 {
			break
		}
		i += width
	}
	return p.fail(from+i, "invalid UTF-8 in a string", "")
}

func (p *parser) failControl(i int) bool {
	return p.fail(i, "unescaped control character in a string", "")
}

// compareNames orders two members by the code points of their unescaped names.
func compareNames(a, b *Node) int {
	x, y := a.canonicalName(), b.canonicalName()
	x, y = x[1:len(x)-1], y[1:len(y)-1]
	if !a.nameEscaped && !b.nameEscaped {
		return bytes.Compare(x, y)
	}
	for len(x) > 0 && len(y) > 0 {
		var cx, cy byte
		cx, x = nextByte(x)
		cy, y = nextByte(y)
		if cx != cy {
			return int(cx) - int(cy)
		}
	}
	return len(x) - len(y)
}

// nextByte takes one unescaped byte off the inside of a canonical string.
func nextByte(s []byte) (c byte, rest []byte) {
	if s[0] != '\\' {
		return s[0], s[1:]
	}
	switch s[1] {
	case 'b':
		return '\b', s[2:]
	case 't':
		return '\t', s[2:]
	case 'n':
		return '\n', s[2:]
	case 'f':
		return '\f', s[2:]
	case 'r':
		return '\r', s[2:]
	case 'u': // only \u00xx is canonical
		r, _ := hex4(s, 2)
		return byte(r), s[6:]
	default:
		return s[1], s[2:]
	}
}

// unquote returns what a canonical string stands for.
func unquote(canon []byte) string {
	s := canon[1 : len(canon)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s)
	}
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		var c byte
		c, s = nextByte(s)
		out = append(out, c)
	}
	return string(out)
}

// appendJSONStrings appends the canonical JSON array of the given strings. It
// is injective for any bytes, valid UTF-8 or not: two different lists never
// give one text.
func appendJSONStrings(dst []byte, parts ...string) []byte {
	dst = append(dst, '[')
	for i, part := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, part)
	}
	return append(dst, ']')
}

// appendJSONString appends s as a canonical JSON string: quoted, and escaped
// only where RFC 8259 demands it.
func appendJSONString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscape(dst, c)
		from = i + 1
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// appendEscape appends the one canonical escape of a character that cannot
// stand for itself: the short one where there is one, else \u00xx in lower case.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
	}
}
