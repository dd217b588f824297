package sim

import (
	"fmt"
	"slices"
	"time"
)

// turns is what the auditor knows of whose turn it is.
type turns struct {
	holder map[string]string          // operation that works on a resource, by tool and resource
	began  map[string][]time.Duration // known starts, by replica and tool
	since  map[string]time.Duration   // when somebody last wanted an operation
	ends   map[string]bool            // operations that ended once
	Back   time.Duration              // how far the database's clock went back, all in all
}

func newTurns() turns {
	return turns{holder: map[string]string{}, began: map[string][]time.Duration{}, since: map[string]time.Duration{}, ends: map[string]bool{}}
}

// clockSlack is what a replica's notion of the database's clock may be behind,
// and how long something may take between its check and its record, while
// nothing takes seconds.
const clockSlack = 1500 * time.Millisecond

// turn judges a stored row by whose turn it was.
func (a *Auditor) turn(before, r *Row, known bool, events []string) {
	again := slices.ContainsFunc(events, func(e string) bool {
		return e == "retry_requested" || e == "replay_requested" || e == "resolved" || e == "approval_voided"
	})
	if !known || again || before.Generation != r.Generation {
		a.since[r.Op] = a.World.Now()
	}
	if !known && r.Fork != "" && !a.ends[r.Fork] {
		a.breach(ForkFromEnd, "%s was made, and %s has not ended", r.Op, r.Fork)
	}
	resource := r.Tool + " " + r.Resource
	if r.ended() {
		a.ends[r.Op] = true
		if a.holder[resource] == r.Op {
			delete(a.holder, resource)
		}
		return
	}
	if r.Attempts == 0 || r.Owner == "" || before.Generation == r.Generation && r.Attempts == before.Attempts {
		return
	}
	if known && before.Owner != "" && before.Generation == r.Generation {
		a.breach(OneHolder, "attempt %d of %s is stored as started by %s, while %s has attempt %d", r.Attempts, r.Op, r.Owner, before.Owner, before.Attempts)
	}
	if r.Resource == "" {
		return
	}
	if other := a.holder[resource]; other != "" && other != r.Op {
		a.breach(OneAtATime, "%s starts on resource %s, which %s works on and is %s", r.Op, r.Resource, other, a.rows[other].State)
	}
	a.holder[resource] = r.Op
}

// Begins hears that a replica decided just now to start an attempt of a tool.
func (a *Auditor) Begins(replica, tool string) {
	s := specNamed(tool)
	if s == nil || s.Rate.Count == 0 {
		return
	}
	all := append(a.began[replica+" "+tool], a.World.Now())
	a.began[replica+" "+tool] = all
	for i, first := range all {
		n, took := len(all)-i, a.World.Now()-first+rateSlack
		if n > s.Rate.Count+int(took*time.Duration(s.Rate.Count)/s.Rate.Per) {
			a.breach(RateHolds, "%s started %d attempts of %s within %s", replica, n, tool, a.World.Now()-first)
			return
		}
	}
}

// rateSlack is how exactly the time of a start's decision is known.
const rateSlack = 400 * time.Millisecond

// dated judges the age of an intent whose write leaves now.
func (a *Auditor) dated(replica, tool string, row *Row) {
	s := specNamed(tool)
	if s == nil || s.NotAfter == 0 || row.Open > 0 || a.Vague {
		return
	}
	if age := a.World.Now() - a.since[row.Op]; age > s.NotAfter+a.Back+clockSlack {
		a.breach(NotAfterHolds, "%s sends %s, which was wanted %s ago; not_after is %s", replica, row.Op, age, s.NotAfter)
	}
}

// holders is what the auditor knows of remote claims.
type holders struct {
	tokens  map[string]string // by attempt: the token that got it
	secrets map[string]string // by attempt
}

func newHolders() holders {
	return holders{tokens: map[string]string{}, secrets: map[string]string{}}
}

// Granted hears that a claim was answered with an attempt and its secret.
func (a *Auditor) Granted(call, attempt, token, secret string) {
	if was, ok := a.tokens[attempt]; ok && (was != token || a.secrets[attempt] != secret) {
		a.breach(OneHolder, "%s got attempt %s under token %s; token %s has it", call, attempt, token, was)
	}
	a.tokens[attempt], a.secrets[attempt] = token, secret
}

// Performs hears that whoever has an attempt, and holds its lease by its own
// count, is about to write.
func (a *Auditor) Performs(op string, attempt, generation int) {
	if r := a.rows[op]; r.Attempts != attempt || r.Generation != generation {
		a.breach(FenceHolds, "the performer of %s.%d holds its lease, and attempt %d is stored", op, attempt, r.Attempts)
	}
}

// keys is what the auditor knows of the uses of keys.
type keys struct {
	uses map[string][]int         // generations of each operation, as first stored
	over map[string]time.Duration // when it ended last
	gone map[string]time.Duration // when it was forgotten last
	late map[string]bool          // the newest claim was asked for before that
	last map[string]time.Duration // since when a version of a row is on its way
}

func newKeys() keys {
	return keys{uses: map[string][]int{}, over: map[string]time.Duration{}, last: map[string]time.Duration{}, gone: map[string]time.Duration{}, late: map[string]bool{}}
}

// Writes hears that a version of a row is on its way. Of several, the first
// counts.
func (a *Auditor) Writes(op string, version int64) {
	if name := fmt.Sprint(op, version); a.last[name] == 0 {
		a.last[name] = a.World.Now()
	}
}

// lives counts the generations of an operation.
func (a *Auditor) lives(op string) int { return len(a.uses[op]) }

// used judges the generation of a stored row.
func (a *Auditor) used(before, r *Row, known bool) {
	if r.ended() && !before.ended() {
		a.over[r.Op] = a.World.Now()
		if at, ok := a.last[fmt.Sprint(r.Op, r.Version)]; ok {
			a.over[r.Op] = at
		}
	}
	if known && before.Generation == r.Generation {
		return
	}
	if slices.Contains(a.uses[r.Op], r.Generation) && !a.late[r.Op] {
		a.breach(ForgottenIsNew, "%s is used anew under generation %d, which it had", r.Op, r.Generation)
	}
	a.uses[r.Op] = append(a.uses[r.Op], r.Generation)
}

// usesOf counts how often a generation of an operation was begun. It is once, but
// for a claim that was on its way for longer than the key was kept: it comes
// under the generation that it was asked for under.
func (a *Auditor) usesOf(op string, generation int) int {
	n := 0
	for _, g := range a.uses[op] {
		if g == generation {
			n++
		}
	}
	return n
}

// Claims hears since when a claim that is stored now was asked for.
func (a *Auditor) Claims(op string, since time.Duration) {
	gone, forgotten := a.gone[op]
	a.late[op] = forgotten && since <= gone
}

// Dropped hears that a tombstone is gone. ahead is how far the database's clock
// went ahead, all in all.
func (a *Auditor) Dropped(op string, ahead time.Duration) {
	r, s := a.rows[op], specNamed(a.rows[op].Tool)
	age := a.World.Now() - a.over[op] + ahead
	if !r.Retired || s == nil || s.Tombstone == 0 || age < s.Keep+s.Tombstone-clockSlack {
		a.breach(ForgottenIsNew, "%s (%s, retired %t) was dropped %s after its end", op, r.State, r.Retired, age)
	}
	for v := range r.Version {
		delete(a.last, fmt.Sprint(op, v+1))
	}
	a.gone[op] = a.World.Now()
	delete(a.rows, op)
	delete(a.wanted, op)
	for call, of := range a.owned {
		if of == op {
			delete(a.owned, call)
		}
	}
}

// HeardBatch hears the answers of one batch, in order.
func (a *Auditor) HeardBatch(all []Told) {
	for i := range all {
		t := &all[i]
		plain, first := t.Code != "", !slices.ContainsFunc(all[:i], func(o Told) bool { return o.Op == t.Op })
		if first && t.Code == "key_reused" && a.owned[t.Call+" "+t.Op] != "" && a.lives(t.Op) == 1 {
			a.breach(BatchAlike, "%s made %s, and refused its place %d, which is the first of it", t.Call, t.Op, i+1)
		}
		for j := range all {
			o := &all[j]
			if o.Op != t.Op {
				continue
			}
			plain = plain && o.Code != "" && o.Code != "may_be_recorded"
			same := t.Row.Generation == o.Row.Generation // else it was retired and taken anew between the two
			if t.Code == "" && o.Code == "" && same && (t.Row.Version != o.Row.Version || t.Row.State != o.Row.State) {
				a.breach(BatchAlike, "%s was told of %s at version %d and at version %d", t.Call, t.Op, t.Row.Version, o.Row.Version)
			}
		}
		// Of a key that others of the batch got, a refusal says nothing of its claim.
		if t.Code == "" || plain || t.Code == "key_reused" {
			a.Heard(*t)
		}
	}
}
