package onceward

import "time"

// Reach says how far a request went on its way to the provider. It is read off
// the connection while writing, never guessed.
type Reach uint8

// How far a request went, in order. Anything at or past ReachHeadersWritten may
// have had an effect.
const (
	ReachUnknown        Reach = iota // nobody saw: the process died
	ReachNotDialled                  // no connection was made: nothing left
	ReachConnected                   // a connection stood, no byte of the request was written
	ReachHeadersWritten              // at least the first byte of the request was written
	ReachBodyWritten                 // the whole request was written
	ReachFirstByte                   // the first byte of an answer came back
)

var reachNames = [...]string{
	ReachUnknown: "unknown", ReachNotDialled: "not_dialled", ReachConnected: "connected",
	ReachHeadersWritten: "headers_written", ReachBodyWritten: "body_written", ReachFirstByte: "first_byte",
}

// String returns the name used in evidence.
func (r Reach) String() string {
	if int(r) < len(reachNames) {
		return reachNames[r]
	}
	return "unknown"
}

// NothingSent reports whether, by the live holder's own record, no byte of the
// request left: a definite not-done.
func (r Reach) NothingSent() bool { return r == ReachNotDialled || r == ReachConnected }

// HeaderField is one header line; repeated names are repeated fields.
type HeaderField struct{ Name, Value string }

// Evidence is what an attempt or a probe saw, verbatim enough to judge later.
type Evidence struct {
	Reach      Reach
	Status     int           // HTTP status; 0 when no answer came
	Header     []HeaderField // answer headers, secrets and cookies removed before storing
	Body       []byte        // up to the contract's judge limit; what is stored is cut to its keep limit
	BodyCut    bool          // the body ended before its promised end, or could not be read
	BodyTooBig bool          // the body was longer than the judge limit; Body holds its head
	StartedAt  time.Time     // before the first step of the attempt (ledger time)
	EndedAt    time.Time     // when nothing more could be seen
	LastByteAt time.Time     // latest instant at which a byte of the request could still travel; zero when nothing was sent
	ErrorClass ErrorClass    // what went wrong on the way; ClassNone when an answer was read
	ErrorCode  string        // stable short name: "dial_refused", "deadline", "reset", "lease_passed"
	ErrorText  string        // one sentence; no payload, header or secret
	RemoteAddr string        // the address that was talked to, if any
	Warning    string        // what an operator should know of an answer that is taken all the same; in the timeline as a reason, not stored beside it
}

// Verdict is what we know after an attempt.
type Verdict uint8

// The verdicts. Zero is no verdict.
const (
	VerdictDone       Verdict = iota + 1 // the effect is proven
	VerdictNotDone                       // this attempt had no effect, proven
	VerdictUnknown                       // it may have had its effect
	VerdictInProgress                    // the provider says that it is still working under this key
)

// String returns the word used in contracts.
func (v Verdict) String() string {
	switch v {
	case VerdictDone:
		return "done"
	case VerdictNotDone:
		return "not_done"
	case VerdictUnknown:
		return "unknown"
	case VerdictInProgress:
		return "in_progress"
	}
	return "none"
}

// Judgement is a verdict with what the contract read out of the evidence.
type Judgement struct {
	Verdict    Verdict
	Reference  string        // the provider's name of the effect; may be empty
	Failure    Failure       // why not done or unknown; zero when done
	RetryAfter time.Duration // the provider's wish; 0 means none
	Rule       string        // which rule decided: "outcomes[2]" or "default: 5xx"
	Unread     bool          // done, and the reference that the contract names could not be read
	Exists     bool          // a conditional write met an existing object that still has to be compared
	Handle     string        // unknown, for the provider works on, and its end is asked for by this name; empty: nothing of the kind
}

// FoundEffect is one effect that a probe saw.
type FoundEffect struct {
	Reference string
	Ours      bool // the found object was compared and is ours; true where the contract compares nothing
}

// ProbeJudgement is what a probe's answer means.
type ProbeJudgement struct {
	Conclusive bool          // the answer lists what exists; false: try again later
	Found      []FoundEffect // empty and conclusive = absent at the time of the probe
	Failure    Failure       // why inconclusive
	RetryAfter time.Duration
}
