package explore

import (
	"fmt"
	"hash/maphash"
)

// graph is what was found: states by number, in the order in which they were
// met, and how each was met first.
type graph[S comparable] struct {
	x      model[S]
	states []S
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
	breachTo        S
	breachBy        action
	trace           []string // to the breach
}

// model is what a graph walks: a first state, and what can happen in each.
type model[S comparable] interface {
	first() S
	expand(s *S, emit func(a action, next *S))
	check(s *S)                  // holds the rules of states against one that was just met
	found() *Breach              // the first breach so far; its rule is Upheld while there is none
	ended(s *S) bool             // nothing has to happen any more
	cutShort() bool              // a fair step of the state that was expanded last was not followed
	words(s *S) string           // the state in short
	tells(a action, s *S) string // what happens, in a state
}

func newGraph[S comparable](x model[S]) *graph[S] {
	g := &graph[S]{x: x, table: make([]uint32, 1<<16), seed: maphash.MakeSeed()}
	s := x.first()
	g.number(&s, 0)
	return g
}

// number finds a state, or adds it as met from parent.
func (g *graph[S]) number(s *S, parent uint32) uint32 {
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

func (g *graph[S]) grow() {
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
func (g *graph[S]) walk(most int) {
	for n := 0; n < len(g.states) && g.breach == nil && (most == 0 || n < most); n++ {
		from := g.states[n]
		g.fairAt = append(g.fairAt, uint32(len(g.fair)))
		g.x.expand(&from, func(a action, next *S) {
			g.steps++
			known := len(g.states)
			to := g.number(next, uint32(n))
			if len(g.states) > known {
				g.x.check(next)
			}
			if g.breach == nil && g.x.found().Rule != Upheld {
				b := *g.x.found()
				g.breach, g.breachAt, g.breachTo, g.breachBy = &b, uint32(n), *next, a
			}
			if a.fair {
				g.fair = append(g.fair, to)
			}
		})
		if g.breach == nil && g.x.found().Rule != Upheld { // by a step that led nowhere
			b := *g.x.found()
			g.breach, g.breachAt, g.breachTo, g.breachBy = &b, uint32(n), from, action{kind: nothing}
		}
		g.expanded, g.cut = n+1, append(g.cut, g.x.cutShort())
	}
	g.fairAt = append(g.fairAt, uint32(len(g.fair)))
	if g.breach != nil {
		g.trace = g.way(g.breachAt)
		g.trace = append(g.trace, g.line(len(g.trace), g.x.tells(g.breachBy, &g.states[g.breachAt]), &g.breachTo))
	}
}

// report fills in what a graph knows of an exploration.
func (g *graph[S]) report(r *Report) {
	r.States, r.Steps, r.Depth, r.Complete = len(g.states), g.steps, int(g.depth[len(g.depth)-1]), g.expanded == len(g.states)
	r.Breach, r.Trace = g.breach, g.trace
}

// way tells the way to a state, one line a step.
func (g *graph[S]) way(to uint32) []string {
	var way []uint32
	for n := to; ; n = g.parent[n] {
		way = append(way, n)
		if n == 0 {
			break
		}
	}
	lines := []string{g.line(0, "a request comes in", &g.states[0])}
	for i := len(way) - 2; i >= 0; i-- {
		lines = append(lines, g.line(len(lines), g.between(way[i+1], way[i]), &g.states[way[i]]))
	}
	return lines
}

// between tells the step that leads from one state to another.
func (g *graph[S]) between(from, to uint32) string {
	s, words := g.states[from], ""
	g.x.expand(&s, func(a action, next *S) {
		if words == "" && *next == g.states[to] {
			words = g.x.tells(a, &s)
		}
	})
	return words
}

// line writes a step and where it led.
func (g *graph[S]) line(number int, what string, s *S) string {
	return fmt.Sprintf("%3d  %-62s  %s", number, what, g.x.words(s))
}
