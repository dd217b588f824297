package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// epoch is the world's time 0.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// scheduler lets one goroutine go on at a time. All goroutines of the engine
// stand at points: calls of a port, or timers. Between two choices everything is
// durably blocked (synctest.Wait), so what follows is a function of the choices,
// and these are a function of the plan.
//
// Why by hand and not by the bubble's own clock: goroutines that wake together
// run in any order. Here those that one step wakes run only to their next point
// and touch nothing shared on the way.
type scheduler struct {
	now    time.Duration
	random *rand.Rand
	dice   *Dice
	hurry  int
	steps  int

	mu       sync.Mutex // arrivals and timers come from the engine's goroutines
	arrivals []*point
	born     []*timer

	standing []*point
	timers   []*timer
	agenda   []*entry
	seq      int

	hash  uint64
	trace *strings.Builder // nil: not wanted
}

// point is where a goroutine stands.
type point struct {
	process *process
	what    string
	at      time.Duration // not before
	seq     int
	wake    chan bool // false: its process is dead
}

// timer is one call of a clock's After.
type timer struct {
	process *process
	at      time.Duration
	ch      chan time.Time
	seq     int
}

// entry is something that the world does at a time.
type entry struct {
	at   time.Duration
	what string
	do   func()
	seq  int
}

func newScheduler(p *Plan, d *Dice) *scheduler {
	return &scheduler{random: stream(p.Order, 3), dice: d, hurry: p.Hurry, hash: 14695981039346656037}
}

// after puts something on the agenda.
func (s *scheduler) after(at time.Duration, what string, do func()) {
	s.seq++
	s.agenda = append(s.agenda, &entry{at: max(at, s.now), what: what, do: do, seq: s.seq})
}

// note adds a line to the trace and its hash.
func (s *scheduler) note(parts ...string) {
	for _, part := range parts {
		for i := range len(part) {
			s.hash = (s.hash ^ uint64(part[i])) * 1099511628211
		}
	}
	s.hash = (s.hash ^ uint64(s.now)) * 1099511628211
	if s.trace != nil {
		fmt.Fprintf(s.trace, "%10s  %s\n", s.now.Round(time.Millisecond), strings.Join(parts, ""))
	}
}

// stand is called by a goroutine of a process: it blocks until the scheduler
// lets it go on. It returns false if the process is dead.
func (s *scheduler) stand(p *process, what string, at time.Duration) bool {
	if p.dead {
		return false
	}
	pt := &point{process: p, what: what, at: at, wake: make(chan bool, 1)}
	s.mu.Lock()
	s.arrivals = append(s.arrivals, pt)
	s.mu.Unlock()
	return <-pt.wake
}

// timer makes a timer of a process. A timer fires only while somebody waits for
// it, so that no two cases of a select are ever ready at once.
func (s *scheduler) timer(p *process, d time.Duration) <-chan time.Time {
	if p.dead {
		ch := make(chan time.Time, 1)
		ch <- time.Time{}
		return ch
	}
	t := &timer{process: p, at: s.now + max(d, 0), ch: make(chan time.Time)}
	s.mu.Lock()
	s.born = append(s.born, t)
	s.mu.Unlock()
	return t.ch
}

// settle waits until everything stands, and takes in what is new, in an order
// that does not depend on which goroutine was faster.
func (s *scheduler) settle() {
	synctest.Wait()
	if len(s.arrivals) > 1 {
		slices.SortStableFunc(s.arrivals, func(a, b *point) int { return strings.Compare(a.what, b.what) })
	}
	for _, pt := range s.arrivals {
		s.seq++
		pt.seq = s.seq
		pt.at = max(pt.at, s.now+s.delay())
		s.standing = append(s.standing, pt)
	}
	s.arrivals = s.arrivals[:0]
	if len(s.born) > 1 {
		slices.SortStableFunc(s.born, func(a, b *timer) int {
			return cmp.Or(strings.Compare(a.process.name, b.process.name), cmp.Compare(a.at, b.at))
		})
	}
	for _, t := range s.born {
		s.seq++
		t.seq = s.seq
		s.timers = append(s.timers, t)
	}
	s.born = s.born[:0]
}

// delay is how long a goroutine stands at least: mostly not at all.
func (s *scheduler) delay() time.Duration {
	if s.dice.Throw(Stall) {
		return s.dice.Between(Lease/2, 2*Lease)
	}
	if s.random.IntN(s.hurry) > 0 {
		return 0
	}
	return time.Duration(s.random.Int64N(int64([]time.Duration{time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond}[s.random.IntN(3)])))
}

// step does one thing: lets a goroutine go on, fires a timer, does what is on
// the agenda, or moves time. It returns false if nothing can ever happen again.
func (s *scheduler) step() bool {
	s.steps++
	if s.random.IntN(4) == 0 && s.fire() {
		return true
	}
	n := 0
	for _, pt := range s.standing {
		if s.free(pt) {
			n++
		}
	}
	for _, e := range s.agenda {
		if e.at <= s.now {
			n++
		}
	}
	if n == 0 {
		return s.fire() || s.advance()
	}
	s.pick(s.random.IntN(n))
	return true
}

func (s *scheduler) free(pt *point) bool { return pt.at <= s.now && !pt.process.stopped }

// pick does the n-th thing that can be done now.
func (s *scheduler) pick(n int) {
	for i, pt := range s.standing {
		if !s.free(pt) {
			continue
		}
		if n == 0 {
			s.standing = slices.Delete(s.standing, i, i+1)
			s.note(pt.what)
			pt.wake <- true
			return
		}
		n--
	}
	for i, e := range s.agenda {
		if e.at > s.now {
			continue
		}
		if n == 0 {
			s.agenda = slices.Delete(s.agenda, i, i+1)
			s.note(e.what)
			e.do()
			return
		}
		n--
	}
}

// fire gives the first due timer that somebody waits for its time.
func (s *scheduler) fire() bool {
	for i, t := range s.timers {
		if t.at > s.now || t.process.stopped {
			continue
		}
		select {
		case t.ch <- t.process.clock():
			s.timers = slices.Delete(s.timers, i, i+1)
			return true
		default:
		}
	}
	return false
}

// advance moves time to the next thing that has one.
func (s *scheduler) advance() bool {
	next := time.Duration(1<<63 - 1)
	for _, pt := range s.standing {
		if !pt.process.stopped && pt.at > s.now {
			next = min(next, pt.at)
		}
	}
	for _, e := range s.agenda {
		next = min(next, e.at)
	}
	for _, t := range s.timers {
		if !t.process.stopped && t.at > s.now {
			next = min(next, t.at)
		}
	}
	if next == 1<<63-1 {
		return false
	}
	s.now = next
	return true
}

// bury ends the goroutines of a dead process at the points where they stand.
func (s *scheduler) bury(p *process) {
	p.dead = true
	for again := true; again; {
		again = false
		s.standing = slices.DeleteFunc(s.standing, func(pt *point) bool {
			if pt.process != p {
				return false
			}
			again = true
			pt.wake <- false
			synctest.Wait() // what one does on its way out, no other one does beside it
			return true
		})
		s.timers = slices.DeleteFunc(append(s.timers, s.born...), func(t *timer) bool {
			if t.process != p {
				return false
			}
			select {
			case t.ch <- time.Time{}:
				again = true
				synctest.Wait()
				return true
			default:
				return false
			}
		})
		s.born = s.born[:0]
	}
	s.timers = slices.DeleteFunc(s.timers, func(t *timer) bool { return t.process == p })
}
