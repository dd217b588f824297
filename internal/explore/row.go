package explore

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// row is an operation as it is kept between two steps: what the machine's rules
// read, with every time relative to now. A test sees to it that no field of
// onceward.Operation is forgotten here.
type row struct {
	state                               onceward.State
	parked                              uint8 // index in parkReasons
	reference                           uint8 // effect; 0: none
	probes, granted, generation, count  uint8
	auth, failed, retryable             bool // the failure
	cancel, refPending, broken, retired bool
	approvalNeeded, approvalSpent       bool
	resendConfirmed, request, reasoned  bool
	stored                              bool // it was written before
	edited                              bool // an approver's edit gave it another digest
	inVain                              bool // it ended because nobody answered in time
	lookedLate                          bool // its last write came when one look-up more in vain is enough
	due, unknownSince, intent           ticks
	completed, approved                 ticks
	yeses                               [2]ticks // of each approver: until when; while it waits for them
	tries                               [maxTries]try
}

// try is an attempt of a row.
type try struct {
	status          onceward.AttemptStatus
	settler         onceward.Settler // of a done one: found from outside, by a person, or else
	reference       uint8
	free, resend    bool
	outside         bool  // made past the key's window
	started         ticks // of the attempt that began the window
	lease, lastByte ticks
}

var parkReasons = []onceward.ParkReason{onceward.NotParked, onceward.ParkToolPaused, onceward.ParkRate, onceward.ParkSerialize}

var effectNames = [...]string{"", "eff_1", "eff_2", "eff_3", "eff_4", "eff_5"}

// bounds are the ages at which instants stop growing: older than any comparison.
type bounds struct {
	lastByte, started, lease, unknownSince, intent, completed ticks
	looks                                                     bool // there is a look-up, so last bytes matter
}

func (c *Config) bounds() bounds {
	b := bounds{
		lastByte: -ticks(c.Settle + lookAge + 1), lease: -ticks(c.Settle + lookAge + 1 + c.Deadline), started: -ticks(c.KeyWindow), unknownSince: -ticks(c.Recovery + 1),
		looks: c.Probe,
	}
	if c.NotAfter > 0 || c.Approval > 0 {
		b.intent = -ticks(max(c.NotAfter, c.Approval) + 1)
	}
	if c.Requests > 0 {
		b.completed = -ticks(c.BackoffMax)
	}
	return b
}

// farthest is the latest future instant that is told apart.
const farthest ticks = 100

// pack writes an operation as a row; false if it has more attempts than are followed.
func (x *explorer) pack(op *onceward.Operation) (row, bool) {
	if len(op.Attempts) > maxTries {
		return row{}, false
	}
	b := &x.bounds
	r := row{
		state: op.State, auth: op.Failure.Class == onceward.ClassAuth, failed: !op.Failure.IsZero(), retryable: op.Failure.Retryable, parked: packPark(op.Parked),
		reference: packReference(op.Reference), probes: uint8(min(op.Probes, enoughLooks)), granted: uint8(op.Granted), generation: uint8(op.Generation),
		count: uint8(len(op.Attempts)), cancel: op.CancelRequested, refPending: op.RefPending, broken: op.Broken, approvalNeeded: op.ApprovalNeeded,
		approvalSpent: op.ApprovalSpent, resendConfirmed: op.ResendConfirmed, retired: op.Retired, request: op.Request != nil, reasoned: op.ReviewReason != "", stored: true,
		due: ticksOf(op.DueAt, 0, farthest), unknownSince: exact(op.UnknownSince, b.unknownSince), intent: exact(op.IntentAt, b.intent),
		completed: exact(op.CompletedAt, b.completed), approved: never,
	}
	r.packAnswers(op)
	if op.ApprovalNeeded && !op.ApprovalSpent {
		r.approved = -1
		if !op.ApprovedUntil.Before(epoch) {
			r.approved = exact(op.ApprovedUntil, -1)
		}
	}
	if x.config.Probe && r.unknownSince != never {
		r.lookedLate = op.UpdatedAt.After(x.lookUntil(op))
	}
	if r.unknownSince != never && (!x.config.Probe || !x.config.Effect.Writes()) {
		r.unknownSince = b.unknownSince // no recovery window counts from it
	}
	for i := range op.Attempts {
		if op.Attempts[i].Number != i+1 {
			return row{}, false
		}
		r.tries[i] = x.packTry(&op.Attempts[i])
	}
	x.packStarts(op, &r)
	return r, true
}

// approvers are the people who answer.
var approvers = [2]string{"p", "q"}

// The digests of the first input, and of the edited one.
var digests = [2]onceward.Digest{{0}, {1}}

// packAnswers keeps what was asked, and who answered.
func (r *row) packAnswers(op *onceward.Operation) {
	r.edited, r.inVain, r.yeses = op.Digest == digests[1], op.AskedInVain(), [2]ticks{never, never}
	if op.State != onceward.StateAwaitingApproval {
		return
	}
	for _, y := range op.Approval.Yeses {
		for i, name := range approvers {
			if y.Actor == name {
				r.yeses[i] = exact(y.Until, -1)
			}
		}
	}
}

// unpackAnswers is the other direction.
func (r *row) unpackAnswers(op *onceward.Operation) {
	if r.edited {
		op.Digest, op.Supersedes = digests[1], []onceward.Superseded{{Digest: digests[0]}}
	}
	if r.inVain {
		op.Failure = onceward.Failure{Code: onceward.KindApprovalExpired.String()}
	}
	for i, until := range r.yeses {
		if until != never {
			op.Approval.Yeses = append(op.Approval.Yeses, onceward.Yes{Actor: approvers[i], At: epoch, Until: until.instant()})
		}
	}
}

// packStarts keeps when the key's window began, and of every other attempt
// whether it was made inside of it: no rule asks more.
func (x *explorer) packStarts(op *onceward.Operation, r *row) {
	if x.config.Effect != onceward.EffectKeyedWrite || x.config.KeyWindow == 0 {
		return
	}
	first := -1
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Status != onceward.StatusNotDone || !a.LastByteAt.IsZero() {
			first = i
			break
		}
	}
	for i := range op.Attempts {
		started := op.Attempts[i].StartedAt
		switch {
		case i == first:
			r.tries[i].started = exact(started, x.bounds.started)
		case first >= 0 && i > first:
			end := op.Attempts[first].StartedAt.Add(ticks(x.config.KeyWindow - x.config.Deadline - 1).long())
			r.tries[i].outside = !started.Before(end)
		}
	}
}

// enoughLooks is from how many look-ups on no rule counts them.
const enoughLooks = 3

// lookUntil is what the last write of a row is held against. All three instants
// change only when the row is written, so that between two writes nothing but
// the order of them matters.
func (x *explorer) lookUntil(op *onceward.Operation) time.Time {
	until := op.UnknownSince.Add(op.Policy.RecoveryWindow)
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Status == onceward.StatusOpen {
			if p := a.LastByteAt.Add(op.Policy.Settle); p.After(until) {
				until = p
			}
		}
	}
	return until
}

// packTry keeps of an attempt what a rule may still read.
func (x *explorer) packTry(a *onceward.Attempt) try {
	t := try{status: a.Status, reference: packReference(a.Reference), free: a.Free, resend: a.Resend, started: never, lease: never, lastByte: never}
	if a.Status == onceward.StatusDone {
		switch a.Settler {
		case onceward.SettledByProbe, onceward.SettledByCallback:
			t.settler = onceward.SettledByProbe
		case onceward.SettledByPerson:
			t.settler = a.Settler
		case onceward.SettledByNobody, onceward.SettledByAnswer, onceward.SettledByLater:
		}
	}
	if a.Status == onceward.StatusRunning {
		t.lease = exact(a.LeaseUntil, x.bounds.lease)
	}
	switch {
	case a.LastByteAt.IsZero():
	case a.Status == onceward.StatusOpen && x.config.Probe:
		t.lastByte = exact(a.LastByteAt, x.bounds.lastByte)
	default:
		t.lastByte = x.bounds.lastByte // sent once: when does not matter any more
	}
	return t
}

// unpack reads a row back into an operation.
func (x *explorer) unpack(r *row) onceward.Operation {
	op := x.blank
	op.State, op.Parked, op.Reference = r.state, parkReasons[r.parked], effectNames[r.reference]
	op.Probes, op.Granted, op.Generation = int(r.probes), int(r.granted), onceward.Generation(r.generation)
	op.CancelRequested, op.RefPending, op.Broken, op.Retired = r.cancel, r.refPending, r.broken, r.retired
	op.ApprovalNeeded, op.ApprovalSpent, op.ResendConfirmed = r.approvalNeeded, r.approvalSpent, r.resendConfirmed
	op.DueAt, op.UnknownSince, op.IntentAt, op.CompletedAt, op.ApprovedUntil = r.due.instant(), r.unknownSince.instant(), r.intent.instant(), r.completed.instant(), r.approved.instant()
	if r.failed {
		op.Failure = onceward.Failure{Class: onceward.ClassUnavailable, Code: "f", Retryable: r.retryable}
		if r.auth {
			op.Failure.Class = onceward.ClassAuth
		}
	}
	r.unpackAnswers(&op)
	if !r.request {
		op.Request = nil
	}
	if r.stored {
		op.Version = 1
	}
	if r.lookedLate {
		op.UpdatedAt = epoch.Add(farthest.long())
	}
	if r.reasoned {
		op.ReviewReason = "why"
	}
	x.attempts = x.attempts[:0]
	first := epoch
	for i := range r.tries[:r.count] {
		t := &r.tries[i]
		a := onceward.Attempt{
			Number: i + 1, Owner: "w", Status: t.status, Settler: t.settler, Reference: effectNames[t.reference], Free: t.free, Resend: t.resend,
			LeaseUntil: t.lease.instant(), StartedAt: first, LastByteAt: t.lastByte.instant(),
		}
		if t.started != never {
			first = t.started.instant()
			a.StartedAt = first
		}
		if t.outside {
			a.StartedAt = epoch
		}
		if t.status != onceward.StatusRunning {
			a.EndedAt = epoch
		}
		x.attempts = append(x.attempts, a)
	}
	op.Attempts = x.attempts
	return op
}

// older lets one tick pass for a row.
func (r *row) older(b *bounds) {
	r.due, r.unknownSince, r.intent = r.due.older(0), r.unknownSince.older(b.unknownSince), r.intent.older(b.intent)
	r.completed, r.approved = r.completed.older(b.completed), r.approved.older(-1)
	r.yeses = [2]ticks{r.yeses[0].older(-1), r.yeses[1].older(-1)}
	for i := range r.tries[:r.count] {
		t := &r.tries[i]
		t.started, t.lease, t.lastByte = t.started.older(b.started), t.lease.older(b.lease), t.lastByte.older(b.lastByte)
	}
}

func packPark(p onceward.ParkReason) uint8 {
	for i, other := range parkReasons {
		if p == other {
			return uint8(i)
		}
	}
	panic(fmt.Sprintf("explore: no park reason %q", p))
}

func packReference(ref string) uint8 {
	for i, name := range effectNames {
		if ref == name {
			return uint8(i)
		}
	}
	panic(fmt.Sprintf("explore: no effect is called %q", ref))
}
