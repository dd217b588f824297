package explore

// live holds the last invariant: from every state, whatever happened before,
// every schedule of fair steps ends in a terminal state or with a person. A
// state is good if it is such an end, or if it has a fair successor and all of
// them are good; what is left over has a fair schedule that never ends. States
// that were not followed to all their successors count as good.
func (g *graph[S]) live() {
	if g.breach != nil {
		return
	}
	n := len(g.states)
	for len(g.fairAt) <= n { // not expanded
		g.fairAt, g.cut = append(g.fairAt, uint32(len(g.fair))), append(g.cut, true)
	}
	left := make([]uint32, n) // fair successors that are not known to be good
	begin := make([]uint32, n+1)
	for from := range n {
		left[from] = g.fairAt[from+1] - g.fairAt[from]
		for _, to := range g.fair[g.fairAt[from]:g.fairAt[from+1]] {
			begin[to+1]++
		}
	}
	for i := range n {
		begin[i+1] += begin[i]
	}
	back, fill := make([]uint32, len(g.fair)), append([]uint32(nil), begin[:n]...)
	for from := range n {
		for _, to := range g.fair[g.fairAt[from]:g.fairAt[from+1]] {
			back[fill[to]] = uint32(from)
			fill[to]++
		}
	}
	good := make([]bool, n)
	var queue []uint32
	for i := range n {
		if g.cut[i] || g.x.ended(&g.states[i]) {
			good[i], queue = true, append(queue, uint32(i))
		}
	}
	for len(queue) > 0 {
		to := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range back[begin[to]:begin[to+1]] {
			if left[from]--; left[from] == 0 && !good[from] {
				good[from], queue = true, append(queue, from)
			}
		}
	}
	for i := range n {
		if !good[i] {
			g.endless(uint32(i), good)
			return
		}
	}
}

// endless reports a fair schedule that never ends, or a state that is stuck.
func (g *graph[S]) endless(at uint32, good []bool) {
	g.breach, g.trace = &Breach{Rule: EveryScheduleEnds}, g.way(at)
	seen := map[uint32]bool{}
	for !seen[at] {
		seen[at] = true
		next, found := at, false
		for _, to := range g.fair[g.fairAt[at]:g.fairAt[at+1]] {
			if !good[to] {
				next, found = to, true
				break
			}
		}
		if !found {
			g.breach.How = "nothing moves it: " + g.x.words(&g.states[at])
			return
		}
		g.trace = append(g.trace, g.line(len(g.trace), g.between(at, next), &g.states[next]))
		at = next
	}
	g.breach.How = "it goes round for ever"
}
