package sim

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Rule is a promise that the auditor holds the engine to.
type Rule string

// The rules.
const (
	OneEffect      Rule = "at most one effect"
	DoneIsTrue     Rule = "succeeded means that the effect is there"
	NotDoneIsTrue  Rule = "failed and cancelled mean that no effect is there or can still come"
	EqualAnswers   Rule = "equal questions get equal answers"
	OtherInput     Rule = "another input under the same key is refused, and only that"
	StoredFirst    Rule = "nobody is told what is not stored"
	ClaimedFirst   Rule = "nothing is sent before its attempt is stored, and once for each"
	OneRequest     Rule = "every attempt sends the same bytes under the same provider key"
	PauseHolds     Rule = "nothing is sent while the tool is paused and the replica knows it"
	CancelHolds    Rule = "nothing is sent after a cancel that was granted"
	EndsStay       Rule = "an end is left only for a reason"
	LeaseHolds     Rule = "no lease is ended while it runs or while its holder works"
	FenceHolds     Rule = "nothing is sent past the end of a lease"
	NothingLost    Rule = "no accepted request is lost"
	RefusalIsClean Rule = "a plain refusal leaves nothing behind"
	OneChangeARow  Rule = "a batch changes a row once"
	VersionsRise   Rule = "every write of a row is its next version"
	EverybodyEnds  Rule = "every operation ends or waits for a person"
	CallersAnswer  Rule = "every caller is answered"

	OneAtATime     Rule = "one operation at a time works on a resource, until its end"
	RateHolds      Rule = "a replica starts no more attempts than the contract's rate"
	NotAfterHolds  Rule = "nothing is sent first when its intent is too old"
	OneHolder      Rule = "an attempt starts when the one before it has ended, and one claim token has it"
	YesNeeded      Rule = "no attempt starts without enough valid yeses to what it sends"
	YesIsForShown  Rule = "a yes counts for what was shown, and only for that"
	ForkFromEnd    Rule = "a fork begins after the end of what it forks"
	BatchAlike     Rule = "in a batch the first of a key makes it, and all of a key get one answer"
	ForgottenIsNew Rule = "a key is forgotten in its time, and used anew under a generation it never had"
)

// Row is an operation as it is stored or told, in plain words.
type Row struct {
	Op, Tool, State, Reference, Key string
	Resource, Contract, Fork        string
	Version, Amount                 int64
	Generation, Attempts, Open      int
	Owner                           string // of the running attempt
	Retired, CancelAsked            bool
	Result                          string
}

func (r *Row) ended() bool {
	return slices.Contains([]string{"succeeded", "failed", "abandoned", "cancelled", "compensated"}, r.State)
}

// Told is what a caller was told.
type Told struct {
	Call, Op, Code string // Code is empty for an answer
	Submit         bool
	Since          time.Duration // when it was asked
	Amount         int64
	Row            Row
}

// Auditor knows what the engine stored, sent and said, and judges it by what
// happened outside. It stops at the first broken rule.
type Auditor struct {
	World  *World
	Vague  bool // something took seconds: what an attempt's start was is known no better
	Broken Rule // empty: all rules hold
	How    string

	rows    map[string]Row
	starts  map[start]time.Duration // when it was first tried to record it
	sent    map[string]*wire        // by provider key
	told    map[string]Told         // first succeeded answer of each operation and generation
	granted map[string]string       // by operation and generation: the amount that was answered
	owned   map[string]string       // operation by call that claimed it
	turned  map[string]string       // code by call that was plainly refused
	cancels map[string]bool         // provider keys whose cancel was granted
	seen    map[string]bool         // replica and tool: known to be paused there
	wanted  map[string]int          // operations that callers were told about, by lowest version
	working map[string]string       // owner that works on the running attempt of an operation
	unknown map[string]time.Duration
	Settled []time.Duration // how long each unknown outcome took

	turns   // of resources, rates and dates
	people  // who were asked
	holders // of claims
	keys    // that are forgotten
}

type start struct {
	op, replica         string
	attempt, generation int
}

type wire struct {
	body   string
	writes int
}

// NewAuditor begins with empty books.
func NewAuditor(w *World) *Auditor {
	a := &Auditor{World: w, rows: map[string]Row{}, starts: map[start]time.Duration{}, sent: map[string]*wire{}, told: map[string]Told{}, granted: map[string]string{},
		owned: map[string]string{}, turned: map[string]string{}, cancels: map[string]bool{}, seen: map[string]bool{}, wanted: map[string]int{}, working: map[string]string{}, unknown: map[string]time.Duration{}}
	w.Heard = a.happened
	a.turns, a.people, a.holders, a.keys = newTurns(), newPeople(), newHolders(), newKeys()
	return a
}

func (a *Auditor) breach(r Rule, format string, args ...any) {
	if a.Broken == "" {
		a.Broken, a.How = r, fmt.Sprintf(format, args...)
	}
}

// happened hears of an effect.
func (a *Auditor) happened(e Effect) {
	n := 0
	for i := range a.World.effects {
		if a.World.effects[i].Key == e.Key && a.World.effects[i].Op == e.Op {
			n++
		}
	}
	row := a.rows[e.Op]
	if n > max(1, a.usesOf(e.Op, row.Generation)) || a.World.Effects(e.Op) > max(row.Generation+1, 1) && a.World.Effects(e.Op) > a.lives(e.Op) {
		a.breach(OneEffect, "%s happened outside for the %d. time; its row is %s", e.Op, max(n, a.World.Effects(e.Op)), row.State)
	}
	if row.State == "failed" || row.State == "cancelled" {
		a.breach(NotDoneIsTrue, "%s is stored as %s, and now it happened", e.Op, row.State)
	}
}

// truth compares a state with the world.
func (a *Auditor) truth(r *Row, where string) {
	if r.Retired {
		return // its provider key is gone
	}
	reference, there := a.World.Known(r.Key)
	switch r.State {
	case "succeeded", "compensated":
		if !there || r.Reference != "" && r.Reference != reference {
			a.breach(DoneIsTrue, "%s is %s as %s with reference %q; outside there is %q", r.Op, where, r.State, r.Reference, reference)
		}
	case "failed", "cancelled":
		there = there && a.usesOf(r.Op, r.Generation) < 2 // else it may be the earlier use's
		if there || a.World.Pending(r.Key) {
			a.breach(NotDoneIsTrue, "%s is %s as %s; outside there is %q, more can come: %t", r.Op, where, r.State, reference, a.World.Pending(r.Key))
		}
	}
}

// Batch hears which rows one batch is about to change.
func (a *Auditor) Batch(ops []string) {
	for i, op := range ops {
		if op != "" && slices.Contains(ops[:i], op) {
			a.breach(OneChangeARow, "one batch has two changes of %s", op)
		}
	}
}

// Stored hears that a row was written, by whom, and what is said to have
// happened, through whom.
func (a *Auditor) Stored(r Row, replica string, events, actors []string) {
	before, known := a.rows[r.Op]
	if known && before.Version == r.Version {
		return // run again
	}
	if r.Version != before.Version+1 {
		a.breach(VersionsRise, "%s went from version %d to %d", r.Op, before.Version, r.Version)
	}
	a.rows[r.Op] = r
	a.truth(&r, "stored")
	a.used(&before, &r, known)
	a.asked(&before, &r, events, actors)
	a.turn(&before, &r, known, events)
	if known {
		a.left(&before, &r, events)
	}
	if before.Owner != "" && slices.Contains(events, "lease_expired") {
		a.expired(&before, replica)
	}
	if r.State == "outcome_unknown" && before.State != r.State {
		a.unknown[r.Op] = a.World.Now()
	} else if since, was := a.unknown[r.Op]; was && r.ended() {
		a.Settled = append(a.Settled, a.World.Now()-since)
		delete(a.unknown, r.Op)
	}
}

// left judges how an end was left.
func (a *Auditor) left(before, after *Row, events []string) {
	if !before.ended() || before.State == after.State && before.Generation == after.Generation {
		return
	}
	allowed := map[string][]string{
		"succeeded": {"compensated", "needs_review"}, "failed": {"succeeded"}, "cancelled": {"succeeded"}, "abandoned": {"succeeded", "failed", "cancelled"},
	}[before.State]
	asked := slices.Contains(events, "retry_requested") || slices.Contains(events, "replay_requested") || slices.Contains(events, "resolved")
	anew := before.Retired && after.Generation == before.Generation+1
	if before.State == "cancelled" && before.Attempts == 0 && after.State == "awaiting_approval" && slices.Contains(events, "approval_voided") {
		return // nobody had answered in time, and it is asked anew
	}
	if !slices.Contains(allowed, after.State) && !anew && (!asked || before.State != "failed" && before.State != "abandoned") {
		a.breach(EndsStay, "%s went from %s (generation %d) to %s (generation %d) by %v", before.Op, before.State, before.Generation, after.State, after.Generation, events)
	}
}

// expired judges the end of a lease.
func (a *Auditor) expired(before *Row, replica string) {
	at, known := a.starts[start{before.Op, before.Owner, before.Attempts, before.Generation}]
	if known && !a.Vague && a.World.Now()-at < Lease-leaseSlack && a.World.Now() < a.trusted(before)-leaseSlack {
		a.breach(LeaseHolds, "the lease of %s.%d was ended after %s", before.Op, before.Attempts, a.World.Now()-at)
	}
	if before.Owner == replica && a.working[before.Op] == replica {
		a.breach(LeaseHolds, "%s ended the lease of its own attempt %s.%d while it was working on it", replica, before.Op, before.Attempts)
	}
}

// trusted is until when the provider's key of a re-send may be trusted: its
// lease ends then at the latest. A first attempt's does not.
func (a *Auditor) trusted(r *Row) time.Duration {
	s := specNamed(r.Tool)
	if s == nil || s.Window == 0 || r.Attempts < 2 {
		return math.MaxInt64
	}
	first := a.World.Now()
	for of, at := range a.starts {
		if of.op == r.Op && of.generation == r.Generation {
			first = min(first, at)
		}
	}
	return first + s.Window - windowMargin
}

// windowMargin is kept free at the end of a provider's window.
const windowMargin = Deadline + time.Minute

// leaseSlack is what clocks that learn the time over a network may differ by
// while the network is quick.
const leaseSlack = 700 * time.Millisecond

// Starting hears that a replica is about to record the start of an attempt. Of
// several tries to record one, the first counts: it may be the one that lands.
func (a *Auditor) Starting(op, replica string, attempt, generation int) {
	s := start{op, replica, attempt, generation}
	if _, known := a.starts[s]; !known {
		a.starts[s] = a.World.Now()
	}
}

// Working hears that a replica has sent an attempt and listens, or does no more.
func (a *Auditor) Working(op, replica string, does bool) {
	if does {
		a.working[op] = replica
	} else if a.working[op] == replica {
		delete(a.working, op)
	}
}

// Claimed hears that the claim of a call was stored, be it after the call ended.
func (a *Auditor) Claimed(call, op string) {
	a.owned[call+" "+op] = op
	if code := a.turned[call+" "+op]; code != "" {
		a.breach(RefusalIsClean, "%s was refused with %s, and its claim of %s was stored after that", call, code, op)
	}
}

// Sent hears that a write leaves a replica now.
func (a *Auditor) Sent(replica, tool, op, key, body string) {
	row, known := a.rows[op]
	w := a.sent[key]
	if w == nil {
		w = &wire{body: body}
		a.sent[key] = w
	}
	w.writes++
	switch {
	case !known:
		a.breach(ClaimedFirst, "%s sends %s, which is not stored", replica, op)
	case a.cancels[key]:
		a.breach(CancelHolds, "%s sends %s, whose cancel was granted", replica, op)
	case row.Key != "" && row.Key != key || row.Key == "" && !row.Retired:
		a.breach(OneRequest, "%s sends %s under another provider key than the stored one", replica, op)
	case w.body != body && a.usesOf(op, row.Generation) < 2:
		a.breach(OneRequest, "%s sends %s with another body than before", replica, op)
	case w.writes > row.Attempts && a.usesOf(op, row.Generation) < 2:
		a.breach(ClaimedFirst, "%s sends %s for the %d. time; %d attempts are stored", replica, op, w.writes, row.Attempts)
	case a.seen[replica+" "+tool]:
		a.breach(PauseHolds, "%s sends %s while it knows that %s is paused", replica, op, tool)
	}
	a.dated(replica, tool, &row)
	if row.State != "effect_pending" || row.Owner != replica {
		a.breach(FenceHolds, "%s sends %s, whose newest attempt %d is %s and held by %q", replica, op, row.Attempts, row.State, row.Owner)
	}
}

// Paused hears that a replica knows a tool to be paused, or not.
func (a *Auditor) Paused(replica, tool string, paused bool) { a.seen[replica+" "+tool] = paused }

// Heard hears what a caller was told.
func (a *Auditor) Heard(t Told) {
	if gone, ok := a.gone[t.Op]; ok && t.Since <= gone {
		return // it was read before its key was forgotten
	}
	stored, known := a.rows[t.Op]
	if t.Code != "" {
		a.refused(&t, &stored)
		return
	}
	r := &t.Row
	if !known || stored.Version < r.Version {
		a.breach(StoredFirst, "%s was told version %d of %s; version %d is stored", t.Call, r.Version, t.Op, stored.Version)
		return
	}
	a.wanted[t.Op]++
	a.truthNow(r, &stored, t.Call)
	life := fmt.Sprintf("%s/%d/%d", t.Op, r.Generation, a.usesOf(t.Op, r.Generation))
	if t.Submit {
		amount := fmt.Sprint(t.Amount)
		if was, ok := a.granted[life]; ok && was != amount && !(a.edits[t.Op][was] && a.edits[t.Op][amount]) {
			a.breach(OtherInput, "%s was answered for amount %s; others were answered for %s", t.Call, amount, was)
		}
		a.granted[life] = amount
	}
	if r.State != "succeeded" || r.Retired {
		return
	}
	first, before := a.told[life]
	older, newer := &first.Row, r
	if r.Version < first.Row.Version {
		older, newer = r, &first.Row
	}
	// What was not known of the effect may be filled in; nothing may change.
	if before && a.usesOf(t.Op, r.Generation) < 2 && (older.Reference != "" && older.Reference != newer.Reference || older.Result != "" && older.Result != newer.Result) {
		a.breach(EqualAnswers, "%s was told %q (%q) of %s; %s had been told %q (%q)", t.Call, r.Reference, r.Result, t.Op, first.Call, first.Row.Reference, first.Row.Result)
	}
	if !before || newer == r {
		a.told[life] = t
	}
}

// truthNow judges an answer. One that was read before the row moved on is
// judged when it was stored.
func (a *Auditor) truthNow(told, stored *Row, call string) {
	if told.Version == stored.Version {
		a.truth(told, "told to "+call)
		if told.State != stored.State {
			a.breach(StoredFirst, "%s was told that %s is %s; it is %s", call, told.Op, told.State, stored.State)
		}
	}
}

func (a *Auditor) refused(t *Told, stored *Row) {
	switch t.Code {
	case "key_reused":
		if t.Submit && stored.Version > 0 && !stored.Retired && stored.Generation == 0 && stored.Amount == t.Amount {
			a.breach(OtherInput, "%s was refused as another input; it asked for amount %d, as the first did", t.Call, t.Amount)
		}
	case "may_be_recorded", "canceled", "duplicate", "still_running", "key_retired": // they say that it is, or may be, there
	default:
		if !t.Submit {
			return
		}
		a.turned[t.Call+" "+t.Op] = t.Code
		if op := a.owned[t.Call+" "+t.Op]; op != "" {
			a.breach(RefusalIsClean, "%s was refused with %s, and its claim of %s is stored", t.Call, t.Code, op)
		}
	}
}

// Cancelled hears that a cancel was granted: the operation ended by it.
func (a *Auditor) Cancelled(r Row) {
	if r.State == "cancelled" && r.CancelAsked {
		a.cancels[r.Key] = true
	}
}

// Rows lists the stored rows by operation.
func (a *Auditor) Rows() map[string]Row { return a.rows }

// End judges what is left when everything had time to settle.
func (a *Auditor) End(read map[string]Row) {
	for call, op := range a.owned {
		if _, ok := read[op]; !ok {
			a.breach(NothingLost, "%s was claimed, which is gone", call)
		}
	}
	for op := range a.wanted {
		if _, ok := read[op]; !ok {
			a.breach(NothingLost, "callers were told of %s, which is gone", op)
		}
	}
	for op, r := range read {
		stored := a.rows[op]
		if stored.Version != r.Version || stored.State != r.State {
			a.breach(NothingLost, "%s reads as %s, version %d; what was written last is %s, version %d", op, r.State, r.Version, stored.State, stored.Version)
		}
		if !r.ended() && r.State != "needs_review" {
			a.breach(EverybodyEnds, "%s is still %s", op, r.State)
		}
	}
}
