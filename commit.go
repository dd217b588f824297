package onceward

import (
	"context"
	"fmt"
	"time"
)

// fact is an event with what its record keeps besides.
type fact struct {
	event    Event
	actor    string
	evidence *Evidence
}

// facts wraps events that have no evidence of their own.
func facts(actor string, evs ...Event) []fact {
	out := make([]fact, len(evs))
	for i, ev := range evs {
		out[i] = fact{event: ev, actor: actor}
	}
	return out
}

// decide looks at an operation and says what to tell the machine; nothing to
// say means leave it.
type decide func(op *Operation, at time.Time) ([]fact, error)

// change tells the machine facts about a stored operation and commits, again on
// a newer row whenever compare-and-set lost. It returns the operation as stored.
func (l *Ledger) change(ctx context.Context, op *Operation, d decide) (*Operation, error) {
	for range maxConflicts {
		at := l.clock.now()
		fs, err := d(op, at)
		if err != nil || len(fs) == 0 {
			return op, err
		}
		c, out, err := l.build(op, fs, at)
		if err != nil {
			return op, err
		}
		stored, applied, err := l.write(ctx, c)
		if err != nil {
			return op, fmt.Errorf("record operation %s: %w", op.ID, err)
		}
		if applied {
			l.measure(op, stored, fs)
			if unsafeStart(op, stored) {
				l.noteUnsafe(ctx, stored)
			}
			l.carryOut(stored, out)
			l.wakeSerial(ctx, stored)
			return stored, nil
		}
		if stored == nil {
			return op, rowGone(op)
		}
		if _, err := l.hydrate(ctx, stored); err != nil {
			return op, err
		}
		op = stored
	}
	return op, &Error{Code: CodeWriteConflict, Op: "record operation", OperationID: op.ID, Message: "the row kept changing"}
}

// rowGone is what a change is told whose row is not there: a tombstone may have
// been dropped since it was read, nothing else ever is.
func rowGone(op *Operation) error {
	if op.Retired {
		return &Error{Code: CodeOperationNotFound, Op: "record operation", OperationID: op.ID, Message: "its tombstone was dropped", Hint: "ask again: the key is free"}
	}
	return &Error{Code: CodeLedgerCorrupt, Op: "record operation", OperationID: op.ID, Message: "the row is gone"}
}

// maxConflicts bounds how often one change is tried on ever newer rows.
const maxConflicts = 50

// build applies the facts and makes the change that stores the result.
func (l *Ledger) build(op *Operation, fs []fact, at time.Time) (*Change, []Consequence, error) {
	c, out := &Change{Before: op.Version, After: op.Clone()}, []Consequence(nil)
	next := &c.After
	for _, f := range fs {
		from, untold := next.State, quiet(next, f.event)
		more, err := next.apply(f.event, at)
		if err != nil {
			return nil, nil, err
		}
		if warned := f.evidence != nil && f.evidence.Warning != ""; warned || !untold {
			c.Records = append(c.Records, record(from, next, f, op.Version+1, at))
		}
		if e, ok := f.event.(Retired); ok {
			c.Unshown = e.Showings
		}
		out = append(out, more...)
	}
	c.Slim = next.Retired && !op.Retired
	next.Version, next.Token = op.Version+1, newToken()
	c.Events = l.emit(op, next, at)
	if c.Due = DueFor(next); c.Due == nil {
		c.DueGone = op.Version > 0 && DueFor(op) != nil
	}
	if op.Version > 0 && op.State.waitsForPerson() && next.State != op.State && !next.Policy.RemoteExecutor { // which no step is
		c.Saga, _ = sagaOf(next.Run)
	}
	for _, o := range out {
		if o.Kind == PauseTool {
			if _, already := l.switches.find(op.Tenant, op.Tool); !already {
				c.Tool = &ToolSwitch{Tenant: op.Tenant, Tool: op.Tool, Paused: true, Reason: o.Reason, By: l.opts.Owner, At: at}
			}
		}
	}
	return c, out, nil
}

// quiet reports whether an event is the happy path, which the row itself tells:
// the first attempt of a fresh operation started, and it was done.
func quiet(op *Operation, ev Event) bool {
	switch e := ev.(type) {
	case AttemptStarted:
		return op.Version == 0
	case LeaseProlonged, Retired:
		return true
	case StartParked:
		return e.Why != ParkToolPaused
	case AttemptDone:
		return op.State == StateEffectPending && e.Attempt == 1 && len(op.Attempts) == 1 && !op.CancelRequested
	}
	return false
}

func record(from State, after *Operation, f fact, version int64, at time.Time) Record {
	r := Record{Version: version, At: at, Event: f.event.Kind().String(), From: from, To: after.State, Actor: f.actor}
	if f.evidence != nil {
		ev := *f.evidence
		ev.Body = ev.Body[:min(len(ev.Body), RecordBodyBytes)]
		if _, done := f.event.(AttemptDone); done && !after.Policy.KeepResult.Whole() {
			ev.Body = nil // no more of an answer that the result does not keep
		}
		ev.Header, ev.Warning = ReplayableHeader(ev.Header), ""
		r.Evidence = &ev
	}
	switch e := f.event.(type) {
	case AttemptStarted:
		r.Attempt = after.Attempt()
	case AttemptDone:
		if f.evidence != nil {
			r.Reason = f.evidence.Warning
		}
		r.Attempt, r.Reference = e.Attempt, e.Reference
	case AttemptNotDone:
		r.Attempt, r.Reason = e.Attempt, e.Failure.Message
	case AttemptUnknown:
		r.Attempt, r.Reason = e.Attempt, e.Failure.Message
	case LeaseExpired:
		r.Attempt = e.Attempt
	case ProbeFound:
		r.Reference = e.References[0]
		if len(e.References) > 1 {
			r.Reason = fmt.Sprintf("%d effects found: %q", len(e.References), e.References)
		}
	case ProbeInconclusive:
		r.Attempt, r.Reason = e.Lost, e.Failure.Message
	case EffectProven:
		r.Reference, r.Reason = e.Reference, e.Source
	case StartParked:
		r.Reason = string(e.Why)
	case SettleOverdue:
		r.Reason = after.ReviewReason
	case ApprovalGranted:
		r.Reason, r.Shown = e.Reason, e.Shown
	case ApprovalRejected:
		r.Reason, r.Shown = e.Reason, e.Shown
	case ApprovalEdited:
		r.Reason, r.Shown = e.Reason, e.Shown
	case ApprovalVoided:
		r.Reason = e.Reason
	case ApprovalReminded:
		r.Reason = e.Reason
	case Forked:
		r.Reason = e.said()
	case Assigned:
		r.Reason = e.said()
	case Commented:
		r.Reason = e.Text
	case CancelRequested:
		r.Reason = e.Reason
	case Resolved:
		r.Reference, r.Reason = e.Reference, e.Reason
	case ReplayRequested:
		r.Reason = e.Reason
	case Compensated:
		r.Reference, r.Reason = e.By.String(), e.Reason
	}
	return r
}

// write commits a change, learns the database's clock, and wakes who waits.
func (l *Ledger) write(ctx context.Context, c *Change) (stored *Operation, applied bool, err error) {
	if err := l.Refusal(); err != nil {
		return nil, false, err
	}
	if c.After.Subject != "" && l.opts.Sealer == nil {
		return nil, false, keysMissing() // what is encrypted would be stored beside what is not
	}
	began := l.opts.Clock.Now()
	r, err := l.writer.Write(ctx, c)
	if c.After.Parked == ParkToolPaused && (err == nil || Is(err, CodeMayBeRecorded)) {
		l.switches.park(c.After.Tenant, c.After.Tool)
	}
	if err != nil {
		return nil, false, err
	}
	if !r.Now.IsZero() {
		l.clock.observe(r.Now, began, l.opts.Clock.Now())
	}
	if !r.Applied {
		return r.Stored, false, nil
	}
	if c.Tool != nil && l.switches.set(*c.Tool) {
		l.log.Warn("tool paused", "tool", c.Tool.Tool, "tenant", c.Tool.Tenant, "operation", c.After.ID.String(), "reason", c.Tool.Reason)
		e := switched(*c.Tool)
		e.Detail = "by " + c.After.ID.String()
		l.note(ctx, e)
	}
	l.waiters.notify(c.After.ID)
	if settled(&c.After) {
		l.sagas.tell(c.After.Run)
	}
	if !c.Saga.IsZero() {
		l.sagas.wake()
	}
	if c.Due != nil && !c.Due.At.IsZero() {
		l.Wake()
	}
	return &c.After, true, nil
}

// carryOut does what a committed transition asks for beyond the row.
func (l *Ledger) carryOut(op *Operation, out []Consequence) {
	for _, o := range out {
		switch o.Kind {
		case PauseTool: // committed with the row, and told once for all that found it paused: write
		case RaiseAlarm:
			l.log.Error("alarm", about(op, "tool", op.Tool, "tenant", op.Tenant, "reason", o.Reason)...)
			l.measureAlarm(op, o.Reason)
			if l.opts.Alarm != nil {
				l.opts.Alarm(op, o.Reason)
			}
		}
	}
}
