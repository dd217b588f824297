package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// encodeReviewCursor makes a cursor of the review queue, whose order begins with
// the deadline.
func encodeReviewCursor(c onceward.ReviewCursor) string {
	due := int64(0)
	if !c.Due.IsZero() {
		due = c.Due.UnixMicro()
	}
	b := binary.BigEndian.AppendUint64([]byte{reviewCursorFormat}, uint64(due))
	return encodeCursor(onceward.Cursor{CreatedAt: c.CreatedAt, ID: c.ID}) + "." + base64.RawURLEncoding.EncodeToString(b)
}

func decodeReviewCursor(s string) (out onceward.ReviewCursor, err error) {
	place, deadline, _ := strings.Cut(s, ".")
	c, err := decodeCursor(place)
	if err != nil {
		return out, err
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(deadline)
	if err != nil || len(b) != 9 || b[0] != reviewCursorFormat || base64.RawURLEncoding.EncodeToString(b) != deadline {
		return out, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: "after is not a cursor of this list", Hint: "use the member next of the page before, as it stands"}
	}
	out.CreatedAt, out.ID = c.CreatedAt, c.ID
	if due := int64(binary.BigEndian.Uint64(b[1:])); due != 0 {
		out.Due = time.UnixMicro(due).UTC()
	}
	return out, nil
}

// reviewCursorFormat is the first byte of the part of a cursor that is particular
// to the review queue.
const reviewCursorFormat = 2

// A cursor is a place in the order of a list, as text that nobody is meant to
// take apart: format, creation time in microseconds, operation ID and a sum
// that tells a cut or invented one.
const (
	cursorFormat = 1
	cursorBytes  = 1 + 8 + len(onceward.OperationID{}) + 4
)

func encodeCursor(c onceward.Cursor) string {
	b := make([]byte, 0, cursorBytes)
	b = append(b, cursorFormat)
	b = binary.BigEndian.AppendUint64(b, uint64(c.CreatedAt.UnixMicro()))
	return seal(append(b, c.ID[:]...))
}

// seal writes a cursor with the sum of its bytes.
func seal(b []byte) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// unseal reads the bytes of a cursor of a format. It has at least the given length.
func unseal(s string, format byte, bytesMin int) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	sum := len(b) - 4
	ours := err == nil && base64.RawURLEncoding.EncodeToString(b) == s // the decoder skips line ends
	if !ours || sum < bytesMin || b[0] != format || binary.BigEndian.Uint32(b[sum:]) != crc32.ChecksumIEEE(b[:sum]) {
		return nil, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: "after is not a cursor", Hint: "use the member next of the page before, as it stands"}
	}
	return b[:sum], nil
}

func decodeCursor(s string) (onceward.Cursor, error) {
	b, err := unseal(s, cursorFormat, cursorBytes-4)
	if err != nil {
		return onceward.Cursor{}, err
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(b[1:]))).UTC()
	return onceward.Cursor{CreatedAt: at, ID: onceward.OperationID(b[9 : cursorBytes-4])}, nil
}

// asideCursorFormat is the first byte of a cursor of the outbox: a place in it, and
// a sink's name.
const asideCursorFormat = 3

func encodeAsideCursor(c onceward.AsideCursor) string {
	b := binary.BigEndian.AppendUint64([]byte{asideCursorFormat}, c.Place.Stamp)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Place.Position))
	return seal(append(b, c.Sink...))
}

func decodeAsideCursor(s string) (out onceward.AsideCursor, err error) {
	b, err := unseal(s, asideCursorFormat, 17)
	if err == nil {
		out.Place = onceward.OutboxPlace{Stamp: binary.BigEndian.Uint64(b[1:]), Position: int64(binary.BigEndian.Uint64(b[9:]))}
		out.Sink = string(b[17:])
	}
	return out, err
}
