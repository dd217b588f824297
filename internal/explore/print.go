package explore

import (
	"fmt"
	"strings"

	"github.com/onceward/onceward"
)

// trace tells the way to a state, one line a step.
func (g *graph) trace(to uint32) []string {
	var way []uint32
	for n := to; ; n = g.parent[n] {
		way = append(way, n)
		if n == 0 {
			break
		}
	}
	lines := []string{line(0, "a request comes in", &g.states[0])}
	for i := len(way) - 2; i >= 0; i-- {
		lines = append(lines, line(len(lines), g.between(way[i+1], way[i]), &g.states[way[i]]))
	}
	return lines
}

// between tells the step that leads from one state to another.
func (g *graph) between(from, to uint32) string {
	s, words := g.states[from], ""
	breach := g.x.breach
	g.x.expand(&s, func(a action, next *state) {
		if words == "" && *next == g.states[to] {
			words = a.words(&s)
		}
	})
	g.x.breach = breach
	return words
}

// line writes a step and where it led.
func line(number int, what string, s *state) string {
	return fmt.Sprintf("%3d  %-62s  %s", number, what, s.words())
}

// words tell a state in short: the row, then what is true outside of it.
func (s *state) words() string {
	r, w := &s.row, &s.world
	parts := []string{r.state.String()}
	for i := range r.tries[:r.count] {
		t := &r.tries[i]
		text := fmt.Sprintf("%d %s", i+1, t.status)
		if t.status == onceward.StatusOpen && t.lastByte != never {
			text += fmt.Sprintf(" last byte %+d", t.lastByte)
		}
		if t.status == onceward.StatusRunning {
			text += fmt.Sprintf(" lease %+d", t.lease)
		}
		parts = append(parts, text)
	}
	if r.cancel {
		parts = append(parts, "cancel requested")
	}
	if r.reference > 0 {
		parts = append(parts, "knows "+effectNames[r.reference])
	}
	var truth []string
	for i := range w.wires {
		if w.wires[i].phase == travelling {
			truth = append(truth, fmt.Sprintf("write %d on its way", i+1))
		}
	}
	for e := uint8(1); e <= w.count; e++ {
		text := effectNames[e] + " happened"
		if !w.effects[e].visible {
			text += " unseen"
		}
		truth = append(truth, text)
	}
	if w.paused {
		truth = append(truth, "tool paused")
	}
	if w.keyKnown {
		truth = append(truth, fmt.Sprintf("key known for %d", w.keyAge))
	}
	if len(truth) == 0 {
		return "[" + strings.Join(parts, "; ") + "]"
	}
	return "[" + strings.Join(parts, "; ") + "]  truth: " + strings.Join(truth, ", ")
}
