package worker

import (
	"sync"

	"github.com/onceward/onceward"
)

// shares counts the rows that are being advanced, by tool and by tenant, so that
// neither takes all the room: a tool may have half of it, a tenant three quarters.
//
// Why: a look-up holds its slot until the provider answers. Without shares, the
// look-ups of one provider that hangs would keep every other tool waiting.
type shares struct {
	tool, tenant int // the most of each

	mu   sync.Mutex
	held map[onceward.Workload]int // by tool, and by tenant with an empty tool
}

func newShares(slots int) *shares {
	return &shares{tool: slots / 2, tenant: slots * 3 / 4, held: map[onceward.Workload]int{}}
}

func (s *shares) most(w onceward.Workload) int {
	if w.Tool == "" {
		return s.tenant
	}
	return s.tool
}

// full lists what has its share, or more.
func (s *shares) full() []onceward.Workload {
	s.mu.Lock()
	defer s.mu.Unlock()
	var full []onceward.Workload
	for w, n := range s.held {
		if n >= s.most(w) {
			full = append(full, w)
		}
	}
	return full
}

// take notes that a row is being advanced.
func (s *shares) take(w onceward.Workload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[w]++
	s.held[onceward.Workload{Tenant: w.Tenant}]++
}

// give takes that back, and reports whether there is room again where there was none.
func (s *shares) give(w onceward.Workload) (room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range []onceward.Workload{w, {Tenant: w.Tenant}} {
		room = room || s.held[w] == s.most(w)
		if s.held[w]--; s.held[w] == 0 {
			delete(s.held, w)
		}
	}
	return room
}
