package explore

import (
	"time"

	"math/bits"

	"github.com/onceward/onceward"
)

// books are what the system was told and may know: the auditor's own record,
// kept beside the machine's and never read from it.
type books struct {
	highest   uint8 // attempt number
	done, not uint8 // attempts with evidence of done and of not done, as sets
	free      uint8 // attempts that do not count against the budget, as a set
	grants    uint8 // attempts that people and requests granted
	told      uint8 // effects that were named to the system and that no person has settled since
	risk      bool  // a person accepted that a second effect may happen
	accepted  bool  // ... by the next start
	cancel    bool
	refused   bool // the newest attempt was refused for good, and nobody wanted it again since
	spent     bool // the approval
	approved  ticks
	yeses     [2]ticks        // of each person, to the present digest
	edited    bool            // the present digest is the edited one
	intent    ticks           // when somebody last wanted it
	apart     bool            // an attempt was made when the provider may have forgotten the key
	began     [maxTries]ticks // attempts under a key with a window, by their start
	lastByte  [maxTries]ticks // latest instant at which a byte of the attempt may travel
}

func freshBooks() books {
	b := books{approved: never, yeses: [2]ticks{never, never}}
	for i := range b.lastByte {
		b.lastByte[i], b.began[i] = never, never
	}
	return b
}

// first is when the first byte may have left that the provider knows the key by.
func (b *books) first() ticks {
	first := never
	for _, at := range b.began {
		if at != never && (first == never || at < first) {
			first = at
		}
	}
	return first
}

// keyOver reports whether the provider's key is not to be trusted any more.
func (b *books) keyOver(c *Config) bool {
	first := b.first()
	return first != never && first.age() >= ticks(c.KeyWindow-c.Deadline-1)
}

// open is the set of attempts that may have had their effect as far as anybody
// was told.
func (b *books) open() uint8 {
	return (1<<b.highest - 1) &^ (b.done | b.not)
}

// lease is when the lease of an attempt ends of which nothing was reported. That
// of a closed one is over: it was closed by its holder or after its end.
func (b *books) lease(c *Config, n uint8) ticks {
	if b.lastByte[n-1] == never {
		return -1
	}
	return b.lastByte[n-1] - ticks(c.Deadline)
}

// settle forgets what does not matter any more of attempts that are closed.
func (b *books) settle(c *Config, pending bool) {
	for n := uint8(1); n <= b.highest; n++ {
		over := !c.Probe && (n < b.highest || !pending) // nothing is ever proven by absence
		if over || (b.done|b.not)&bit(n) != 0 {
			b.lastByte[n-1] = never
		}
	}
}

func (b *books) older(bo *bounds) {
	b.intent = b.intent.older(bo.intent)
	b.approved, b.yeses = b.approved.older(-1), [2]ticks{b.yeses[0].older(-1), b.yeses[1].older(-1)}
	for i := range b.lastByte {
		b.lastByte[i], b.began[i] = b.lastByte[i].older(bo.lastByte), b.began[i].older(bo.started)
	}
}

func bit(n uint8) uint8 { return 1 << (n - 1) }

// auditor judges one accepted event.
type auditor struct {
	c             *Config
	before, after *state
	event         onceward.Event
	out           []onceward.Consequence
	breach        Breach
}

func (a *auditor) broken(rule Invariant, format string, args ...any) {
	a.breach.note(rule, format, args...)
}

// judge writes the event into the books of the state after it, and checks the
// rules of steps. Those of states are checked once for each state.
func (a *auditor) judge() Breach {
	told := a.before.books.told
	a.note()
	a.after.books.settle(a.c, a.after.row.state == onceward.StateEffectPending)
	a.checkTerminal()
	a.checkFence()
	a.checkSecond(told)
	return a.breach
}

// note keeps the books.
func (a *auditor) note() {
	b := &a.after.books
	switch e := a.event.(type) {
	case onceward.AttemptStarted:
		a.started(b)
	case onceward.LeaseProlonged:
		if b.lease(a.c, uint8(e.Attempt)) < 0 || uint8(e.Attempt) != b.highest {
			a.broken(LeasesLast, "the lease of attempt %d was over and was prolonged", e.Attempt)
		}
		a.granted(b, uint8(e.Attempt))
	case onceward.LeaseExpired:
		if a.before.row != a.after.row && b.lease(a.c, uint8(e.Attempt)) > 0 {
			a.broken(LeasesLast, "the lease of attempt %d still runs", e.Attempt)
		}
	case onceward.AttemptDone:
		b.report(uint8(e.Attempt), e.Sent)
		b.done |= bit(uint8(e.Attempt))
		b.tell(packReference(e.Reference))
	case onceward.AttemptNotDone:
		if e.Sent.Reach.NothingSent() && b.lastByte[e.Attempt-1] != never {
			b.began[e.Attempt-1] = never
		}
		b.report(uint8(e.Attempt), e.Sent)
		b.not |= bit(uint8(e.Attempt)) &^ b.done
		a.refused(b, e)
	case onceward.AttemptUnknown:
		b.report(uint8(e.Attempt), e.Sent)
	case onceward.ProbeAbsent:
		b.not |= b.provable(a.c, exact(e.Began, never+1))
	case onceward.ProbeFound:
		for _, ref := range e.References {
			b.tell(packReference(ref))
		}
		if a.accounted(e.References) {
			b.not |= b.provable(a.c, exact(e.Began, never+1))
		}
	case onceward.EffectProven:
		b.tell(packReference(e.Reference))
	case onceward.CancelRequested:
		b.cancel = true
	case onceward.Resolved:
		a.resolved(b, e)
	case onceward.ReplayRequested:
		b.wanted()
		b.cancel = false
		if e.Confirmed && b.open() != 0 {
			b.accepted = true
		}
	case onceward.RetryRequested: // the same wish again, as old as it was
		b.refused = false
		b.grants++
	case onceward.ApprovalGranted:
		a.saidYes(b, e.Actor, e.Digest, e.Until)
	case onceward.ApprovalEdited:
		if b.spent {
			a.broken(NoWrongStart, "an input was edited that an attempt has sent")
		}
		b.yeses, b.edited = [2]ticks{never, never}, true
		a.saidYes(b, e.Actor, e.Next.Digest, e.Until)
	case onceward.ApprovalVoided:
		b.approved, b.intent, b.yeses = never, 0, [2]ticks{never, never}
		if b.spent {
			a.broken(NoWrongStart, "an approval was voided that an attempt has spent")
		}
	case onceward.NotAfterPassed:
		if b.open() != 0 || b.intent.age() <= ticks(a.c.NotAfter) {
			a.broken(EndsNeedEvidence, "not_after ended what is not too old, or has an attempt open")
		}
	case onceward.Retired:
		a.retired()
	case onceward.KeyTakenAnew:
		if r := &a.before.row; !r.retired || !a.c.Reusable || a.after.row.generation != r.generation+1 {
			a.broken(KeysStayTaken, "the key was taken anew from %s, generation %d to %d", r.state, r.generation, a.after.row.generation)
		}
		*b = freshBooks()
	case onceward.ApprovalRejected, onceward.ApprovalExpired, onceward.StartParked, onceward.ProbeInconclusive, onceward.ResendDue,
		onceward.ResendLapsed, onceward.SettleOverdue, onceward.Compensated, onceward.ApprovalReminded, onceward.Assigned,
		onceward.ReviewTaken, onceward.ReviewOverdue, onceward.Commented, onceward.Forked:
	}
}

// saidYes counts a person's yes by the books, if it is for what is asked.
func (a *auditor) saidYes(b *books, actor string, d onceward.Digest, until time.Time) {
	if (d == digests[1]) != b.edited {
		a.broken(NoWrongStart, "a yes to another input was taken")
		return
	}
	live := 0
	for i, name := range approvers {
		if name == actor {
			b.yeses[i] = exact(until, -1)
		}
		if b.yeses[i] >= 0 {
			live++
		}
	}
	if live < max(1, a.c.Quorum) {
		return
	}
	b.approved = farthest
	for _, y := range b.yeses {
		if y >= 0 {
			b.approved = min(b.approved, y)
		}
	}
	b.yeses = [2]ticks{never, never}
}

// refused notes what a refusal says beyond its own attempt.
func (a *auditor) refused(b *books, e onceward.AttemptNotDone) {
	auth := e.Failure.Class == onceward.ClassAuth
	if e.Free || auth {
		b.free |= bit(uint8(e.Attempt))
	}
	if a.before.row.state != onceward.StateEffectPending || uint8(e.Attempt) != b.highest || b.told != 0 || b.done != 0 {
		return
	}
	b.refused = !e.Failure.Retryable
	if auth && !a.has(onceward.PauseTool) {
		a.broken(CredentialsPause, "the credential was refused, and the tool goes on")
	}
}

// started checks that this attempt may start, by the books alone.
func (a *auditor) started(b *books) {
	n := a.after.row.count
	if n <= b.highest || n != a.before.row.count+1 {
		a.broken(NumbersRise, "attempt %d started after attempt %d", n, b.highest)
	}
	switch open := b.open(); {
	case b.refused && open == 0:
		a.broken(NoWrongStart, "an attempt started by itself after a refusal for good")
	case b.cancel:
		a.broken(NoWrongStart, "an attempt started after cancel was requested")
	case a.c.Approval > 0 && !b.spent && b.approved < 0:
		a.broken(NoWrongStart, "an attempt started without a valid approval")
	case open == 0 && a.c.NotAfter > 0 && b.intent.age() > ticks(a.c.NotAfter):
		a.broken(NoWrongStart, "an attempt started past not_after with none open")
	case open != 0 && !b.accepted && a.c.Effect.Writes() && !a.c.sameEffect():
		a.broken(NoWrongStart, "an attempt started with another one open")
	case open != 0 && !b.accepted && b.keyOver(a.c):
		a.broken(NoWrongStart, "an attempt started with another one open, and the provider may have forgotten the key")
	case open != 0 && b.accepted:
		b.risk = b.risk || a.c.Effect != onceward.EffectConditionalWrite
	}
	if spent := int(b.highest) - bits.OnesCount8(b.free); spent >= a.c.Attempts+int(b.grants) {
		a.broken(BudgetIsKept, "attempt %d started, and %d have spent the budget", n, spent)
	}
	if !a.before.row.request {
		a.broken(RequestIsKept, "an attempt started and there is nothing to send")
	}
	if a.c.Effect == onceward.EffectKeyedWrite && a.c.KeyWindow > 0 {
		b.apart = b.apart || b.keyOver(a.c)
		b.began[n-1] = 0
	}
	b.highest, b.spent, b.accepted = n, true, false
	a.granted(b, n)
}

// granted notes the lease that an attempt was given. The machine may shorten
// what was asked for; it is held to what it gave.
func (a *auditor) granted(b *books, n uint8) {
	lease := a.after.row.tries[n-1].lease
	if lease > ticks(a.c.Lease) {
		a.broken(LeasesLast, "attempt %d got a longer lease than was asked for", n)
	}
	b.lastByte[n-1] = lease + ticks(a.c.Deadline)
}

// wanted notes that somebody wants it once more.
func (b *books) wanted() {
	b.intent, b.refused = 0, false
	b.grants++
}

// report takes the holder's word on when its last byte may have travelled.
func (b *books) report(n uint8, sent onceward.Sent) {
	if !sent.LastByteAt.IsZero() && b.lastByte[n-1] != never {
		b.lastByte[n-1] = min(b.lastByte[n-1], exact(sent.LastByteAt, never+1))
	}
}

func (b *books) tell(effect uint8) {
	if effect > 0 {
		b.told |= 1 << effect
	}
}

// provable is the set of open attempts whose effect a look-up that began at
// this time must see.
func (b *books) provable(c *Config, began ticks) uint8 {
	set := uint8(0)
	for n := uint8(1); n <= b.highest; n++ {
		if began > b.lastByte[n-1]+ticks(c.Settle) {
			set |= bit(n)
		}
	}
	return set & b.open()
}

// accounted reports whether the one effect that was found is an attempt's that
// is called done, so that all others have made none.
func (a *auditor) accounted(refs []string) bool {
	if len(refs) != 1 {
		return false
	}
	for i := range a.before.row.tries[:a.before.row.count] {
		if t := &a.before.row.tries[i]; t.status == onceward.StatusDone && (t.reference == packReference(refs[0]) || t.reference == 0) {
			return true
		}
	}
	return a.before.row.state == onceward.StateSucceeded
}

func (a *auditor) resolved(b *books, e onceward.Resolved) {
	switch e.Outcome {
	case onceward.ResolvedSucceeded:
		b.not |= b.open()
		b.told = 0
		b.tell(packReference(e.Reference))
	case onceward.ResolvedNotPerformed:
		b.not |= b.open()
		b.told = 0
		if e.Retry {
			b.wanted()
		}
	case onceward.ResolvedAbandoned:
		b.told &= 1 << a.after.row.reference &^ 1
	}
}

// retired checks what is slimmed. That every attempt which is called done or
// not done has its own proof is checked in each state.
func (a *auditor) retired() {
	r := &a.before.row
	if !r.state.Terminal() {
		a.broken(OnlyEndedRetire, "%s was slimmed to a tombstone", r.state)
	}
	for i := range r.tries[:r.count] {
		if r.tries[i].status == onceward.StatusOpen && r.state != onceward.StateAbandoned {
			a.broken(OnlyEndedRetire, "%s was slimmed while attempt %d is open", r.state, i+1)
		}
	}
}

// leaves are the events that may lead out of a terminal state.
var leaves = map[onceward.EventKind]bool{
	onceward.KindReplayRequested: true, onceward.KindResolved: true, onceward.KindRetryRequested: true, onceward.KindCompensated: true,
	onceward.KindApprovalVoided: true, onceward.KindKeyTakenAnew: true, onceward.KindAttemptDone: true, onceward.KindProbeFound: true, onceward.KindEffectProven: true,
}

func (a *auditor) checkTerminal() {
	from, to, kind := a.before.row.state, a.after.row.state, a.event.Kind()
	if !from.Terminal() || from == to {
		return
	}
	proof := kind == onceward.KindAttemptDone || kind == onceward.KindProbeFound || kind == onceward.KindEffectProven
	if !leaves[kind] || proof && to != onceward.StateSucceeded && to != onceward.StateNeedsReview {
		a.broken(TerminalStays, "%s led from %s to %s", kind, from, to)
	}
}

// checkFence holds that a result of an older attempt is kept and moves no newer
// one.
func (a *auditor) checkFence() {
	var n int
	switch e := a.event.(type) {
	case onceward.AttemptDone:
		n = e.Attempt
	case onceward.AttemptNotDone:
		n = e.Attempt
	case onceward.AttemptUnknown:
		n = e.Attempt
	default:
		return
	}
	before, after := &a.before.row, &a.after.row
	for i := n; i < int(before.count); i++ {
		was, is := before.tries[i].status, after.tries[i].status
		done := a.event.Kind() == onceward.KindAttemptDone
		covered := is == onceward.StatusDone && done && a.c.sameEffect() || !a.c.Effect.Writes()
		corrected := was == onceward.StatusDone && done && before.tries[i].settler != onceward.SettledByNobody // what was only concluded
		if was != is && (!covered && !corrected || was == onceward.StatusRunning) {
			a.broken(LateIsFenced, "%s of attempt %d changed attempt %d", a.event.Kind(), n, i+1)
		}
	}
	if n < int(before.count) && before.state == onceward.StateEffectPending && after.state != before.state {
		a.broken(LateIsFenced, "%s of attempt %d ended attempt %d", a.event.Kind(), n, before.count)
	}
	a.checkKept(n)
}

// checkKept holds that what an attempt's own holder reports is noted.
func (a *auditor) checkKept(n int) {
	before, after := a.before.row.tries[n-1].status, a.after.row.tries[n-1].status
	kept := true
	switch e := a.event.(type) {
	case onceward.AttemptDone:
		kept = after == onceward.StatusDone && (e.Reference == "" || a.after.row.reference > 0)
	case onceward.AttemptNotDone:
		kept = after == onceward.StatusNotDone || after == before && before == onceward.StatusDone
	case onceward.AttemptUnknown:
		kept = after != onceward.StatusRunning
	}
	if !kept {
		a.broken(EvidenceIsKept, "%s of attempt %d left it %s", a.event.Kind(), n, after)
	}
}

// checkSecond holds that a second known effect is never passed over.
func (a *auditor) checkSecond(told uint8) {
	b, r := &a.after.books, &a.after.row
	if bits.OnesCount8(b.told) < 2 {
		return
	}
	switch r.state {
	case onceward.StateNeedsReview, onceward.StateEffectPending, onceward.StateOutcomeUnknown, onceward.StateCompensated:
	case onceward.StateAwaitingApproval, onceward.StateReady, onceward.StateSucceeded, onceward.StateFailed, onceward.StateAbandoned, onceward.StateCancelled:
		a.broken(SecondIsNotHidden, "two effects are known and the operation is %s", r.state)
	}
	if !r.broken {
		a.broken(SecondIsNotHidden, "two effects are known and it is not called broken")
	}
	if bits.OnesCount8(told) < 2 && !(a.has(onceward.PauseTool) && a.has(onceward.RaiseAlarm)) {
		a.broken(SecondIsNotHidden, "a second effect became known without alarm and pause")
	}
}

func (a *auditor) has(k onceward.ConsequenceKind) bool {
	for _, c := range a.out {
		if c.Kind == k {
			return true
		}
	}
	return false
}
