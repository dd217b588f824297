package explore

import (
	"hash/maphash"
	"time"

	"github.com/onceward/onceward"
)

// Report is what an exploration saw.
type Report struct {
	Config      Config
	States      int // distinct
	Steps       int // transitions followed, to new states and known ones
	Refused     int // events that the machine refused
	Depth       int // steps to the farthest state
	Bounded     int // steps not followed because they lead to more attempts than are followed
	Complete    bool
	Took        time.Duration
	Ends        map[onceward.State]int // states by where the operation stands
	MostEffects int
	Reached     map[Cell]int
	Breach      *Breach // nil: every invariant holds in every state
	Trace       []string
}

// Run explores a configuration, breadth first, up to most states (0: all). It
// stops at the first breach, which it reports with a shortest way to it.
func Run(c Config, m Machine, most int) Report {
	began := time.Now()
	g := newGraph(newExplorer(&c, m))
	g.walk(most)
	r := g.report()
	if r.Breach == nil {
		g.live(&r)
	}
	r.Took = time.Since(began)
	return r
}

// graph is what was found: states by number, in the order in which they were
// met, and how each was met first.
type graph struct {
	x      *explorer
	states []state
	parent []uint32
	table  []uint32 // open addressing: number of a state plus one
	seed   maphash.Seed
	fairAt []uint32 // for each expanded state, where its fair successors begin
	fair   []uint32 // numbers of fair successors
	depth  []uint8
	cut    []bool // a step of the state was not followed

	steps, expanded int
	breach          *Breach
	breachAt        uint32 // the state whose successor broke the rule
	breachTo        state
	breachBy        action
}

func newGraph(x *explorer) *graph {
	g := &graph{x: x, table: make([]uint32, 1<<16), seed: maphash.MakeSeed()}
	s := x.first()
	g.number(&s, 0)
	return g
}

// number finds a state, or adds it as met from parent.
func (g *graph) number(s *state, parent uint32) uint32 {
	mask := uint64(len(g.table) - 1)
	at := maphash.Comparable(g.seed, *s) & mask
	for ; g.table[at] != 0; at = (at + 1) & mask {
		if n := g.table[at] - 1; g.states[n] == *s {
			return n
		}
	}
	n := uint32(len(g.states))
	g.table[at] = n + 1
	g.states, g.parent = append(g.states, *s), append(g.parent, parent)
	depth := uint8(0)
	if n > 0 {
		depth = min(g.depth[parent], 254) + 1
	}
	g.depth = append(g.depth, depth)
	if len(g.states)*2 > len(g.table) {
		g.grow()
	}
	return n
}

func (g *graph) grow() {
	g.table = make([]uint32, 2*len(g.table))
	mask := uint64(len(g.table) - 1)
	for n := range g.states {
		at := maphash.Comparable(g.seed, g.states[n]) & mask
		for ; g.table[at] != 0; at = (at + 1) & mask {
		}
		g.table[at] = uint32(n) + 1
	}
}

// walk expands state after state, in the order in which they were met.
func (g *graph) walk(most int) {
	for n := 0; n < len(g.states) && g.breach == nil && (most == 0 || n < most); n++ {
		from := g.states[n]
		g.fairAt = append(g.fairAt, uint32(len(g.fair)))
		g.x.expand(&from, func(a action, next *state) {
			g.steps++
			known := len(g.states)
			to := g.number(next, uint32(n))
			if len(g.states) > known {
				checkState(g.x.config, next, g.x.breach.note)
			}
			if g.breach == nil && g.x.breach.Rule != Upheld {
				b := g.x.breach
				g.breach, g.breachAt, g.breachTo, g.breachBy = &b, uint32(n), *next, a
			}
			if a.fair {
				g.fair = append(g.fair, to)
			}
		})
		if g.breach == nil && g.x.breach.Rule != Upheld { // by a step that led nowhere
			b := g.x.breach
			g.breach, g.breachAt, g.breachTo = &b, uint32(n), from
		}
		g.expanded, g.cut = n+1, append(g.cut, g.x.cut)
	}
	g.fairAt = append(g.fairAt, uint32(len(g.fair)))
}

func (g *graph) report() Report {
	r := Report{
		Config: *g.x.config, States: len(g.states), Steps: g.steps, Refused: g.x.refused, Bounded: g.x.bounded, Depth: int(g.depth[len(g.depth)-1]),
		Complete: g.expanded == len(g.states), Ends: map[onceward.State]int{}, Reached: g.x.reached, Breach: g.breach,
	}
	for i := range g.states {
		r.Ends[g.states[i].row.state]++
		r.MostEffects = max(r.MostEffects, int(g.states[i].world.count))
	}
	if g.breach != nil {
		r.Trace = g.trace(g.breachAt)
		r.Trace = append(r.Trace, line(len(r.Trace), g.breachBy.words(&g.states[g.breachAt]), &g.breachTo))
	}
	return r
}
