package onceward

import (
	"slices"
	"time"
)

// WriteToken stamps the last write of a row, so that the same batch can be run
// again after a lost commit: a row that already carries the token was written.
type WriteToken [16]byte

// ParkReason says why an operation that could start waits outside the due order.
type ParkReason string

// The park reasons. Empty means not parked.
const (
	NotParked      ParkReason = ""
	ParkToolPaused ParkReason = "tool_paused"
	ParkRate       ParkReason = "rate"
	ParkSerialize  ParkReason = "serialized"
)

// Operation is one business intention and what is known of it. It is a value:
// Apply returns a changed copy and never touches its argument's slices.
type Operation struct {
	ID         OperationID
	Tenant     Tenant
	Tool       ToolName
	Key        Key
	Generation Generation // raised when a retired key is used anew
	Digest     Digest     // of the material input
	Prints     []FieldPrint
	Contract   string      // the contract version that holds for this operation to its end
	Effect     EffectClass // of that version

	State   State
	Version int64      // raised by one at each write; compare-and-set
	Token   WriteToken // of the last write

	Run           string    // a run's ID or a free label; may be empty
	DecidedBy     DecidedBy // the decision that led to it; zero: none
	CorrelationID string    // may be empty
	TraceParent   string    // W3C traceparent of the first request; may be empty
	Actor         string    // principal of the first request

	CreatedAt   time.Time
	UpdatedAt   time.Time
	CompletedAt time.Time  // zero until terminal
	DueAt       time.Time  // when a worker has to look again; zero: never by itself
	Parked      ParkReason // why it waits although it could start
	SerialKey   string     // the resource of serialize_by; empty: none

	Attempts        []Attempt // all, oldest first
	ProviderKey     string    // equal on every attempt of this generation; may be empty
	Reference       string    // the provider's name of the effect
	Result          *Result   // what the caller gets; nil until done
	Failure         Failure   // of the last attempt that was not done, or unknown
	CancelRequested bool
	UnknownSince    time.Time     // start of the recovery window; zero when nothing is open
	Probes          int           // probes since UnknownSince
	Granted         int           // attempts beyond the budget: bought by replay, resolve or request
	RefPending      bool          // done, but the reference could not be read
	Broken          bool          // a second effect was proven: the invariant does not hold
	Supersedes      []Superseded  // inputs that approvers' edits replaced, oldest first
	Documents       []DocumentRef // that support the request; part of the digest
	ApprovalNeeded  bool          // a person must say yes before the first attempt
	ApprovedUntil   time.Time     // end of a granted approval that no attempt has spent yet
	Approval        Approval      // who was asked, and who answered
	Assigned        Assignment    // whose turn it is, while it waits for people
	ApprovalSpent   bool          // the first attempt spent it; it covers every later one under this digest
	ResendConfirmed bool          // a person accepted an open attempt for the next start
	IntentAt        time.Time     // when somebody last wanted it: creation, replay or resolve; NotAfter counts from it
	Retired         bool          // slimmed to a tombstone
	Forked          bool          // a fork was made of it: it is not revived by a repeated request
	ReviewReason    string        // why a person is asked; empty outside of needs_review

	Subject  SubjectID // whose data its bodies are; empty: they are not encrypted
	DataKey  DataKeyID // with which they are encrypted; zero: they are not, or they are gone
	Sealed   []byte    // input, request, result and what else is told of them, as a store keeps them encrypted; nil: nothing is
	Shredded bool      // its data key is gone, and with it the bodies
	Blind    string    // hides what the digest of a showing could tell of its input; empty where nothing is encrypted

	Input   []byte   // canonical input, as accepted first; nil once slimmed
	Request *Request // what is put on the wire, equal on every attempt; nil for remote executors and once terminal

	Policy Policy // hydrated by the ledger, never stored
}

// Result is the provider's answer as it is replayed.
type Result struct {
	Status   int
	Header   []HeaderField // only what may be replayed: no cookies, credentials, Date, hop-by-hop
	Body     []byte        // nil when not kept
	BodyKept bool          // false: the effect is done, the body was too large, cut or streamed; then Body is nil, or what a redacted one leaves
}

// Clone returns a copy that shares no slice which Apply changes.
func (o Operation) Clone() Operation {
	o.Attempts = slices.Clone(o.Attempts)
	return o
}

// Attempt returns the number of the newest attempt, 0 before the first: the fence.
func (o *Operation) Attempt() int {
	if len(o.Attempts) == 0 {
		return 0
	}
	return o.Attempts[len(o.Attempts)-1].Number
}

// OpenAttempts counts attempts that may have had their effect and that nothing
// has settled; a running one is not counted.
func (o *Operation) OpenAttempts() int {
	n := 0
	for i := range o.Attempts {
		if o.Attempts[i].Status == StatusOpen {
			n++
		}
	}
	return n
}

// Running returns the attempt that holds the lease, or nil.
func (o *Operation) Running() *Attempt {
	if n := len(o.Attempts); n > 0 && o.Attempts[n-1].Status == StatusRunning {
		return &o.Attempts[n-1]
	}
	return nil
}

// spent counts the attempts that used up budget.
func (o *Operation) spent() int {
	n := 0
	for i := range o.Attempts {
		if !o.Attempts[i].Free {
			n++
		}
	}
	return n
}

// BudgetLeft reports whether the contract's budget, with what was granted on
// top, allows one more attempt.
func (o *Operation) BudgetLeft() bool { return o.spent() < o.Policy.MaxAttempts+o.Granted }

// firstPossibleSend is the earliest instant at which a byte of this
// generation's write may have left; zero if none can have.
func (o *Operation) firstPossibleSend() time.Time {
	var first time.Time
	for i := range o.Attempts {
		a := &o.Attempts[i]
		if a.maybeSent() && (first.IsZero() || a.StartedAt.Before(first)) {
			first = a.StartedAt
		}
	}
	return first
}

// provableAt is the instant after which a probe's "absent" is proof for every
// open attempt: the last possible byte plus settle. Zero when none is open.
func (o *Operation) provableAt() time.Time {
	var last time.Time
	for i := range o.Attempts {
		a := &o.Attempts[i]
		if a.Status == StatusOpen && a.LastByteAt.After(last) {
			last = a.LastByteAt
		}
	}
	if last.IsZero() {
		return last
	}
	return last.Add(o.Policy.Settle)
}

// proven reports whether an effect is proven, whatever the state says yet.
func (o *Operation) proven() bool {
	if o.Reference != "" {
		return true
	}
	for i := range o.Attempts {
		if o.Attempts[i].Status == StatusDone {
			return true
		}
	}
	return false
}
