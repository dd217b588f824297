package onceward

import "time"

// Policy is what the machine must know of a contract. It is not stored with
// the operation: the ledger hydrates it from the contract version that the
// operation names, so that an operation keeps its rules to the end.
type Policy struct {
	Effect         EffectClass
	HasProbe       bool
	RemoteExecutor bool          // the caller performs the write
	Deadline       time.Duration // of one attempt
	ProbeDeadline  time.Duration // of one look-up
	Lease          time.Duration // longer than Deadline
	ByteTail       time.Duration // how long bytes may outlive lease and deadline in the kernel: 0 where TCP_USER_TIMEOUT bounds them, 15 min elsewhere
	Settle         time.Duration // after the last possible byte, the latest time for the effect to appear
	KeyWindow      time.Duration // how long the provider surely remembers the key; 0: not at all; KeyWindowForever: as long as the object lives
	MaxAttempts    int           // budget; at least 1
	BackoffInitial time.Duration
	BackoffMax     time.Duration
	RecoveryWindow time.Duration // how long an unknown outcome is probed before a person is asked
	EvidenceWithin time.Duration // how long one that nothing can look up waits for a sender's event, before OnUnknown; 0: not at all
	OnUnknown      OnUnknown
	NotAfter       time.Duration   // an intent older than this is not started any more; 0: no limit
	ApprovalExpiry time.Duration   // how long a question waits, and how long a yes holds; 0: approvals are not asked for
	Quorum         int             // how many people must say yes; 0: one
	Reminders      []time.Duration // when to remind of an open question, counted from when it was asked; at most RemindersMax

	SeparateRequester bool // whoever asked may not approve

	ReviewTeam   string        // who is asked where only a person can settle it; empty: whoever has the right
	ReviewWithin time.Duration // how long a review may take until it is overdue; 0: no time is set

	// CallerCredentials says that the caller's own credentials go to the provider:
	// one that is refused is that caller's trouble and does not pause the tool.
	CallerCredentials bool

	KeyReusable bool // a retired key may be used anew
	KeepInput   Keep // how much of the input stays once nothing can be sent any more
	KeepResult  Keep // how much of the result
	Rate        Rate // how often attempts may start, per process
}

// lastByteAfter is the last instant at which a byte may leave, or a function may act, of
// an attempt whose end nobody saw.
func (p *Policy) lastByteAfter(lease time.Time) time.Time {
	return lease.Add(p.Deadline + p.ByteTail)
}

// showsWithin is the longest time from an attempt's start until its effect is
// there, if it has any: its lease, the last bytes beyond it, and settle.
func (p *Policy) showsWithin() time.Duration {
	return p.Lease + p.Deadline + p.ByteTail + p.Settle
}

// ResendWithin is how long after the first possible send the provider's key may
// be trusted (rule 6): its window, less the deadline and one minute. Zero or
// less: a re-send is never safe by the key. KeyWindowForever stays.
func (p *Policy) ResendWithin() time.Duration {
	if p.KeyWindow == KeyWindowForever {
		return KeyWindowForever
	}
	return p.KeyWindow - p.Deadline - keyWindowMargin
}

// KeyWindowForever says that the provider knows the key as long as the object lives.
const KeyWindowForever = time.Duration(1<<63 - 1)

// keyWindowMargin is kept free at the end of a provider's window, for clocks
// that differ and bytes that travel.
const keyWindowMargin = time.Minute

// OnUnknown says who settles what no probe can.
type OnUnknown uint8

// What happens to an unknown outcome that nothing can settle.
const (
	OnUnknownReview  OnUnknown = iota // a person is asked (the zero value, and the default)
	OnUnknownAbandon                  // nobody looks further: not worth a person's time
)
