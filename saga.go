package onceward

import (
	"context"
	"slices"
	"time"
)

// SagaID identifies one saga. It has the bytes of the ID of its run. The zero
// value identifies nothing.
type SagaID [16]byte

const sagaIDPrefix = "saga_"

// NewSagaID computes the ID that (t, name, key) names.
func NewSagaID(t Tenant, name string, key Key) SagaID { return SagaID(NewRunID(t, name, key)) }

// IsZero reports whether the ID identifies nothing.
func (id SagaID) IsZero() bool { return id == SagaID{} }

// Run is the run in which the saga's operations are.
func (id SagaID) Run() RunID { return RunID(id) }

// String is "saga_" and 26 characters of lower-case base32hex.
func (id SagaID) String() string { return encodeID(sagaIDPrefix, id) }

// ParseSagaID reads the one form that [SagaID.String] writes. Anything else is an
// [Error] with CodeInvalidRequest.
func ParseSagaID(s string) (SagaID, error) {
	id, ok := decodeID(sagaIDPrefix, s)
	if !ok {
		return SagaID{}, &Error{Code: CodeInvalidRequest, Op: "read saga ID", Message: `the ID of a saga is "saga_" and 26 characters of lower-case base32hex`}
	}
	return id, nil
}

// SagaState says how a saga stands.
type SagaState string

// The states of a saga. The last four are final.
const (
	SagaRunning      SagaState = "running"      // going forward, or waiting for a step
	SagaCompensating SagaState = "compensating" // going back: what is done is undone
	SagaNeedsReview  SagaState = "needs_review" // a person has to act; Note says in which way
	SagaSucceeded    SagaState = "succeeded"    // every step is done
	SagaCompensated  SagaState = "compensated"  // some steps were done, and are undone
	SagaFailed       SagaState = "failed"       // nothing was done
	SagaCancelled    SagaState = "cancelled"    // nothing was done, because somebody cancelled it
)

// AllSagaStates lists every state of a saga.
var AllSagaStates = []SagaState{SagaRunning, SagaCompensating, SagaNeedsReview, SagaSucceeded, SagaCompensated, SagaFailed, SagaCancelled}

// Final reports whether the saga has ended.
func (s SagaState) Final() bool {
	switch s {
	case SagaRunning, SagaCompensating, SagaNeedsReview:
		return false
	case SagaSucceeded, SagaCompensated, SagaFailed, SagaCancelled:
	}
	return true
}

// ParseSagaState reads a state; another word is an Error with CodeInvalidRequest.
func ParseSagaState(s string) (SagaState, error) {
	if i := slices.Index(AllSagaStates, SagaState(s)); i >= 0 {
		return AllSagaStates[i], nil
	}
	return "", &Error{Code: CodeInvalidRequest, Op: "read saga state", Message: "a saga is running, compensating, needs_review, succeeded, compensated, failed or cancelled"}
}

// SagaKind says what may follow a step that is not done.
type SagaKind string

// The kinds of steps.
const (
	SagaCompensable  SagaKind = "compensable"   // it can be undone, and is, if a later step is not done
	SagaRetryable    SagaKind = "retryable"     // it is tried until it is done; nothing is undone because of it
	SagaConfirmFirst SagaKind = "confirm_first" // it cannot be undone: a person approves it before it starts
)

// AllSagaKinds lists every kind of step.
var AllSagaKinds = []SagaKind{SagaCompensable, SagaRetryable, SagaConfirmFirst}

// SagaStepState says how a step stands.
type SagaStepState string

// The states of a step.
const (
	SagaStepPending SagaStepState = "pending"  // its turn has not come
	SagaStepStarted SagaStepState = "started"  // its operation may exist
	SagaStepDone    SagaStepState = "done"     // its operation succeeded
	SagaStepNotDone SagaStepState = "not_done" // its operation ended without effect, or will never exist
	SagaStepUndoing SagaStepState = "undoing"  // its compensation may exist
	SagaStepUndone  SagaStepState = "undone"   // its compensation succeeded, or a person undid it
	SagaStepKept    SagaStepState = "kept"     // done, and left so though the saga went back; Why says why
)

// AllSagaStepStates lists every state of a step.
var AllSagaStepStates = []SagaStepState{SagaStepPending, SagaStepStarted, SagaStepDone, SagaStepNotDone, SagaStepUndoing, SagaStepUndone, SagaStepKept}

// SagaUndo is an operation that undoes a step.
type SagaUndo struct {
	Tool  ToolName
	Input []byte // JSON; may refer to steps, its own included
}

// SagaStep is one step of a saga: an operation.
type SagaStep struct {
	Name  string // one of its saga
	Tool  ToolName
	Input []byte    // JSON; a text "${steps.NAME.reference}" or "${steps.NAME.result.PATH}" refers to an earlier step
	Kind  SagaKind  // empty in a request: what the tool's contract makes it
	Undo  *SagaUndo // in place of the contract's compensation; nil: the contract's

	State     SagaStepState
	Operation OperationID // zero until it has started
	Undoing   OperationID // its compensation; zero until that has started
	Shared    bool        // its operation was there before the saga: it is not the saga's to undo
	Why       string      // of what is not done or kept; may be empty
	StartedAt time.Time   // zero while pending
	EndedAt   time.Time   // of going forward; zero until then
	UndoneAt  time.Time   // zero unless undone or kept
}

// Limits of sagas.
const (
	// SagaStepsMax is how many steps a saga has at most.
	SagaStepsMax = 50
	// SagaInputBytesMax is the longest input of all steps together.
	SagaInputBytesMax = 256 << 10
	// SagasPage is the longest page of a list of sagas.
	SagasPage = 100
	// sagaWordsMax is how much of a reason is kept, in bytes.
	sagaWordsMax = 500
)

// Saga is a sequence of operations of which either all are done, or what was
// done is undone. It is a value; stores keep it by compare-and-set on Revision.
type Saga struct {
	ID            SagaID
	Tenant        Tenant
	Name          string // of the kind of business event, as a workflow's
	Key           Key    // names the business event
	Digest        Digest // of its steps, as they were asked for
	CorrelationID string
	By            Principal // who started it, with the rights and the narrowing of then
	Steps         []SagaStep

	State      SagaState
	Undoing    bool   // it goes back
	Cancelled  bool   // it goes back because somebody cancelled it
	Cause      string // why it goes back; empty while it goes forward
	Note       string // what it waits for; empty: for nobody
	CreatedAt  time.Time
	UpdatedAt  time.Time
	FinishedAt time.Time // zero until final
	NextAt     time.Time // when it is looked at again; zero once there is nothing left to do

	Revision  int64
	Token     WriteToken
	Concealed // the inputs of its steps, and what went wrong in words
}

// Clone is a copy that shares no step.
func (s *Saga) Clone() Saga {
	c := *s
	c.Steps = slices.Clone(s.Steps)
	return c
}

// Step is the step of that name, nil if there is none.
func (s *Saga) Step(name string) *SagaStep {
	for i := range s.Steps {
		if s.Steps[i].Name == name {
			return &s.Steps[i]
		}
	}
	return nil
}

// SagaCursor is a place in the order (CreatedAt, ID) descending.
type SagaCursor struct {
	CreatedAt time.Time
	ID        SagaID
}

// SagaFilter selects sagas for a listing. Zero fields select everything.
type SagaFilter struct {
	Tenant Tenant // never empty
	Name   string
	State  SagaState
	After  SagaCursor // exclusive; zero: from the newest
	Limit  int        // 1 to SagasPage
}

// SagaCount is how many sagas are in a state that is not final.
type SagaCount struct {
	State  SagaState
	Count  int64
	Oldest time.Time // creation of the oldest
}

// SagaStore keeps sagas. Its methods are safe for concurrent use and return the
// errors of [Store].
type SagaStore interface {
	// PutSaga stores one if the stored revision is s.Revision-1 (no row: 0), and
	// returns the row as it is stored then. It is safe to run again: a row that
	// carries s.Revision and s.Token counts as applied. Where it writes the row it
	// notes the events in the same transaction.
	PutSaga(ctx context.Context, s Saga, notes ...AuditEvent) (stored *Saga, applied bool, err error)
	// LoadSaga reads one; nil if there is none.
	LoadSaga(ctx context.Context, id SagaID) (*Saga, error)
	// ListSagas returns a page, newest first.
	ListSagas(ctx context.Context, f SagaFilter) ([]*Saga, error)
	// TakeSagas returns at most limit sagas whose NextAt has come, and moves that to
	// now+hold in the same statement, so that replicas do not take the same ones.
	TakeSagas(ctx context.Context, limit int, hold time.Duration) ([]*Saga, error)
	// RescheduleSaga sets NextAt of one that has the revision, 0: any. Zero: it
	// never comes up again.
	RescheduleSaga(ctx context.Context, id SagaID, revision int64, at time.Time) error
	// CountSagas counts those that have not ended, over all tenants, by state.
	CountSagas(ctx context.Context) ([]SagaCount, error)
	// NextSaga returns when the earliest saga comes up, zero if there is none, and
	// the database's now.
	NextSaga(ctx context.Context) (next, now time.Time, err error)
}

// Saga reads one. CodeSagaNotFound: the tenant has none of that ID.
func (l *Ledger) Saga(ctx context.Context, p Principal, id SagaID) (*Saga, error) {
	if err := Authorize(p, ActionReadSagas); err != nil {
		return nil, err
	}
	return l.saga(ctx, p.Tenant, id)
}

func (l *Ledger) saga(ctx context.Context, t Tenant, id SagaID) (*Saga, error) {
	s, err := l.store.LoadSaga(ctx, id)
	if err == nil && (s == nil || s.Tenant != t) {
		return nil, &Error{Code: CodeSagaNotFound, Op: "load saga", Message: "no such saga", Hint: "start it: POST /v1/sagas"}
	}
	if err != nil {
		return nil, err
	}
	return s.explained(), nil
}

// ListSagas returns a page of the tenant's sagas, newest first.
func (l *Ledger) ListSagas(ctx context.Context, p Principal, f SagaFilter) ([]*Saga, error) {
	if err := Authorize(p, ActionReadSagas); err != nil {
		return nil, err
	}
	if f.Limit < 1 || f.Limit > SagasPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", f.Limit, SagasPage)
	}
	f.Tenant = p.Tenant
	all, err := l.store.ListSagas(ctx, f)
	for _, s := range all {
		s.explained()
	}
	return all, err
}

// nextSaga stores the next revision of a saga.
func (l *Ledger) nextSaga(ctx context.Context, s *Saga, notes ...AuditEvent) (stored *Saga, applied bool, err error) {
	s.Revision, s.Token, s.UpdatedAt = s.Revision+1, newToken(), l.clock.now()
	for i := range notes {
		notes[i] = NewAuditEvent(notes[i])
	}
	for range putTries {
		if stored, applied, err = l.store.PutSaga(context.WithoutCancel(ctx), *s, notes...); !Is(err, CodeMayBeRecorded) {
			break
		}
	}
	return stored, applied, err
}
