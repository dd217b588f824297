package explore

import (
	"math/bits"

	"github.com/onceward/onceward"
)

// provider lets the provider do what it can, in its own time.
func (x *explorer) provider(s *state) {
	c, w := x.config, &s.world
	for n := uint8(1); n <= s.row.count; n++ {
		if w.wires[n-1].phase == travelling {
			next := *s
			next.world.arrive(c, n)
			x.move(action{kind: arrives, n: n, fair: true}, s, next)
		}
	}
	for e := uint8(1); e <= w.count; e++ {
		if !w.effects[e].visible {
			next := *s
			next.world.effects[e] = effect{visible: true}
			x.move(action{kind: appears, n: e, fair: true}, s, next)
		}
		if c.Callbacks && w.effects[e].visible {
			x.tell(action{kind: calls, n: e}, s, s, onceward.EffectProven{Reference: effectNames[e], Source: "callback"})
		}
	}
	if w.keyKnown && (c.ForgetsKeys || c.KeyWindow > 0 && w.keyAge >= ticks(c.KeyWindow)) {
		next := *s
		next.world.forget()
		x.move(action{kind: forgets}, s, next)
	}
}

// people lets people do what they may. They tell the truth, and are patient
// enough to know it, unless the configuration says that they are hasty.
func (x *explorer) people(s *state) {
	if x.config.Cancel {
		x.tell(action{kind: cancels}, s, s, onceward.CancelRequested{Actor: "p"})
	}
	x.switches(s)
	if x.config.Approval > 0 {
		x.approvers(s)
	}
	if x.config.Resolve {
		x.resolvers(s)
	}
	x.again(s)
	if x.config.Undo {
		x.tell(action{kind: undoes}, s, s, onceward.Compensated{Actor: "p", Reason: "r"})
	}
	if x.config.Retire {
		x.tell(action{kind: retires}, s, s, onceward.Retired{})
		if s.row.generation == 0 {
			x.tell(action{kind: takesAnew}, s, s, onceward.KeyTakenAnew{Next: x.fresh()})
		}
	}
}

// switches lets a person pause and resume the tool.
func (x *explorer) switches(s *state) {
	next := *s
	if s.world.paused {
		next.world.paused = false
		next.world.released = parkReasons[s.row.parked] == onceward.ParkToolPaused
		x.move(action{kind: resumes, fair: true}, s, next)
		return
	}
	if int(s.world.pauses) < x.config.Pauses {
		next.world.paused = true
		next.world.pauses++
		x.move(action{kind: pauses}, s, next)
	}
}

// approvers answer, and things change so that an approval is void. A new request
// asks anew what nobody answered in time. An answer for what an edit replaced is
// always tried: the machine has to refuse it.
func (x *explorer) approvers(s *state) {
	until, now := ticks(1).instant(), digests[0]
	if s.row.edited {
		now = digests[1]
		x.tell(action{kind: approves}, s, s, onceward.ApprovalGranted{Until: until, Actor: approvers[0], Digest: digests[0]})
	}
	for i := range max(1, x.config.Quorum) {
		x.tell(action{kind: approves, n: uint8(i), fair: true}, s, s, onceward.ApprovalGranted{Until: until, Actor: approvers[i], Digest: now})
	}
	x.tell(action{kind: rejects}, s, s, onceward.ApprovalRejected{Actor: approvers[0], Reason: "r", Digest: now})
	if x.config.Edits && !s.row.edited {
		x.tell(action{kind: edits}, s, s, onceward.ApprovalEdited{Actor: approvers[0], Digest: now, Key: x.blank.Key, Next: x.rendering(digests[1]), Until: until})
	}
	if s.world.voids > 0 {
		return
	}
	next := *s
	next.world.voids++
	x.tell(action{kind: voids}, s, &next, onceward.ApprovalVoided{Reason: "r"})
	same := x.rendering(now)
	x.tell(action{kind: asksAnew}, s, &next, onceward.ApprovalVoided{Reason: "r", Next: &same})
}

// rendering is what would be sent for an input of this digest.
func (x *explorer) rendering(d onceward.Digest) onceward.Rendering {
	b := &x.blank
	return onceward.Rendering{Contract: b.Contract, Policy: b.Policy, Digest: d, Input: b.Input, Request: b.Request, ProviderKey: b.ProviderKey, SerialKey: b.SerialKey}
}

// resolvers say what they know.
func (x *explorer) resolvers(s *state) {
	w, answered := &s.world, false
	for e := uint8(1); e <= w.count; e++ {
		if w.effects[e].visible {
			answered = x.tell(action{kind: resolvesDone, n: e}, s, s, onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Reference: effectNames[e], Actor: "p"}) || answered
		}
	}
	x.tell(action{kind: abandons}, s, s, onceward.Resolved{Outcome: onceward.ResolvedAbandoned, Reason: "r", Actor: "p"})
	none := w.count == 0 && !w.mayStillHappen() || x.config.HastyPeople && w.visible() == 0
	if !none {
		x.checkAnswer(s, answered)
		return
	}
	answered = x.tell(action{kind: resolvesNot}, s, s, onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Reason: "r", Actor: "p"})
	if int(w.resolves) < x.config.Resolves {
		next := *s
		next.world.resolves++
		x.tell(action{kind: resolvesRetry}, s, &next, onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Retry: true, Reason: "r", Actor: "p"})
	}
	x.checkAnswer(s, answered)
}

// checkAnswer holds that the truth, once it can be known, is an answer that is
// taken from the person who is asked.
func (x *explorer) checkAnswer(s *state, answered bool) {
	w := &s.world
	asked := s.row.state == onceward.StateNeedsReview && !w.mayStillHappen() && bits.OnesCount8(w.visible()) == int(w.count)
	if asked && !answered {
		x.breach.note(PeopleCanAnswer, "the true answer was refused in needs_review")
	}
}

// again lets people and callers want the same once more.
func (x *explorer) again(s *state) {
	if int(s.world.replays) < x.config.Replays {
		next := *s
		next.world.replays++
		x.tell(action{kind: replays}, s, &next, onceward.ReplayRequested{Actor: "p", Reason: "r"})
		x.tell(action{kind: replaysConfirmed}, s, &next, onceward.ReplayRequested{Actor: "p", Reason: "r", Confirmed: true})
	}
	if int(s.world.requests) < x.config.Requests {
		next := *s
		next.world.requests++
		x.tell(action{kind: requests}, s, &next, onceward.RetryRequested{Actor: "p"})
	}
}
