package explore

import (
	"math/bits"

	"github.com/onceward/onceward"
)

// checkState holds the rules that can be read off a state.
func checkState(c *Config, s *state, broken func(Invariant, string, ...any)) {
	if c.Effect.Writes() {
		checkTruth(c, s, broken)
		checkEvidence(c, s, broken)
	}
	checkRow(s, broken)
}

// checkTruth holds the row against what really happened.
func checkTruth(c *Config, s *state, broken func(Invariant, string, ...any)) {
	w, r := &s.world, &s.row
	if w.count > 1 && !s.books.risk && !c.Unpromised {
		broken(OneEffect, "%d effects of one intention", w.count)
	}
	switch r.state {
	case onceward.StateFailed, onceward.StateCancelled:
		switch {
		case c.Unpromised:
		case w.count > 0:
			broken(EndsAreTrue, "%s, and the effect is there", r.state)
		case w.mayStillHappen():
			broken(EndsAreTrue, "%s, and the effect can still appear", r.state)
		}
	case onceward.StateSucceeded, onceward.StateCompensated:
		if w.count == 0 {
			broken(DoneIsTrue, "%s, and there is no effect", r.state)
		}
	case onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateEffectPending, onceward.StateOutcomeUnknown,
		onceward.StateNeedsReview, onceward.StateAbandoned:
	}
	if r.reference > w.count {
		broken(DoneIsTrue, "the reference names no effect")
	}
}

// checkEvidence holds the row against what the system was told.
func checkEvidence(c *Config, s *state, broken func(Invariant, string, ...any)) {
	b, r := &s.books, &s.row
	claimed := map[uint8]int(nil)
	for i := range r.tries[:r.count] {
		n, t := uint8(i+1), &r.tries[i]
		switch t.status {
		case onceward.StatusNotDone:
			if b.not&bit(n) == 0 {
				broken(ProofPerAttempt, "attempt %d is called not done without proof", n)
			}
		case onceward.StatusDone:
			if b.done&bit(n) == 0 && b.told == 0 && b.done == 0 {
				broken(ProofPerAttempt, "attempt %d is called done without proof", n)
			}
			if b.apart && b.done&bit(n) == 0 && t.reference == 0 {
				broken(ProofPerAttempt, "attempt %d was settled by another one, and the key may have been forgotten between them", n)
			}
			if b.done&bit(n) == 0 && !c.sameEffect() && t.reference > 0 {
				if claimed == nil {
					claimed = map[uint8]int{}
				}
				if claimed[t.reference]++; claimed[t.reference] > 1 || b.ownedByAnswer(r, t.reference, i) {
					broken(ProofPerAttempt, "the effect of another attempt settled attempt %d", n)
				}
			}
		case onceward.StatusRunning, onceward.StatusOpen:
		}
	}
	known := b.told != 0 || b.done != 0
	switch r.state {
	case onceward.StateSucceeded, onceward.StateCompensated:
		if !known {
			broken(EndsNeedEvidence, "%s without evidence of done", r.state)
		}
	case onceward.StateFailed, onceward.StateCancelled:
		if known {
			broken(EndsNeedEvidence, "%s against evidence of done", r.state)
		} else if b.open() != 0 {
			broken(EndsNeedEvidence, "%s with %d attempts open", r.state, bits.OnesCount8(b.open()))
		}
	case onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateEffectPending, onceward.StateOutcomeUnknown,
		onceward.StateNeedsReview, onceward.StateAbandoned:
	}
}

// ownedByAnswer reports whether another attempt's own answer named the effect.
func (b *books) ownedByAnswer(r *row, effect uint8, but int) bool {
	for i := range r.tries[:r.count] {
		if i != but && r.tries[i].reference == effect && r.tries[i].status == onceward.StatusDone && b.done&bit(uint8(i+1)) != 0 {
			return true
		}
	}
	return false
}

// checkRow holds that the fields of a row fit its state.
func checkRow(s *state, broken func(Invariant, string, ...any)) {
	r := &s.row
	running, ended := 0, r.state == onceward.StateFailed || r.state == onceward.StateCancelled
	for i := range r.tries[:r.count] {
		if ended && r.tries[i].status == onceward.StatusOpen {
			broken(RowIsWhole, "%s with attempt %d open", r.state, i+1)
		}
		if r.tries[i].status == onceward.StatusRunning {
			if running++; i != int(r.count)-1 {
				broken(RowIsWhole, "attempt %d runs and is not the newest", i+1)
			}
		}
	}
	if pending := r.state == onceward.StateEffectPending; pending != (running == 1) {
		broken(RowIsWhole, "%s with %d running attempts", r.state, running)
	}
	if r.state.Terminal() != (r.completed != never) {
		broken(RowIsWhole, "%s with completed_at set: %v", r.state, r.completed != never)
	}
	if (r.state == onceward.StateNeedsReview) != r.reasoned {
		broken(RowIsWhole, "%s with a reason for review: %v", r.state, r.reasoned)
	}
	if r.state == onceward.StateReady && !r.request {
		broken(RequestIsKept, "ready, and there is nothing to send")
	}
	if r.state == onceward.StateOutcomeUnknown && r.unknownSince == never {
		broken(RowIsWhole, "outcome unknown and nobody noted since when")
	}
}
