package explore

import (
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
	x := newExplorer(&c, m)
	g := newGraph[state](x)
	g.walk(most)
	g.live()
	r := Report{Config: c, Refused: x.refused, Bounded: x.bounded, Reached: x.reached, Ends: map[onceward.State]int{}}
	g.report(&r)
	for i := range g.states {
		r.Ends[g.states[i].row.state]++
		r.MostEffects = max(r.MostEffects, int(g.states[i].world.count))
	}
	r.Took = time.Since(began)
	return r
}
