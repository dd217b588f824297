package onceward

import (
	"strings"
	"unicode/utf8"
)

// LabelBytesMax is the longest run or correlation ID, in bytes.
const LabelBytesMax = 255

// CheckLabel refuses a run or correlation ID, here called name, that is too long
// (CodeTooLarge) or no plain line (CodeInvalidRequest). An empty one is none.
func CheckLabel(name, label string) error {
	switch {
	case len(label) > LabelBytesMax:
		return Errorf(CodeTooLarge, "%s is longer than %d bytes", name, LabelBytesMax)
	case !PlainLine(label) || !utf8.ValidString(label):
		return &Error{Code: CodeInvalidRequest, Message: name + " has a character that is not seen, or is not UTF-8", Hint: "send one line of visible text"}
	}
	return nil
}

// PlainLine reports whether s is text of one line that looks the same to whoever
// reads it: no control character, no line break, and nothing that is invisible
// or turns the text around it round.
func PlainLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return Hidden(r) || r == '\n' || r == '\t' })
}
