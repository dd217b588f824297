package onceward

import "fmt"

// State is where an operation stands. The transition table in transitions.go says
// which event leads from one to another; docs/state-machine.md is made from it.
type State uint8

// The states. Zero is no state: a row with it is corrupt.
const (
	StateAwaitingApproval State = iota + 1 // intent stored; no attempt may start
	StateReady                             // may be attempted from DueAt on
	StateEffectPending                     // an attempt holds the lease; bytes may have left
	StateOutcomeUnknown                    // an open attempt may have had its effect
	StateNeedsReview                       // only a person can settle it
	StateSucceeded                         // effect proven, result stored
	StateFailed                            // proven no effect; will not be tried by itself
	StateAbandoned                         // nobody will look any further; the effect may exist
	StateCancelled                         // ended, proven without effect
	StateCompensated                       // undone by a linked operation
)

// AllStates lists every state in declaration order.
var AllStates = []State{
	StateAwaitingApproval, StateReady, StateEffectPending, StateOutcomeUnknown, StateNeedsReview,
	StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated,
}

var stateNames = [...]string{
	StateAwaitingApproval: "awaiting_approval", StateReady: "ready", StateEffectPending: "effect_pending",
	StateOutcomeUnknown: "outcome_unknown", StateNeedsReview: "needs_review", StateSucceeded: "succeeded",
	StateFailed: "failed", StateAbandoned: "abandoned", StateCancelled: "cancelled", StateCompensated: "compensated",
}

// String returns the name used in APIs, stores and docs.
func (s State) String() string {
	if int(s) < len(stateNames) && s > 0 {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Terminal reports whether the operation has ended: it is left only by replay,
// resolve, compensation, late evidence, or a new request that buys an attempt.
func (s State) Terminal() bool {
	switch s {
	case StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated:
		return true
	case StateAwaitingApproval, StateReady, StateEffectPending, StateOutcomeUnknown, StateNeedsReview:
		return false
	}
	return false
}

// waitsForPerson reports whether the operation goes on by a person's word: an approval,
// a resolution, a replay.
func (s State) waitsForPerson() bool {
	switch s {
	case StateAwaitingApproval, StateNeedsReview, StateAbandoned, StateFailed:
		return true
	case StateReady, StateEffectPending, StateOutcomeUnknown, StateSucceeded, StateCancelled, StateCompensated:
		return false
	}
	return false
}

// ParseState returns the state of that name, or an Error with CodeInvalidRequest.
func ParseState(name string) (State, error) {
	for _, s := range AllStates {
		if stateNames[s] == name {
			return s, nil
		}
	}
	return 0, &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf("no state is called %q", name), Hint: "use one of the names in docs/state-machine.md"}
}
