package onceward

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Function describes a tool whose attempts and look-ups are calls of Go functions
// of this program, in place of a contract. What it says of effect, times and
// budget holds as a contract's does, and every rule of the ledger holds for it.
//
// Every process of the program that shares the ledger activates the same functions.
// One that has not activated a function leaves to the others what needs its code:
// attempts, look-ups and how it is undone (see ErrFunctionNotHere).
type Function struct {
	Name           ToolName
	Description    string
	BusinessOwner  string
	TechnicalOwner string

	// Policy is what the machine must know. Effect is needed; of the rest what is
	// zero gets the defaults below. HasProbe is whether Probe is set. Settle counts
	// from the return of Perform, or from a deadline after the lease's end where
	// nobody saw it return; it must cover what the client that Perform uses may still
	// send. A keyed write is sent again within KeyWindow only.
	Policy Policy
	// Key returns the parts of the key (see DeriveKey); nil: the caller gives it.
	Key func(input []byte) ([]string, error)
	// KeyRule names what Key takes, as "order, line". A version with another name
	// than the one in force is refused: what is known under its old keys would be
	// new effects. Empty: not compared.
	KeyRule string
	// Volatile are the paths of members that may differ between retries.
	Volatile []string
	// SerializeBy names the resource that one operation at a time works on; nil: none.
	SerializeBy func(input []byte) (string, error)
	// Approval reports whether a person must say yes first; nil: nobody has to.
	Approval func(input []byte) (bool, error)
	// Approvers are the groups of people who may; empty: every approver.
	Approvers []string
	// Subject names whose data it is, where KeepResult or Policy.KeepInput says
	// KeepEncrypted; nil: the tenant's.
	Subject func(input []byte) (string, error)

	// Perform makes the effect: one write, never repeated inside. nil: attempts are
	// made only by whoever calls Do, while it waits.
	Perform func(ctx context.Context, c *Call) (Outcome, error)
	// Probe lists the effects that the operation has had. An error, a panic or the
	// end of ctx says nothing. nil: there is no way to look.
	Probe func(ctx context.Context, c *Call) ([]FoundEffect, error)

	// UndoneBy names the tool that undoes an effect, and Undo makes its input; both
	// or neither.
	UndoneBy ToolName
	Undo     func(c *Call) ([]byte, error)

	BlindSpots    string        // what Probe cannot see, in words, for the person who reviews
	KeepResult    Keep          // KeepEncrypted here or in Policy.KeepInput: both, and what tells of them
	KeepBytes     int64         // of a result; 0: DefaultKeepBytes
	Horizon       time.Duration // longest time in which a duplicate can still arrive
	KeepRecord    time.Duration // after a terminal state; 0: for ever
	KeepTombstone time.Duration // after KeepRecord, until the key is forgotten; 0: for ever
}

// Times and budget of a function where its policy says nothing. The lease is
// twice the deadline and five seconds more.
const (
	FunctionDeadline       = 30 * time.Second
	FunctionAttempts       = 5
	FunctionBackoff        = time.Second
	FunctionBackoffMax     = time.Minute
	FunctionRecoveryWindow = 24 * time.Hour
	FunctionApprovalExpiry = 24 * time.Hour
)

// FunctionTool is a Function as a Tool.
type FunctionTool struct {
	fn       Function
	info     ToolInfo
	volatile []Path
	held     *heldFunctions // shared by the versions of one registration
	begun    performer      // of one attempt; nil: none has begun
}

var (
	_ InProcess = (*FunctionTool)(nil)
	_ Undoable  = (*FunctionTool)(nil)
)

// functionSource is what the ledger keeps of a function: all that is not code.
type functionSource struct {
	Kind        string
	Name        ToolName
	Description string
	Policy      Policy
	KeyRule     string
	Volatile    []string
	Approvers   []string
	KeepResult  Keep
	KeepBytes   int64
	Horizon     time.Duration
	Record      time.Duration
	Tombstone   time.Duration
}

// functionKind tells a function's source from a contract's.
const functionKind = "onceward/function/v1"

// NewFunction checks a function and makes a tool of it. Its version is a hash of
// everything that is not code: change KeyRule where Key changes its meaning.
// CodeContractInvalid names what is missing or contradicts itself.
func NewFunction(f Function) (*FunctionTool, error) {
	f.Policy = f.Policy.ofFunction(f.Probe != nil, f.Approval != nil)
	f.Policy.KeepResult = f.KeepResult
	if err := f.check(); err != nil {
		return nil, err
	}
	f.Volatile, f.Approvers = slices.Clone(f.Volatile), slices.Clone(f.Approvers)
	source, err := json.Marshal(functionSource{Kind: functionKind, Name: f.Name, Description: f.Description, Policy: f.Policy, KeyRule: f.KeyRule, Volatile: f.Volatile, Approvers: f.Approvers,
		KeepResult: f.KeepResult, KeepBytes: f.KeepBytes, Horizon: f.Horizon, Record: f.KeepRecord, Tombstone: f.KeepTombstone})
	if err != nil {
		return nil, fmt.Errorf("describe function %s: %w", f.Name, err)
	}
	digest, _, err := ContentDigest(source)
	if err != nil {
		return nil, err
	}
	t := &FunctionTool{fn: f, held: &heldFunctions{}}
	t.info = ToolInfo{Name: f.Name, Version: digest.String()[:12], Description: f.Description, BusinessOwner: f.BusinessOwner, TechnicalOwner: f.TechnicalOwner, Policy: f.Policy,
		Source: source, KeepResult: f.KeepResult, KeepBytes: f.KeepBytes, BlindSpots: f.BlindSpots, Approvers: f.Approvers, KeyRule: f.KeyRule, KeyFromCaller: f.Key == nil,
		Horizon: f.Horizon, KeepRecord: f.KeepRecord, KeepTombstone: f.KeepTombstone}
	t.volatile, err = pathsOf(f.Volatile)
	return t, err
}

// ofFunction fills in what a function's policy leaves out.
func (p Policy) ofFunction(probe, approval bool) Policy {
	p.HasProbe = probe
	p.Deadline = cmp.Or(p.Deadline, FunctionDeadline)
	p.ProbeDeadline = cmp.Or(p.ProbeDeadline, p.Deadline)
	p.Lease = cmp.Or(p.Lease, 2*p.Deadline+5*time.Second)
	p.MaxAttempts = cmp.Or(p.MaxAttempts, FunctionAttempts)
	p.BackoffInitial = cmp.Or(p.BackoffInitial, FunctionBackoff)
	p.BackoffMax = cmp.Or(p.BackoffMax, FunctionBackoffMax)
	p.RecoveryWindow = cmp.Or(p.RecoveryWindow, FunctionRecoveryWindow)
	if approval {
		p.ApprovalExpiry = cmp.Or(p.ApprovalExpiry, FunctionApprovalExpiry)
	}
	return p
}

func (f *Function) check() error {
	p := &f.Policy
	bad := func(format string, args ...any) error {
		return &Error{Code: CodeContractInvalid, Op: "make function", Message: fmt.Sprintf("function %s: ", f.Name) + fmt.Sprintf(format, args...)}
	}
	if _, err := ParseToolName(string(f.Name)); err != nil {
		return err
	}
	switch {
	case !slices.Contains(AllEffectClasses, p.Effect):
		return bad("it has no effect class")
	case p.RemoteExecutor || p.CallerCredentials:
		return bad("it is performed in this process, under no caller's credentials")
	case p.Lease <= p.Deadline:
		return bad("the lease, %s, is not longer than the deadline, %s", p.Lease, p.Deadline)
	case p.MaxAttempts < 1 || p.Deadline < 0 || p.Settle < 0:
		return bad("a time or the budget is negative")
	case p.Effect == EffectProbedWrite && f.Probe == nil:
		return bad("a probed write needs Probe")
	case p.Effect == EffectProbedWrite && p.Settle == 0:
		return bad("a probed write needs Policy.Settle: how long after Perform returned its effect may still appear")
	case (f.UndoneBy == "") != (f.Undo == nil):
		return bad("UndoneBy and Undo belong together")
	case f.Key == nil && f.KeyRule != "":
		return bad("KeyRule names what Key takes, and there is no Key")
	}
	return nil
}

func pathsOf(texts []string) ([]Path, error) {
	paths := make([]Path, len(texts))
	for i, text := range texts {
		var err error
		if paths[i], err = ParsePath(text); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// version is the function under what the ledger keeps of an earlier version: its
// rules are those of then, its code is that of now.
func (t *FunctionTool) version(source []byte) (*FunctionTool, error) {
	var s functionSource
	if err := json.Unmarshal(source, &s); err != nil {
		return nil, &Error{Code: CodeLedgerCorrupt, Op: "read function", Message: "what the ledger keeps of a version of " + string(t.info.Name) + " cannot be read", Err: err}
	}
	digest, _, err := ContentDigest(source)
	if err != nil {
		return nil, err
	}
	old := *t
	old.info.Version, old.info.Source = digest.String()[:12], source
	s.into(&old.info)
	old.info.Policy.HasProbe = s.Policy.HasProbe && t.fn.Probe != nil
	old.volatile, err = pathsOf(s.Volatile)
	return &old, err
}

// isFunction reports whether a stored source is a function's.
func isFunction(source []byte) bool {
	var s struct{ Kind string }
	return json.Unmarshal(source, &s) == nil && s.Kind == functionKind
}
