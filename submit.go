package onceward

import (
	"context"
	"fmt"
	"time"
)

// Decision says how a request was answered.
type Decision string

// The decisions.
const (
	DecisionFresh     Decision = "fresh"     // this request created the operation
	DecisionReplayed  Decision = "replayed"  // the stored end was returned
	DecisionJoined    Decision = "joined"    // waited with the first
	DecisionBlocked   Decision = "blocked"   // refused
	DecisionEscalated Decision = "escalated" // unknown, or a person has to act
)

// Answer is what a request gets. Operation is never nil.
type Answer struct {
	Operation  *Operation
	Decision   Decision
	RetryAfter time.Duration // how long to wait before asking again; 0: final, or no advice
}

// Submit is the main job: it claims the intention atomically, makes at most one
// attempt, and waits for the end up to the intent's wait. The same intention
// again gets the first one's answer.
//
// Errors leave nothing behind, but for CodeMayBeRecorded: then the same key has
// to be asked again. CodeCanceled ends only the waiting.
func (l *Ledger) Submit(ctx context.Context, in Intent) (*Answer, error) {
	a, err := l.submitUncounted(ctx, in)
	l.count(in.Principal, in.Tool, a, err)
	return a, err
}

func (l *Ledger) submitUncounted(ctx context.Context, in Intent) (*Answer, error) {
	r, err := l.admit(ctx, &in)
	if err != nil {
		return nil, err
	}
	if in.OnProgress != nil {
		stop := l.progress.listen(NewOperationID(in.Principal.Tenant, r.tool.Info().Name, r.p.Key), in.OnProgress)
		defer stop()
	}
	return l.submit(ctx, r, nil)
}

// admitted is an intent that passed every check which needs no ledger.
type admitted struct {
	in   *Intent
	tool Tool
	gen  Generation
	p    *Prepared
	wait time.Duration
}

// admit validates an intent under the contract in force. Nothing is looked up
// and nothing is left behind.
func (l *Ledger) admit(ctx context.Context, in *Intent) (*admitted, error) {
	t, err := l.permitted(ctx, in.Principal, in.Tool, ActionSubmit)
	if err != nil {
		return nil, err
	}
	return l.admitUnder(ctx, in, t)
}

// admitUnder is admit under a contract that the caller may use.
func (l *Ledger) admitUnder(ctx context.Context, in *Intent, t Tool) (*admitted, error) {
	if t.Info().Policy.RemoteExecutor {
		return nil, &Error{Code: CodeInvalidRequest, Op: "submit", Message: fmt.Sprintf("tool %s is performed by its caller", in.Tool),
			Hint: "claim it at POST /v1/operations:claim"}
	}
	wait, err := boundedWait(in.Wait)
	if err != nil {
		return nil, err
	}
	gen := l.firstGeneration(t.Info())
	p, err := t.Prepare(in, gen)
	if err != nil {
		return nil, err
	}
	if err := l.documented(ctx, in, t, p); err != nil {
		return nil, err
	}
	return &admitted{in: in, tool: t, gen: gen, p: p, wait: wait}, nil
}

// submit claims and answers. decided, if not nil, is called once it is decided
// whose the identity is.
func (l *Ledger) submit(ctx context.Context, r *admitted, decided func()) (*Answer, error) {
	c, err := l.claim(ctx, r.in, r.tool, r.p, starter{generation: r.gen})
	if decided != nil {
		decided()
	}
	if err != nil {
		return nil, err
	}
	if !c.won {
		return l.duplicate(ctx, r.in, r.tool, r.p, c.op, r.wait)
	}
	return l.answerFresh(ctx, c.op, c.recorded, r.wait)
}

func boundedWait(d time.Duration) (time.Duration, error) {
	if d < 0 {
		return DefaultWait, nil
	}
	if d > MaxWait {
		return 0, &Error{Code: CodeUnsupportedPolicy, Op: "submit", Message: fmt.Sprintf("wait %s is longer than %s", d, MaxWait), Hint: "wait less, then ask again with the same key"}
	}
	return d, nil
}

// starter says who makes the first attempt, of which use of the key. The zero
// value is this process and generation 0.
type starter struct {
	generation Generation // of a claim
	contract   string     // in force, where the first attempt needs an approval
	claimToken string
	secretHash []byte
}

func (s starter) remote() bool { return s.claimToken != "" }

// claimed is what became of a claim.
type claimed struct {
	op       *Operation // as stored: ours, or the one that was there
	won      bool
	recorded <-chan *Operation // our attempt's end; nil if none was started here
}

// claim inserts the operation, with its first attempt if it may start, unless
// the identity is there already. The provider is not called before the commit.
//
// Crash point: claim.before_commit, claim.after_commit.
func (l *Ledger) claim(ctx context.Context, in *Intent, t Tool, p *Prepared, s starter) (claimed, error) {
	if err := l.join(ctx, in, NewOperationID(in.Principal.Tenant, t.Info().Name, p.Key)); err != nil {
		return claimed{}, err
	}
	if err := l.noteNamed(ctx, in.Principal.Tenant, p.named); err != nil {
		return claimed{}, err
	}
	at := l.clock.now()
	op := NewOperation(in, p, t.Info(), s.generation, at)
	if err := l.assign(ctx, &op, p); err != nil {
		return claimed{}, err
	}
	if err := l.unsure(ctx, &op, t.Info(), at); err != nil {
		return claimed{}, err
	}
	if l.recent.has(op.ID) {
		if there, err := l.writer.Read(ctx, op.ID); err != nil || there != nil {
			if err != nil {
				return claimed{}, fmt.Errorf("claim operation %s: %w", op.ID, err)
			}
			return l.lostClaim(ctx, &op, there)
		}
	}
	l.recent.add(op.ID)
	fs, err := l.serialFacts(ctx, &op, l.firstFacts(&op, at, s), at)
	if err != nil {
		return claimed{}, err
	}
	c, out, err := l.build(&op, fs, at)
	if err != nil {
		return claimed{}, err
	}
	c.complete(in, p, &op, at)
	var mark *liveMark
	if c.After.State == StateEffectPending && !s.remote() {
		if mark, err = l.mark(ctx, &c.After); err != nil {
			return claimed{}, err
		}
	}
	l.crash("claim.before_commit")
	durable := context.WithoutCancel(ctx)
	stored, applied, err := l.write(durable, c)
	if err != nil || !applied {
		if mark != nil {
			l.unmark(mark, &c.After, stored, err)
		}
		if err != nil {
			return claimed{}, fmt.Errorf("claim operation %s: %w", op.ID, err)
		}
		return l.lostClaim(ctx, &op, stored)
	}
	l.crash("claim.after_commit")
	l.measure(&op, stored, fs)
	l.carryOut(stored, out)
	if stored, err = l.applyEarly(durable, stored); err != nil {
		l.log.Warn("early approvals not looked at", about(stored, "error", err)...) // the next request does
	}
	got := claimed{op: stored, won: true}
	if mark != nil {
		got.recorded = l.dispatch(stored, t, mark)
	}
	return got, nil
}

// complete adds what the change of a new operation has beyond its row: why a fork
// is wanted, and its names under earlier rules.
func (c *Change) complete(in *Intent, p *Prepared, op *Operation, at time.Time) {
	if in.Reason != "" {
		c.Records = append(c.Records, Record{Version: c.After.Version, At: at, Event: "forked", From: op.State, To: c.After.State, Actor: in.Principal.String(), Reason: in.Reason})
	}
	for _, k := range p.Aliases {
		c.Aliases = append(c.Aliases, NewOperationID(op.Tenant, op.Tool, k))
	}
}

// mark notes a claim that is about to be committed.
//
// Invariant: if the process dies after that commit, its last beat leads to the
// claim. Where that beat is old, or told of a low-water mark past the claim's
// creation, the process beats again first.
func (l *Ledger) mark(ctx context.Context, op *Operation) (*liveMark, error) {
	if err := l.closed("claim operation", op.ID); err != nil {
		return nil, err
	}
	m, overtaken := l.live.add(op)
	if overtaken || l.replicas.stale(l.opts.Clock.Now()) {
		if _, _, err := l.Beat(ctx); err != nil {
			l.live.remove(m)
			return nil, err
		}
	}
	return m, nil
}

// unmark takes the mark of a claim away that this process will not work on. The
// low-water mark is kept for a claim that may be recorded all the same, and for
// one that lost to an attempt of our own: that may be this very claim, whose
// commit was lost and whose row somebody else changed before it was run again.
// If nobody here works on that attempt, it is found when its lease is over.
func (l *Ledger) unmark(mark *liveMark, op, stored *Operation, err error) {
	switch {
	case err != nil && Is(err, CodeMayBeRecorded):
		l.live.lose(op)
	case stored != nil && stored.Running() != nil && stored.Running().Owner == l.opts.Owner:
		l.live.lose(stored)
	}
	l.live.remove(mark)
}

// lostClaim is the operation that was there first.
func (l *Ledger) lostClaim(ctx context.Context, op, stored *Operation) (claimed, error) {
	switch {
	case stored == nil:
		return claimed{}, &Error{Code: CodeLedgerCorrupt, Op: "claim operation", OperationID: op.ID, Message: "the claim lost to a row that is not there"}
	case stored.Tenant != op.Tenant || stored.Tool != op.Tool || stored.ID == op.ID && stored.Key != op.Key: // else an alias led there
		return claimed{}, &Error{Code: CodeKeyCollision, Op: "claim operation", OperationID: op.ID, Message: "another identity has this operation ID"}
	}
	if stored.Subject != "" && l.opts.Sealer == nil {
		return claimed{}, keysMissing() // its digest cannot be compared
	}
	_, err := l.hydrate(ctx, stored)
	return claimed{op: stored}, err
}

// firstFacts says whether a new operation's first attempt may start now.
func (l *Ledger) firstFacts(op *Operation, at time.Time, s starter) []fact {
	if op.State != StateReady {
		return nil
	}
	if !s.remote() && op.Policy.RemoteExecutor {
		return nil
	}
	return l.startFacts(op, at, s)
}

// startFacts starts an attempt, or parks it where something says wait.
func (l *Ledger) startFacts(op *Operation, at time.Time, s starter) []fact {
	if _, paused := l.switches.find(op.Tenant, op.Tool); paused {
		return facts(l.opts.Owner, StartParked{Why: ParkToolPaused})
	}
	if g := l.gapOver(op, at); g != nil {
		return forgottenFacts(op, g, s)
	}
	if wait, ok := l.rates.take(op.Tenant, op.Tool, op.Policy.Rate, l.opts.Clock.Now()); !ok {
		return facts(l.opts.Owner, StartParked{Why: ParkRate, Until: at.Add(wait)})
	}
	owner := l.opts.Owner
	if s.remote() {
		owner = ownerCaller
	}
	return facts(l.opts.Owner, AttemptStarted{Owner: owner, LeaseUntil: at.Add(op.Policy.Lease), Contract: s.contract, ClaimToken: s.claimToken, SecretHash: s.secretHash})
}

// serialFacts parks a start whose resource another operation holds.
func (l *Ledger) serialFacts(ctx context.Context, op *Operation, fs []fact, at time.Time) ([]fact, error) {
	if op.SerialKey == "" || len(fs) == 0 || isPark(fs) {
		return fs, nil
	}
	_, ok, err := l.acquireSerial(ctx, op)
	if e, starts := fs[0].event.(AttemptStarted); starts { // to take it may have lasted: the lease is whole from here on
		e.LeaseUntil = l.clock.now().Add(op.Policy.Lease)
		fs[0].event = e
	}
	if err != nil || ok {
		return fs, err
	}
	return facts(l.opts.Owner, StartParked{Why: ParkSerialize, Until: at.Add(serialPoll)}), nil
}

// ownerCaller is the owner of remote attempts.
const ownerCaller = "caller"

// answerFresh waits for what this request created. The attempt's own end comes
// without a read.
func (l *Ledger) answerFresh(ctx context.Context, op *Operation, recorded <-chan *Operation, wait time.Duration) (*Answer, error) {
	began := l.opts.Clock.Now()
	if recorded != nil && wait > 0 {
		select {
		case stored := <-recorded:
			if stored != nil {
				op = stored
			}
		case <-l.opts.Clock.After(wait):
		case <-l.gone:
		case <-ctx.Done():
		}
	}
	op, err := l.awaitOurs(ctx, op, wait-l.opts.Clock.Now().Sub(began))
	if err != nil {
		return nil, err
	}
	return &Answer{Operation: op, Decision: DecisionFresh, RetryAfter: l.retryAfter(op)}, nil
}

// retryAfter advises when to ask again: 0 for an end that stays.
func (l *Ledger) retryAfter(op *Operation) time.Duration {
	now := l.clock.now()
	switch op.State {
	case StateSucceeded, StateCancelled, StateCompensated, StateAbandoned:
		return 0
	case StateFailed:
		if from := op.RetryFrom(); !from.IsZero() && !op.pastNotAfter(now) {
			return max(time.Second, from.Sub(now))
		}
		return 0
	case StateAwaitingApproval, StateNeedsReview:
		return time.Minute
	case StateReady, StateEffectPending, StateOutcomeUnknown:
		if op.Parked == ParkToolPaused {
			return time.Minute
		}
		if op.DueAt.After(now) {
			return min(time.Minute, max(time.Second, op.DueAt.Sub(now)))
		}
	}
	return time.Second
}
