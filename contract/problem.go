package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/onceward/onceward"
)

// Problem is one fault of a contract file. It never quotes the file: a value in
// the wrong place may be a secret.
type Problem struct {
	File    string
	Line    int    // from 1; 0: the whole file
	Column  int    // from 1; 0: the whole line
	Field   string // as in spec.request.headers; empty: the document
	Message string
}

// String is file:line:column: field: message.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	b.WriteString(": ")
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems is every fault of one load, in order of file and line. It is what
// the errors of Load and LoadDir carry: errors.As(err, &problems).
type Problems []Problem

// Error is one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problemsMax is how many problems are listed.
const problemsMax = 100

// err returns the problems as an Error with CodeContractInvalid, nil if there
// are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(ps) > problemsMax {
		last := ps[problemsMax]
		ps = append(ps[:problemsMax:problemsMax], Problem{File: last.File, Line: last.Line, Message: "there are more problems from here on"})
	}
	noun := "problem"
	if len(ps) > 1 {
		noun = "problems"
	}
	return &onceward.Error{
		Code: onceward.CodeContractInvalid, Op: "load contract",
		Message: fmt.Sprintf("%d %s", len(ps), noun), Hint: "correct what each line names; docs/reference/contract.md and onceward contract schema have every field", Err: ps,
	}
}
