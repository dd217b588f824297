package onceward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// RunID identifies one run. It is computed from (tenant, workflow, trigger key).
// The zero value identifies nothing.
type RunID [16]byte

// RunState says whether a run goes on.
type RunState string

// The states of a run.
const (
	RunOpen     RunState = "open"     // operations and decisions may join it
	RunFinished RunState = "finished" // what is there is answered, nothing new joins it
)

// RunOutcome is how whoever handled the business event says that it ended. What
// the effects are is told by the operations, never by this word.
type RunOutcome string

// The outcomes of a run.
const (
	RunSucceeded RunOutcome = "succeeded"
	RunFailed    RunOutcome = "failed"
	RunCancelled RunOutcome = "cancelled"
)

// AllRunOutcomes lists every outcome of a run.
var AllRunOutcomes = []RunOutcome{RunSucceeded, RunFailed, RunCancelled}

// Limits of runs.
const (
	// RunInputBytesMax is the longest input of a run, in its canonical form.
	RunInputBytesMax = 256 << 10
	// VersionBytesMax is the longest version of a workflow, prompt or rule set.
	VersionBytesMax = 128
)

// Run is one business event being handled by one workflow version. It is a
// value; stores keep it by compare-and-set on Revision.
type Run struct {
	ID            RunID
	Tenant        Tenant
	Workflow      string
	Version       string // of the workflow, as its author names it: the one that it started under
	Rules         string // WorkflowInfo.Hash of the document that holds for this run to its end; empty: none
	TriggerKey    Key
	InputDigest   Digest // zero: it was started without input
	Input         []byte // canonical; nil where only its digest was given; encrypted, if anything is
	CorrelationID string // may be empty
	Actor         string // principal that started it

	State      RunState
	Outcome    RunOutcome // empty until finished
	Reason     string     // why it ended so; may be empty; encrypted, if anything is
	FinishedBy string
	CreatedAt  time.Time
	FinishedAt time.Time // zero until finished

	Revision int64      // raised by one at each write
	Token    WriteToken // of the last write
	Concealed
}

// RunFilter selects runs for a listing. Zero fields select everything.
type RunFilter struct {
	Tenant        Tenant // never empty
	Workflow      string
	State         RunState
	CorrelationID string
	After         RunCursor // exclusive; zero: from the newest
	Limit         int       // 1 to MaxPage
}

// RunCursor is a place in the order (CreatedAt, ID) descending.
type RunCursor struct {
	CreatedAt time.Time
	ID        RunID
}

// RunStore keeps runs. Its methods are safe for concurrent use and return the
// errors of [Store].
type RunStore interface {
	// PutRun stores a run if the stored revision is r.Revision-1 (no row: 0), and
	// returns the row as it is stored then. It is safe to run again: a row that
	// carries r.Revision and r.Token counts as applied. Where it writes the row it
	// notes the events in the same transaction.
	PutRun(ctx context.Context, r Run, notes ...AuditEvent) (stored *Run, applied bool, err error)
	// LoadRun reads one run; nil if there is none.
	LoadRun(ctx context.Context, id RunID) (*Run, error)
	// AgedRuns returns at most limit runs of every tenant after a place, created
	// before the time, oldest first, without inputs.
	AgedRuns(ctx context.Context, after RunCursor, before time.Time, limit int) ([]*Run, error)
	// DropRun removes a run that still has the revision, with its decisions and its
	// saga, and notes the events in the same transaction; false: it has another, or is gone.
	DropRun(ctx context.Context, r *Run, notes ...AuditEvent) (bool, error)
	// ListRuns returns a page, newest first, without inputs.
	ListRuns(ctx context.Context, f RunFilter) ([]*Run, error)
}

const (
	runIDPrefix = "run_"
	runIDDomain = "onceward/run-id/v1\n"
)

// NewRunID computes the ID of the run that (t, workflow, trigger) names. The
// workflow's version is not part of it: the same business event, delivered again
// after a new version was rolled out, is the same run.
func NewRunID(t Tenant, workflow string, trigger Key) RunID {
	return RunID(computedID(runIDDomain, string(t), workflow, string(trigger)))
}

// computedID is the first 16 bytes of SHA-256 over a domain and the JSON array
// of the parts, as [NewOperationID] has it.
func computedID(domain string, parts ...string) [16]byte {
	sum := sha256.Sum256(appendJSONStrings([]byte(domain), parts...))
	return [16]byte(sum[:16])
}

func encodeID(prefix string, id [16]byte) string { return prefix + base32hex.EncodeToString(id[:]) }

// decodeID reads the one form that encodeID writes.
func decodeID(prefix, s string) (id [16]byte, ok bool) {
	encoded, ok := strings.CutPrefix(s, prefix)
	if !ok || len(encoded) != base32hex.EncodedLen(len(id)) {
		return id, false
	}
	if _, err := base32hex.Decode(id[:], []byte(encoded)); err != nil {
		return id, false
	}
	return id, encodeID(prefix, id) == s
}

// IsZero reports whether the ID identifies nothing.
func (id RunID) IsZero() bool { return id == RunID{} }

// String is "run_" and 26 characters of lower-case base32hex.
func (id RunID) String() string { return encodeID(runIDPrefix, id) }

// ParseRunID reads the one form that [RunID.String] writes. Anything else is an
// [Error] with CodeInvalidRequest.
func ParseRunID(s string) (RunID, error) {
	id, ok := decodeID(runIDPrefix, s)
	if !ok {
		return RunID{}, &Error{Code: CodeInvalidRequest, Op: "read run ID", Message: `a run ID is "run_" and 26 characters of lower-case base32hex`}
	}
	return id, nil
}

// runOf reads the run that an operation's label names. Any text that has not the
// form of a run ID is a free label and names none.
func runOf(label string) (RunID, bool) {
	id, ok := decodeID(runIDPrefix, label)
	return id, ok
}

// ParseRunOutcome reads the outcome of a run; another word is an Error with
// CodeUnsupportedPolicy.
func ParseRunOutcome(s string) (RunOutcome, error) {
	for _, o := range AllRunOutcomes {
		if string(o) == s {
			return o, nil
		}
	}
	return "", &Error{Code: CodeUnsupportedPolicy, Op: "read outcome", Message: "a run ends as succeeded, failed or cancelled"}
}

// ParseWorkflowName checks the name of a workflow, which has the form of a
// tool's name.
func ParseWorkflowName(s string) (string, error) {
	if _, err := ParseToolName(s); err != nil {
		return "", &Error{Code: CodeInvalidRequest, Op: "read workflow name",
			Message: "a workflow name is at most 128 lower-case letters, digits, _ and - in words joined by dots, the first a letter"}
	}
	return s, nil
}

// ContentDigest is the SHA-256 over the canonical form of a JSON text: what the
// input of a run or of a decision is compared by. Whoever may not hand the input
// over computes it alone.
func ContentDigest(text []byte) (Digest, []byte, error) {
	canonical, err := Canonicalize(text)
	if err != nil {
		return Digest{}, nil, err
	}
	return sha256.Sum256(canonical), canonical, nil
}

// RunRequest asks for a run.
type RunRequest struct {
	Principal     Principal
	Workflow      string
	Version       string // empty: the one that is in force
	TriggerKey    Key    // names the business event; checked by ParseCallerKey
	Input         []byte // JSON as received; nil: none
	InputDigest   Digest // instead of Input: see ContentDigest; zero: none
	CorrelationID string
	OnDuplicate   OnDuplicate
	Subject       string // whose data the input is, and what the run's steps decide; empty: the tenant's. Not part of what a repeat is compared by
}

// RunAnswer is what a request for a run gets.
type RunAnswer struct {
	Run      *Run
	Decision Decision // fresh; joined: it is open; replayed: it is finished
	Advice   string   // empty: there is nothing to say
}

// StartRun starts a run once for each (tenant, workflow, trigger key), or
// returns the one that is there. CodeKeyReused: it was started with another
// input. CodeDuplicate, CodeStillRunning: OnDuplicate asked for it.
func (l *Ledger) StartRun(ctx context.Context, in RunRequest) (*RunAnswer, error) {
	if err := Authorize(in.Principal, ActionStartRuns); err != nil {
		return nil, err
	}
	digest, input, err := contentOf("start run", in.Input, in.InputDigest, RunInputBytesMax)
	if err != nil {
		return nil, err
	}
	id := NewRunID(in.Principal.Tenant, in.Workflow, in.TriggerKey)
	there, err := l.store.LoadRun(ctx, id)
	if err != nil {
		return nil, err
	}
	if there != nil {
		return sameRun(&in, digest, there)
	}
	version, rules, err := l.workflowFor(&in)
	if err != nil {
		return nil, err
	}
	r := Run{ID: id, Tenant: in.Principal.Tenant, Workflow: in.Workflow, Version: version, Rules: rules, TriggerKey: in.TriggerKey,
		InputDigest: digest, Input: input, CorrelationID: in.CorrelationID, Actor: in.Principal.String(), State: RunOpen, Revision: 1, Token: newToken()}
	if r.Subject, err = l.subjectNamed(ctx, r.Tenant, in.Subject); err != nil {
		return nil, err
	}
	if r.CreatedAt, err = l.store.Now(ctx); err != nil {
		return nil, err
	}
	stored, applied, err := l.putRun(ctx, r, AuditEvent{Tenant: r.Tenant, Actor: r.Actor, Action: AuditRunStarted, Subject: id.String(), Detail: r.Workflow + " version " + r.Version})
	switch {
	case err != nil:
		return nil, err
	case !applied:
		return sameRun(&in, digest, stored)
	}
	return &RunAnswer{Run: stored, Decision: DecisionFresh}, nil
}

// workflowFor is the version that a new run is of, and the document that holds
// for it.
func (l *Ledger) workflowFor(in *RunRequest) (version, rules string, err error) {
	w, found := l.tools.Workflow(in.Workflow)
	switch {
	case !found && in.Version == "":
		return "", "", &Error{Code: CodeInvalidRequest, Op: "start run", Message: "no document describes the workflow " + in.Workflow + ", and version is missing",
			Hint: "say which version of the workflow handles the event"}
	case !found:
		return in.Version, "", nil
	}
	info := w.Info()
	if in.Version != "" && in.Version != info.Version {
		return "", "", &Error{Code: CodeWorkflowMismatch, Op: "start run", Message: "version " + info.Version + " of " + in.Workflow + " is in force, not " + in.Version,
			Hint: "start the run with that version, or leave version out"}
	}
	return info.Version, info.Hash, nil
}

// sameRun answers a request whose run is there already: first the input is
// compared, then on_duplicate decides.
func sameRun(in *RunRequest, digest Digest, there *Run) (*RunAnswer, error) {
	first := there.CreatedAt.UTC().Format(time.RFC3339)
	switch {
	case there.Tenant != in.Principal.Tenant || there.Workflow != in.Workflow || there.TriggerKey != in.TriggerKey:
		return nil, &Error{Code: CodeKeyCollision, Op: "start run", Message: "another workflow or trigger key has this run ID"}
	case there.InputDigest != digest:
		return nil, &Error{Code: CodeKeyReused, Op: "start run", Message: "the trigger key started " + there.ID.String() + " at " + first + " with another input",
			Hint: "another business event needs its own trigger key"}
	case in.OnDuplicate == DuplicateFail:
		return nil, &Error{Code: CodeDuplicate, Op: "start run", Message: "the trigger key started " + there.ID.String() + " at " + first + "; it is " + string(there.State),
			Hint: "read the run, or ask with on_duplicate return"}
	case in.OnDuplicate == DuplicateFailIfRunning && there.State == RunOpen:
		return nil, &Error{Code: CodeStillRunning, Op: "start run", Message: there.ID.String() + ", started at " + first + ", is still open", Hint: "ask again later with the same trigger key"}
	}
	a := &RunAnswer{Run: there, Decision: DecisionJoined, Advice: "the event was taken already: read the run's resume view, and go on from there"}
	if there.State == RunFinished {
		a.Decision, a.Advice = DecisionReplayed, "the event was handled to its end: there is nothing to do"
	}
	if in.Version != "" && in.Version != there.Version {
		a.Advice += "; the run stays under version " + there.Version + ", which it started under"
	}
	return a, nil
}

// contentOf takes a content, or its digest alone.
func contentOf(op string, text []byte, digest Digest, bytesMax int) (Digest, []byte, error) {
	switch {
	case text == nil:
		return digest, nil, nil
	case !digest.IsZero():
		return Digest{}, nil, &Error{Code: CodeInvalidRequest, Op: op, Message: "both input and input_digest are given", Hint: "give one of the two"}
	}
	digest, canonical, err := ContentDigest(text)
	if err == nil && len(canonical) > bytesMax {
		err = &Error{Code: CodeTooLarge, Op: op, Message: fmt.Sprintf("the input is longer than %d bytes", bytesMax), Hint: "give input_digest, and keep the input where it is"}
	}
	return digest, canonical, err
}

// putTries bounds how often a write is run again whose commit was lost.
const putTries = 3

// putRun is PutRun that is run again while nobody knows whether it is recorded.
func (l *Ledger) putRun(ctx context.Context, r Run, e AuditEvent) (stored *Run, applied bool, err error) {
	if err := l.Refusal(); err != nil {
		return nil, false, err
	}
	e = NewAuditEvent(e)
	for range putTries {
		if stored, applied, err = l.store.PutRun(context.WithoutCancel(ctx), r, e); !Is(err, CodeMayBeRecorded) {
			break
		}
	}
	return stored, applied, err
}

// FinishRun ends a run: nothing new joins it. The same outcome again changes
// nothing; another one is CodeStateForbids, which says who ended it and when.
func (l *Ledger) FinishRun(ctx context.Context, p Principal, id RunID, outcome RunOutcome, reason string) (*Run, error) {
	if err := Authorize(p, ActionStartRuns); err != nil {
		return nil, err
	}
	return l.finishRun(ctx, p, id, outcome, reason)
}

func (l *Ledger) finishRun(ctx context.Context, p Principal, id RunID, outcome RunOutcome, reason string) (*Run, error) {
	for {
		r, err := l.run(ctx, p.Tenant, id)
		if err != nil {
			return nil, err
		}
		if r.State == RunFinished {
			if r.Outcome == outcome {
				return r, nil
			}
			return nil, &Error{Code: CodeStateForbids, Op: "finish run", Message: id.String() + " was finished as " + string(r.Outcome) + " by " + r.FinishedBy + " at " + r.FinishedAt.UTC().Format(time.RFC3339),
				Hint: "a run ends once; what it caused is undone or forked operation by operation"}
		}
		next := *r
		next.State, next.Outcome, next.Reason, next.FinishedBy = RunFinished, outcome, reason, p.String()
		next.Revision, next.Token = r.Revision+1, newToken()
		if next.FinishedAt, err = l.store.Now(ctx); err != nil {
			return nil, err
		}
		stored, applied, err := l.putRun(ctx, next, AuditEvent{Tenant: r.Tenant, Actor: p.String(), Action: AuditRunFinished, Subject: id.String(), Reason: reason, Detail: string(outcome)})
		if err != nil {
			return nil, err
		}
		if applied {
			return stored, nil
		}
	}
}

// run reads one run of the tenant. CodeRunNotFound also when it is another's.
func (l *Ledger) run(ctx context.Context, t Tenant, id RunID) (*Run, error) {
	r, err := l.store.LoadRun(ctx, id)
	if err != nil {
		return nil, err
	}
	if r == nil || r.Tenant != t {
		return nil, &Error{Code: CodeRunNotFound, Op: "load run", Message: "there is no run " + id.String(), Hint: "start it first: POST /v1/runs, or use a label that is not of the form of a run ID"}
	}
	return r, nil
}

// ListRuns returns a page of the tenant's runs, newest first, without inputs.
func (l *Ledger) ListRuns(ctx context.Context, p Principal, f RunFilter) ([]*Run, error) {
	if err := Authorize(p, ActionReadRuns); err != nil {
		return nil, err
	}
	f.Tenant = p.Tenant
	if f.Limit < 1 || f.Limit > MaxPage {
		return nil, Errorf(CodeInvalidRequest, "limit %d is not between 1 and %d", f.Limit, MaxPage)
	}
	return l.store.ListRuns(ctx, f)
}
