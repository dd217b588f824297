package onceward

import (
	"context"
	"fmt"
	"time"
)

// DecisionID identifies the decision of one step of one run. The zero value
// identifies nothing.
type DecisionID [16]byte

// StepDecision is what a step of a run decided: the result of a model, or of
// anything else that would not say the same twice. It is decided once; whoever
// asks again gets what is pinned. It is a value; stores keep it by
// compare-and-set on Revision.
type StepDecision struct {
	ID     DecisionID
	Tenant Tenant
	Run    RunID
	Step   string

	Versions []DecisionVersion // oldest first, never empty; the last one is in force
	Claim    DecisionClaim     // who is deciding; zero: nobody

	CreatedAt time.Time
	Revision  int64      // raised by one at each write
	Token     WriteToken // of the last write
	Concealed            // of its versions: reasons, schemas, outputs and confidence
}

// DecisionVersion is one time at which a step decided. Each time after the first
// was asked for by a person, with a reason.
type DecisionVersion struct {
	Number   int       // from 1
	OpenedAt time.Time // when it was first claimed, or asked for anew
	OpenedBy string    // principal
	Reason   string    // why it is decided anew; empty for the first

	InputDigest   Digest // zero: nobody has said yet
	Schema        []byte // JSON Schema that the request brought, canonical; nil: the workflow's
	Model         string // may be empty
	PromptVersion string // may be empty
	RuleVersion   string // of the branch rules: WorkflowInfo.Hash, or the caller's own word where there is no document

	PinnedAt   time.Time // zero: it is not decided yet
	PinnedBy   string
	Output     []byte   // canonical JSON, as its schema took it
	Confidence *float64 // nil: the step gave none
	Branch     string   // that the rules chose; empty: the step has no branches
	Rule       string   // which rule chose it: "rules[1]" or "default"
}

// DecisionClaim is the right of one worker to decide, until its lease ends.
type DecisionClaim struct {
	TokenHash string // of the claim token; empty: there is no claim
	By        string // principal
	Until     time.Time
}

// Limits of decisions.
const (
	// StepBytesMax is the longest name of a step or branch.
	StepBytesMax = 128
	// DecisionOutputBytesMax is the longest output, in its canonical form.
	DecisionOutputBytesMax = 64 << 10
	// DecisionSchemaBytesMax is the longest schema that a request may bring.
	DecisionSchemaBytesMax = 64 << 10
	// DecisionVersionsMax is how often one step can be decided.
	DecisionVersionsMax = 32
	// DefaultDecisionLease is how long a claim holds if nothing else is asked for.
	DefaultDecisionLease = 2 * time.Minute
	// MaxDecisionLease is the longest lease of a claim.
	MaxDecisionLease = 15 * time.Minute
)

// DecisionStore keeps decisions. Its methods are safe for concurrent use and
// return the errors of [Store].
type DecisionStore interface {
	// PutDecision stores a decision if the stored revision is d.Revision-1 (no
	// row: 0), and returns the row as it is stored then. It is safe to run again:
	// a row that carries d.Revision and d.Token counts as applied. Where it writes
	// the row it notes the events in the same transaction.
	PutDecision(ctx context.Context, d StepDecision, notes ...AuditEvent) (stored *StepDecision, applied bool, err error)
	// LoadDecision reads one decision; nil if there is none.
	LoadDecision(ctx context.Context, id DecisionID) (*StepDecision, error)
	// ListDecisions returns at most limit decisions of a run, oldest first.
	ListDecisions(ctx context.Context, run RunID, limit int) ([]*StepDecision, error)
}

const (
	decisionIDPrefix = "dec_"
	decisionIDDomain = "onceward/decision-id/v1\n"
)

// NewDecisionID computes the ID of the decision that (run, step) names.
func NewDecisionID(run RunID, step string) DecisionID {
	return DecisionID(computedID(decisionIDDomain, run.String(), step))
}

// IsZero reports whether the ID identifies nothing.
func (id DecisionID) IsZero() bool { return id == DecisionID{} }

// String is "dec_" and 26 characters of lower-case base32hex.
func (id DecisionID) String() string { return encodeID(decisionIDPrefix, id) }

// ParseDecisionID reads the one form that [DecisionID.String] writes. Anything
// else is an [Error] with CodeInvalidRequest.
func ParseDecisionID(s string) (DecisionID, error) {
	id, ok := decodeID(decisionIDPrefix, s)
	if !ok {
		return DecisionID{}, &Error{Code: CodeInvalidRequest, Op: "read decision ID", Message: `a decision ID is "dec_" and 26 characters of lower-case base32hex`}
	}
	return id, nil
}

// ParseStepName checks the name of a step or branch: 1 to [StepBytesMax]
// lower-case letters, digits, "_", "-" and dots, the first a letter.
func ParseStepName(s string) (string, error) {
	ok := s != "" && len(s) <= StepBytesMax && s[0] >= 'a' && s[0] <= 'z'
	for i := 0; ok && i < len(s); i++ {
		c := s[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
	}
	if !ok {
		return "", &Error{Code: CodeInvalidRequest, Op: "read step name", Message: "a step or branch is named by 1 to 128 lower-case letters, digits, _, - and dots, the first a letter"}
	}
	return s, nil
}

// Current is the version in force. It points into d.
func (d *StepDecision) Current() *DecisionVersion { return &d.Versions[len(d.Versions)-1] }

// Pinned reports whether the version in force is decided.
func (d *StepDecision) Pinned() bool { return !d.Current().PinnedAt.IsZero() }

// Version returns one version, or nil.
func (d *StepDecision) Version(number int) *DecisionVersion {
	if number < 1 || number > len(d.Versions) {
		return nil
	}
	return &d.Versions[number-1]
}

// claimed reports whether somebody has the right to decide at this time.
func (d *StepDecision) claimed(at time.Time) bool {
	return d.Claim.TokenHash != "" && at.Before(d.Claim.Until)
}

// lost refuses a change of what was shredded: the versions that led to operations
// would look as if they had never had an output.
func (d *StepDecision) lost(op string) error {
	if !d.Shredded || d.Versions[0].PinnedAt.IsZero() {
		return nil
	}
	return &Error{Code: CodeShredded, Op: op, Message: "what was decided for " + d.ID.String() + " was shredded", Hint: "another business event is another run"}
}

// next is the row after this one, to be changed.
func (d *StepDecision) next() StepDecision {
	out := *d
	out.Versions = append([]DecisionVersion(nil), d.Versions...)
	out.Revision, out.Token = d.Revision+1, newToken()
	if d.Shredded { // nothing of it was decided yet (lost)
		out.DataKey, out.Shredded = DataKeyID{}, false
	}
	return out
}

// DecidedBy names the decision that led to an operation. The zero value is none.
type DecidedBy struct {
	Decision DecisionID
	Version  int    // DecisionVersion.Number
	Branch   string // of that version; empty: the step has no branches
	Rules    string // rule version of that branch
}

// IsZero reports whether no decision led to the operation.
func (b DecidedBy) IsZero() bool { return b.Decision.IsZero() }

// decision reads one decision of the tenant. CodeDecisionNotFound also when it
// is another's.
func (l *Ledger) decision(ctx context.Context, t Tenant, id DecisionID) (*StepDecision, error) {
	d, err := l.store.LoadDecision(ctx, id)
	if err != nil {
		return nil, err
	}
	if d == nil || d.Tenant != t {
		return nil, &Error{Code: CodeDecisionNotFound, Op: "load decision", Message: "there is no decision " + id.String(), Hint: "pin it first: PUT /v1/decisions"}
	}
	return d, nil
}

// GetDecision returns one decision of the tenant with all of its versions.
func (l *Ledger) GetDecision(ctx context.Context, p Principal, id DecisionID) (*StepDecision, error) {
	if err := Authorize(p, ActionReadDecisions); err != nil {
		return nil, err
	}
	return l.decision(ctx, p.Tenant, id)
}

// Redecide opens the next version of a decision: the next PUT decides it, under
// whatever input it then has. The version before is kept, and so is every
// operation that it led to. version, if not 0, is the one that the caller has
// seen: where that was decided anew already, nothing changes, so that an answer
// that was lost can be asked for again.
func (l *Ledger) Redecide(ctx context.Context, p Principal, id DecisionID, version int, reason string) (*StepDecision, error) {
	if err := Authorize(p, ActionRedecide); err != nil {
		return nil, err
	}
	if blank(reason) {
		return nil, &Error{Code: CodeEvidenceRequired, Op: "decide anew", Message: "deciding anew needs a reason", Hint: "say why what is pinned shall not hold any more"}
	}
	for {
		d, err := l.decision(ctx, p.Tenant, id)
		if err != nil {
			return nil, err
		}
		now := d.Current()
		switch {
		case version > now.Number:
			return nil, Errorf(CodeInvalidRequest, "version %d of %s is not there yet: the newest is %d", version, id, now.Number)
		case version > 0 && version < now.Number:
			return d, nil
		case !d.Pinned() && now.Number > 1: // open already
			return d, nil
		case !d.Pinned():
			return nil, &Error{Code: CodeStateForbids, Op: "decide anew", Message: id.String() + " is not decided yet", Hint: "pin it: PUT /v1/decisions"}
		case len(d.Versions) == DecisionVersionsMax:
			return nil, Errorf(CodeTooLarge, "%s was decided %d times already", id, DecisionVersionsMax)
		}
		if err := d.lost("decide anew"); err != nil {
			return nil, err
		}
		if _, err := l.openRun(ctx, p.Tenant, d.Run); err != nil {
			return nil, err
		}
		at, err := l.store.Now(ctx)
		if err != nil {
			return nil, err
		}
		next := d.next()
		next.Claim = DecisionClaim{}
		next.Versions = append(next.Versions, DecisionVersion{Number: now.Number + 1, OpenedAt: at, OpenedBy: p.String(), Reason: reason})
		stored, applied, err := l.putDecision(ctx, next, NewAuditEvent(AuditEvent{Tenant: p.Tenant, Actor: p.String(), Action: AuditDecisionReopened, Subject: id.String(), Reason: reason,
			Detail: fmt.Sprintf("version %d", now.Number+1)}))
		if err != nil || applied {
			return stored, err
		}
	}
}

// openRun reads a run that something new may join.
func (l *Ledger) openRun(ctx context.Context, t Tenant, id RunID) (*Run, error) {
	r, err := l.run(ctx, t, id)
	if err == nil && r.State == RunFinished {
		err = &Error{Code: CodeStateForbids, Op: "join run", Message: fmt.Sprintf("%s was finished as %s by %s at %s: nothing new joins it", id, r.Outcome, r.FinishedBy, r.FinishedAt.UTC().Format(time.RFC3339)),
			Hint: "another business event is another run; what is there already is still answered"}
	}
	return r, err
}

// putDecision is PutDecision that is run again while nobody knows whether it is
// recorded. It wakes whoever of this process waits for the step.
func (l *Ledger) putDecision(ctx context.Context, d StepDecision, notes ...AuditEvent) (stored *StepDecision, applied bool, err error) {
	if err := l.Refusal(); err != nil {
		return nil, false, err
	}
	for range putTries {
		if stored, applied, err = l.store.PutDecision(context.WithoutCancel(ctx), d, notes...); !Is(err, CodeMayBeRecorded) {
			break
		}
	}
	if applied {
		l.waiters.notify(OperationID(d.ID)) // computed IDs of two kinds never meet
	}
	return stored, applied, err
}
