package onceward

import (
	"fmt"
	"strings"
	"time"
)

// Assignment says whose turn it is where an operation waits for people: for a
// yes, or for a review. The zero value is nobody in particular: whoever has the
// right.
type Assignment struct {
	To   string    // a principal, as [Principal.String] writes it; empty: nobody by name
	Team string    // a group of people; empty: none
	Due  time.Time // when an answer is expected; zero: no time is set. A review is told overdue at it; else nothing happens by itself
	At   time.Time // since when it is so; set by the machine
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
	m.op.Assigned.At = m.at
	m.reviewDue = e.Due
	return nil
}

// waitsForPeople reports whether a person has to act before anything goes on.
func (s State) waitsForPeople() bool { return s == StateAwaitingApproval || s == StateNeedsReview }

// firstAssignment is whose turn a review is that nobody has taken yet.
func (o *Operation) firstAssignment(at time.Time) Assignment {
	a := Assignment{Team: o.Policy.ReviewTeam, At: at}
	if o.Policy.ReviewWithin > 0 {
		a.Due = at.Add(o.Policy.ReviewWithin)
	}
	return a
}

// reviewTaken gives it to one person. Who has it keeps it: somebody else gets it
// by an Assigned, with a reason.
func (m *step) reviewTaken(e ReviewTaken) error {
	a := &m.op.Assigned
	if a.To != "" {
		return forbidden(m.op, e, fmt.Sprintf("%s has it since %s", a.To, a.At.UTC().Format(time.RFC3339)))
	}
	a.To, a.At = e.Actor, m.at
	return nil
}

// reviewOverdue tells it once for each deadline.
func (m *step) reviewOverdue(e ReviewOverdue) error {
	if m.reviewDue.IsZero() || m.at.Before(m.reviewDue) {
		return forbidden(m.op, e, "its time is not over")
	}
	m.reviewDue = time.Time{}
	m.alarm("the review is overdue since " + m.op.Assigned.Due.UTC().Format(time.RFC3339))
	return nil
}

func (m *step) commented(e Commented) error {
	switch {
	case strings.TrimSpace(e.Text) == "":
		return &Error{Code: CodeInvalidRequest, Op: "comment on operation", OperationID: m.op.ID, Message: "the comment is empty"}
	case m.op.Retired:
		return forbidden(m.op, e, tombstone)
	}
	return nil
}
