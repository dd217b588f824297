package onceward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BulkReplayID identifies a replay of many operations. It is computed from tenant
// and key. The zero value identifies nothing.
type BulkReplayID [16]byte

const (
	bulkReplayPrefix = "replay_"
	bulkReplayDomain = "onceward/replay-id/v1\n"
)

// NewBulkReplayID computes the ID that (t, key) names.
func NewBulkReplayID(t Tenant, key string) BulkReplayID {
	return BulkReplayID(computedID(bulkReplayDomain, string(t), key))
}

// IsZero reports whether the ID identifies nothing.
func (id BulkReplayID) IsZero() bool { return id == BulkReplayID{} }

// String is "replay_" and 26 characters of lower-case base32hex.
func (id BulkReplayID) String() string { return encodeID(bulkReplayPrefix, id) }

// ParseBulkReplayID reads the one form that [BulkReplayID.String] writes.
// Anything else is an [Error] with CodeInvalidRequest.
func ParseBulkReplayID(s string) (BulkReplayID, error) {
	id, ok := decodeID(bulkReplayPrefix, s)
	if !ok {
		return BulkReplayID{}, &Error{Code: CodeInvalidRequest, Op: "read replay ID", Message: `the ID of a bulk replay is "replay_" and 26 characters of lower-case base32hex`}
	}
	return id, nil
}

// BulkState says whether a bulk replay goes on.
type BulkState string

// The states of a bulk replay.
const (
	BulkRunning   BulkState = "running"
	BulkFinished  BulkState = "finished"
	BulkCancelled BulkState = "cancelled"
)

// Limits of bulk replays.
const (
	// BulkReplayMax is how many operations one bulk replay takes on.
	BulkReplayMax = 1000
	// BulkRateMax is how many operations a minute it takes on at most.
	BulkRateMax = 6000
	// BulkRate is how many it takes on where nothing is said.
	BulkRate = 60
	// BulkReplaysPage is the longest page of a list of bulk replays.
	BulkReplaysPage = 100
	// bulkHold is how long a replica has for one operation: then another one goes on.
	bulkHold = 2 * time.Minute
	// bulkAgain is how long an operation rests that could not be tried.
	bulkAgain = 5 * time.Second
	// bulkMessageMax is how much of a reason a result keeps, in bytes.
	bulkMessageMax = 200
)

// DeadStates are those of dead letters: what has ended without its effect, or
// waits for a person.
var DeadStates = []State{StateNeedsReview, StateFailed, StateAbandoned}

// BulkFilter selects the operations of a bulk replay. Zero fields select
// everything.
type BulkFilter struct {
	Tool          ToolName
	States        []State // of DeadStates or StateOutcomeUnknown; empty: DeadStates
	Run           string
	CorrelationID string
	From, To      time.Time // created in [From, To); a zero To is the time of the request
}

// BulkOutcome is what became of one operation of a bulk replay.
type BulkOutcome string

// The outcomes.
const (
	BulkReplayed BulkOutcome = "replayed"           // a new attempt may start
	BulkSafe     BulkOutcome = "safe"               // a dry run: it would be replayed
	BulkConfirm  BulkOutcome = "needs_confirmation" // left alone: a person has to confirm
	BulkRefused  BulkOutcome = "refused"            // left alone: its plan refuses
	BulkMovedOn  BulkOutcome = "moved_on"           // left alone: somebody replayed or settled it since it was chosen
	BulkError    BulkOutcome = "error"              // left alone: it could not be tried
)

// BulkOutcomes lists every outcome.
var BulkOutcomes = []BulkOutcome{BulkReplayed, BulkSafe, BulkConfirm, BulkRefused, BulkMovedOn, BulkError}

// BulkResult is what became of one operation.
type BulkResult struct {
	Operation OperationID
	Attempt   int // the newest when it was chosen
	Outcome   BulkOutcome
	Message   string
}

// BulkReplay is a replay of many operations: a stored job that the workers carry
// out one operation at a time. It is a value; stores keep it by compare-and-set
// on Revision.
type BulkReplay struct {
	ID      BulkReplayID
	Tenant  Tenant
	By      Principal // who asked, with the rights and the narrowing of then; they must hold still when it is carried out
	Request Digest    // of what was asked, to tell another request under the same key
	Filter  BulkFilter
	Plan    BulkReplayID // the dry run whose operations are replayed; zero: by filter
	Confirm bool         // its sentence was confirmed: what needed that then is replayed
	DryRun  bool
	Rate    int // operations a minute
	Reason  string

	State      BulkState
	After      Cursor       // of the newest operation that was chosen
	Pending    *BulkResult  // chosen, and perhaps tried; nil: none
	Results    []BulkResult // in the order in which they were tried
	Cut        bool         // more than BulkReplayMax are selected
	NextAt     time.Time    // when the next operation is taken on, or whoever does that is taken for dead
	CreatedAt  time.Time
	FinishedAt time.Time // zero while it runs
	Why        string    // why it was cancelled, where the ledger did that

	Revision int64
	Token    WriteToken
}

// Count is how many of its operations have had the outcome.
func (b *BulkReplay) Count(o BulkOutcome) int {
	n := 0
	for i := range b.Results {
		if b.Results[i].Outcome == o {
			n++
		}
	}
	return n
}

// Sentence is what has to be confirmed, word for word, to replay from a finished
// dry run also what is dangerous; empty: nothing is.
func (b *BulkReplay) Sentence() string {
	n := b.Count(BulkConfirm)
	if !b.DryRun || b.State != BulkFinished || n == 0 {
		return ""
	}
	return fmt.Sprintf("I accept that the effects of %d operations of %s may happen a second time", n, b.ID)
}

// BulkCursor is a place in the order of a tenant's bulk replays, the newest first.
// The zero value is before all of them.
type BulkCursor struct {
	CreatedAt time.Time
	ID        BulkReplayID
}

// BulkReplayStore keeps bulk replays. Its methods are safe for concurrent use and
// return the errors of [Store].
type BulkReplayStore interface {
	// PutBulkReplay stores one if the stored revision is b.Revision-1 (no row: 0),
	// and returns the row as it is stored then. It is safe to run again: a row that
	// carries b.Revision and b.Token counts as applied. Where it writes the row it
	// notes the events in the same transaction.
	PutBulkReplay(ctx context.Context, b BulkReplay, notes ...AuditEvent) (stored *BulkReplay, applied bool, err error)
	// LoadBulkReplay reads one; nil if there is none.
	LoadBulkReplay(ctx context.Context, id BulkReplayID) (*BulkReplay, error)
	// ListBulkReplays returns at most limit of a tenant after a place, the newest first.
	ListBulkReplays(ctx context.Context, t Tenant, after BulkCursor, limit int) ([]*BulkReplay, error)
	// RunningBulkReplays returns at most limit that run, of every tenant, oldest first.
	RunningBulkReplays(ctx context.Context, limit int) ([]*BulkReplay, error)
	// AgedBulkReplays returns at most limit of every tenant after a place, created
	// before the time, oldest first.
	AgedBulkReplays(ctx context.Context, after BulkCursor, before time.Time, limit int) ([]*BulkReplay, error)
	// DropBulkReplay removes one that still has the revision, and notes the events in
	// the same transaction; false: it has another, or is gone.
	DropBulkReplay(ctx context.Context, b *BulkReplay, notes ...AuditEvent) (bool, error)
}

// BulkRequest asks for a bulk replay.
type BulkRequest struct {
	Key     string // the same key is the same replay; empty: derived from who asks for what, and why
	Filter  BulkFilter
	Plan    BulkReplayID // a finished dry run, in place of a filter
	Confirm string       // its sentence
	DryRun  bool
	Rate    int // operations a minute; 0: BulkRate
	Reason  string
}

// StartBulkReplay stores a bulk replay, or returns the one that is there: asked
// twice it is one. Operations whose plan needs a confirmation are left alone,
// unless they stand in a dry run whose sentence is confirmed. Each operation is
// replayed at the attempt at which it was chosen, at most once.
func (l *Ledger) StartBulkReplay(ctx context.Context, p Principal, in BulkRequest) (*BulkReplay, error) {
	if err := Authorize(p, ActionReplay); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	b := BulkReplay{Tenant: p.Tenant, By: p, Filter: in.Filter, Plan: in.Plan, DryRun: in.DryRun, Rate: in.Rate, Reason: in.Reason,
		Request: in.digest(p), State: BulkRunning, Revision: 1, Token: newToken()}
	if in.Key == "" {
		in.Key = b.Request.String()
	}
	b.ID = NewBulkReplayID(p.Tenant, in.Key)
	there, err := l.store.LoadBulkReplay(ctx, b.ID)
	if err != nil || there != nil {
		return there, sameBulk(err, there, b.Request)
	}
	if !in.Plan.IsZero() {
		if b.Confirm, err = l.confirmed(ctx, p, in); err != nil {
			return nil, err
		}
	}
	if b.CreatedAt, err = l.store.Now(ctx); err != nil {
		return nil, err
	}
	if b.NextAt = b.CreatedAt; b.Filter.To.IsZero() {
		b.Filter.To = b.CreatedAt
	}
	b.After = Cursor{CreatedAt: b.Filter.To}
	stored, applied, err := l.putBulk(ctx, b, NewAuditEvent(AuditEvent{Tenant: b.Tenant, Actor: p.String(), Action: AuditBulkReplay, Subject: b.ID.String(), Reason: b.Reason, Detail: b.what()}))
	switch {
	case err != nil:
		return nil, err
	case !applied:
		return stored, sameBulk(nil, stored, b.Request)
	}
	l.Wake()
	return stored, nil
}

func (in *BulkRequest) check() error {
	if in.Rate == 0 {
		in.Rate = BulkRate
	}
	bad := func(code Code, message, hint string) error {
		return &Error{Code: code, Op: "replay operations", Message: message, Hint: hint}
	}
	switch {
	case strings.TrimSpace(in.Reason) == "":
		return bad(CodeEvidenceRequired, "a replay needs a reason", "say why the same intentions are tried again")
	case in.Rate < 1 || in.Rate > BulkRateMax:
		return bad(CodeInvalidRequest, fmt.Sprintf("the rate is not between 1 and %d a minute", BulkRateMax), "")
	case !in.Plan.IsZero() && (in.DryRun || !in.Filter.isZero()):
		return bad(CodeInvalidRequest, "a plan has its own operations", "leave filter and dry_run out")
	case in.Plan.IsZero() && in.Confirm != "":
		return bad(CodeInvalidRequest, "there is nothing to confirm without a plan", "make a dry run, and name it as plan")
	}
	for _, s := range in.Filter.States {
		if !slices.Contains(DeadStates, s) && s != StateOutcomeUnknown {
			return bad(CodeInvalidRequest, "what is "+s.String()+" is not replayed", "the states are failed, needs_review, abandoned and outcome_unknown")
		}
	}
	return nil
}

func (f *BulkFilter) isZero() bool {
	return f.Tool == "" && len(f.States) == 0 && f.Run == "" && f.CorrelationID == "" && f.From.IsZero() && f.To.IsZero()
}

// digest names what is asked, by whom and why.
func (in *BulkRequest) digest(p Principal) Digest {
	parts := []string{p.String(), string(in.Filter.Tool), in.Filter.Run, in.Filter.CorrelationID, strconv.FormatInt(in.Filter.From.UnixMicro(), 10),
		strconv.FormatInt(in.Filter.To.UnixMicro(), 10), in.Plan.String(), in.Confirm, strconv.FormatBool(in.DryRun), in.Reason}
	for _, s := range in.Filter.States {
		parts = append(parts, s.String())
	}
	return sha256.Sum256(appendJSONStrings([]byte(bulkReplayDomain), parts...))
}

func sameBulk(err error, there *BulkReplay, request Digest) error {
	if err == nil && there.Request != request {
		return &Error{Code: CodeKeyReused, Op: "replay operations", Message: "the key names another replay, made by " + there.By.String() + " at " + there.CreatedAt.UTC().Format(time.RFC3339), Hint: "give another key"}
	}
	return err
}

// confirmed checks the plan that is to be carried out, and its sentence.
func (l *Ledger) confirmed(ctx context.Context, p Principal, in BulkRequest) (bool, error) {
	plan, err := l.BulkReplay(ctx, p, in.Plan)
	switch {
	case err != nil:
		return false, err
	case !plan.DryRun || plan.State != BulkFinished:
		return false, &Error{Code: CodeStateForbids, Op: "replay operations", Message: plan.ID.String() + " is no finished dry run"}
	case in.Confirm == "":
		return false, nil
	case in.Confirm != plan.Sentence():
		return false, &Error{Code: CodeConfirmationNeeded, Op: "replay operations", Message: "that is not what has to be confirmed", Hint: fmt.Sprintf("confirm with exactly this sentence: %q", plan.Sentence())}
	}
	return true, nil
}

// what says in words what it replays.
func (b *BulkReplay) what() string {
	how := map[bool]string{true: "dry run", false: "replay"}[b.DryRun]
	if !b.Plan.IsZero() {
		return how + " of " + b.Plan.String()
	}
	tool := "every tool"
	if b.Filter.Tool != "" {
		tool = string(b.Filter.Tool)
	}
	return how + " of " + tool
}

// BulkReplay reads one. CodeReplayNotFound: the tenant has none of that ID.
func (l *Ledger) BulkReplay(ctx context.Context, p Principal, id BulkReplayID) (*BulkReplay, error) {
	if err := Authorize(p, ActionReplay); err != nil {
		return nil, err
	}
	b, err := l.store.LoadBulkReplay(ctx, id)
	if err == nil && (b == nil || b.Tenant != p.Tenant) {
		return nil, &Error{Code: CodeReplayNotFound, Op: "load bulk replay", Message: "no such bulk replay", Hint: "start it: POST /v1/replays"}
	}
	return b, err
}

// ListBulkReplays returns a page of the tenant's bulk replays, the newest first.
// limit is between 1 and BulkReplaysPage.
func (l *Ledger) ListBulkReplays(ctx context.Context, p Principal, after BulkCursor, limit int) ([]*BulkReplay, error) {
	if err := Authorize(p, ActionReplay); err != nil {
		return nil, err
	}
	if limit < 1 || limit > BulkReplaysPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", limit, BulkReplaysPage)
	}
	return l.store.ListBulkReplays(ctx, p.Tenant, after, limit)
}

// CancelBulkReplay takes on no further operation. What is replayed stays so.
func (l *Ledger) CancelBulkReplay(ctx context.Context, p Principal, id BulkReplayID) (*BulkReplay, error) {
	for {
		b, err := l.BulkReplay(ctx, p, id)
		if err != nil || b.State != BulkRunning {
			return b, err
		}
		b.State, b.FinishedAt = BulkCancelled, l.clock.now()
		stored, applied, err := l.nextBulk(ctx, b, NewAuditEvent(AuditEvent{Tenant: b.Tenant, Actor: p.String(), Action: AuditBulkReplayCancelled, Subject: id.String()}))
		if err != nil || applied {
			return stored, err
		}
	}
}

func (l *Ledger) putBulk(ctx context.Context, b BulkReplay, notes ...AuditEvent) (stored *BulkReplay, applied bool, err error) {
	if err := l.Refusal(); err != nil {
		return nil, false, err
	}
	for range putTries {
		if stored, applied, err = l.store.PutBulkReplay(context.WithoutCancel(ctx), b, notes...); !Is(err, CodeMayBeRecorded) {
			break
		}
	}
	return stored, applied, err
}

// nextBulk stores the next revision of a bulk replay.
func (l *Ledger) nextBulk(ctx context.Context, b *BulkReplay, notes ...AuditEvent) (*BulkReplay, bool, error) {
	b.Revision, b.Token = b.Revision+1, newToken()
	return l.putBulk(ctx, *b, notes...)
}
