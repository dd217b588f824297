package httpapi

import (
	"testing"

	"github.com/onceward/onceward"
)

// FuzzCursor holds that no text makes the readers of cursors and of traceparent
// panic, and that a cursor is one that this server wrote, as it wrote it.
func FuzzCursor(f *testing.F) {
	op := onceward.NewOperationID("default", "tickets.create", "k")
	f.Add(encodeCursor(onceward.Cursor{ID: op}))
	f.Add(encodeReviewCursor(onceward.ReviewCursor{ID: op}))
	f.Add(encodeAuditCursor(onceward.AuditCursor{Taken: 1}))
	f.Add(encodeAsideCursor(onceward.AsideCursor{Sink: "s"}))
	for _, seed := range []string{"", ".", "AQ", "AQ\n", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lists := 0
		for _, same := range []func(string) (string, error){again(decodeCursor, encodeCursor), again(decodeReviewCursor, encodeReviewCursor),
			again(decodeAuditCursor, encodeAuditCursor), again(decodeAsideCursor, encodeAsideCursor)} {
			got, err := same(text)
			switch {
			case err == nil && got != text:
				t.Fatalf("%q is the cursor %q", text, got)
			case err != nil && !onceward.Is(err, onceward.CodeCursorInvalid):
				t.Fatalf("%q is refused with %v", text, err)
			case err == nil:
				lists++
			}
		}
		if lists > 1 {
			t.Fatalf("%q is a cursor of %d lists", text, lists)
		}
		if validTraceParent(text) && (len(text) > traceParentBytesMax || !visible(text)) {
			t.Fatalf("%q passes for a traceparent", text)
		}
	})
}

// again reads a cursor and writes what it read.
func again[C any](decode func(string) (C, error), encode func(C) string) func(string) (string, error) {
	return func(text string) (string, error) {
		c, err := decode(text)
		if err != nil {
			return "", err
		}
		return encode(c), nil
	}
}
