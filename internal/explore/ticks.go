package explore

import "time"

// ticks is an instant relative to now, or a length of time.
type ticks int8

// never is an instant that is not set.
const never ticks = -128

func (t ticks) long() time.Duration { return time.Duration(t) * Tick }

// epoch is now, in every state.
var epoch = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// instant is the time that is meant.
func (t ticks) instant() time.Time {
	if t == never {
		return time.Time{}
	}
	return epoch.Add(t.long())
}

// ticksOf rounds an instant up to a tick, so that "before" and "after" a whole
// tick stay what they are, and keeps it between lowest and highest.
func ticksOf(at time.Time, lowest, highest ticks) ticks {
	if at.IsZero() {
		return never
	}
	d := at.Sub(epoch)
	n := d / Tick
	if d > n*Tick {
		n++
	}
	return ticks(min(max(n, time.Duration(lowest)), time.Duration(highest)))
}

// older lets one tick pass for an instant, down to lowest.
func (t ticks) older(lowest ticks) ticks {
	if t == never || t <= lowest {
		return t
	}
	return t - 1
}

// age is how long ago the instant was.
func (t ticks) age() ticks { return -t }

// exact is the tick of an instant that must be a whole one, not below lowest.
func exact(at time.Time, lowest ticks) ticks {
	if !at.IsZero() && at.Sub(epoch)%Tick != 0 {
		panic("explore: an instant between two ticks: " + at.Sub(epoch).String())
	}
	return ticksOf(at, lowest, farthest)
}
