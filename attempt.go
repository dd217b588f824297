package onceward

import "time"

// AttemptStatus is what is known of one attempt.
type AttemptStatus uint8

// The statuses of an attempt. An attempt is open while it was sent or possibly
// sent and nothing has settled it.
const (
	StatusRunning AttemptStatus = iota + 1 // holds the lease
	StatusOpen                             // ended without a verdict: may have had its effect
	StatusDone                             // proven to have had its effect
	StatusNotDone                          // proven to have had none
)

var attemptStatusNames = [...]string{StatusRunning: "running", StatusOpen: "open", StatusDone: "done", StatusNotDone: "not_done"}

// String returns the name used in APIs.
func (s AttemptStatus) String() string {
	if int(s) < len(attemptStatusNames) && s > 0 {
		return attemptStatusNames[s]
	}
	return "none"
}

// Settler says what settled an attempt.
type Settler uint8

// What can settle an attempt.
const (
	SettledByNobody   Settler = iota
	SettledByAnswer           // the provider's answer to this very attempt
	SettledByProbe            // a probe that found, or proved absence
	SettledByPerson           // a resolve
	SettledByCallback         // the provider's own event
	SettledByLater            // a later attempt under the same provider key proved the one effect
)

var settlerNames = [...]string{SettledByNobody: "", SettledByAnswer: "answer", SettledByProbe: "probe", SettledByPerson: "person", SettledByCallback: "callback", SettledByLater: "later_attempt"}

// String returns the name used in APIs; "" for nobody.
func (s Settler) String() string {
	if int(s) < len(settlerNames) {
		return settlerNames[s]
	}
	return ""
}

// Attempt is one try of an operation: exactly one write on the wire. Its number
// is the fencing token.
type Attempt struct {
	Number     int           // 1 is the first
	Owner      string        // the replica, or "caller" for a remote attempt
	Status     AttemptStatus // never zero
	Settler    Settler
	StartedAt  time.Time
	LeaseUntil time.Time // until then nobody else may act; ledger time
	EndedAt    time.Time // zero while running
	LastByteAt time.Time // latest instant at which a byte may still travel; zero when nothing was sent
	Reach      Reach
	Free       bool    // does not count against the budget: a refused credential, or stopped before its first byte
	Resend     bool    // started while an earlier attempt was open, under the class's rule
	Failure    Failure // why it is not done or open
	Reference  string  // what it proved; empty unless done
	Handle     string  // the provider's name of work that goes on, by which its end is asked for; empty: none, or it leads nowhere any more
	ClaimToken string  // remote attempts: the caller's own token; empty otherwise
	SecretHash []byte  // remote attempts: SHA-256 of the attempt secret; nil otherwise
}

// HandleBytesMax is the longest handle that is kept; a longer one is none.
const HandleBytesMax = 512

// maybeSent reports whether a byte of the attempt's write may have left.
func (a *Attempt) maybeSent() bool { return a.Status != StatusNotDone || !a.LastByteAt.IsZero() }
