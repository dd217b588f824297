package onceward

import "sync"

// Progress is what a provider says on its way of how far an attempt is.
type Progress struct {
	Done    float64 // rises from one word to the next
	Total   float64 // of Done at the end; 0: not known
	Message string  // may be empty
}

// progress hands on what providers say on their way to the requests of this
// process that wait for the operation and want to know.
type progress struct {
	mu sync.RWMutex
	by map[OperationID]map[int]func(Progress)
	n  int
}

// listen has f called until stop is, from the goroutine that sends. Once stop
// has returned, f is not called any more.
func (p *progress) listen(id OperationID, f func(Progress)) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[OperationID]map[int]func(Progress){}
	}
	if p.by[id] == nil {
		p.by[id] = map[int]func(Progress){}
	}
	p.n++
	n := p.n
	p.by[id][n] = f
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if delete(p.by[id], n); len(p.by[id]) == 0 {
			delete(p.by, id)
		}
	}
}

// tell calls everybody who listens.
func (p *progress) tell(id OperationID, now Progress) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, f := range p.by[id] {
		f(now)
	}
}
