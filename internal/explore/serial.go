package explore

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// RunSerial explores two operations that want one resource (serialize_by), and
// two processes that start them. The rows are moved by the real machine; how the
// resource is taken is a model of what the ledger does with the resource's own
// row: insert, read, read the holder, compare-and-set. Crashes fall between any
// two of these steps.
//
// Trusting is the broken variant in which a holder that finds its own name does
// not write.
func RunSerial(m Machine, trusting bool, most int) Report {
	began := time.Now()
	c := basis("two operations on one resource", onceward.EffectUnsafeWrite, 2).with(func(c *Config) { c.Attempts, c.BackoffMax = 1, 0 })
	x := newExplorer(&c, m)
	g := newGraph[pair](&serial{x: x, trusting: trusting})
	g.walk(most)
	g.live()
	r := Report{Config: c, Refused: x.refused, Bounded: x.bounded, Reached: x.reached}
	g.report(&r)
	r.Took = time.Since(began)
	return r
}

// pair is two operations, their resource, and who is about to start which.
type pair struct {
	ops    [2]row
	stored [2]bool // claimed
	wanted [2]uint8
	holder uint8 // of the resource: 1 or 2; 0: its row does not exist
	takers [2]taker
}

// taker is a process that starts an operation.
type taker struct {
	stage stage
	op    uint8 // 1 or 2
	saw   uint8 // the holder, as read
	same  bool  // nobody wrote the resource since it was read
	fresh bool  // nobody wrote the operation since it was read
}

type stage uint8

const (
	rests   stage = iota
	inserts       // is about to insert the resource's row
	asks          // has read that row, is about to read the holder
	takes         // has seen the holder ended, is about to compare and set
	begins        // holds the resource, is about to commit the start
	parks         // has seen the holder at work, is about to commit the parking
)

var stageWords = [...]string{
	rests: "reads operation %d, which is to be started", inserts: "tries to insert the resource for operation %d", asks: "reads the holder for operation %d",
	takes: "writes the resource for operation %d", begins: "commits the start of operation %d", parks: "commits that operation %d waits",
}

// serial is the model of two operations on one resource.
type serial struct {
	x        *explorer
	trusting bool
	breach   Breach
	fairTook bool
}

func (m *serial) first() pair {
	op := m.x.fresh()
	r, _ := m.x.pack(&op)
	r.stored = false
	return pair{ops: [2]row{r, r}}
}

func (m *serial) found() *Breach { return &m.breach }
func (m *serial) cutShort() bool { return false }

func (m *serial) ended(s *pair) bool {
	return s.stored[0] && s.stored[1] && s.ops[0].state.Terminal() && s.ops[1].state.Terminal()
}

// check holds that never both operations are at work, unknown included.
func (m *serial) check(s *pair) {
	if atWork(&s.ops[0]) && atWork(&s.ops[1]) {
		m.breach.note(OneAtATime, "one is %s and the other %s", s.ops[0].state, s.ops[1].state)
	}
}

func atWork(r *row) bool {
	switch r.state {
	case onceward.StateEffectPending, onceward.StateOutcomeUnknown, onceward.StateNeedsReview:
		return true
	case onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateSucceeded, onceward.StateFailed, onceward.StateAbandoned,
		onceward.StateCancelled, onceward.StateCompensated:
	}
	return false
}

func (m *serial) expand(s *pair, emit func(action, *pair)) {
	m.fairTook = false
	step := func(a action, next *pair) {
		if *next != *s {
			m.fairTook = m.fairTook || a.fair
			emit(a, next)
		}
	}
	for i := range s.ops {
		m.happens(s, uint8(i+1), step)
	}
	for w := range s.takers {
		m.goesOn(s, w, step)
	}
	for w := range s.takers { // what waits is looked at again when nothing else moves
		if n := m.nextOp(s); s.takers[w].stage == rests && n > 0 && !m.fairTook {
			m.picks(s, w, n, true, step)
		}
	}
}

// goesOn lets a process take its next step, or die.
func (m *serial) goesOn(s *pair, w int, step func(action, *pair)) {
	t := s.takers[w]
	if t.stage == rests {
		for n := uint8(1); n <= 2; n++ {
			m.picks(s, w, n, false, step)
		}
		return
	}
	next := *s
	mine := &next.takers[w]
	switch t.stage {
	case inserts:
		if next.holder == 0 {
			next.took(w, t.op)
		} else {
			mine.stage, mine.saw, mine.same = asks, next.holder, true
		}
	case asks:
		mine.stage = m.asked(s, &t)
	case takes:
		if t.same {
			next.took(w, t.op)
		} else {
			mine.stage, mine.saw, mine.same = asks, next.holder, true
		}
	case begins:
		m.commits(&next, w, onceward.AttemptStarted{Owner: "w", LeaseUntil: epoch})
	case parks:
		m.commits(&next, w, onceward.StartParked{Why: onceward.ParkSerialize, Until: epoch.Add(Tick)})
	case rests:
	}
	step(action{kind: takerSteps, proc: uint8(w), n: t.op, fair: true}, &next)
	died := *s
	died.takers[w] = taker{}
	step(action{kind: crash, proc: uint8(w), n: t.op}, &died)
}

// picks lets a process read an operation that is to be started.
func (m *serial) picks(s *pair, w int, n uint8, fair bool, step func(action, *pair)) {
	if s.ops[n-1].state != onceward.StateReady {
		return
	}
	next := *s
	next.takers[w] = taker{stage: inserts, op: n, fresh: true}
	step(action{kind: takerSteps, proc: uint8(w), n: n, fair: fair || !s.stored[n-1]}, &next)
}

// nextOp is an operation that waits, the one that holds the resource first.
func (m *serial) nextOp(s *pair) uint8 {
	for _, n := range []uint8{s.holder, 1, 2} {
		if n > 0 && s.ops[n-1].state == onceward.StateReady {
			return n
		}
	}
	return 0
}

// asked is what follows from the holder as it stands now. A holder that was
// never claimed keeps the resource while its claim may be on the way.
func (m *serial) asked(s *pair, t *taker) stage {
	held := s.ops[t.saw-1].state
	switch {
	case t.saw == t.op && m.trusting:
		return begins
	case t.saw == t.op:
		return takes
	case !s.stored[t.saw-1] && s.claiming(t.saw), s.stored[t.saw-1] && !held.Terminal():
		return parks
	}
	return takes
}

// claiming reports whether a process is on the way to claim an operation.
func (s *pair) claiming(op uint8) bool {
	return s.takers[0].stage != rests && s.takers[0].op == op || s.takers[1].stage != rests && s.takers[1].op == op
}

// took writes the resource's row: whoever read it before has read an old one.
func (s *pair) took(w int, op uint8) {
	s.holder = op
	for i := range s.takers {
		s.takers[i].same = false
	}
	s.takers[w].stage, s.takers[w].saw = begins, 0
}

// commits writes an operation's row, if nobody else did since it was read.
// Otherwise everything is decided anew on the newer row.
func (m *serial) commits(s *pair, w int, ev onceward.Event) {
	t := s.takers[w]
	s.takers[w] = taker{}
	switch {
	case !t.fresh && s.ops[t.op-1].state == onceward.StateReady:
		s.takers[w] = taker{stage: inserts, op: t.op, fresh: true}
	case t.fresh:
		m.tell(s, t.op, ev)
	}
}

// tell tells the machine an event of one of the operations.
func (m *serial) tell(s *pair, n uint8, ev onceward.Event) bool {
	op := m.x.unpack(&s.ops[n-1])
	after, _, err := m.x.machine.Apply(op, ev, epoch)
	if err != nil {
		m.x.refused++
		return false
	}
	row, ok := m.x.pack(&after)
	if !ok {
		m.x.bounded++
		return false
	}
	m.x.reached[Cell{ev.Kind(), s.ops[n-1].state, row.state}]++
	s.ops[n-1], s.stored[n-1] = row, true
	for i := range s.takers {
		if s.takers[i].op == n {
			s.takers[i].fresh = false
		}
	}
	return true
}

// happens lets an operation's attempt end, and people settle and want again.
func (m *serial) happens(s *pair, n uint8, step func(action, *pair)) {
	if !s.stored[n-1] {
		return
	}
	r := &s.ops[n-1]
	newest := int(r.count)
	failed := onceward.Failure{Class: onceward.ClassUnavailable, Code: "f", Retryable: true}
	for _, h := range []struct {
		what serialEvent
		fair bool
		ev   onceward.Event
	}{
		{itIsDone, true, onceward.AttemptDone{Attempt: newest, Reference: effectNames[n]}},
		{itIsNotDone, false, onceward.AttemptNotDone{Attempt: newest, Failure: failed}},
		{itIsUnknown, false, onceward.AttemptUnknown{Attempt: newest, Failure: failed, Sent: onceward.Sent{LastByteAt: epoch}}},
		{itIsOverdue, true, onceward.SettleOverdue{}},
		{itIsResolvedDone, true, onceward.Resolved{Outcome: onceward.ResolvedSucceeded, Reference: effectNames[n]}},
		{itIsResolvedNot, false, onceward.Resolved{Outcome: onceward.ResolvedNotPerformed, Reason: "r"}},
		{itIsCancelled, false, onceward.CancelRequested{}},
		{itIsReplayed, false, onceward.ReplayRequested{Reason: "r"}},
	} {
		next := *s
		if h.what == itIsReplayed {
			if s.wanted[n-1] > 1 {
				continue
			}
			next.wanted[n-1]++
		}
		ends := h.what == itIsDone || h.what == itIsNotDone || h.what == itIsUnknown
		if ends && r.state != onceward.StateEffectPending || !m.tell(&next, n, h.ev) {
			continue
		}
		step(action{kind: opMoves, n: n, variant: answer(h.what), fair: h.fair}, &next)
	}
}

// serialEvent is what may happen to one of the two operations.
type serialEvent uint8

const (
	itIsDone serialEvent = iota
	itIsNotDone
	itIsUnknown
	itIsOverdue
	itIsResolvedDone
	itIsResolvedNot
	itIsCancelled
	itIsReplayed
)

var serialWords = [...]string{
	itIsDone: "is done", itIsNotDone: "is not done", itIsUnknown: "is unknown", itIsOverdue: "goes to a person", itIsResolvedDone: "is resolved: done",
	itIsResolvedNot: "is resolved: not performed", itIsCancelled: "is cancelled", itIsReplayed: "is replayed",
}

func (m *serial) words(s *pair) string {
	return fmt.Sprintf("[operation 1 %s; operation 2 %s; the resource is held by %d]", s.ops[0].state, s.ops[1].state, s.holder)
}

func (m *serial) tells(a action, s *pair) string {
	switch t := s.takers[a.proc]; {
	case a.kind == opMoves:
		return fmt.Sprintf("operation %d %s", a.n, serialWords[a.variant])
	case a.kind == crash:
		return fmt.Sprintf("process %d dies", a.proc+1)
	default:
		return fmt.Sprintf("process %d "+stageWords[t.stage], a.proc+1, a.n)
	}
}
