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
	for _, seed := range []string{"", ".", "AQ", "AQ\n", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := decodeCursor(text); err == nil && encodeCursor(c) != text {
			t.Fatalf("%q is the cursor %+v", text, c)
		} else if err != nil && !onceward.Is(err, onceward.CodeCursorInvalid) {
			t.Fatalf("%q is refused with %v", text, err)
		}
		if c, err := decodeReviewCursor(text); err == nil && encodeReviewCursor(c) != text {
			t.Fatalf("%q is the cursor %+v", text, c)
		}
		if validTraceParent(text) && (len(text) > traceParentBytesMax || !visible(text)) {
			t.Fatalf("%q passes for a traceparent", text)
		}
	})
}
