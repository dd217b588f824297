package explore

import (
	"slices"
	"time"

	"github.com/onceward/onceward"
)

// explorer walks one configuration. It is for one goroutine.
type explorer struct {
	config   *Config
	machine  Machine
	bounds   bounds
	blank    onceward.Operation // what all rows have in common
	attempts []onceward.Attempt // scratch of unpack
	current  struct {           // the operation that was unpacked last
		row row
		op  onceward.Operation
	}

	emit     func(action, *state)                          // takes a successor
	watch    func(evs []onceward.Event, told bool, r *row) // sees each commit, if anybody wants to
	breach   Breach                                        // of the step that is being taken
	refused  int                                           // events that the machine refused
	bounded  int                                           // steps not followed: more attempts than are followed
	reached  map[Cell]int                                  // cells of the table, how often
	fairTook bool                                          // a fair step other than time is possible
	cut      bool                                          // a fair step of this state was not followed
	over     bool                                          // the last event led to more attempts than are followed
}

// Cell is a field of the transition table with its next state.
type Cell struct {
	Event    onceward.EventKind
	From, To onceward.State
}

func newExplorer(c *Config, m Machine) *explorer {
	return &explorer{
		config: c, machine: m, bounds: c.bounds(), reached: map[Cell]int{},
		blank: onceward.Operation{
			ID: onceward.NewOperationID("default", "t.write", "a"), Tenant: "default", Tool: "t.write", Key: "a", Effect: c.Effect,
			ProviderKey: "pk", Policy: c.policy(), Request: &onceward.Request{Method: "POST", URL: "https://provider.test/"}, CreatedAt: epoch,
		},
	}
}

// expand takes every step that is possible in a state.
func (x *explorer) expand(s *state, emit func(action, *state)) {
	x.emit, x.fairTook, x.cut = emit, false, false
	if !s.row.stored {
		next := *s
		next.row.stored = true
		x.move(action{kind: claims, fair: true}, s, next)
		x.workers(s)
		return
	}
	x.workers(s)
	x.provider(s)
	x.people(s)
	next := *s
	next.older(x)
	// Time waits for nobody, but in the fair part of the graph it waits until
	// everything that is due was done: delays of any length lead to the states in
	// which the fair part begins.
	x.step(action{kind: tick, fair: !x.fairTook}, s, &next)
}

// ended reports whether the operation is terminal or waits for a person, and no
// look-up is left to be made for a second effect.
func (x *explorer) ended(s *state) bool {
	r := &s.row
	if r.state == onceward.StateSucceeded && x.config.Probe && x.config.Effect.Writes() && !r.retired {
		for i := range r.tries[:r.count] {
			if r.tries[i].status == onceward.StatusOpen {
				return false
			}
		}
	}
	return r.state.Terminal() || r.state == onceward.StateNeedsReview
}

// check holds the rules of states.
func (x *explorer) check(s *state) { checkState(x.config, s, x.breach.note) }

func (x *explorer) found() *Breach { return &x.breach }

func (x *explorer) cutShort() bool { return x.cut }

func (x *explorer) tells(a action, s *state) string { return a.words(s) }

// step hands a successor on.
func (x *explorer) step(a action, from, next *state) {
	if *from == *next {
		return
	}
	if a.fair && a.kind != tick {
		x.fairTook = true
	}
	x.emit(a, next)
}

// tell tells the machine events in one commit, has them judged, and hands the
// successor on. A refused event changes nothing; then false is returned.
func (x *explorer) tell(a action, from, s *state, evs ...onceward.Event) bool {
	next, told := *s, true
	for _, ev := range evs {
		if told = x.apply(&next, ev); !told {
			break
		}
	}
	if x.watch != nil && !x.over {
		x.watch(evs, told, &next.row)
	}
	if !told {
		x.cut = x.cut || a.fair && x.over
		return false
	}
	next.forgetOrder()
	x.step(a, from, &next)
	return true
}

// apply tells the machine one event and changes the state in place.
func (x *explorer) apply(s *state, ev onceward.Event) bool {
	before := *s
	x.over = false
	if before.row != x.current.row { // the second event of a commit, most often not
		x.current.row, x.current.op = before.row, x.unpack(&before.row)
		x.current.op.Attempts = slices.Clone(x.current.op.Attempts)
	}
	op := x.current.op
	after, out, err := x.machine.Apply(op, ev, epoch)
	if err != nil {
		if onceward.Is(err, onceward.CodeInternal) {
			x.breach.note(TableIsKept, "%s", err.Error())
		}
		x.refused++
		return false
	}
	row, ok := x.pack(&after)
	if !ok {
		x.bounded++
		x.over = true
		return false
	}
	x.reached[Cell{ev.Kind(), before.row.state, row.state}]++
	s.row = row
	s.world.released = false // the due row is written anew
	for _, c := range out {
		s.world.paused = s.world.paused || c.Kind == onceward.PauseTool
	}
	if ev.Kind() == onceward.KindKeyTakenAnew {
		s.world = world{paused: s.world.paused, pauses: s.world.pauses, refusals: s.world.refusals, resolves: s.world.resolves, replays: s.world.replays, requests: s.world.requests, voids: s.world.voids}
	}
	judge := auditor{c: x.config, before: &before, after: s, event: ev, out: out}
	if breach := judge.judge(); breach.Rule != Upheld {
		x.breach.note(breach.Rule, "%s", breach.How)
	}
	return true
}

// due reports whether the worker loops would look at the operation now.
func (x *explorer) due(s *state, op *onceward.Operation) bool {
	d := onceward.DueFor(op)
	if d == nil {
		return op.State == onceward.StateEffectPending && s.world.together && s.row.count == 1 // found by its owner
	}
	return s.world.released || !d.At.IsZero() && !d.At.After(epoch)
}

// leaseUntil is when a lease ends that begins now.
func (x *explorer) leaseUntil() time.Time { return ticks(x.config.Lease).instant() }
