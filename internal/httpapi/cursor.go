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
	b = append(b, c.ID[:]...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(s string) (onceward.Cursor, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	sum := cursorBytes - 4
	ours := err == nil && base64.RawURLEncoding.EncodeToString(b) == s // the decoder skips line ends
	if !ours || len(b) != cursorBytes || b[0] != cursorFormat || binary.BigEndian.Uint32(b[sum:]) != crc32.ChecksumIEEE(b[:sum]) {
		return onceward.Cursor{}, &onceward.Error{Code: onceward.CodeCursorInvalid, Message: "after is not a cursor", Hint: "use the member next of the page before, as it stands"}
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(b[1:]))).UTC()
	return onceward.Cursor{CreatedAt: at, ID: onceward.OperationID(b[9:sum])}, nil
}
