package onceward

const hexDigits = "0123456789abcdef"

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
