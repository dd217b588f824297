package onceward

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// Limits of JSON that is read. Each refuses with CodeTooLarge, except for the
// two limits of a number, which refuse with CodeInvalidInput.
const (
	// JSONBytesMax is the longest JSON text, in bytes.
	JSONBytesMax = 4 << 20
	// JSONDepthMax is how deep objects and arrays may be nested.
	JSONDepthMax = 64
	// JSONValuesMax is how many values a text may hold, containers included.
	// It bounds the memory that a small text of many tiny values can ask for.
	JSONValuesMax = 1 << 18
	// NumberDigitsMax is how many significant digits a number may have; zeros
	// before the first and after the last other digit are not counted.
	NumberDigitsMax = 1000
	// NumberExponentMax bounds the exponent of a number in scientific notation,
	// d.ddd × 10^x, in both directions.
	NumberExponentMax = 10_000
)

// Canonicalize reads one JSON text (RFC 8259) and returns its canonical form:
// the one text for everything that means the same. Two inputs are the same
// input exactly if their canonical forms are equal bytes.
//
//   - No white space. Members are sorted by the code points of their unescaped
//     names. Why not by UTF-16 units, as RFC 8785 has it: code point order is
//     the byte order of UTF-8, so that any language and any database compares
//     names as bytes; the two orders differ only beyond U+FFFF.
//   - Strings are unescaped and escaped anew only where JSON demands it. They
//     are not folded: NFC and NFD texts, upper and lower case stay apart.
//   - Numbers are written by their exact decimal value, so 1, 1.0 and 1e0 are
//     one, -0 is 0, and integers of any size are exact. No float is involved.
//   - null is a value; it is not the same as an absent member.
//
// Refused are duplicate member names (compared unescaped), NaN and Infinity,
// lone surrogates, invalid UTF-8, a byte order mark, data after the value, and
// whatever exceeds the limits. The error is a *[JSONError], which says where,
// and unwraps to an *[Error] with CodeInvalidInput or CodeTooLarge.
//
// The result shares no memory with raw.
func Canonicalize(raw []byte) ([]byte, error) {
	d := documents.Get().(*document)
	defer d.release()
	if err := d.parse(raw); err != nil {
		return nil, err
	}
	return d.nodes[0].AppendCanonical(make([]byte, 0, len(raw))), nil
}

// documents keeps parse buffers of usual size between calls.
var documents = sync.Pool{New: func() any { return new(document) }}

// pooledValuesMax and pooledTextMax bound the buffers that go back to the pool,
// so that one huge input does not stay in memory for ever.
const (
	pooledValuesMax = 1 << 10
	pooledTextMax   = 64 << 10
)

// document is one parsed JSON text: its nodes in order of appearance, and the
// buffers that they point into by offset.
type document struct {
	src   []byte  // the text as it came
	text  []byte  // canonical text of strings and numbers that came in another form
	nodes []Node  // nodes[0] is the whole text
	order []int32 // children of each container, as one run of node indices each
	stack []int32 // children of the containers that are still open, while parsing
}

// release gives the document back to the pool. No node of it may be in use.
func (d *document) release() {
	d.src = nil
	if cap(d.nodes) > pooledValuesMax || cap(d.text) > pooledTextMax {
		return
	}
	d.text, d.nodes, d.order, d.stack = d.text[:0], d.nodes[:0], d.order[:0], d.stack[:0]
	documents.Put(d)
}

// JSONError says where a JSON text is refused, and why. It unwraps to the typed
// *[Error], whose message has the place as well.
type JSONError struct {
	// Offset is the byte at which reading stopped, counted from 0.
	Offset int
	// Line and Column are the same place, counted from 1; a column is one
	// Unicode character, or one byte that belongs to none.
	Line, Column int
	// Path names the value that was being read, as in "customer.items[3].note";
	// empty for the whole text.
	Path string
	// Reason is what is wrong there. It quotes nothing from the text.
	Reason string

	refusal *Error
}

// Error is the reason and the place.
func (e *JSONError) Error() string { return e.refusal.Error() }

// Unwrap returns the *[Error] with the code.
func (e *JSONError) Unwrap() error { return e.refusal }

// fault is a refusal while the parser still unwinds and learns its path.
type fault struct {
	code   Code
	offset int
	reason string
	hint   string
	path   []string // steps from the innermost outwards
}

// jsonError places a fault in its text.
func jsonError(src []byte, f *fault) *JSONError {
	line, column := lineAndColumn(src, f.offset)
	var path []byte
	for i := len(f.path) - 1; i >= 0; i-- {
		path = joinPath(path, f.path[i])
	}
	e := &JSONError{Offset: f.offset, Line: line, Column: column, Path: shortPath(path), Reason: f.reason}
	in := ""
	if e.Path != "" {
		in = " in " + e.Path
	}
	e.refusal = &Error{
		Code:    f.code,
		Op:      "read JSON",
		Message: fmt.Sprintf("%s at line %d, column %d (byte %d)%s", f.reason, line, column, f.offset, in),
		Hint:    f.hint,
	}
	return e
}

// lineAndColumn turns a byte offset into a line and a column, both from 1.
func lineAndColumn(src []byte, offset int) (line, column int) {
	line, start := 1, 0
	for i, c := range src[:offset] {
		if c == '\n' {
			line, start = line+1, i+1
		}
	}
	return line, 1 + utf8.RuneCount(src[start:offset])
}
