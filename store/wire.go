package store

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/onceward/onceward"
)

// encoder appends primitive values to a buffer.
type encoder struct{ buf []byte }

func (e *encoder) byte(b byte)      { e.buf = append(e.buf, b) }
func (e *encoder) uint(v uint64)    { e.buf = binary.AppendUvarint(e.buf, v) }
func (e *encoder) int(v int64)      { e.buf = binary.AppendVarint(e.buf, v) }
func (e *encoder) raw(b []byte)     { e.buf = append(e.buf, b...) }
func (e *encoder) string(s string)  { e.uint(uint64(len(s))); e.buf = append(e.buf, s...) }
func (e *encoder) time(t time.Time) { e.int(Micros(t)) }

// bytes keeps nil apart from empty.
func (e *encoder) bytes(b []byte) {
	e.length(b)
	e.raw(b)
}

// length is what stands before b: 0 is nil, n+1 is n bytes.
func (e *encoder) length(b []byte) {
	if b == nil {
		e.uint(0)
		return
	}
	e.uint(uint64(len(b)) + 1)
}

func (e *encoder) header(fields []onceward.HeaderField) {
	e.uint(uint64(len(fields)))
	for _, f := range fields {
		e.string(f.Name)
		e.string(f.Value)
	}
}

func (e *encoder) failure(f onceward.Failure) {
	e.byte(byte(f.Class))
	e.bool(f.Retryable)
	e.string(f.Code)
	e.string(f.Message)
}

func (e *encoder) bool(b bool) {
	if b {
		e.byte(1)
		return
	}
	e.byte(0)
}

// decoder reads what an encoder wrote. After the first value that does not fit
// it is bad and gives zero values only; whoever reads asks done at the end.
type decoder struct {
	buf   []byte
	bad   bool
	newer bool // what does not fit is something that this release does not know
}

// done reports whether everything was read, and read well.
func (d *decoder) done() bool { return !d.bad && len(d.buf) == 0 }

// format reads the first byte of an encoding, of which this release knows one.
func (d *decoder) format(known byte) {
	if f := d.byte(); f != known {
		d.unknown(f > known)
	}
}

// unknown makes the decoder bad where it meets what newer releases may write.
func (d *decoder) unknown(newer bool) {
	d.newer = d.newer || newer && !d.bad
	d.bad = true
}

// problem is nil if everything was read, and read well. It has CodeLedgerTooNew
// where a newer release wrote it, and CodeLedgerCorrupt else; message says what
// was read.
//
// Why the difference: while replicas of two releases run side by side the older
// one leaves such an operation to the newer (docs/operating/upgrade.md); what is
// damaged nobody can read.
func (d *decoder) problem(id onceward.OperationID, message string) error {
	switch {
	case d.newer:
		return tooNew(id, message)
	case !d.done():
		return corrupt(id, message)
	}
	return nil
}

func (d *decoder) more() bool { return !d.bad && len(d.buf) > 0 }

func (d *decoder) byte() byte {
	if d.bad || len(d.buf) == 0 {
		d.bad = true
		return 0
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.buf)
	if d.bad || n <= 0 {
		d.bad = true
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// count reads a number of elements that each take at least one byte, so that a
// damaged blob cannot ask for more memory than it has bytes.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.buf)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.buf)
	if d.bad || n <= 0 {
		d.bad = true
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// small reads a count that is kept as an int.
func (d *decoder) small() int {
	v := d.uint()
	if v > math.MaxInt32 {
		d.bad = true
		return 0
	}
	return int(v)
}

// raw reads n bytes; the result shares no memory with the buffer.
func (d *decoder) raw(n int) []byte {
	if d.bad || n > len(d.buf) {
		d.bad = true
		return nil
	}
	b := make([]byte, n)
	copy(b, d.buf)
	d.buf = d.buf[n:]
	return b
}

func (d *decoder) fill(dst []byte) {
	if d.bad || len(dst) > len(d.buf) {
		d.bad = true
		return
	}
	copy(dst, d.buf)
	d.buf = d.buf[len(dst):]
}

func (d *decoder) string() string {
	n := d.count()
	if d.bad {
		return ""
	}
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n == 0 || d.bad {
		return nil
	}
	if n-1 > uint64(len(d.buf)) {
		d.bad = true
		return nil
	}
	return d.raw(int(n - 1))
}

func (d *decoder) time() time.Time { return Time(d.int()) }

func (d *decoder) bool() bool {
	switch d.byte() {
	case 0:
		return false
	case 1:
		return true
	}
	d.bad = true
	return false
}

func (d *decoder) header() []onceward.HeaderField {
	n := d.count()
	if n == 0 {
		return nil
	}
	fields := make([]onceward.HeaderField, n)
	for i := range fields {
		fields[i] = onceward.HeaderField{Name: d.string(), Value: d.string()}
	}
	return fields
}

func (d *decoder) failure() onceward.Failure {
	f := onceward.Failure{Class: onceward.ErrorClass(d.byte()), Retryable: d.bool()}
	f.Code = d.string()
	f.Message = d.string()
	return f
}
