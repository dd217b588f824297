package store

import (
	"time"

	"github.com/onceward/onceward"
)

// Row is an operation as columns. Every time is in UTC at microsecond
// precision, zero for none; every text is valid UTF-8 without NUL.
//
// Invariant: within one generation ID, Tenant, Tool, Key, Generation,
// CreatedAt, Run, CorrelationID, TraceParent, Actor and Subject never change, and only
// these may be indexed. An update in the same generation need not write them;
// one that raises the generation writes them all.
type Row struct {
	ID         onceward.OperationID
	Tenant     string
	Tool       string
	Key        string
	Generation int64
	Digest     onceward.Digest
	Prints     []byte // encoded; nil: none, or in the side table
	Contract   string
	Effect     int16
	State      int16
	Version    int64
	Token      onceward.WriteToken

	Attempt    int32     // number of the newest attempt, the fence; 0 before the first
	Owner      string    // of the newest attempt; empty before the first
	LeaseUntil time.Time // of the newest attempt, running or not; zero before the first

	CreatedAt   time.Time
	UpdatedAt   time.Time
	CompletedAt time.Time

	Run           string
	CorrelationID string
	TraceParent   string
	Actor         string
	Subject       string // whose data the bodies are, where they are encrypted; empty: they are not
	ProviderKey   string
	Reference     string // empty also where the reference is no storable text: then it is in Detail

	Side    int16  // which parts are in the side table: the sum of Part.Bit
	Input   []byte // canonical JSON as it is, or everything encrypted; nil: none, or in the side table
	Request []byte // encoded; nil: none, or in the side table
	Result  []byte // encoded; nil: none, or in the side table
	Detail  []byte // encoded: attempts, and everything off the happy path; nil: nothing
}

// Part names a part of an operation that moves to the side table when it is
// longer than PartInlineBytes.
type Part int16

// The parts.
const (
	PartInput Part = iota
	PartRequest
	PartResult
	PartPrints
	parts
)

// Bit is the part's bit in Row.Side.
func (p Part) Bit() int16 { return 1 << p }

// String is the name used in errors.
func (p Part) String() string {
	switch p {
	case PartInput:
		return "input"
	case PartRequest:
		return "request"
	case PartResult:
		return "result"
	case PartPrints:
		return "prints"
	case parts:
	}
	return "unknown part"
}

// Limits of a row.
const (
	// PartInlineBytes is the longest part that stays in the row.
	PartInlineBytes = 2000
	// PartBytesMax is the longest part that is stored at all.
	PartBytesMax = 64 << 20
	// TextBytesMax is the longest text in a column.
	TextBytesMax = 8 << 10
)

// Body is one row of the side table.
type Body struct {
	Part  Part
	Bytes []byte
}

// column returns the row's field that holds the part inline.
func (r *Row) column(p Part) *[]byte {
	switch p {
	case PartInput:
		return &r.Input
	case PartRequest:
		return &r.Request
	case PartResult:
		return &r.Result
	case PartPrints:
		return &r.Prints
	case parts:
	}
	return nil
}

// SameIdentity reports whether the row belongs to the same intention as the
// other one: two rows with one ID that do not are a collision of the digest.
func (r *Row) SameIdentity(other *Row) bool {
	return r.Tenant == other.Tenant && r.Tool == other.Tool && r.Key == other.Key
}

// KeepImmutable copies into r what an update within one generation must not
// change, from the row that it replaces.
func (r *Row) KeepImmutable(old *Row) {
	r.ID, r.Tenant, r.Tool, r.Key, r.Generation = old.ID, old.Tenant, old.Tool, old.Key, old.Generation
	r.CreatedAt, r.Run, r.CorrelationID, r.TraceParent, r.Actor = old.CreatedAt, old.Run, old.CorrelationID, old.TraceParent, old.Actor
	r.Subject = old.Subject
}
