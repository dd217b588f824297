package onceward

import (
	"context"
	"time"
)

// Change is one independent compare-and-set write of one operation. Changes
// travel in batches: a store applies all of a batch in one transaction, and a
// change that loses does not fail its neighbours.
type Change struct {
	Before  int64         // version that must be stored, in no later generation than After's; 0: insert if no row has this ID
	After   Operation     // whole row after the change; After.Version is Before+1, After.Token is fresh
	Aliases []OperationID // insert only: earlier identities of the same intention; any conflict loses the whole change
	Due     *Due          // row to set in the due table; nil with DueGone false: leave as it is
	DueGone bool          // remove the due row
	Records []Record      // appended to the timeline
	Slim    bool          // remove the timeline and side bodies: the row becomes a tombstone
	Unshown []Digest      // documents of the operation's tenant to remove, with Slim only: what its approvers were shown
	Events  []OutboxEvent // appended to the outbox, complete as NewOutboxEvent makes them
	Tool    *ToolSwitch   // pause that goes with this change (credential refused, invariant broken); nil: none
	Saga    SagaID        // update only: comes up now, at its next revision, for its operation waits for a person no longer; zero, or of none: nothing
}

// Committed is what became of one change.
type Committed struct {
	Applied bool
	Stored  *Operation // the row as it is stored now, when not applied and Err is nil; nil if it does not exist
	Err     error      // this change alone was refused: CodeKeyCollision, CodeTooLarge, CodeLedgerCorrupt
	Now     time.Time  // the database's clock inside the transaction; set by the Writer
}

// DueKind says what a due row waits for.
type DueKind uint8

// The kinds of due rows.
const (
	DueStart    DueKind = iota + 1 // ready: an attempt may start
	DueLease                       // effect_pending after the first attempt, or remote: lease expiry
	DueSettle                      // outcome_unknown: probe, re-send or give up
	DueApproval                    // awaiting_approval: expiry
	DueReview                      // needs_review: waits for a person; comes up when that takes too long
	DueEnded                       // failed, abandoned or cancelled: listed, never due
)

// Due is a row of the due table: whatever is off the happy path, so that what
// is not succeeded can be found without an index on a hot column.
type Due struct {
	ID     OperationID
	Tenant Tenant
	Tool   ToolName
	State  State
	Kind   DueKind
	Parked ParkReason
	At     time.Time // zero: never by itself (parked, ended, a review without a deadline)
	Since  time.Time // when it came into this state
}

// Commit is the outcome of a batch: one entry per change, in order, and the
// database's clock as it was inside the transaction.
type Commit struct {
	Results []Committed
	Now     time.Time
}

// Filter selects operations for a listing. Zero fields select everything.
type Filter struct {
	Tenant        Tenant // never empty
	Tool          ToolName
	Key           Key // needs Tool: a primary-key read
	States        []State
	Run           string
	CorrelationID string
	Reference     string    // the provider's name of the effect
	Actor         string    // who asked first: issuer:subject
	Subject       SubjectID // whose data its bodies are
	From          time.Time // created then or later; zero: from the oldest on
	To            time.Time // created before; zero: up to the newest
	After         Cursor    // exclusive; zero: from the newest
	Limit         int       // 1 to MaxPage
}

// Cursor is a place in the order (CreatedAt, ID) descending.
type Cursor struct {
	CreatedAt time.Time
	ID        OperationID
}

// MaxPage is the longest page of a listing.
const MaxPage = 500

// Workload is a tool of a tenant, or all tools of it where Tool is empty.
type Workload struct {
	Tenant Tenant
	Tool   ToolName
}

// Has reports whether a tool's due rows belong to the workload.
func (w Workload) Has(t Tenant, tool ToolName) bool {
	return w.Tenant == t && (w.Tool == "" || w.Tool == tool)
}

// Tombstone names a retired row as it was read.
type Tombstone struct {
	ID         OperationID
	Tenant     Tenant
	Generation Generation
	Version    int64
}

// Detail is what is stored beside the hot row.
type Detail struct {
	Records []Record
}

// ToolSwitch is the shared on/off state of a tool. Tool "" is every tool of
// the tenant, and with EveryTenant everything. Resume by a person needs no
// credential check here.
type ToolSwitch struct {
	Tenant Tenant
	Tool   ToolName
	Paused bool
	Reason string // "auth", "effect_multiplied", or a person's words
	By     string
	At     time.Time
}

// ContractVersion is a contract as the ledger keeps it for live operations.
type ContractVersion struct {
	Tool      ToolName
	Version   string // ToolInfo.Version
	Source    []byte
	Serial    int64 // order of activation per tool, from 1; set by the store
	Active    bool
	Proposed  bool // waits to be signed; never together with Active
	CreatedAt time.Time

	Replaces *string // only for Activate: the version that must be in force until then, empty for none; nil: whichever is
}

// Replica is a running process that holds leases.
type Replica struct {
	ID        string    // random per process start
	StartedAt time.Time // ledger time; set by the store on the first beat
	BeatAt    time.Time // ledger time; set by the store
	LowWater  time.Time // no unfinished first attempt of this replica was created before
}

// Store keeps operations. It loads, compares-and-sets and appends; it holds no
// rule of the business. All methods are safe for concurrent use, return typed
// errors by driver code (CodeLedgerUnavailable, CodeMayBeRecorded,
// CodeLedgerReadOnly, ...), and block until done or ctx ends.
type Store interface {
	RunStore
	DecisionStore
	DocumentStore
	EarlyApprovalStore
	BulkReplayStore
	SagaStore
	InboxStore
	OutboxStore
	ReceiptStore
	AuditStore
	GapStore
	HoldStore
	DataKeyStore
	TallyStore
	BacklogStore
	TokenStore
	SessionStore
	SigningStore

	// Commit applies the batch in one durable transaction. At most one change
	// per operation ID is in a batch (the committer sees to it). It is safe to
	// run the same batch again: a row that carries After.Token counts as
	// applied. CodeMayBeRecorded: the connection was lost during commit; run
	// the same batch again before answering anybody.
	Commit(ctx context.Context, batch []Change) (Commit, error)

	// Load reads operations by ID in one query; absent ones are nil. An alias
	// is followed to its operation. No two results are one in memory: each is
	// its reader's own.
	Load(ctx context.Context, ids []OperationID) ([]*Operation, error)

	// LoadDetail reads the timeline of one operation.
	LoadDetail(ctx context.Context, id OperationID) (Detail, error)

	// List returns a page, newest first. A filter whose states are all off the
	// happy path reads from the due table.
	List(ctx context.Context, f Filter) ([]*Operation, error)

	// Search returns a page as List does, but looks at no more than scan
	// operations (of each state, where all are off the happy path) from where it
	// begins. stopped is where it stopped, if it stopped for that reason and the
	// page is not full: a search that begins after it goes on. It takes no Key.
	Search(ctx context.Context, f Filter, scan int) (page []*Operation, stopped Cursor, err error)

	// TakeDue returns at most limit due rows whose time has come, oldest first,
	// and moves their time to now+hold in the same statement, so that replicas
	// do not take the same ones. Rows of the excepted workloads stay. The second
	// value is the database's now.
	TakeDue(ctx context.Context, limit int, hold time.Duration, except ...Workload) ([]Due, time.Time, error)

	// Reschedule sets the time of a due row that still stands in the same state;
	// it creates none.
	Reschedule(ctx context.Context, d Due) error

	// NextDue returns when the earliest due row comes up, zero if there is none,
	// and the database's now.
	NextDue(ctx context.Context) (time.Time, time.Time, error)

	// Unpark gives at most limit parked rows of a tool (all tools of the tenant
	// when empty; of all tenants for [EveryTenant]) and reason a due time of now,
	// oldest first, and returns how many.
	Unpark(ctx context.Context, t Tenant, tool ToolName, why ParkReason, limit int) (int, error)

	// Beat records the replica's heartbeat and low-water mark and returns all
	// replicas, this one included, with the database's now.
	Beat(ctx context.Context, r Replica) ([]Replica, time.Time, error)

	// Forget removes a dead replica once nothing of it is left.
	Forget(ctx context.Context, replica string) error

	// Stranded returns at most limit operations in effect_pending whose first
	// attempt is owned by the replica and whose lease ended before the
	// database's now, created in [from, to], by the created_at index.
	Stranded(ctx context.Context, replica string, from, to time.Time, limit int) ([]*Operation, error)

	// Switches returns every tool switch of every tenant.
	Switches(ctx context.Context) ([]ToolSwitch, error)
	// SetSwitch writes one, and notes the events in the same transaction.
	SetSwitch(ctx context.Context, s ToolSwitch, notes ...AuditEvent) error

	// Activate records that a contract version is in force: a version never seen
	// becomes the active one; one that is active changes nothing. A version that
	// was superseded is refused with CodeContractSuperseded unless force. One that
	// is proposed becomes active, and no version of the tool is proposed any more
	// once another one became active. CodeWriteConflict: another version than
	// c.Replaces is in force. Where it changes something it notes the events in the
	// same transaction.
	Activate(ctx context.Context, c ContractVersion, force bool, notes ...AuditEvent) error
	// ActiveContracts returns the version in force of each tool, without sources.
	ActiveContracts(ctx context.Context) ([]ContractVersion, error)
	// Contract reads one stored version; CodeToolNotFound if absent.
	Contract(ctx context.Context, tool ToolName, version string) (ContractVersion, error)

	// Aged returns at most limit operations created after the cursor and before
	// the given time, oldest first, without bodies: the way in which retention
	// walks the ledger. Whoever is to be slimmed is written by Commit.
	Aged(ctx context.Context, after Cursor, before time.Time, limit int) ([]*Operation, error)

	// Drop removes tombstones for good: each row that still has the version that
	// is named, with its aliases, its due row and whatever else is kept of it, and
	// writes that into the journal. It returns how many. A row that somebody else
	// holds just now may be left for the next time.
	Drop(ctx context.Context, rows []Tombstone) (int, error)

	// Now is the database's clock.
	Now(ctx context.Context) (time.Time, error)
	// Check reports whether the store can be read and written now.
	Check(ctx context.Context) error
	// Close releases everything. Nothing may be in flight.
	Close() error
}
