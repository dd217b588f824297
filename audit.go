package onceward

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// Limits of the audit trail.
const (
	// AuditTextBytesMax is how much is kept of each text of an audit event.
	AuditTextBytesMax = 1 << 10
	// AuditRowsMax is how many rows of a source are read at once.
	AuditRowsMax = 1000
)

// AuditAction names what was done, for what is no change of an operation: those
// stand in the journal under the names of their events.
type AuditAction string

// The actions that the ledger notes by itself.
const (
	AuditToolPaused          AuditAction = "tool_paused"
	AuditToolResumed         AuditAction = "tool_resumed"
	AuditContractInForce     AuditAction = "contract_in_force"
	AuditContractProposed    AuditAction = "contract_proposed"
	AuditContractSigned      AuditAction = "contract_signed"
	AuditWorkflowInForce     AuditAction = "workflow_in_force"
	AuditSourceInForce       AuditAction = "source_in_force"
	AuditEventRedriven       AuditAction = "event_redriven"
	AuditEventDismissed      AuditAction = "event_dismissed"
	AuditOutboxRedriven      AuditAction = "outbox_redriven"
	AuditOutboxDropped       AuditAction = "outbox_dropped"
	AuditTokenIssued         AuditAction = "token_issued"
	AuditTokenRevoked        AuditAction = "token_revoked"
	AuditSignedIn            AuditAction = "signed_in"
	AuditDocumentAdded       AuditAction = "document_added"
	AuditRunStarted          AuditAction = "run_started"
	AuditRunFinished         AuditAction = "run_finished"
	AuditRunDropped          AuditAction = "run_dropped"
	AuditDocumentDropped     AuditAction = "document_dropped"
	AuditReplayDropped       AuditAction = "replay_dropped"
	AuditDecisionPinned      AuditAction = "decision_pinned"
	AuditDecisionReopened    AuditAction = "decision_reopened"
	AuditEarlyApproval       AuditAction = "early_approval"
	AuditBulkReplay          AuditAction = "bulk_replay"
	AuditBulkReplayCancelled AuditAction = "bulk_replay_cancelled"
	AuditSagaStarted         AuditAction = "saga_started"
	AuditSagaTurned          AuditAction = "saga_turned" // it goes back
	AuditSagaCancelled       AuditAction = "saga_cancelled"
	AuditSagaResolved        AuditAction = "saga_resolved" // a step, by a person's word
	AuditSagaEnded           AuditAction = "saga_ended"
	AuditUnknownOverdue      AuditAction = "unknown_overdue"
	AuditUnsafeRetry         AuditAction = "unsafe_retry"
	AuditBypassSuspected     AuditAction = "bypass_suspected"
	AuditTrailExported       AuditAction = "audit_exported"
	AuditTrailPruned         AuditAction = "audit_pruned"
	AuditLedgerBackedUp      AuditAction = "ledger_backed_up"
	AuditLedgerRestored      AuditAction = "ledger_restored"
	AuditLedgerRecovered     AuditAction = "ledger_recovered"
	AuditHoldSet             AuditAction = "hold_set"
	AuditHoldLifted          AuditAction = "hold_lifted"
	AuditSubjectShredded     AuditAction = "subject_shredded"
	AuditKeysRotated         AuditAction = "keys_rotated"
)

// AuditEvent is one line of the audit trail: who did what to what, when and why.
//
// Invariant: no text of it holds a secret, an input, a request or an answer.
// Subjects are names and IDs, details are names, versions and numbers; a reason
// is what a person wrote for others to read.
type AuditEvent struct {
	ID      WriteToken // set by the ledger: the same event written again is one
	Place   AuditPlace // set by the store
	At      time.Time  // the database's clock; set by the store
	Tenant  Tenant     // empty: it concerns every tenant
	Actor   string     // principal as "issuer:subject", or a replica
	Action  AuditAction
	Subject string // of what: a tool, a token's ID, a run
	Reason  string // as given by a person; empty: none was asked for
	Detail  string // what else identifies the change: a version, a role
}

// JournalEntry is what the journal keeps of one applied change of an operation.
// All entries of one commit are one row of the journal.
type JournalEntry struct {
	ID         OperationID
	Tenant     Tenant // empty: written by a version that did not keep it
	Generation Generation
	Version    int64
	From       State  // zero: a new operation, or not known
	To         State  // zero: the row was dropped, see Gone
	Event      string // of the last record; empty on the happy path, which writes none
	Actor      string // of the change: a principal, or the replica that made it
	Row        Digest // of the whole row as it was written, side bodies included; zero: written by a version that did not keep it
	Records    Digest // of the records that the change wrote; zero: none
	Slim       bool   // the change removed the records before it
	Gone       bool   // the row, a tombstone, was dropped
}

// AuditPlace is a place in the order of a source. Where a source has one writer
// at a time Xid is 0.
type AuditPlace struct {
	Xid      uint64
	Position int64
}

// Compare orders places as their source does.
func (p AuditPlace) Compare(o AuditPlace) int {
	return cmp.Or(cmp.Compare(p.Xid, o.Xid), cmp.Compare(p.Position, o.Position))
}

// AuditSource is one of the tables that together are the trail.
type AuditSource uint8

// The sources.
const (
	SourceJournal AuditSource = iota + 1 // changes of operations
	SourceEvents                         // everything else
)

// AllAuditSources lists the sources in the order in which a seal takes them.
var AllAuditSources = []AuditSource{SourceJournal, SourceEvents}

// String is the name of the source's table.
func (s AuditSource) String() string {
	switch s {
	case SourceJournal:
		return "journal"
	case SourceEvents:
		return "audit"
	}
	return "unknown"
}

// AuditRow is a row of a source, as it is stored.
type AuditRow struct {
	Source  AuditSource
	Place   AuditPlace
	At      time.Time
	Body    []byte         // every other column, encoded: what a seal covers
	Entries []JournalEntry // of a row of the journal; nil if it cannot be read
	Event   *AuditEvent    // of a row of the events
}

// AuditQuery selects rows of one source, in order.
type AuditQuery struct {
	Source AuditSource
	After  AuditPlace // exclusive; zero: from the first
	To     AuditPlace // inclusive; zero: to the last
	Limit  int        // 1 to AuditRowsMax
	// Open includes rows that another may still come before. Without it what is
	// read stands for good, so that a reader in order skips nothing.
	Open bool
	// Holding: a row of the journal that has not these bytes may come without body
	// and entries; nil: each comes whole. IDs, actors and tenants stand in a row as
	// they are.
	Holding []byte
	// Bare: rows may come with nothing but their place and time.
	Bare bool
}

// AuditOperation is an operation as verification sees it.
type AuditOperation struct {
	ID         OperationID
	Generation Generation
	Version    int64
	UpdatedAt  time.Time
	Row        Digest           // of the row as it is stored now; see JournalEntry.Row
	Records    map[int64]Digest // of its timeline, by version
}

// AuditStore keeps the audit trail. Its methods are safe for concurrent use and
// return the errors of [Store].
type AuditStore interface {
	// Note appends events in one durable transaction. An event whose ID is there
	// already is left alone.
	Note(ctx context.Context, events ...AuditEvent) error
	// AuditRows reads rows of a source in its order.
	AuditRows(ctx context.Context, q AuditQuery) ([]AuditRow, error)

	// LastSeal returns the newest seal; nil if there is none.
	LastSeal(ctx context.Context) (*Seal, error)
	// Seals returns at most limit seals after a number, in order.
	Seals(ctx context.Context, after int64, limit int) ([]Seal, error)
	// SealBefore returns the newest seal made before a time; nil if there is none.
	SealBefore(ctx context.Context, at time.Time) (*Seal, error)
	// AppendSeal stores a seal; false: another one has its number.
	AppendSeal(ctx context.Context, s Seal) (bool, error)
	// PutCheckpoint stores a checkpoint; one of the same seal stays.
	PutCheckpoint(ctx context.Context, c Checkpoint) error
	// Checkpoints returns at most limit checkpoints of seals after a number, in order.
	Checkpoints(ctx context.Context, after int64, limit int) ([]Checkpoint, error)
	// LastCheckpoint returns the newest checkpoint; nil if there is none.
	LastCheckpoint(ctx context.Context) (*Checkpoint, error)
	// PruneAudit removes what an anchor and the seals before it cover, and those
	// seals and their checkpoints; the anchor stays. Where positions are counted from
	// the rows, the newest row of a source stays too, so that none is given twice. It
	// notes the event in the same transaction.
	PruneAudit(ctx context.Context, anchor Seal, e AuditEvent) error

	// AuditOperations returns at most limit operations after an ID, by ID.
	AuditOperations(ctx context.Context, after OperationID, limit int) ([]AuditOperation, error)
}

// NewAuditEvent is an event with an ID of its own, and texts that every store
// can keep.
func NewAuditEvent(e AuditEvent) AuditEvent {
	e.ID = newToken()
	for _, s := range []*string{&e.Actor, (*string)(&e.Action), &e.Subject, &e.Reason, &e.Detail} {
		*s = auditText(*s)
	}
	return e
}

// auditText cuts a text, and makes it one that every store can keep.
func auditText(s string) string {
	if len(s) > AuditTextBytesMax {
		s = s[:AuditTextBytesMax]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// note writes an event of something that was done. It is called directly after
// the change where the change cannot take the event along, never before: the
// trail tells nothing that did not happen. It outlives its caller, and a change
// that stands is not refused because its line is late.
func (l *Ledger) note(ctx context.Context, e AuditEvent) {
	e = NewAuditEvent(e)
	ctx = context.WithoutCancel(ctx)
	var err error
	for range putTries {
		if err = l.store.Note(ctx, e); err == nil {
			return
		}
	}
	l.log.Error("audit event not written", "action", string(e.Action), "subject", e.Subject, "actor", e.Actor, "error", err)
}

// Note writes an audit event of something that the principal did outside the
// ledger's own use cases, such as an export.
func (l *Ledger) Note(ctx context.Context, p Principal, action AuditAction, subject, reason, detail string) {
	l.note(ctx, AuditEvent{Tenant: p.Tenant, Actor: p.String(), Action: action, Subject: subject, Reason: reason, Detail: detail})
}

// TokenIssued is the audit event of a new token; never of its secret.
func TokenIssued(t *Token) AuditEvent {
	roles := "roles " + inWords(t.Scope.Roles)
	return NewAuditEvent(AuditEvent{Tenant: t.Tenant, Actor: t.CreatedBy, Action: AuditTokenIssued, Subject: string(t.ID), Reason: t.Note, Detail: t.Subject + ": " + roles})
}

// tokenRevoked is the audit event of a token's end.
func tokenRevoked(t *Token, by Principal) AuditEvent {
	return NewAuditEvent(AuditEvent{Tenant: t.Tenant, Actor: by.String(), Action: AuditTokenRevoked, Subject: string(t.ID), Detail: t.Subject})
}
