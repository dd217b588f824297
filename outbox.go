package onceward

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Limits of an outbox event.
const (
	// OutboxTextBytesMax is how long each text of an event may be.
	OutboxTextBytesMax = 1 << 10
	// OutboxDataBytesMax is how long its data may be.
	OutboxDataBytesMax = 1 << 20
	// OutboxRowsMax is how many events are read at once.
	OutboxRowsMax = 5000
)

// OutboxEvent is a fact that others are to be told: it is stored with the change
// that it tells of, and a relay hands it on at least once.
type OutboxEvent struct {
	ID            string    // the message ID, equal on every delivery; empty: a random one
	Tenant        Tenant    // empty: DefaultTenant
	Type          string    // what happened: "invoice.paid"; never empty
	Source        string    // who tells, as a URI reference; empty: DefaultOutboxSource
	Subject       string    // about what; may be empty
	Key           string    // events of one key are delivered in order; empty: in no particular order
	At            time.Time // when it happened; zero: when it is added
	ContentType   string    // of Data; empty: "application/json"
	Data          []byte    // nil: none
	CorrelationID string
	TraceParent   string // W3C trace context
	Place         OutboxPlace
}

// DefaultOutboxSource is the source of an event that names none.
const DefaultOutboxSource = "/onceward"

// OutboxPlace is a place in the order of the outbox. It is set by the store.
//
// Invariant: where the transaction of one event had ended before another event
// was added, the first one's place is lower.
type OutboxPlace struct {
	Stamp    uint64 // 0 where there is one writer at a time
	Position int64
}

// Compare orders places.
func (p OutboxPlace) Compare(o OutboxPlace) int {
	return cmp.Or(cmp.Compare(p.Stamp, o.Stamp), cmp.Compare(p.Position, o.Position))
}

// Outbox adds events to the caller's own transactions. The zero value is ready
// to use, and safe for concurrent use.
type Outbox struct {
	Source string // of events that name none; empty: DefaultOutboxSource
	Clock  Clock  // nil: SystemClock
}

// Add stores events in the caller's transaction: they are delivered if it
// commits, and never if it does not. Events of one key are delivered in the order
// in which they were added, where those who add them take turns as writers of
// one business row do. CodeInvalidInput, CodeTooLarge: an event cannot be stored,
// and none was.
func (o Outbox) Add(ctx context.Context, j Join, events ...OutboxEvent) error {
	at := o.clock().Now()
	ready := make([]OutboxEvent, len(events))
	for i, e := range events {
		e.Source = cmp.Or(e.Source, o.Source)
		if e.At.IsZero() {
			e.At = at
		}
		var err error
		if ready[i], err = NewOutboxEvent(e); err != nil {
			return err
		}
	}
	return j.AddOutbox(ctx, ready)
}

func (o Outbox) clock() Clock {
	if o.Clock == nil {
		return SystemClock{}
	}
	return o.Clock
}

// NewOutboxEvent fills in what an event leaves out, and refuses what cannot be
// stored: CodeInvalidInput, CodeTooLarge. It copies nothing.
func NewOutboxEvent(e OutboxEvent) (OutboxEvent, error) {
	refuse := func(code Code, message string) (OutboxEvent, error) {
		return OutboxEvent{}, &Error{Code: code, Op: "add event", Message: message}
	}
	if e.Type == "" {
		return refuse(CodeInvalidInput, "the event has no type")
	}
	if e.ID == "" {
		e.ID = "evt_" + hex.EncodeToString(randomBytes(16))
	}
	e.Tenant, e.Source = cmp.Or(e.Tenant, DefaultTenant), cmp.Or(e.Source, DefaultOutboxSource)
	if e.Data != nil {
		e.ContentType = cmp.Or(e.ContentType, "application/json")
	}
	for _, text := range []struct{ name, value string }{
		{"id", e.ID}, {"tenant", string(e.Tenant)}, {"type", e.Type}, {"source", e.Source}, {"subject", e.Subject}, {"key", e.Key},
		{"content type", e.ContentType}, {"correlation ID", e.CorrelationID}, {"traceparent", e.TraceParent},
	} {
		switch {
		case len(text.value) > OutboxTextBytesMax:
			return refuse(CodeTooLarge, fmt.Sprintf("the event's %s is longer than %d bytes", text.name, OutboxTextBytesMax))
		case strings.ToValidUTF8(text.value, "") != text.value || strings.ContainsFunc(text.value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return refuse(CodeInvalidInput, "the event's "+text.name+" is not UTF-8, or has control characters")
		}
	}
	if len(e.Data) > OutboxDataBytesMax {
		return refuse(CodeTooLarge, "the event's data is longer than 1 MiB")
	}
	return e, nil
}

// Sink is how far one destination of the outbox is.
type Sink struct {
	Name      string
	Place     OutboxPlace // of the last event that was handed on or set aside
	Owner     string      // of the lease
	Held      bool        // by the asking owner
	Behind    int64       // events after Place, as far as they were counted (OutboxBehindMax)
	OldestAt  time.Time   // when the first event after Place happened; zero: none is there
	Aside     int         // events that wait aside
	Dead      int         // of those: that are not tried any more
	UpdatedAt time.Time
}

// OutboxBehindMax is how far the events that a sink is behind are counted.
const OutboxBehindMax = 100_000

// SetAside is an event that a sink did not take, or that waits behind such a one
// of its key. A sink's place goes on past it.
type SetAside struct {
	Sink    string
	Event   OutboxEvent // whole when it is taken to be tried, without data in lists
	Tries   int         // how often it was offered
	DueAt   time.Time   // when it is offered again; zero: not before the one before it, or dead
	Dead    bool        // it is not tried any more until somebody drives it again
	Since   time.Time
	Message string // why it was not taken
}

// AsideFilter selects events that are set aside. Zero fields select everything.
type AsideFilter struct {
	Tenant Tenant // never empty
	Sink   string
	Dead   bool        // only those that are not tried any more
	After  AsideCursor // exclusive; zero: from the first
	Limit  int         // 1 to MaxPage
}

// AsideCursor is a place in the order of a list of events that are set aside.
type AsideCursor struct {
	Place OutboxPlace
	Sink  string
}

// Compare orders cursors as the list does.
func (c AsideCursor) Compare(o AsideCursor) int {
	return cmp.Or(c.Place.Compare(o.Place), cmp.Compare(c.Sink, o.Sink))
}

// Cursor is the event's place in a list.
func (a *SetAside) Cursor() AsideCursor { return AsideCursor{a.Event.Place, a.Sink} }

// SinkStep is what one step of a relay did, stored in one transaction.
type SinkStep struct {
	Sink  string
	Owner string
	Lease time.Duration // from now
	From  OutboxPlace   // where the sink has to be
	To    OutboxPlace
	Aside []SetAside    // to store, or to change
	Gone  []OutboxPlace // set aside before, and handed on now
	Freed []string      // keys whose next event that is set aside is due now
}

// OutboxStore keeps events until each sink has them. Its methods are safe for
// concurrent use and return the errors of [Store].
type OutboxStore interface {
	// AddEvents appends events in one durable transaction.
	AddEvents(ctx context.Context, events []OutboxEvent) error
	// ReadOutbox returns at most limit events after a place, in order. No event
	// comes later at a place before one that was returned.
	ReadOutbox(ctx context.Context, after OutboxPlace, limit int) ([]OutboxEvent, error)
	// HoldSink makes the sink known, at the first event that is kept, and gives the
	// owner its lease if nobody else holds it.
	HoldSink(ctx context.Context, sink, owner string, lease time.Duration) (Sink, error)
	// StepSink stores a step; false: the lease, or the place, is another one's.
	StepSink(ctx context.Context, s SinkStep) (bool, error)
	// HeldKeys returns the keys of which a sink has events set aside.
	HeldKeys(ctx context.Context, sink string) ([]string, error)
	// DueAside returns at most limit events of a sink that are to be tried again
	// now, in order.
	DueAside(ctx context.Context, sink string, limit int) ([]SetAside, error)
	// Sinks returns every sink that is known.
	Sinks(ctx context.Context) ([]Sink, error)
	// ListAside returns a page of a tenant's events that are set aside, in the order
	// of the outbox, and of one event in the order of the sinks' names.
	ListAside(ctx context.Context, f AsideFilter) ([]SetAside, error)
	// Redrive makes an event of a tenant that is dead at a sink due now, or with
	// drop forgets it there; then the one after it is due. Where it does, it notes the
	// events of the trail in the same transaction. False: it is not dead.
	Redrive(ctx context.Context, t Tenant, sink, id string, drop bool, notes ...AuditEvent) (bool, error)
	// ForgetSink removes a sink, and what it has set aside.
	ForgetSink(ctx context.Context, sink string) (bool, error)
	// DropOutbox removes at most limit events that every known sink has; while no
	// sink is known, none.
	DropOutbox(ctx context.Context, limit int) (int, error)
}
