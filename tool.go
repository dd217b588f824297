package onceward

import (
	"errors"
	"time"
)

// Intent is what a caller asks for. The tenant and actor come from the caller's
// credentials.
type Intent struct {
	Principal     Principal
	Tool          ToolName
	Input         []byte     // JSON as received; not retained by reference
	CallerKey     Key        // validated; empty: none
	ForkKey       Key        // the whole key of a fork (see ForkKey); overrides the contract's rule; empty: no fork
	Run           string     // the ID of a run of the tenant, or a free label
	Decision      DecisionID // that led to it; zero: none
	Branch        string     // on which the caller takes itself to be; empty: not said
	CorrelationID string
	TraceParent   string
	Wait          time.Duration // how long to wait for a final state; negative: DefaultWait
	OnDuplicate   OnDuplicate
	Documents     []DocumentRef // that support the request; part of its digest
	Reason        string        // why, where one was asked for (a fork); kept in the timeline
	// OnProgress hears what the provider says on its way while Submit waits, also
	// for an operation that another request of this process began; nil: nobody
	// does. It must not block.
	OnProgress func(Progress)

	joined    bool      // the run and the decision were looked at
	decidedBy DecidedBy // what was found then
}

// OnDuplicate says what a second request with the same key wants.
type OnDuplicate uint8

// The duplicate policies, as Orkes Conductor's RETURN_EXISTING, FAIL and
// FAIL_ON_RUNNING.
const (
	DuplicateReturn        OnDuplicate = iota // answer from the first (the default)
	DuplicateFail                             // refuse any duplicate
	DuplicateFailIfRunning                    // refuse while the first is not terminal
)

// ParseOnDuplicate reads return, fail or fail_if_running; "" is return. Any
// other value is an Error with CodeUnsupportedPolicy.
func ParseOnDuplicate(s string) (OnDuplicate, error) {
	switch s {
	case "", "return":
		return DuplicateReturn, nil
	case "fail":
		return DuplicateFail, nil
	case "fail_if_running":
		return DuplicateFailIfRunning, nil
	}
	return 0, &Error{Code: CodeUnsupportedPolicy, Message: "on_duplicate is neither return, fail nor fail_if_running", Hint: "leave it out to get the first request's answer"}
}

// Limits of waiting.
const (
	DefaultWait = 10 * time.Second
	MaxWait     = 60 * time.Second
)

// Keep says how much of the input and of the result is stored once an
// operation is terminal.
type Keep uint8

// What is kept.
const (
	KeepFull      Keep = iota // as it came
	KeepRedacted              // names and types of the members, no values
	KeepDigest                // nothing but the digest
	KeepEncrypted             // as it came, encrypted with the data key of its subject
)

// ToolInfo describes a contract in force, for listings and for the ledger's
// own decisions. It is immutable.
type ToolInfo struct {
	Name           ToolName
	Version        string // short hash of the contract's meaning; stored with each operation
	Description    string
	BusinessOwner  string
	TechnicalOwner string
	Policy         Policy
	Hosts          []string
	InputSchema    []byte // JSON Schema as shown to callers
	Source         []byte // the YAML document, kept so that live operations keep their contract
	KeepResult     Keep
	KeepBytes      int64         // of an answer; 0: DefaultKeepBytes
	JudgeBytes     int64         // of an answer; 0: DefaultJudgeBytes
	BlindSpots     string        // what the probe cannot see, in words, for the person who reviews
	Approvers      []string      // groups of people who may say yes; empty: every approver
	KeyRule        string        // the key's expressions as canonical JSON; empty: no key rule
	KeyWas         []string      // earlier key rules whose keys are still found, each as KeyRule
	KeyFromCaller  bool          // no key rule of its own: the caller must give a key
	Horizon        time.Duration // longest time in which a duplicate can still arrive
	KeepRecord     time.Duration // after a terminal state; 0: for ever
	KeepTombstone  time.Duration // after KeepRecord, until the key is forgotten; 0: for ever
	MCP            MCPTool       // what its attempts call; zero: they are HTTP requests
	Forwarded      bool          // its input is a whole HTTP request, which the proxy makes it of
}

// MCPTool names a tool of an MCP server. The zero value names none.
type MCPTool struct {
	Server string // as its MCPServer document names it
	Tool   string // as the server does; empty: the input says which
}

// DefinitionHeader is the header of a rendered call of an MCP server's tool that
// holds the digest of the tool's definition under which the contract was made.
// It is no header on any wire.
const DefinitionHeader = "Onceward-Definition"

// DefinitionChanged is the error code of an attempt that was not sent, since the
// tool's definition at its MCP server is not the one that the contract was made
// for. The class is auth: the tool is paused until somebody has looked.
const DefinitionChanged = "definition_changed"

// Rate bounds how often attempts of a tool start. The zero value is no bound.
type Rate struct {
	Count int
	Per   time.Duration
}

// Prepared is an intent under one contract: validated, keyed, digested and
// rendered. Nothing in it is shared with the intent's buffers.
type Prepared struct {
	Key         Key
	Aliases     []Key // keys under earlier rules (key_was), without Key itself
	Digest      Digest
	Prints      []FieldPrint
	Input       []byte // canonical
	Request     *Request
	ProviderKey string
	Approval    bool // a person must say yes first
	SerialKey   string
	Subject     string // whose data it is, where it is kept encrypted; empty: the tenant's

	named []DocumentRef // uploaded documents of which it is to be noted that they are named
}

// Tool is one contract version, compiled. Its methods are pure but for reading
// secrets, safe for concurrent use, and do no I/O beyond secret files.
type Tool interface {
	Info() *ToolInfo

	// Prepare validates the input, derives key, digest and provider key, and
	// renders the request. Errors are typed and leave nothing behind:
	// CodeInvalidInput, CodeKeyMissing, CodeKeyInvalid, CodeTooLarge.
	// generation is the use of the key that the request would be (see Generation).
	Prepare(in *Intent, generation Generation) (*Prepared, error)

	// MaterialDigest is the digest of another input under this version's
	// volatile rules: a duplicate is compared under the version that is stored.
	MaterialDigest(input []byte, id OperationID) (Digest, []FieldPrint, error)

	// Secrets returns the header fields that are added at the moment of sending.
	Secrets(op *Operation) ([]HeaderField, error)

	// Judge classifies what an attempt saw; it always has an answer.
	Judge(op *Operation, ev *Evidence) Judgement

	// ProbeRequest renders the look-up of the operation's effect, secrets
	// included; an error means that it cannot be rendered.
	ProbeRequest(op *Operation) (*Request, error)

	// JudgeProbe reads a probe's answer.
	JudgeProbe(op *Operation, ev *Evidence) ProbeJudgement
}

// Follower is a tool whose provider may answer an attempt with a handle of work
// that goes on (Judgement.Handle).
type Follower interface {
	Tool

	// FollowRequest renders the question how the work stands, secrets included.
	FollowRequest(op *Operation, handle string) (*Request, error)

	// JudgeFollow reads the answer.
	JudgeFollow(op *Operation, ev *Evidence) FollowJudgement
}

// FollowJudgement is how work stands that an attempt left going on. The zero
// value is that it goes on.
type FollowJudgement struct {
	Answer     *Evidence // it ended: what the attempt would have been answered, had it waited; nil: it did not
	Lost       bool      // the provider knows it no more, or gave it up: what became of the effect is not known
	Failure    Failure   // why it is lost, or goes on
	RetryAfter time.Duration
}

// CallerBound is a tool whose requests carry what nobody stores: header fields
// of the caller, its credentials among them, that only the process which took
// the request holds, for a while.
type CallerBound interface {
	Tool

	// Sendable reports whether this process can send the operation's request now.
	// While it cannot, no further attempt starts here.
	Sendable(op *Operation) bool

	// Tap is whoever waits for the answer of the operation's attempt; nil: nobody.
	Tap(op *Operation) AnswerTap
}

// ErrCallerGone is wrapped by the error of Tool.Secrets where what the caller
// brings, credentials or a function, is not held any more: the attempt ends
// before its first byte, and the tool is not paused.
var ErrCallerGone = errors.New("what the caller brings is not held here")
