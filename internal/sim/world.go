package sim

import (
	"fmt"
	"time"
)

// World is the outside: the providers behind the tools, each with its own idea
// of keys, and what really happened there. It is not safe for concurrent use:
// one goroutine moves at a time.
type World struct {
	Now   func() time.Duration
	After func(at time.Duration, what string, do func()) // puts something on the agenda
	Heard func(e Effect)                                 // told of each effect
	Dice  *Dice

	effects []Effect
	flights []*Flight
	known   map[string]int // index of the first effect under a key or chosen ID
}

// Effect is one thing that happened outside.
type Effect struct {
	Op, Key, Reference string
	At, SeenFrom       time.Duration
}

// Flight is one write on its way.
type Flight struct {
	Op, Key  string
	Spec     *Spec
	ends     bool // nothing of it can happen any more
	arrived  bool
	fate     Fault
	faulty   bool
	lateBy   time.Duration // from arrival to effect
	seenBy   time.Duration // from arrival to being seen
	Status   int           // of the answer
	Body     string
	AnswerAt time.Duration // zero: no answer comes
}

// NewWorld returns a world in which nothing happened.
func NewWorld(d *Dice) *World { return &World{Dice: d, known: map[string]int{}} }

var writeFaults = []Fault{RequestLost, AnswerLost, LateEffect, ErrorAfter, ErrorBefore, Unauthorized, RateLimited, Invalid, SlowAnswer}

// Write takes the bytes of one write, whose writer listens until the given
// time. They arrive by then, or never.
func (w *World) Write(spec *Spec, op, key string, until time.Duration) *Flight {
	f := &Flight{Op: op, Key: key, Spec: spec}
	f.fate, f.faulty = w.Dice.First(writeFaults...)
	now := w.Now()
	arrive := now + w.Dice.Between(0, 20*time.Millisecond)
	if f.faulty && (f.fate == LateEffect || f.fate == AnswerLost) {
		arrive = now + w.Dice.Between(0, until-now)
	}
	arrive = max(now, min(arrive, until))
	if f.faulty && f.fate == LateEffect {
		f.lateBy = w.Dice.Between(0, Settle-10*time.Millisecond)
	}
	if w.Dice.Throw(LookLags) {
		f.seenBy = w.Dice.Between(f.lateBy, Settle-5*time.Millisecond)
	}
	w.flights = append(w.flights, f)
	if f.faulty && f.fate == RequestLost {
		f.ends = true
		return f
	}
	w.After(arrive, "arrival of "+op, func() { w.arrive(f) })
	return f
}

// single reports whether the provider recognises the write again, and by what.
func (f *Flight) single() (string, bool) {
	switch f.Spec.Class {
	case "keyed_write":
		return "key " + f.Key, true
	case "conditional_write":
		return "object " + f.Op, true
	}
	return "", false
}

// refusals are the answers of a provider that does nothing.
var refusals = map[Fault]int{Unauthorized: 401, RateLimited: 429, Invalid: 400, ErrorBefore: 503}

func (w *World) arrive(f *Flight) {
	f.arrived = true
	f.AnswerAt = w.Now() + w.Dice.Between(time.Millisecond, 40*time.Millisecond)
	refuse := func(status int) { f.Status, f.ends = status, true }
	if status := refusals[f.fate]; f.faulty && status > 0 {
		refuse(status)
		return
	}
	if f.faulty && (f.fate == LateEffect || f.fate == AnswerLost) {
		f.AnswerAt = 0
	}
	if f.faulty && f.fate == SlowAnswer {
		f.AnswerAt = w.Now() + Deadline + w.Dice.Between(0, Lease)
	}
	if f.Spec.Class == "keyed_write" && w.working(f) {
		refuse(409)
		return
	}
	w.After(w.Now()+f.lateBy, "effect of "+f.Op, func() { w.happen(f) })
}

// working reports whether an earlier write under the same key is still at work.
func (w *World) working(f *Flight) bool {
	for _, other := range w.flights {
		if other != f && other.Key == f.Key && other.arrived && !other.ends {
			return true
		}
	}
	return false
}

func (w *World) happen(f *Flight) {
	f.ends = true
	name, single := f.single()
	if first, known := w.known[name]; single && known && (f.Spec.Class != "keyed_write" || w.Now() < w.effects[first].At+f.Spec.Window) {
		f.Status, f.Body = 200, w.effects[first].Reference
		if f.Spec.Class == "conditional_write" {
			f.Status, f.Body = 412, ""
		}
	} else {
		e := Effect{Op: f.Op, Key: f.Key, Reference: fmt.Sprintf("%s/%d", f.Op, w.Effects(f.Op)+1), At: w.Now(), SeenFrom: w.Now() - f.lateBy + max(f.lateBy, f.seenBy)}
		w.known[name] = len(w.effects)
		w.effects = append(w.effects, e)
		f.Status, f.Body = 201, e.Reference
		w.Heard(e)
	}
	if f.faulty && f.fate == ErrorAfter {
		f.Status, f.Body = 503, ""
	}
}

// Look lists the references of the effects under a key that can be seen now.
func (w *World) Look(key string) []string {
	var refs []string
	for i := range w.effects {
		if e := &w.effects[i]; e.Key == key && e.SeenFrom <= w.Now() {
			refs = append(refs, e.Reference)
		}
	}
	return refs
}

// Effects counts what happened for an intention.
func (w *World) Effects(op string) int {
	n := 0
	for i := range w.effects {
		if w.effects[i].Op == op {
			n++
		}
	}
	return n
}

// Known returns the reference of the last effect under a key, if there is one.
func (w *World) Known(key string) (string, bool) {
	for i := len(w.effects) - 1; i >= 0; i-- {
		if w.effects[i].Key == key {
			return w.effects[i].Reference, true
		}
	}
	return "", false
}

// Pending reports whether a write under the key may still have its effect.
func (w *World) Pending(key string) bool {
	for _, f := range w.flights {
		if f.Key == key && !f.ends {
			return true
		}
	}
	return false
}
