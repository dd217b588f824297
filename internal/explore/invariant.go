package explore

import "fmt"

// Invariant is a rule that holds in every state, or for every step.
type Invariant uint8

// The invariants.
const (
	Upheld            Invariant = iota
	OneEffect                   // at most one effect where the class promises it
	EndsAreTrue                 // failed or cancelled: no effect is there or can still appear
	DoneIsTrue                  // succeeded or compensated: the effect is there
	ProofPerAttempt             // no attempt is called done or not done without proof of its own
	EndsNeedEvidence            // unknown never becomes done or not done without evidence
	EvidenceIsKept              // what an attempt's holder reports is stored in every state
	SecondIsNotHidden           // two known effects: broken, alarm, pause, a person
	TerminalStays               // a terminal state is left only by the events that may
	NoWrongStart                // no start after cancel or a refusal for good, without approval, past not_after, or with an attempt open
	BudgetIsKept                // no more attempts than the contract's budget and what was granted on top
	NoWrongSend                 // nothing on the wire while paused, past the lease, past not_after
	CredentialsPause            // a refused credential pauses the tool
	NumbersRise                 // every attempt has a higher number than all before it
	LateIsFenced                // a result of an older attempt changes no newer one
	LeasesLast                  // nobody ends a lease that still runs, or prolongs one that is over
	OnlyEndedRetire             // a record that is not terminal is never slimmed
	KeysStayTaken               // a key is used anew only from its tombstone, in the next generation
	RequestIsKept               // what is sent is what was stored
	RowIsWhole                  // the fields of a row fit its state
	TableIsKept                 // no event leads out of its cell of the table
	OneAtATime                  // of two operations on one resource, one is at work
	EveryScheduleEnds           // fair steps lead to a terminal state or to a person
	PeopleCanAnswer             // a person who is asked has a true answer that ends it
)

// Invariants lists every invariant in declaration order.
func Invariants() []Invariant {
	all := make([]Invariant, 0, len(invariantNames)-1)
	for i := OneEffect; int(i) < len(invariantNames); i++ {
		all = append(all, i)
	}
	return all
}

var invariantNames = [...]string{
	Upheld: "upheld", OneEffect: "one effect", EndsAreTrue: "ends are true", DoneIsTrue: "done is true", ProofPerAttempt: "proof per attempt",
	EndsNeedEvidence: "ends need evidence", EvidenceIsKept: "evidence is kept", SecondIsNotHidden: "a second effect is not hidden", TerminalStays: "terminal stays",
	NoWrongStart: "no wrong start", BudgetIsKept: "the budget is kept", NoWrongSend: "no wrong send", CredentialsPause: "a refused credential pauses", NumbersRise: "attempt numbers rise", LateIsFenced: "late results are fenced",
	LeasesLast: "leases last", OnlyEndedRetire: "only ended records retire", KeysStayTaken: "keys stay taken", RequestIsKept: "the request is kept",
	RowIsWhole: "the row is whole", TableIsKept: "the table is kept", OneAtATime: "one at a time on a resource", EveryScheduleEnds: "every fair schedule ends", PeopleCanAnswer: "people can answer",
}

// String names the rule.
func (i Invariant) String() string { return invariantNames[i] }

// Breach is a broken rule.
type Breach struct {
	Rule Invariant
	How  string
}

// note keeps the first breach.
func (b *Breach) note(rule Invariant, format string, args ...any) {
	if b.Rule == Upheld {
		*b = Breach{rule, fmt.Sprintf(format, args...)}
	}
}
