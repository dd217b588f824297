package store

import (
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// EndedStates are the states of due rows that wait for nothing.
var EndedStates = []onceward.State{onceward.StateFailed, onceward.StateAbandoned, onceward.StateCancelled}

// WaitingStates are the states in which a due row waits for something.
func WaitingStates() []onceward.State {
	var states []onceward.State
	for _, s := range onceward.AllStates {
		if !slices.Contains(EndedStates, s) {
			states = append(states, s)
		}
	}
	return states
}

// AddBacklog adds a row to those of its tool and state: a store may count each
// tenant by itself.
func AddBacklog(to []onceward.Backlog, b onceward.Backlog) []onceward.Backlog {
	for i := range to {
		if t := &to[i]; t.Tool == b.Tool && t.State == b.State {
			t.Count += b.Count
			for k := range b.Younger {
				t.Younger[k] += b.Younger[k]
			}
			for k := range b.Due {
				t.Due[k] += b.Due[k]
			}
			if b.Oldest.Before(t.Oldest) {
				t.Oldest = b.Oldest
			}
			return to
		}
	}
	return append(to, b)
}

// BacklogMarks are the times that a count of what waits compares with: creation
// after the first, due by the second.
func BacklogMarks(now time.Time) (younger, due []time.Time) {
	for _, age := range onceward.BacklogAges {
		younger = append(younger, now.Add(-age))
	}
	for _, step := range onceward.BacklogSteps {
		due = append(due, now.Add(step))
	}
	return younger, due
}
