package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/onceward/onceward"
)

// kind is a PostgreSQL type in its binary representation, with the numbers that
// its type and the array of it have in every database.
type kind struct {
	sql        string
	oid, array uint32
}

var (
	kindUUID  = kind{"uuid", 2950, 2951}
	kindText  = kind{"text", 25, 1009}
	kindBytes = kind{"bytea", 17, 1001}
	kindInt2  = kind{"smallint", 21, 1005}
	kindInt4  = kind{"integer", 23, 1007}
	kindInt8  = kind{"bigint", 20, 1016}
	kindBool  = kind{"boolean", 16, 1000}
	kindTime  = kind{"timestamptz", 1184, 1185}
)

// epoch is where PostgreSQL's times begin, in microseconds since 1970.
const epoch = 946_684_800_000_000

// An element is a value as it stands in an array: its length and its bytes, or
// the length -1 for NULL. The functions below append one.

func appendNull(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff) }

func appendInt2(b []byte, v int16) []byte {
	return binary.BigEndian.AppendUint16(append(b, 0, 0, 0, 2), uint16(v))
}

func appendInt4(b []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 4), uint32(v))
}

func appendInt8(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(v))
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0, 0, 0, 1, 1)
	}
	return append(b, 0, 0, 0, 1, 0)
}

func appendUUID(b []byte, id [16]byte) []byte { return append(append(b, 0, 0, 0, 16), id[:]...) }

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// appendOptional appends the empty text as NULL.
func appendOptional(b []byte, s string) []byte {
	if s == "" {
		return appendNull(b)
	}
	return appendText(b, s)
}

// appendBytes appends nil as NULL.
func appendBytes(b, v []byte) []byte {
	if v == nil {
		return appendNull(b)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

// appendTime appends the zero time as NULL.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return appendNull(b)
	}
	return appendInt8(b, t.UnixMicro()-epoch)
}

// appendArrayHead begins an array of n elements.
func appendArrayHead(b []byte, k kind, n int) []byte {
	dimensions := uint32(1)
	if n == 0 {
		dimensions = 0
	}
	b = binary.BigEndian.AppendUint32(b, dimensions)
	b = binary.BigEndian.AppendUint32(b, 1) // there may be NULLs
	b = binary.BigEndian.AppendUint32(b, k.oid)
	if n == 0 {
		return b
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return binary.BigEndian.AppendUint32(b, 1) // the first index
}

// value is an element without its length: a parameter by itself.
func value(element []byte) []byte {
	if binary.BigEndian.Uint32(element) == math.MaxUint32 {
		return nil
	}
	return element[4:]
}

// A malformed value is what a result could hold that is not of the type it was
// selected as. It would be a defect of ours, or of the server.
type malformedError struct{ what string }

func (e *malformedError) Error() string { return "malformed " + e.what + " in a result" }

// readNumber reads a number of the size of T; NULL is 0.
func readNumber[T int16 | int32 | int64](v []byte) (T, error) {
	var n T
	switch {
	case v == nil:
		return 0, nil
	case len(v) != binary.Size(n):
		return 0, &malformedError{"number"}
	}
	for _, b := range v {
		n = n<<8 | T(b)
	}
	return n, nil
}

// readTime reads a time; NULL is the zero time.
func readTime(v []byte) (time.Time, error) {
	if v == nil {
		return time.Time{}, nil
	}
	n, err := readNumber[int64](v)
	if err != nil {
		return time.Time{}, &malformedError{"time"}
	}
	return time.UnixMicro(n + epoch).UTC(), nil
}

// readUUID reads an identifier; NULL is the zero one.
func readUUID(v []byte) (id [16]byte, err error) {
	if v == nil {
		return id, nil
	}
	if len(v) != len(id) {
		return id, &malformedError{"uuid"}
	}
	return [16]byte(v), nil
}

// readBytes copies; NULL is nil.
func readBytes(v []byte) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	return append(make([]byte, 0, len(v)), v...), nil
}

// readArray calls each for every element of an array, nil for NULL. NULL is an
// array without elements.
func readArray(v []byte, each func(element []byte) error) error {
	if v == nil {
		return nil
	}
	bad := &malformedError{"array"}
	if len(v) < 12 {
		return bad
	}
	switch binary.BigEndian.Uint32(v) {
	case 0:
		return nil
	case 1:
	default:
		return bad
	}
	if len(v) < 20 {
		return bad
	}
	n := binary.BigEndian.Uint32(v[12:])
	v = v[20:]
	for range n {
		if len(v) < 4 {
			return bad
		}
		size := binary.BigEndian.Uint32(v)
		v = v[4:]
		if size == math.MaxUint32 {
			if err := each(nil); err != nil {
				return err
			}
			continue
		}
		if uint64(size) > uint64(len(v)) {
			return bad
		}
		if err := each(v[:size:size]); err != nil {
			return err
		}
		v = v[size:]
	}
	return nil
}

// param is a parameter of a query: its type and its value, nil for NULL.
type param struct {
	oid   uint32
	value []byte
}

func uuidParam(id [16]byte) param { return param{kindUUID.oid, id[:]} }
func textParam(s string) param    { return param{kindText.oid, []byte(s)} }
func intParam(n int64) param      { return param{kindInt8.oid, value(appendInt8(nil, n))} }
func timeParam(t time.Time) param { return param{kindTime.oid, value(appendTime(nil, t))} }
func uuidsParam[T ~[16]byte](ids []T) param {
	b := appendArrayHead(make([]byte, 0, 20+20*len(ids)), kindUUID, len(ids))
	for _, id := range ids {
		b = appendUUID(b, id)
	}
	return param{kindUUID.array, b}
}

func statesParam(states []onceward.State) param {
	b := appendArrayHead(nil, kindInt2, len(states))
	for _, state := range states {
		b = appendInt2(b, int16(state))
	}
	return param{kindInt2.array, b}
}

// field is a column of a source of rows: its name, its type, and how a row's
// value is appended.
type field[T any] struct {
	name string
	kind kind
	put  func(b []byte, row T) []byte
}

// params is the values of parameters, one behind the other in a space that is
// used again.
type params struct {
	values [][]byte // of all statements
	took   int      // how many of them belong to statements that have theirs
	space  []byte
}

// spaceMax is how long a space may be that is kept.
const spaceMax = 1 << 20

// reused is empty params over the space of p.
func (p *params) reused() params {
	clear(p.values)
	if cap(p.space) > spaceMax {
		return params{values: p.values[:0]}
	}
	return params{values: p.values[:0], space: p.space[:0]}
}

// end ends a value that began there.
func (p *params) end(start int) {
	p.values = append(p.values, p.space[start:len(p.space):len(p.space)])
}

// taken gives the values since it was asked last: those of one statement.
func (p *params) taken() [][]byte {
	values := p.values[p.took:len(p.values):len(p.values)]
	p.took = len(p.values)
	return values
}

// appendArrays appends one parameter a field: the array of all rows' values.
func appendArrays[T any](p *params, fields []field[T], rows []T) {
	for i := range fields {
		start := len(p.space)
		p.space = appendArrayHead(p.space, fields[i].kind, len(rows))
		for _, row := range rows {
			p.space = fields[i].put(p.space, row)
		}
		p.end(start)
	}
}

// appendRow appends one parameter a field: the value of the one row.
func appendRow[T any](p *params, fields []field[T], row T) {
	for i := range fields {
		start := len(p.space)
		p.space = fields[i].put(p.space, row)
		p.end(start)
		last := &p.values[len(p.values)-1]
		*last = value(*last)
	}
}

// names lists the fields' names, each behind a prefix.
func names[T any](fields []field[T], prefix string) string {
	s := ""
	for i, f := range fields {
		if i > 0 {
			s += ", "
		}
		s += prefix + f.name
	}
	return s
}

// assignments lists "name = prefix.name" for an update.
func assignments[T any](fields []field[T], prefix string) string {
	s := ""
	for i, f := range fields {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s = %s%s", f.name, prefix, f.name)
	}
	return s
}
