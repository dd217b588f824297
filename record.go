package onceward

import "time"

// Record is one line of an operation's own timeline. Records are written only
// off the happy path: claim and success of an undisturbed operation are read
// from its row.
type Record struct {
	Version   int64 // the operation's version that this event produced
	At        time.Time
	Event     string // name of the event: "attempt_unknown"
	From, To  State
	Attempt   int    // 0: concerns no attempt
	Actor     string // principal, replica or "" for the machine itself
	Reason    string // as given by a person, or a sentence of the machine
	Reference string
	Shown     string    // the document that an approver was shown, as Digest.String; empty: none
	Evidence  *Evidence // body cut to RecordBodyBytes; nil: none
	Sealed    []byte    // reason, showing and evidence as a store keeps them encrypted; nil: nothing is, or they were put back
}

// RecordBodyBytes is how much of an answer a record keeps as evidence.
const RecordBodyBytes = 4 << 10
