package onceward

//go:generate go run ./internal/statedoc docs/state-machine.md

import "slices"

// Cell is one field of the transition table: what an event may do in a state.
// The zero value is forbidden.
type Cell struct {
	To      []State // possible next states; the state itself means that only facts are added
	Ignored bool    // nothing changes, and that is no error
}

// Forbidden reports whether the event is an error in that state.
func (c Cell) Forbidden() bool { return len(c.To) == 0 && !c.Ignored }

func to(states ...State) Cell { return Cell{To: states} }

var ignored = Cell{Ignored: true}

// keeps adds, for each listed state, a cell that keeps the state and adds facts.
func keeps(row map[State]Cell, states ...State) map[State]Cell {
	for _, s := range states {
		row[s] = to(s)
	}
	return row
}

// transitions is the machine's table, by event and state. Apply refuses what is
// not in it, and refuses its own result if a handler leaves its cell.
//
// Invariant: docs/state-machine.md is generated from this table and checked.
var transitions = map[EventKind]map[State]Cell{
	KindApprovalGranted:  {StateAwaitingApproval: to(StateAwaitingApproval, StateReady)},
	KindApprovalRejected: {StateAwaitingApproval: to(StateCancelled)},
	KindApprovalExpired:  {StateAwaitingApproval: to(StateCancelled), StateReady: to(StateCancelled)},
	KindApprovalVoided: {
		StateAwaitingApproval: to(StateAwaitingApproval), StateReady: to(StateAwaitingApproval), StateCancelled: to(StateAwaitingApproval),
	},
	KindApprovalEdited:   {StateAwaitingApproval: to(StateAwaitingApproval, StateReady)},
	KindApprovalReminded: keeps(map[State]Cell{}, StateAwaitingApproval),
	KindAssigned:         keeps(map[State]Cell{}, StateAwaitingApproval, StateNeedsReview),
	KindReviewTaken:      keeps(map[State]Cell{}, StateNeedsReview),
	KindReviewOverdue:    keeps(map[State]Cell{}, StateNeedsReview),
	KindCommented:        keeps(map[State]Cell{}, StateAwaitingApproval, StateNeedsReview, StateFailed, StateAbandoned),
	KindForked:           keeps(map[State]Cell{}, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated),
	KindAttemptStarted:   {StateReady: to(StateEffectPending)},
	KindStartParked:      keeps(map[State]Cell{}, StateReady, StateOutcomeUnknown),
	KindAttemptDone: keeps(map[State]Cell{
		StateReady:          to(StateSucceeded),
		StateEffectPending:  to(StateSucceeded, StateEffectPending, StateNeedsReview),
		StateOutcomeUnknown: to(StateSucceeded, StateNeedsReview),
		StateSucceeded:      to(StateSucceeded, StateNeedsReview),
		StateFailed:         to(StateSucceeded),
		StateAbandoned:      to(StateSucceeded, StateNeedsReview),
		StateCancelled:      to(StateSucceeded),
	}, StateNeedsReview, StateCompensated),
	KindAttemptNotDone: keeps(map[State]Cell{
		StateEffectPending:  to(StateReady, StateFailed, StateCancelled, StateOutcomeUnknown, StateEffectPending, StateSucceeded, StateNeedsReview),
		StateOutcomeUnknown: to(StateOutcomeUnknown, StateReady, StateFailed, StateCancelled, StateSucceeded, StateNeedsReview),
	}, StateReady, StateNeedsReview, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated),
	KindAttemptUnknown: keeps(map[State]Cell{
		StateEffectPending: to(StateOutcomeUnknown, StateEffectPending, StateSucceeded, StateNeedsReview),
	}, StateReady, StateOutcomeUnknown, StateNeedsReview, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated),
	KindLeaseProlonged: {StateEffectPending: to(StateEffectPending)},
	KindLeaseExpired: {
		StateEffectPending: to(StateOutcomeUnknown, StateSucceeded, StateNeedsReview), StateReady: ignored, StateOutcomeUnknown: ignored, StateNeedsReview: ignored,
		StateSucceeded: ignored, StateFailed: ignored, StateAbandoned: ignored, StateCancelled: ignored, StateCompensated: ignored,
	},
	KindProbeFound: keeps(map[State]Cell{
		StateReady: foundCell, StateOutcomeUnknown: foundCell, StateSucceeded: foundCell, StateFailed: foundCell, StateAbandoned: foundCell, StateCancelled: foundCell,
	}, StateEffectPending, StateNeedsReview, StateCompensated),
	KindEffectProven: keeps(map[State]Cell{
		StateReady: to(StateSucceeded), StateOutcomeUnknown: foundCell, StateSucceeded: foundCell,
		StateFailed: to(StateSucceeded), StateAbandoned: foundCell, StateCancelled: to(StateSucceeded),
	}, StateEffectPending, StateNeedsReview, StateCompensated),
	KindProbeAbsent: keeps(map[State]Cell{
		StateOutcomeUnknown: to(StateOutcomeUnknown, StateReady, StateCancelled, StateFailed, StateSucceeded, StateNeedsReview),
	}, StateReady, StateEffectPending, StateNeedsReview, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated),
	KindProbeInconclusive: keeps(map[State]Cell{}, StateReady, StateEffectPending, StateOutcomeUnknown, StateNeedsReview,
		StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated),
	KindResendDue:     {StateOutcomeUnknown: to(StateReady)},
	KindResendLapsed:  {StateReady: to(StateOutcomeUnknown)},
	KindSettleOverdue: {StateOutcomeUnknown: to(StateNeedsReview, StateAbandoned, StateFailed, StateCancelled)},
	KindCancelRequested: keeps(map[State]Cell{
		StateAwaitingApproval: to(StateCancelled), StateReady: to(StateCancelled, StateOutcomeUnknown),
	}, StateEffectPending, StateOutcomeUnknown, StateNeedsReview, StateCancelled),
	KindNotAfterPassed: {StateReady: to(StateCancelled), StateAwaitingApproval: to(StateCancelled)},
	KindResolved: {
		StateNeedsReview:    to(StateSucceeded, StateReady, StateFailed, StateAbandoned, StateCancelled),
		StateOutcomeUnknown: to(StateSucceeded, StateReady, StateFailed, StateAbandoned, StateCancelled),
		StateAbandoned:      to(StateSucceeded, StateReady, StateFailed, StateCancelled),
	},
	KindReplayRequested: {StateFailed: to(StateReady), StateAbandoned: to(StateReady), StateNeedsReview: to(StateReady), StateOutcomeUnknown: to(StateReady)},
	KindRetryRequested:  {StateFailed: to(StateReady)},
	KindCompensated:     {StateSucceeded: to(StateCompensated)},
	KindRetired:         keeps(map[State]Cell{}, StateSucceeded, StateFailed, StateAbandoned, StateCancelled, StateCompensated),
	KindKeyTakenAnew: {
		StateSucceeded: takenAnew, StateFailed: takenAnew, StateAbandoned: takenAnew, StateCancelled: takenAnew, StateCompensated: takenAnew,
	},
}

var takenAnew = to(StateReady, StateAwaitingApproval)

// foundCell is what proof of an effect does; several effects, or another one
// than the known, go to a person.
var foundCell = to(StateSucceeded, StateNeedsReview)

// TransitionCell returns the table's field for an event in a state.
func TransitionCell(k EventKind, s State) Cell {
	c := transitions[k][s]
	c.To = slices.Clone(c.To)
	return c
}
