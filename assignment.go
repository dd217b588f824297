package onceward

import (
	"strings"
	"time"
)

// Assignment says whose turn it is where an operation waits for people: for a
// yes, or for a review. The zero value is nobody in particular: whoever has the
// right.
type Assignment struct {
	To   string    // a principal, as [Principal.String] writes it; empty: nobody by name
	Team string    // a group of people; empty: none
	Due  time.Time // when an answer is expected; zero: no time is set. Nothing happens by itself at it
}

// IsZero reports whether nobody in particular is asked.
func (a Assignment) IsZero() bool { return a.To == "" && a.Team == "" && a.Due.IsZero() }

// Names reports whether the assignment names the principal, itself or by one of
// its groups.
func (a Assignment) Names(p Principal) bool {
	return a.To != "" && a.To == p.String() || a.Team != "" && p.In(a.Team)
}

// Assigned: somebody hands over whose turn it is. The assignment is gone once
// the operation does not wait for people any more.
type Assigned struct {
	Assignment
	Actor, Reason string
}

// said tells who has to answer now, and why.
func (e Assigned) said() string {
	var to []string
	if e.To != "" {
		to = append(to, "to "+e.To)
	}
	if e.Team != "" {
		to = append(to, "to team "+e.Team)
	}
	if !e.Due.IsZero() {
		to = append(to, "due "+e.Due.Format(time.RFC3339))
	}
	if len(to) == 0 {
		to = []string{"to nobody in particular"}
	}
	return strings.Join(to, ", ") + ": " + e.Reason
}

// assigned replaces whose turn it is.
func (m *step) assigned(e Assigned) error {
	if strings.TrimSpace(e.Reason) == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "assign operation", OperationID: m.op.ID, Message: "handing over needs a reason",
			Hint: "say why somebody else has to answer"}
	}
	m.op.Assigned = e.Assignment
	return nil
}

// waitsForPeople reports whether a person has to act before anything goes on.
func (s State) waitsForPeople() bool { return s == StateAwaitingApproval || s == StateNeedsReview }
