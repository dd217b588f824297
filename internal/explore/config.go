package explore

import (
	"time"

	"github.com/onceward/onceward"
)

// Machine is what is explored. The zero value is not usable; [Real] is the
// production code, and tests put broken variants around it.
type Machine struct {
	Apply   func(onceward.Operation, onceward.Event, time.Time) (onceward.Operation, []onceward.Consequence, error)
	Next    func(*onceward.Operation, time.Time) onceward.Step
	MaySend func(*onceward.Operation, time.Time) error
}

// Real is the machine as it is in production.
func Real() Machine {
	return Machine{
		Apply:   onceward.Apply,
		Next:    func(o *onceward.Operation, at time.Time) onceward.Step { return o.NextStep(at) },
		MaySend: func(o *onceward.Operation, at time.Time) error { return o.MaySend(at) },
	}
}

// Tick is the unit of time of an exploration. It equals the margin that the
// machine keeps at the end of a provider's key window.
const Tick = time.Minute

// Limits of every exploration, in ticks or counts. They are wide enough that
// every comparison of the machine is seen from both sides.
const (
	maxTries   = 4 // attempts of an operation that are followed
	maxWorkers = 3
	lookAge    = 2 // a look-up whose answer is not recorded within these ticks is lost
)

// Config says what is explored: a class with its contract, and which of the
// things that can happen do happen.
type Config struct {
	Name    string
	Effect  onceward.EffectClass
	Workers int // 1 to 3

	// The contract, in ticks.
	Probe      bool
	Remote     bool // the caller performs the write
	Reusable   bool // a retired key may be used anew
	Abandon    bool // on_unknown: abandon
	Lease      int8 // longer than Deadline
	Deadline   int8
	Settle     int8
	KeyWindow  int8 // keyed writes; 0: for ever
	Recovery   int8
	NotAfter   int8 // 0: no limit
	Approval   int8 // expiry of an unanswered request; 0: none is asked for
	Quorum     int  // how many of two people must say yes; 0: one
	BackoffMax int8
	Attempts   int // budget

	// What can happen besides the ordinary.
	Crashes   bool // processes die at every point
	Callbacks bool // the provider tells of its effects by itself
	Cancel    bool
	Pauses    int // how often the tool is paused by a person
	Refusals  int // how often the credential is refused
	Resolves  int // how often a person asks for one more attempt by resolve
	Replays   int
	Requests  int // how often a new request buys an attempt
	Resolve   bool
	CutAnswer bool // done answers that name no reference
	Edits     bool // an approver edits the input once
	Conflicts bool // answers under a key that are unknown and not worth repeating
	Undo      bool // compensation
	Retire    bool

	// Broken assumptions: each must show the harm that its promise excludes.
	LateCommits bool // effects appear later than settle
	ForgetsKeys bool // the provider forgets keys before their window ends
	BlindLooks  bool // look-ups do not see what exists
	HastyPeople bool // a person calls "not performed" what may still appear
	FrozenSends bool // a process is frozen between its last check and the system call

	// Unpromised leaves out the rules that stand on assumptions: what the machine
	// owes whatever the world does is checked alone.
	Unpromised bool
}

// policy is the contract as the machine gets it.
func (c *Config) policy() onceward.Policy {
	p := onceward.Policy{
		Effect: c.Effect, HasProbe: c.Probe, RemoteExecutor: c.Remote, Deadline: ticks(c.Deadline).long(), ProbeDeadline: Tick, Lease: ticks(c.Lease).long(),
		Settle: ticks(c.Settle).long(), MaxAttempts: c.Attempts, BackoffInitial: min(Tick, ticks(c.BackoffMax).long()), BackoffMax: ticks(c.BackoffMax).long(),
		RecoveryWindow: ticks(c.Recovery).long(), NotAfter: ticks(c.NotAfter).long(), ApprovalExpiry: ticks(c.Approval).long(), KeyReusable: c.Reusable, Quorum: c.Quorum,
	}
	if c.Effect == onceward.EffectKeyedWrite {
		if p.KeyWindow = ticks(c.KeyWindow).long(); p.KeyWindow == 0 {
			p.KeyWindow = onceward.KeyWindowForever
		}
	}
	if c.Abandon {
		p.OnUnknown = onceward.OnUnknownAbandon
	}
	return p
}

// sameEffect reports whether all attempts name one effect at the provider.
func (c *Config) sameEffect() bool {
	return c.Effect == onceward.EffectKeyedWrite || c.Effect == onceward.EffectConditionalWrite
}
