package onceward

import (
	"context"
	"time"
)

// InboxID identifies one event of one sender. It is computed from (tenant,
// source, message key). The zero value identifies nothing.
type InboxID [16]byte

const (
	inboxIDPrefix = "ev_"
	inboxIDDomain = "onceward/inbox-id/v1\n"
)

// NewInboxID computes the ID of the event that (t, source, key) names. However
// often it is delivered, it is this one.
func NewInboxID(t Tenant, source string, key Key) InboxID {
	return InboxID(computedID(inboxIDDomain, string(t), source, string(key)))
}

// IsZero reports whether the ID identifies nothing.
func (id InboxID) IsZero() bool { return id == InboxID{} }

// String is "ev_" and 26 characters of lower-case base32hex.
func (id InboxID) String() string { return encodeID(inboxIDPrefix, id) }

// ParseInboxID reads the one form that [InboxID.String] writes. Anything else is
// an [Error] with CodeInvalidRequest.
func ParseInboxID(s string) (InboxID, error) {
	id, ok := decodeID(inboxIDPrefix, s)
	if !ok {
		return InboxID{}, &Error{Code: CodeInvalidRequest, Op: "read event ID", Message: `an event ID is "ev_" and 26 characters of lower-case base32hex`}
	}
	return id, nil
}

// InboxState says what became of a received event.
type InboxState string

// The states of an event.
const (
	InboxReceived  InboxState = "received"  // recorded; it is handled by itself
	InboxHandled   InboxState = "handled"   // all that its mapping names is done, or under way as operations
	InboxIgnored   InboxState = "ignored"   // no mapping is for it, and the source says that such events are nothing
	InboxUnmapped  InboxState = "unmapped"  // no mapping is for it: a person decides
	InboxFailed    InboxState = "failed"    // it could not be handled: a person decides
	InboxLate      InboxState = "late"      // so old that nobody knows whether it was handled: a person decides
	InboxDismissed InboxState = "dismissed" // a person said that nothing is to be done
)

// AllInboxStates lists every state.
var AllInboxStates = []InboxState{InboxReceived, InboxHandled, InboxIgnored, InboxUnmapped, InboxFailed, InboxLate, InboxDismissed}

// ParseInboxState reads the name of a state; another word is an Error with
// CodeInvalidRequest.
func ParseInboxState(s string) (InboxState, error) {
	for _, known := range AllInboxStates {
		if string(known) == s {
			return known, nil
		}
	}
	return "", &Error{Code: CodeInvalidRequest, Op: "read state", Message: "no state of an event is called so", Hint: "the states are " + inWords(AllInboxStates)}
}

// Waits reports whether a person has to decide.
func (s InboxState) Waits() bool { return s == InboxUnmapped || s == InboxFailed || s == InboxLate }

// InboxEvent is one event that a sender delivered: durable before the sender
// gets its 2xx. It is a value; stores keep it by compare-and-set on Revision.
type InboxEvent struct {
	ID      InboxID
	Tenant  Tenant
	Source  string
	Version string // of the source's document under which it is handled
	Key     Key    // the message key: the sender's event ID, or what the document takes for one

	ContentType string
	Header      []HeaderField // those that the document keeps
	Body        []byte        // of the event: the delivery's own, or one element of it
	SentAt      time.Time     // when it happened, by its own word; zero: it does not say
	ReceivedAt  time.Time     // the first time

	State      InboxState
	Code       Code          // why it waits, or is tried again; empty: no reason
	Message    string        // the same in words, or what is to be known of how it was handled; never of its body
	Run        RunID         // the last run that it started or joined; zero: none
	Operations []OperationID // that it made, joined or settled
	Tries      int           // how often it was handled since it was received or driven again
	By         string        // who drove it again or dismissed it; empty: nobody
	Why        string        // as given by that person
	NextAt     time.Time     // when it is handled; zero: never by itself
	HandledAt  time.Time     // when it came into its state; zero while it is received
	DropAt     time.Time     // when it may be forgotten; zero: never

	Revision  int64
	Token     WriteToken
	Concealed // content type, header and body
}

// InboxFilter selects events for a listing. Zero fields select everything.
type InboxFilter struct {
	Tenant  Tenant // never empty
	Source  string
	State   InboxState
	Waiting bool        // only what a person has to decide
	After   InboxCursor // exclusive; zero: from the newest
	Limit   int         // 1 to MaxPage
}

// InboxCursor is a place in the order (ReceivedAt, ID) descending.
type InboxCursor struct {
	ReceivedAt time.Time
	ID         InboxID
}

// InboxStore keeps events. Its methods are safe for concurrent use and return
// the errors of [Store].
type InboxStore interface {
	// PutEvents records, in one durable transaction, each event whose ID is not
	// there, and says for each whether this call recorded it. One that is there
	// stays as it is. It is safe to run again: a row that carries an event's token
	// counts as recorded by it. No ID stands twice in one call.
	PutEvents(ctx context.Context, events []InboxEvent) (recorded []bool, err error)
	// TakeEvents returns at most limit received events whose time has come, the
	// longest due first, and moves their time to now+hold in the same statement,
	// so that replicas do not take the same ones.
	TakeEvents(ctx context.Context, limit int, hold time.Duration) ([]*InboxEvent, error)
	// SetEvents stores each event if the stored revision is its Revision-1, and
	// says for each whether it did. Payload, source and times of arrival stay as
	// they are. It is safe to run again as PutEvents is.
	SetEvents(ctx context.Context, events []InboxEvent) (applied []bool, err error)
	// LoadEvent reads one event; nil if there is none.
	LoadEvent(ctx context.Context, id InboxID) (*InboxEvent, error)
	// ListEvents returns a page, newest first, without headers and bodies.
	ListEvents(ctx context.Context, f InboxFilter) ([]*InboxEvent, error)
	// DropEvents removes at most limit events whose time to be forgotten has come,
	// and returns how many.
	DropEvents(ctx context.Context, limit int) (int, error)
}

// InboxWriter records events, alone or grouped. *committer.Inbox is the one that
// is used.
type InboxWriter interface {
	// RecordEvents is PutEvents of [InboxStore]. CodeOverloaded: the queue is full,
	// nothing was written.
	RecordEvents(ctx context.Context, events []InboxEvent) (recorded []bool, err error)
}

// directInbox records each delivery alone.
type directInbox struct{ store Store }

func (d directInbox) RecordEvents(ctx context.Context, events []InboxEvent) ([]bool, error) {
	return d.store.PutEvents(ctx, events)
}
