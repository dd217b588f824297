package onceward

import (
	"sync"
	"time"
)

// rates bounds how often attempts of each tool start in this process. Several
// replicas each have their own bound: rate is a courtesy to the provider, not
// a guarantee.
type rates struct {
	mu sync.Mutex
	by map[switchKey]*bucket
}

// bucket is a token bucket: Count tokens at most, refilled evenly over Per.
type bucket struct {
	tokens float64
	at     time.Time
}

// take takes a token; if there is none, it returns when there will be one.
func (r *rates) take(t Tenant, tool ToolName, rate Rate, now time.Time) (wait time.Duration, ok bool) {
	if rate.Count <= 0 || rate.Per <= 0 {
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[switchKey]*bucket{}
	}
	key := switchKey{t, tool}
	b := r.by[key]
	if b == nil {
		b = &bucket{tokens: float64(rate.Count), at: now}
		r.by[key] = b
	}
	perToken := float64(rate.Per) / float64(rate.Count)
	if since := now.Sub(b.at); since > 0 {
		b.tokens = min(float64(rate.Count), b.tokens+float64(since)/perToken)
		b.at = now
	}
	if b.tokens >= 1 {
		b.tokens--
		return 0, true
	}
	// Why at least a microsecond, which is what ledger time has: a start that is
	// parked until now is due at once, finds no token and is written anew.
	return max(time.Duration((1-b.tokens)*perToken), time.Microsecond), false
}
