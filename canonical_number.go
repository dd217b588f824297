package onceward

import (
	"bytes"
	"fmt"
	"strconv"
)

const (
	// plainZerosMax is how many zeros the canonical form of a number writes out,
	// behind its digits or between point and digits, before it turns to
	// scientific notation. Why a limit: 1e10000 must not grow to 10,001 bytes.
	plainZerosMax = 20
	// exponentSaturated is what longer exponents count as. It is far beyond what
	// the digits of the longest text can make up for.
	exponentSaturated = 1 << 40
	// plainIntegerBytes is the length up to which an integer is canonical as it
	// stands, without a look at its zeros.
	plainIntegerBytes = plainZerosMax
)

// decimal is a number in parts, as slices of its token.
type decimal struct {
	negative          bool
	integer, fraction []byte // digits before and behind the point
	exponent          int64  // saturated
}

// number reads a number and writes its canonical form to document.text, unless
// it is canonical as it stands.
func (p *parser) number() (int32, bool) {
	from := p.pos
	num, ok := p.scanNumber()
	if !ok {
		return 0, false
	}
	token := p.src[from:p.pos]
	i := p.add(NodeNumber, from)
	n := &p.doc.nodes[i]
	n.token.to = uint32(p.pos)
	n.canon = n.token
	if len(num.integer) == len(token) && len(token) <= plainIntegerBytes {
		return i, true
	}
	start := len(p.doc.text)
	text, reason := num.appendCanonical(p.doc.text)
	if reason != "" {
		return 0, p.fail(from, reason, "send it as a string")
	}
	p.doc.text = text
	n.canon, n.inText = span{uint32(start), uint32(len(text))}, true
	return i, true
}

// scanNumber reads a number by the grammar of RFC 8259.
func (p *parser) scanNumber() (decimal, bool) {
	var num decimal
	from := p.pos
	num.negative = p.accept('-')
	num.integer = p.digits()
	switch {
	case len(num.integer) == 0:
		return num, p.fail(from, "- without a digit", "NaN and Infinity are not JSON")
	case len(num.integer) > 1 && num.integer[0] == '0':
		return num, p.fail(from, "number with a leading zero", "")
	}
	if p.accept('.') {
		if num.fraction = p.digits(); len(num.fraction) == 0 {
			return num, p.fail(p.pos, "expected a digit after the decimal point", "")
		}
	}
	if p.accept('e') || p.accept('E') {
		negative := p.accept('-')
		if !negative {
			p.accept('+')
		}
		digits := p.digits()
		if len(digits) == 0 {
			return num, p.fail(p.pos, "expected a digit in the exponent", "")
		}
		for _, c := range digits {
			num.exponent = min(num.exponent*10+int64(c-'0'), exponentSaturated)
		}
		if negative {
			num.exponent = -num.exponent
		}
	}
	return num, true
}

// digits reads a run of decimal digits.
func (p *parser) digits() []byte {
	from := p.pos
	for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
		p.pos++
	}
	return p.src[from:p.pos]
}

// appendCanonical appends the one text of the number's exact value. It is
// chosen by the significant digits and their exponent alone: plain notation
// where that adds at most plainZerosMax zeros, else d.ddde±x. A number beyond
// the limits gives a reason instead.
func (num decimal) appendCanonical(dst []byte) (text []byte, reason string) {
	// Value = digits × 10^exponent, without zeros at either end of the digits.
	integer := bytes.TrimLeft(num.integer, "0")
	fraction := bytes.TrimRight(num.fraction, "0")
	exponent := num.exponent - int64(len(fraction))
	if len(integer) == 0 {
		fraction = bytes.TrimLeft(fraction, "0")
	}
	if len(fraction) == 0 {
		exponent += int64(len(integer))
		integer = bytes.TrimRight(integer, "0")
		exponent -= int64(len(integer))
	}
	count := len(integer) + len(fraction)
	if count == 0 {
		return append(dst, '0'), "" // also -0
	}
	if count > NumberDigitsMax {
		return nil, fmt.Sprintf("number with more than %d significant digits", NumberDigitsMax)
	}
	scientific := exponent + int64(count) - 1
	if scientific > NumberExponentMax || scientific < -NumberExponentMax {
		return nil, fmt.Sprintf("number with an exponent beyond ±%d", NumberExponentMax)
	}
	if num.negative {
		dst = append(dst, '-')
	}
	if zeros := -int(exponent) - count; exponent < 0 && zeros >= 0 && zeros <= plainZerosMax {
		dst = appendZeros(append(dst, '0', '.'), zeros)
		return append(append(dst, integer...), fraction...), ""
	}
	start := len(dst)
	dst = append(append(dst, integer...), fraction...)
	switch {
	case exponent >= 0 && exponent <= plainZerosMax:
		return appendZeros(dst, int(exponent)), ""
	case exponent < 0 && scientific >= 0:
		return insertPoint(dst, start+int(scientific)+1), ""
	}
	if count > 1 {
		dst = insertPoint(dst, start+1)
	}
	return strconv.AppendInt(append(dst, 'e'), scientific, 10), ""
}

func appendZeros(dst []byte, count int) []byte {
	for range count {
		dst = append(dst, '0')
	}
	return dst
}

// insertPoint puts a decimal point before dst[at].
func insertPoint(dst []byte, at int) []byte {
	dst = append(dst, 0)
	copy(dst[at+1:], dst[at:])
	dst[at] = '.'
	return dst
}
