package drill

import (
	"math"
	"time"

	"github.com/onceward/onceward"
)

// waits are the durations under which a copy of a contract is drilled: the
// contract's own divided by one factor, so that hours become seconds and what
// is compared with each other (settle and the provider's lateness) stays in
// proportion.
type waits struct {
	factor                               float64
	deadline, lease, settle, look        time.Duration
	backoffInitial, backoffMax, recovery time.Duration
	list                                 []Wait
}

// What a drill aims at, and does not go below or beyond.
const (
	wholeAim      = 5 * time.Second // of lease, deadline and settle together
	settleAim     = time.Second     // a shorter settle would drown in the time that a look-up takes
	answerDefault = 2 * time.Second // a provider's slowest normal answer
	leaseRoom     = time.Second     // between deadline and lease
	backoffCap    = time.Second
	backoffMaxCap = 2 * time.Second
	backoffFloor  = 50 * time.Millisecond
	recoveryFloor = time.Minute
)

// plan chooses the factor and divides.
func plan(p *onceward.Policy, scale float64, answer time.Duration, looksLate bool) waits {
	if answer <= 0 {
		answer = answerDefault
	}
	w := waits{factor: scale}
	if w.factor <= 0 {
		w.factor = factorFor(p, looksLate)
	}
	w.deadline = w.scaled(p.Deadline, min(p.Deadline, answer))
	w.lease = w.scaled(p.Lease, w.deadline+min(p.Lease-p.Deadline, leaseRoom))
	w.backoffInitial = min(w.scaled(p.BackoffInitial, min(p.BackoffInitial, backoffFloor)), backoffCap)
	w.backoffMax = max(min(w.scaled(p.BackoffMax, 0), backoffMaxCap), w.backoffInitial)
	w.recovery = w.scaled(p.RecoveryWindow, min(p.RecoveryWindow, recoveryFloor))
	w.note("spec.request.deadline", p.Deadline, w.deadline)
	w.note("spec.lease", p.Lease, w.lease)
	if p.HasProbe {
		w.settle = w.scaled(p.Settle, 0)
		w.look = w.scaled(p.ProbeDeadline, min(p.ProbeDeadline, answer))
		w.note("spec.probe.settle", p.Settle, w.settle)
		w.note("spec.probe.deadline", p.ProbeDeadline, w.look)
	}
	w.note("spec.retry.backoff.initial", p.BackoffInitial, w.backoffInitial)
	w.note("spec.retry.backoff.max", p.BackoffMax, w.backoffMax)
	w.note("spec.retry.recovery_window", p.RecoveryWindow, w.recovery)
	return w
}

// factorFor aims at seconds. Why never for a look-up that lags: its lag is the
// provider's, and would not be divided with settle.
func factorFor(p *onceward.Policy, looksLate bool) float64 {
	if looksLate {
		return 1
	}
	f := float64(p.Lease+p.Deadline+p.Settle) / float64(wholeAim)
	if p.HasProbe && p.Settle > 0 {
		f = min(f, float64(p.Settle)/float64(settleAim))
	}
	return max(1, math.Floor(f*10)/10)
}

func (w *waits) scaled(d, floor time.Duration) time.Duration {
	return max(w.divided(d), floor).Round(time.Millisecond)
}

func (w *waits) divided(d time.Duration) time.Duration {
	return time.Duration(float64(d) / w.factor)
}

func (w *waits) note(field string, was, is time.Duration) {
	w.list = append(w.list, Wait{Field: field, Was: was, Is: is})
}

// durations are the changes to the contract.
func (w *waits) durations() map[string]time.Duration {
	m := make(map[string]time.Duration, len(w.list))
	for _, one := range w.list {
		m[one.Field] = one.Is
	}
	return m
}

// deadAfter is how long a replica has to be silent before the others believe
// that it is gone.
const deadAfter = onceward.DeadAfter

// takenFor is how long a due row stays with a process that took it and died.
const takenFor = 30 * time.Second

// toEnd is how long one operation may take to settle, in the worst case that a
// scenario brings about.
func (w *waits) toEnd() time.Duration {
	return 15*time.Second + deadAfter + takenFor + 3*(w.lease+w.deadline+w.settle) + 2*w.look + 4*w.backoffMax
}

// whole is how long a scenario may take.
func (w *waits) whole() time.Duration { return 2*w.toEnd() + 2*w.settle + 30*time.Second }
