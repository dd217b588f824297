package onceward

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// dispatch works on a committed attempt of this process, detached from any
// caller: a caller that hangs up neither cancels the write nor loses the record.
// The channel gets the operation as it was recorded, once, and is closed.
func (l *Ledger) dispatch(op *Operation, t Tool, mark *liveMark) <-chan *Operation {
	recorded := make(chan *Operation, 1)
	if own, ok := t.(InProcess); ok {
		t = own.Begin(op)
	}
	l.running.add()
	l.crew.do(l.detached, func() {
		defer l.running.done()
		defer close(recorded)
		if stored := l.attempt(op, t); stored != nil {
			recorded <- stored
		}
		l.live.remove(mark)
	})
	return recorded
}

// attempt sends one write and records what is known of it. It returns the
// operation as recorded, nil if that could not be done.
//
// Crash point: dispatch.before_send, dispatch.after_send, dispatch.after_response.
func (l *Ledger) attempt(op *Operation, t Tool) *Operation {
	number := op.Attempt()
	lease := l.clock.localAt(op.Running().LeaseUntil)
	var span Span
	ev, stopped := l.send(op, t, lease, &span)
	l.crash("dispatch.after_response")
	if stopped != nil && ev.Reach.NothingSent() {
		l.exchanged(span, &ev, VerdictNotDone.String(), Failure{Class: ClassUnavailable, Code: "stopped"})
		return l.recordOutcome(op, fact{evidence: &ev, event: AttemptNotDone{Attempt: number, Sent: Sent{Reach: ev.Reach}, Free: true,
			Failure: Failure{Class: ClassUnavailable, Code: "stopped", Message: stopped.Error(), Retryable: true}}})
	}
	j := t.Judge(op, &ev)
	l.measureDispatch(op, &ev, j.Verdict)
	l.logAttempt(op, &ev, &j)
	l.warn(op, &ev)
	if ev.ErrorCode == string(CodeShredded) && ev.Reach.NothingSent() {
		j.Failure = shreddedFailure()
	}
	if ev.ErrorCode == secretMissing { // as a refused credential: the tool is paused, nothing burns its budget
		j.Failure.Class, j.Failure.Code = ClassAuth, secretMissing
	}
	if ev.ErrorCode == DefinitionChanged && l.superseded(op) {
		j.Failure = Failure{Class: ClassValidation, Code: DefinitionChanged, Message: ev.ErrorText + ", and a contract for another one is in force: fork it"}
	}
	l.exchanged(span, &ev, j.Verdict.String(), j.Failure)
	return l.recordOutcome(op, l.settleByLook(op, t, &ev, j, number))
}

// superseded reports whether another contract than the operation's is in force.
//
// Why it matters for a definition: an operation with an attempt keeps its
// contract. Once the contract for the tool's new definition is there, the old one
// never holds again, and would pause the tool anew each time it is resumed.
func (l *Ledger) superseded(op *Operation) bool {
	t, err := l.Tool(op.Tool)
	return err == nil && t.Info().Version != op.Contract
}

// send puts the one write of an attempt on the wire. The error says why the
// fence stopped it before its first byte, if it did.
func (l *Ledger) send(op *Operation, t Tool, lease time.Time, span *Span) (_ Evidence, stopped error) {
	started := l.clock.now()
	notSent := func(code, text string) Evidence {
		return Evidence{Reach: ReachNotDialled, StartedAt: started, EndedAt: l.clock.now(), ErrorClass: ClassConnection, ErrorCode: code, ErrorText: text}
	}
	if op.Request == nil { // its data key went after the attempt had been committed
		return notSent(string(CodeShredded), shreddedFailure().Message), nil
	}
	req := *op.Request
	*span = l.traced(op, SpanAttempt, &req)
	secrets, err := t.Secrets(op)
	if errors.Is(err, ErrCallerGone) {
		return notSent("caller_gone", "what the caller brings is not held here"), err
	}
	if err != nil {
		l.log.Error("a secret of a contract cannot be read", about(op, "tool", op.Tool, "error", err)...)
		return notSent(secretMissing, "a secret of the contract cannot be read"), nil
	}
	info := t.Info()
	req.Header = append(append([]HeaderField(nil), req.Header...), secrets...)
	var tap AnswerTap
	if bound, ok := t.(CallerBound); ok {
		tap = bound.Tap(op)
	}
	var refusal atomic.Pointer[error] // Why: a function that is cut off goes on to ask, beside us
	l.crash("dispatch.before_send")
	ev := l.providerOf(t, op).Send(l.detached, &req, SendOptions{
		Tap:          tap,
		SecretHeader: fieldNames(secrets), Write: info.Policy.Effect.Writes(), Deadline: info.Policy.Deadline, NotAfter: lease, Hosts: info.Hosts, JudgeBytes: info.JudgeBytes,
		BeforeWrite: func() error {
			err := l.fence(op, lease)
			refusal.Store(&err)
			return err
		},
		OnReach: func(r Reach) {
			if r == ReachBodyWritten {
				l.crash("dispatch.after_send")
			}
		},
		OnProgress: func(now Progress) { l.progress.tell(op.ID, now) },
	})
	l.toLedgerTime(&ev, started)
	if last := refusal.Load(); last != nil {
		stopped = *last
	}
	return ev, stopped
}

// secretMissing is the code of an attempt whose credential could not be read.
const secretMissing = "secret_missing"

func fieldNames(fields []HeaderField) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// fence is the last check before the first byte: rule 6 is checked again at the
// moment of writing.
func (l *Ledger) fence(op *Operation, lease time.Time) error {
	if err := l.closed("send attempt", op.ID); err != nil {
		return err
	}
	if !l.opts.Clock.Now().Before(lease) {
		return &Error{Code: CodeFenceLost, Op: "send attempt", OperationID: op.ID, Message: "the lease has passed"}
	}
	if sw, paused := l.switches.find(op.Tenant, op.Tool); paused {
		return &Error{Code: CodeStateForbids, Op: "send attempt", OperationID: op.ID, Message: "the tool is paused: " + sw.Reason}
	}
	if err := op.MaySend(l.clock.now()); err != nil {
		return err
	}
	return l.see(op)
}

// toLedgerTime converts the evidence's instants, which are local, to ledger time.
// The last byte is not put earlier than it was: settle counts from it.
func (l *Ledger) toLedgerTime(ev *Evidence, started time.Time) {
	local, ledger, latest := l.opts.Clock.Now(), l.clock.now(), l.clock.latest()
	if !ev.LastByteAt.IsZero() {
		ev.LastByteAt = latest.Add(ev.LastByteAt.Sub(local)).Truncate(time.Microsecond)
	}
	ev.StartedAt, ev.EndedAt = started, ledger
}

// settleByLook turns a judgement into a fact. Where the answer alone does not
// say which effect it was (an answer that is cut or cannot be read, an object that exists already), the
// effect is looked up before anything is recorded.
func (l *Ledger) settleByLook(op *Operation, t Tool, ev *Evidence, j Judgement, number int) fact {
	sent := Sent{Reach: ev.Reach, LastByteAt: ev.LastByteAt}
	look := j.Exists || j.Verdict == VerdictDone && j.Reference == "" && (ev.BodyCut || j.Unread)
	if look && op.Policy.HasProbe {
		pj, _, _ := l.look(op, t)
		switch ours := oursOf(pj.Found); {
		case pj.Conclusive && len(ours) == 1:
			j = Judgement{Verdict: VerdictDone, Reference: ours[0]}
		case j.Exists && pj.Conclusive && len(pj.Found) > 0 && len(ours) == 0:
			j = Judgement{Verdict: VerdictNotDone, Failure: Failure{Class: ClassConflict, Code: "exists_not_ours", Message: "an object stands under the chosen ID, and it is not this operation's"}}
		case j.Exists:
			j = Judgement{Verdict: VerdictUnknown, Failure: Failure{Class: ClassConflict, Code: "exists", Message: "an object exists already and could not be compared", Retryable: true}}
		}
	} else if j.Exists {
		j.Verdict = VerdictDone // under an ID of our own choice, "already exists" is proof
	}
	switch j.Verdict {
	case VerdictDone:
		return fact{event: AttemptDone{Attempt: number, Sent: sent, Reference: j.Reference, Result: l.result(t.Info(), ev), Settler: SettledByAnswer}, evidence: ev}
	case VerdictNotDone:
		return fact{event: AttemptNotDone{Attempt: number, Sent: sent, Failure: j.Failure, RetryAfter: j.RetryAfter}, evidence: ev}
	case VerdictUnknown, VerdictInProgress:
	}
	handle := j.Handle
	if len(handle) > HandleBytesMax {
		handle = ""
	}
	return fact{event: AttemptUnknown{Attempt: number, Sent: sent, Failure: j.Failure, RetryAfter: j.RetryAfter, Handle: handle}, evidence: ev}
}

// result is what later requests get replayed. A body that is not whole is not
// kept: a cut body must never be shown as a whole one.
func (l *Ledger) result(info *ToolInfo, ev *Evidence) *Result {
	r := &Result{Status: ev.Status, Header: ReplayableHeader(ev.Header)}
	if !ev.BodyCut && !ev.BodyTooBig {
		r.Body, r.BodyKept = ev.Body, true
	}
	return info.kept(r)
}

// kept is a result as the contract keeps it: its body whole, what a redacted one
// leaves, or nothing.
func (i *ToolInfo) kept(r *Result) *Result {
	if r == nil || !r.BodyKept {
		return r
	}
	most := i.KeepBytes
	if most == 0 {
		most = DefaultKeepBytes
	}
	k := *r
	switch {
	case int64(len(k.Body)) > most:
		k.Body, k.BodyKept = nil, false
	case !i.KeepResult.Whole():
		k.Body, k.BodyKept = i.KeepResult.apply(k.Body), false
	case k.Body == nil:
		k.Body = []byte{} // kept and empty
	}
	return &k
}

// Waits between tries to record an outcome while the ledger cannot be reached.
const (
	recordRetryFirst = 50 * time.Millisecond
	recordRetryMax   = 5 * time.Second
	recordGiveUp     = 15 * time.Minute
)

// recordOutcome commits what is known of an attempt. It does not give up while
// the ledger is away: evidence is never thrown away, and an operation whose
// record cannot be written is unknown, never released.
//
// Crash point: record.before_commit, record.after_commit.
func (l *Ledger) recordOutcome(op *Operation, f fact) *Operation {
	ctx := context.WithoutCancel(l.detached)
	f.actor = l.opts.Owner
	pause := recordRetryFirst
	until := l.opts.Clock.Now().Add(recordGiveUp)
	stalled := false
	l.crash("record.before_commit")
	for {
		stored, err := l.change(ctx, op, func(now *Operation, _ time.Time) ([]fact, error) {
			if now.Generation != op.Generation {
				return nil, nil // its own generation ended and was retired: the same number is another attempt
			}
			return []fact{f}, nil
		})
		if err == nil {
			l.crash("record.after_commit")
			return stored
		}
		l.log.Warn("outcome not recorded yet", about(op, "error", err)...)
		if !stalled {
			stalled = true
			l.live.stall(op)
			defer l.live.over(op)
		}
		if Poisoned(err) && f.evidence != nil {
			f = withoutBody(f) // a poisoned outcome is recorded lean, never dropped
			continue
		}
		if !retryableRecord(err) || l.opts.Clock.Now().After(until) {
			l.log.Error("outcome lost: the operation will be settled as unknown", about(op, "error", err)...)
			l.live.lose(op)
			return nil
		}
		select {
		case <-l.opts.Clock.After(pause):
			pause = min(2*pause, recordRetryMax)
		case <-l.detached.Done():
			l.live.lose(op)
			return nil
		}
	}
}

// suited makes what a look-up saw fit the clock: where the clock proves no
// absence, what was not seen is not known to be absent.
func (l *Ledger) suited(op *Operation, f fact) fact {
	if l.clock.provesAbsence(op) {
		return f
	}
	switch e := f.event.(type) {
	case ProbeAbsent:
		f.event = ProbeInconclusive{Failure: Failure{Class: ClassUnavailable, Code: "clock_unsure", Retryable: true,
			Message: "the database's clock jumped, or is not known to this process for long enough: absence is not believed yet"}}
	case ProbeFound:
		e.Began = time.Time{} // proof of what it saw, and of nothing that it did not see
		f.event = e
	}
	return f
}

func withoutBody(f fact) fact {
	if e, ok := f.event.(AttemptDone); ok && e.Result != nil {
		r := *e.Result
		r.Body, r.BodyKept = nil, false
		e.Result = &r
		f.event = e
	}
	f.evidence = nil
	return f
}

// finalRecordCodes are failures of a record that trying again cannot mend.
var finalRecordCodes = []Code{CodeFenceLost, CodeStateForbids, CodeInternal, CodeLedgerCorrupt, CodeKeyCollision, CodeLedgerForeign, CodeLedgerTooNew}

// retryableRecord reports whether a failed record may succeed later.
func retryableRecord(err error) bool { return !slices.Contains(finalRecordCodes, CodeOf(err)) }
