package explore

import (
	"fmt"
	"strings"

	"github.com/onceward/onceward"
)

// words tell a state in short: the row, then what is true outside of it.
func (x *explorer) words(s *state) string {
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
