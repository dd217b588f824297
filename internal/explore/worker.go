package explore

import "github.com/onceward/onceward"

// workers lets every worker do what it can. An idle worker tells the machine
// whatever a worker may ever tell it, also where the operation's next step is
// another: what must not be, the machine has to refuse. Fair is what the due
// rows and the next step lead to.
func (x *explorer) workers(s *state) {
	op := x.unpack(&s.row)
	step, due := onceward.StepNone, x.due(s, &op)
	if due {
		step = x.machine.Next(&op, epoch)
	}
	if w := s.idleWorker(x.config); w >= 0 {
		x.steps(s, step)
		x.starts(s, w, step)
		x.looks(s, w, step)
	}
	for i := range s.procs[:x.config.Workers] {
		x.works(s, i)
	}
}

// steps are what a worker can do in one commit.
func (x *explorer) steps(s *state, step onceward.Step) {
	for n := uint8(1); n <= s.row.count; n++ {
		x.tell(action{kind: expire, n: n, fair: step == onceward.StepExpire && n == s.row.count}, s, s, onceward.LeaseExpired{Attempt: int(n)})
	}
	x.tell(action{kind: lapse, fair: step == onceward.StepLapse}, s, s, onceward.ResendLapsed{})
	x.tell(action{kind: escalate, fair: step == onceward.StepEscalate}, s, s, onceward.SettleOverdue{})
	x.tell(action{kind: tooOld, fair: step == onceward.StepCancel}, s, s, onceward.NotAfterPassed{})
	x.tell(action{kind: approvalExpires, fair: step == onceward.StepExpireApproval}, s, s, onceward.ApprovalExpired{})
}

// starts lets a worker start an attempt, or park it while the tool is paused.
func (x *explorer) starts(s *state, w int, step onceward.Step) {
	parked := onceward.StartParked{Why: onceward.ParkToolPaused}
	begin := onceward.AttemptStarted{Owner: "w", LeaseUntil: x.leaseUntil()}
	fair := step == onceward.StepStart || x.remoteStart(s)
	next := *s
	next.procs[w] = proc{doing: claimed, generation: s.row.generation, attempt: s.row.count + 1}
	next.world.together = s.world.together || !s.row.stored
	switch {
	case s.world.paused && (step == onceward.StepStart || step == onceward.StepResend):
		if parkReasons[s.row.parked] != parked.Why {
			x.tell(action{kind: start, fair: true}, s, s, parked)
		}
	case !s.world.paused:
		x.tell(action{kind: start, fair: fair}, s, &next, begin)
		if x.config.Remote {
			x.tell(action{kind: resend, fair: step == onceward.StepResend}, s, s, onceward.ResendDue{})
			return
		}
		x.tell(action{kind: resend, fair: step == onceward.StepResend}, s, &next, onceward.ResendDue{}, begin)
	}
}

// remoteStart reports whether the performer of a remote attempt would claim it now.
func (x *explorer) remoteStart(s *state) bool {
	if !x.config.Remote || s.row.state != onceward.StateReady {
		return false
	}
	op := x.unpack(&s.row)
	return x.machine.Next(&op, epoch) == onceward.StepNone && (s.row.count == 0 || s.row.due <= 0)
}

// looks lets a worker look the effect up. What it saw is recorded later.
func (x *explorer) looks(s *state, w int, step onceward.Step) {
	if !x.config.Probe || s.row.count == 0 || s.row.retired || x.lookers(s) > 1 {
		return
	}
	fair := step == onceward.StepProbe
	next := *s
	next.procs[w] = proc{doing: looked, generation: s.row.generation, effects: s.world.visible()}
	x.move(action{kind: look, fair: fair}, s, next)
	if x.config.BlindLooks {
		next.procs[w].effects = 0
		x.move(action{kind: look}, s, next)
	}
	next.procs[w] = proc{doing: looked, generation: s.row.generation, answer: saysLost}
	x.move(action{kind: lookInconclusive}, s, next)
}

// lookers counts the workers that hold a look-up.
func (x *explorer) lookers(s *state) int {
	n := 0
	for i := range s.procs {
		if s.procs[i].doing == looked {
			n++
		}
	}
	return n
}

// move hands on a step outside of the ledger.
func (x *explorer) move(a action, from *state, next state) {
	next.forgetOrder()
	x.step(a, from, &next)
}

// works lets a busy worker go on, stall or die.
func (x *explorer) works(s *state, i int) {
	p := s.procs[i]
	here := action{proc: uint8(i), n: p.attempt}
	switch p.doing {
	case idle:
		return
	case claimed:
		x.sends(s, i, here)
		x.prolongs(s, here)
	case sent:
		x.answers(s, i, here)
		x.prolongs(s, here)
	case answered, looked:
		x.records(s, i, here)
	}
	if x.config.Crashes {
		next := *s
		next.procs[i] = proc{}
		if p.doing == claimed {
			next.neverSent(&p)
		}
		here.kind = crash
		x.move(here, s, next)
	}
}

// prolongs lets the holder of a remote attempt say that it lives.
func (x *explorer) prolongs(s *state, a action) {
	if x.config.Remote && s.row.generation == s.procs[a.proc].generation && s.row.count == a.n {
		a.kind = prolong
		x.tell(a, s, s, onceward.LeaseProlonged{Attempt: int(a.n), Until: x.leaseUntil()})
	}
}

// sends lets a holder put its one write on the wire, or be stopped by the last
// check before it: rule 6 is checked again at the moment of writing.
func (x *explorer) sends(s *state, i int, a action) {
	p := &s.procs[i]
	current := p.generation == s.row.generation
	a.kind = sendFails
	x.knows(a, s, i, notSent, 0)
	a.kind, a.fair = sendNow, true
	if !current || !x.config.FrozenSends && x.mustNotSend(s, p.attempt) {
		x.knows(a, s, i, stopped, 0)
		return
	}
	next := *s
	next.procs[i].doing = sent
	next.world.wires[p.attempt-1] = wire{phase: travelling, left: ticks(x.config.Deadline)}
	x.checkSend(s, p.attempt)
	x.move(a, s, next)
}

// mustNotSend is the last check of a holder, as the ledger makes it: its lease,
// the tool's switch, and what the machine says of the operation.
func (x *explorer) mustNotSend(s *state, n uint8) bool {
	switch {
	case s.books.lease(x.config, n) <= 0:
		return true
	case x.config.Remote:
		return false // its performer knows nothing but its lease
	case s.world.paused:
		return true
	case n != s.row.count || s.row.state != onceward.StateEffectPending:
		return false
	}
	op := x.unpack(&s.row)
	return x.machine.MaySend(&op, epoch) != nil
}

// checkSend judges a write at its first byte, by the books.
func (x *explorer) checkSend(s *state, n uint8) {
	b := &s.books
	others := b.open() &^ bit(n)
	how := ""
	switch {
	case s.world.paused && !x.config.Remote:
		how = "a write left while the tool is paused"
	case b.lease(x.config, n) <= 0 && !x.config.FrozenSends:
		how = "a write left past its lease"
	case x.config.NotAfter > 0 && !x.config.Remote && others == 0 && b.intent.age() > ticks(x.config.NotAfter):
		how = "a write left past not_after"
	case x.config.Approval > 0 && !b.spent:
		how = "a write left without an approval"
	}
	if how != "" {
		x.breach.note(NoWrongSend, "%s", how)
	}
}

// answers lets the holder of a sent attempt learn something, true or nothing.
func (x *explorer) answers(s *state, i int, a action) {
	a.kind = answerComes
	p, w := s.procs[i], &s.world
	current := p.generation == s.row.generation
	phase, made := dead, uint8(0)
	if current {
		phase, made = w.wires[p.attempt-1].phase, w.wires[p.attempt-1].effect
	}
	a.fair = phase == arrived
	if phase == arrived {
		x.knows(a, s, i, saysDone, made)
		if x.config.CutAnswer && made > 0 {
			x.knows(a, s, i, saysDone, 0)
		}
	}
	a.fair = false
	if phase == travelling {
		x.knows(a, s, i, saysRefused, 0)
		x.knows(a, s, i, saysLater, 0)
		if int(w.refusals) < x.config.Refusals {
			x.knows(a, s, i, saysAuth, 0)
		}
	}
	a.fair = phase == dead // nobody will ever answer: the deadline does
	x.knows(a, s, i, saysLost, 0)
	if x.config.Conflicts {
		a.fair = false
		x.knows(a, s, i, saysClash, 0)
	}
}

// knows ends a holder's exchange with what it learnt.
func (x *explorer) knows(a action, s *state, i int, got answer, effect uint8) {
	a.variant = got
	next := *s
	p := &next.procs[i]
	p.doing, p.answer, p.effects = answered, got, effect
	if p.generation == s.row.generation {
		switch got {
		case saysRefused, saysLater:
			next.world.refuse(x.config, p.attempt)
		case saysAuth:
			next.world.refuse(x.config, p.attempt)
			next.world.refusals++
		case saysDone, saysLost, saysClash:
			next.world.hangUp(x.config, p.attempt)
		case notSent, stopped:
			next.neverSent(p)
		case noAnswer:
		}
	}
	x.move(a, s, next)
}

// neverSent notes that nobody will send an attempt any more.
func (s *state) neverSent(p *proc) {
	if p.generation == s.row.generation {
		s.world.wires[p.attempt-1].phase = dead
	}
}

// records lets a worker commit what it holds.
func (x *explorer) records(s *state, i int, a action) {
	p := s.procs[i]
	a.kind, a.fair = record, true
	next := *s
	next.procs[i] = proc{}
	if p.generation != s.row.generation || !x.tell(a, s, &next, x.fact(&p)) {
		x.move(a, s, next) // nothing to add: the ledger keeps no record of it
	}
}

// fact is the event that a worker's knowledge makes.
func (x *explorer) fact(p *proc) onceward.Event {
	if p.doing == looked {
		return lookFact(p)
	}
	n := int(p.attempt)
	reached := onceward.Sent{Reach: onceward.ReachBodyWritten, LastByteAt: p.at.instant()}
	silent := onceward.Sent{Reach: onceward.ReachNotDialled}
	fail := func(class onceward.ErrorClass, retryable bool) onceward.Failure {
		return onceward.Failure{Class: class, Code: "f", Retryable: retryable}
	}
	refused := func(f onceward.Failure) onceward.Event {
		return onceward.AttemptNotDone{Attempt: n, Sent: reached, Failure: f}
	}
	switch p.answer {
	case saysDone:
		return onceward.AttemptDone{Attempt: n, Sent: reached, Reference: effectNames[p.effects], Settler: onceward.SettledByAnswer}
	case saysRefused:
		return refused(fail(onceward.ClassValidation, false))
	case saysLater:
		return refused(fail(onceward.ClassRateLimited, true))
	case saysAuth:
		return refused(fail(onceward.ClassAuth, true))
	case saysClash:
		return onceward.AttemptUnknown{Attempt: n, Sent: reached, Failure: fail(onceward.ClassConflict, false)}
	case notSent:
		return onceward.AttemptNotDone{Attempt: n, Sent: silent, Failure: fail(onceward.ClassConnection, true)}
	case stopped:
		return onceward.AttemptNotDone{Attempt: n, Sent: silent, Failure: fail(onceward.ClassUnavailable, true), Free: true}
	case saysLost, noAnswer:
	}
	return onceward.AttemptUnknown{Attempt: n, Sent: reached, Failure: fail(onceward.ClassTimeout, true)}
}

// lookFact is the event that a look-up makes.
func lookFact(p *proc) onceward.Event {
	if p.answer == saysLost {
		return onceward.ProbeInconclusive{Failure: onceward.Failure{Class: onceward.ClassUnavailable, Code: "f", Retryable: true}}
	}
	if p.effects == 0 {
		return onceward.ProbeAbsent{Began: p.at.instant()}
	}
	e := onceward.ProbeFound{Began: p.at.instant()}
	for n := uint8(1); n < uint8(len(effectNames)); n++ {
		if p.effects&(1<<n) != 0 {
			e.References = append(e.References, effectNames[n])
		}
	}
	return e
}
