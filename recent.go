package onceward

import "sync"

// recentMax is how many identities each of the two halves of recents holds.
const recentMax = 32 << 10

// recents remembers identities that this process met lately, so that a repeat is
// read first and costs no write. It is a hint only: what is not in it is
// claimed, and the claim finds the row; what is in it is read, never assumed.
type recents struct {
	mu         sync.Mutex
	young, old map[OperationID]struct{}
}

func (r *recents) has(id OperationID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.young[id]; ok {
		return true
	}
	_, ok := r.old[id]
	return ok
}

func (r *recents) add(id OperationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.young) >= recentMax {
		r.old, r.young = r.young, nil
	}
	if r.young == nil {
		r.young = make(map[OperationID]struct{})
	}
	r.young[id] = struct{}{}
}
