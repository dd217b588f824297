package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// A cursor is a place in the order of a list, as text that nobody is meant to
// take apart: a format, the place, and a sum that tells a cut or invented one.
const (
	cursorFormat = 1 + iota
	reviewCursorFormat
	auditCursorFormat
	asideCursorFormat
)

// writeCursor adds the sum to a format and a place.
func writeCursor(b []byte) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// readCursor returns the place of a cursor: so many bytes, or more of them where
// it is open to more.
func readCursor(s string, format byte, size int, open bool) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	sum := len(b) - 4
	ours := err == nil && base64.RawURLEncoding.EncodeToString(b) == s // the decoder skips line ends
	if !ours || sum < 1+size || !open && sum > 1+size || b[0] != format || binary.BigEndian.Uint32(b[sum:]) != crc32.ChecksumIEEE(b[:sum]) {
		return nil, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: "after is not a cursor of this list", Hint: "use the member next of the page before, as it stands"}
	}
	return b[1:sum], nil
}

// encodeCursor makes a cursor of what is listed by time of creation: the time in
// microseconds, and an ID.
func encodeCursor(c onceward.Cursor) string {
	b := binary.BigEndian.AppendUint64([]byte{cursorFormat}, uint64(c.CreatedAt.UnixMicro()))
	return writeCursor(append(b, c.ID[:]...))
}

func decodeCursor(s string) (out onceward.Cursor, err error) {
	b, err := readCursor(s, cursorFormat, 8+len(out.ID), false)
	if err == nil {
		out.CreatedAt = time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
		out.ID = onceward.OperationID(b[8:])
	}
	return out, err
}

// encodeReviewCursor makes a cursor of the review queue, whose order begins with
// the deadline: a second cursor after a point.
func encodeReviewCursor(c onceward.ReviewCursor) string {
	due := int64(0)
	if !c.Due.IsZero() {
		due = c.Due.UnixMicro()
	}
	b := binary.BigEndian.AppendUint64([]byte{reviewCursorFormat}, uint64(due))
	return encodeCursor(onceward.Cursor{CreatedAt: c.CreatedAt, ID: c.ID}) + "." + writeCursor(b)
}

func decodeReviewCursor(s string) (out onceward.ReviewCursor, err error) {
	place, deadline, _ := strings.Cut(s, ".")
	c, err := decodeCursor(place)
	if err != nil {
		return out, err
	}
	b, err := readCursor(deadline, reviewCursorFormat, 8, false)
	if err != nil {
		return out, err
	}
	out.CreatedAt, out.ID = c.CreatedAt, c.ID
	if due := int64(binary.BigEndian.Uint64(b)); due != 0 {
		out.Due = time.UnixMicro(due).UTC()
	}
	return out, nil
}

// encodeAuditCursor makes a cursor of the audit trail: a place in both tables, and
// in a commit.
func encodeAuditCursor(c onceward.AuditCursor) string {
	b := []byte{auditCursorFormat}
	for _, p := range [...]onceward.AuditPlace{c.Journal, c.Events} {
		b = binary.BigEndian.AppendUint64(b, p.Xid)
		b = binary.BigEndian.AppendUint64(b, uint64(p.Position))
	}
	return writeCursor(binary.BigEndian.AppendUint32(b, uint32(c.Taken))) // #nosec G115 -- of one commit
}

func decodeAuditCursor(s string) (out onceward.AuditCursor, err error) {
	b, err := readCursor(s, auditCursorFormat, 4*8+4, false)
	if err == nil {
		at := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
		out.Journal = onceward.AuditPlace{Xid: at(0), Position: int64(at(1))}
		out.Events = onceward.AuditPlace{Xid: at(2), Position: int64(at(3))}
		out.Taken = int(binary.BigEndian.Uint32(b[4*8:]))
	}
	return out, err
}

// encodeAsideCursor makes a cursor of the outbox: a place in it, and a sink's name.
func encodeAsideCursor(c onceward.AsideCursor) string {
	b := binary.BigEndian.AppendUint64([]byte{asideCursorFormat}, c.Place.Stamp)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Place.Position))
	return writeCursor(append(b, c.Sink...))
}

func decodeAsideCursor(s string) (out onceward.AsideCursor, err error) {
	b, err := readCursor(s, asideCursorFormat, 2*8, true)
	if err == nil {
		out.Place = onceward.OutboxPlace{Stamp: binary.BigEndian.Uint64(b), Position: int64(binary.BigEndian.Uint64(b[8:]))}
		out.Sink = string(b[2*8:])
	}
	return out, err
}
