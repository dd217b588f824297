package store

import (
	"bytes"
	"slices"

	"github.com/onceward/onceward"
)

// Selects reports whether a listing shows the operation: for stores that find
// it by other means than the filter itself. An operation that was found by the
// ID of a key must have that key, unless an alias led to it: then it has
// another ID. Limit is not looked at.
func Selects(f *onceward.Filter, op *onceward.Operation) bool {
	return op.Tenant == f.Tenant &&
		(f.Tool == "" || op.Tool == f.Tool) &&
		(f.Key == "" || op.Key == f.Key || op.ID != onceward.NewOperationID(f.Tenant, f.Tool, f.Key)) &&
		(f.Run == "" || op.Run == f.Run) &&
		(f.CorrelationID == "" || op.CorrelationID == f.CorrelationID) &&
		(f.Reference == "" || op.Reference == f.Reference) &&
		(f.Actor == "" || op.Actor == f.Actor) &&
		(f.Subject == "" || op.Subject == f.Subject) &&
		!Stored(op.CreatedAt).Before(Stored(f.From)) &&
		(f.To.IsZero() || Stored(op.CreatedAt).Before(Stored(f.To))) &&
		(len(f.States) == 0 || slices.Contains(f.States, op.State)) &&
		(f.After == (onceward.Cursor{}) || Newer(f.After, CursorOf(op)) > 0)
}

// CursorOf is the operation's place in the order of listings.
func CursorOf(op *onceward.Operation) onceward.Cursor {
	return onceward.Cursor{CreatedAt: Stored(op.CreatedAt), ID: op.ID}
}

// Newer compares two places: positive if a is newer than b, which is where
// listings begin.
func Newer(a, b onceward.Cursor) int {
	if c := Stored(a.CreatedAt).Compare(Stored(b.CreatedAt)); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}

// Before is the place before which a listing begins: where its page begins, or
// its end in time, whichever comes first. The zero Cursor: the newest. Why one
// bound of the two: an index is walked from one place.
func Before(f *onceward.Filter) onceward.Cursor {
	if !f.To.IsZero() && (f.After == (onceward.Cursor{}) || !Stored(f.After.CreatedAt).Before(Stored(f.To))) {
		return onceward.Cursor{CreatedAt: Stored(f.To)} // no ID is below the zero one
	}
	return f.After
}

// OffPath reports whether operations in this state have a due row: all states
// but those of an undisturbed operation.
func OffPath(s onceward.State) bool {
	switch s {
	case onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateOutcomeUnknown, onceward.StateNeedsReview,
		onceward.StateFailed, onceward.StateAbandoned, onceward.StateCancelled:
		return true
	case onceward.StateEffectPending, onceward.StateSucceeded, onceward.StateCompensated:
		return false
	}
	return false
}

// AllOffPath reports whether a listing of these states can be read from the due
// table; not so without states, which is all of them.
func AllOffPath(states []onceward.State) bool {
	return len(states) > 0 && !slices.ContainsFunc(states, func(s onceward.State) bool { return !OffPath(s) })
}

// Found is what a bounded walk found, and where it stopped; the zero Cursor: at
// the end, or because the page was full.
type Found struct {
	Page    []*onceward.Operation
	Stopped onceward.Cursor
}

// MergeFound puts together what walks along the same order found. Behind the
// place at which the first of them stopped nothing is known to be whole, so what
// others found there is left for the next page.
func MergeFound(parts []Found, limit int) (page []*onceward.Operation, stopped onceward.Cursor) {
	for _, p := range parts {
		page = append(page, p.Page...)
		if p.Stopped != (onceward.Cursor{}) && (stopped == (onceward.Cursor{}) || Newer(p.Stopped, stopped) > 0) {
			stopped = p.Stopped
		}
	}
	slices.SortFunc(page, func(a, b *onceward.Operation) int { return Newer(CursorOf(b), CursorOf(a)) })
	if stopped != (onceward.Cursor{}) {
		page = slices.DeleteFunc(page, func(op *onceward.Operation) bool { return Newer(stopped, CursorOf(op)) > 0 })
	}
	if len(page) >= limit {
		return page[:limit], onceward.Cursor{}
	}
	return page, stopped
}
