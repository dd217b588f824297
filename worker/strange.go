package worker

import (
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// strangers are the workloads whose functions this process has not activated:
// their rows are left to whoever has.
type strangers struct {
	mu    sync.Mutex
	until map[onceward.Workload]time.Time
}

// add notes one, and reports whether it is new.
func (s *strangers) add(w onceward.Workload, until time.Time) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[onceward.Workload]time.Time{}
	}
	_, known := s.until[w]
	s.until[w] = until
	return !known
}

// left are those that are left alone at that time; what is past is forgotten, for
// the function may be activated by now.
func (s *strangers) left(at time.Time) []onceward.Workload {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []onceward.Workload
	for w, until := range s.until {
		if at.Before(until) {
			left = append(left, w)
		} else {
			delete(s.until, w)
		}
	}
	return left
}
