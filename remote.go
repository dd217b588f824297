package onceward

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// ClaimTokenMin is the shortest claim token: it is what a lost answer is asked
// again with, and what the attempt's secret is made from.
const ClaimTokenMin = 16

// Grant is what a remote claim gets: the operation, and an attempt of the
// caller's own if Secret is not empty.
type Grant struct {
	Answer
	Attempt    AttemptID
	Secret     string    // for heartbeat and outcome; empty: there is nothing to perform
	LeaseUntil time.Time // silence past it is unknown
}

// Claim claims an intention that the caller performs itself. The same claim
// token gets the same attempt and secret, so that a lost answer is harmless.
func (l *Ledger) Claim(ctx context.Context, in Intent, token string) (*Grant, error) {
	g, err := l.claimUncounted(ctx, in, token)
	if err != nil {
		l.count(in.Principal, in.Tool, nil, err)
		return nil, err
	}
	if g.Secret != "" {
		if err := l.see(g.Operation); err != nil {
			return nil, err // its silence is unknown once the lease is over
		}
	}
	l.count(in.Principal, in.Tool, &g.Answer, nil)
	return g, nil
}

func (l *Ledger) claimUncounted(ctx context.Context, in Intent, token string) (*Grant, error) {
	t, err := l.permitted(ctx, in.Principal, in.Tool, ActionPerform)
	if err != nil {
		return nil, err
	}
	if !t.Info().Policy.RemoteExecutor {
		return nil, &Error{Code: CodeInvalidRequest, Op: "claim", Message: fmt.Sprintf("tool %s is performed by onceward", in.Tool), Hint: "use POST /v1/operations, or set executor: caller in the contract"}
	}
	if len(token) < ClaimTokenMin {
		return nil, &Error{Code: CodeInvalidRequest, Op: "claim", Message: fmt.Sprintf("claim_token is shorter than %d characters", ClaimTokenMin), Hint: "make a random one for each try, and repeat it if the answer is lost"}
	}
	wait, err := boundedWait(in.Wait)
	if err != nil {
		return nil, err
	}
	gen := l.firstGeneration(t.Info())
	p, err := t.Prepare(&in, gen)
	if err != nil {
		return nil, err
	}
	if err := l.documented(ctx, &in, t, p); err != nil {
		return nil, err
	}
	id := NewOperationID(in.Principal.Tenant, in.Tool, p.Key)
	c, err := l.claim(ctx, &in, t, p, remoteStarter(AttemptID{id, 1}, gen, token))
	if err != nil {
		return nil, err
	}
	if c.won {
		return l.grant(c.op, token, DecisionFresh), nil
	}
	return l.claimStored(ctx, &in, t, p, c.op, token, wait)
}

// remoteStarter makes the attempt's secret from the token: whoever knows the
// token gets the same secret again, and nothing but hashes is stored.
func remoteStarter(id AttemptID, g Generation, token string) starter {
	secret := sha256.Sum256([]byte(attemptSecret(id, g, token)))
	return starter{generation: g, claimToken: hashToken(token), secretHash: secret[:]}
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte("onceward/claim-token/v1\n" + token))
	return hex.EncodeToString(sum[:16])
}

func attemptSecret(id AttemptID, g Generation, token string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "onceward/attempt-secret/v1\n%s.%d\n%s", id, g, token))
	return hex.EncodeToString(sum[:])
}

// grant hands out the attempt that the token stands for, as long as its lease
// runs: the claim's commit may have lasted, and the database's clock jumped.
func (l *Ledger) grant(op *Operation, token string, d Decision) *Grant {
	g := &Grant{Answer: Answer{Operation: op, Decision: d, RetryAfter: l.retryAfter(op)}}
	if a := op.Running(); a != nil && a.ClaimToken == hashToken(token) && l.clock.now().Before(a.LeaseUntil) {
		g.Attempt = AttemptID{Operation: op.ID, Number: a.Number}
		g.Secret, g.LeaseUntil = attemptSecret(g.Attempt, op.Generation, token), a.LeaseUntil
	}
	return g
}

// claimedBy is an error as whoever brings a claim token is told it.
//
// Why: a claim whose commit was lost may have been kept, and others may have ended
// its attempt before that was found out. It did something then, whatever failed since.
func (o *Operation) claimedBy(token string, err error) error {
	hash := hashToken(token)
	if !Is(err, CodeLedgerUnavailable) || !slices.ContainsFunc(o.Attempts, func(a Attempt) bool { return a.ClaimToken == hash }) {
		return err
	}
	return &Error{Code: CodeMayBeRecorded, Op: "claim attempt", OperationID: o.ID, Message: "the token's claim is recorded, and the ledger was lost before another attempt could be handed out",
		Hint: "ask again with the same key and token", Err: err}
}

// claimStored answers a claim of an intention that is there already: with its
// own attempt again, with a new attempt where one may start, else like any duplicate.
func (l *Ledger) claimStored(ctx context.Context, in *Intent, t Tool, p *Prepared, op *Operation, token string, wait time.Duration) (*Grant, error) {
	if op.Retired {
		first := remoteStarter(AttemptID{op.ID, 1}, op.Generation+1, token)
		op, p, won, err := l.takeAnew(ctx, in, t, op, first)
		switch {
		case Is(err, CodeOperationNotFound):
			return l.claimUncounted(ctx, *in, token) // its tombstone was dropped meanwhile
		case err != nil:
			return nil, err
		case won:
			return l.grant(op, token, DecisionFresh), nil
		}
		return l.claimStored(ctx, in, t, p, op, token, wait)
	}
	if err := l.sameIntention(ctx, in, t, p, op); err != nil {
		return nil, err
	}
	if g := l.grant(op, token, DecisionJoined); g.Secret != "" {
		return g, nil
	}
	if err := refuseDuplicate(in.OnDuplicate, op); err != nil {
		return nil, err
	}
	op, ok, err := l.approved(ctx, op, t)
	if err != nil {
		return nil, err
	}
	there := op
	op, err = l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
		if !ok || now.State != StateReady || now.NextStep(at) != StepNone || at.Before(now.startFrom()) {
			return nil, nil
		}
		s := remoteStarter(AttemptID{now.ID, now.Attempt() + 1}, now.Generation, token)
		s.contract = op.Contract
		return l.serialFacts(ctx, now, l.startFacts(now, at, s), at)
	})
	if err != nil {
		return nil, there.claimedBy(token, err)
	}
	if g := l.grant(op, token, DecisionJoined); g.Secret != "" {
		return g, nil
	}
	a, err := l.duplicate(ctx, in, t, p, op, wait)
	if err != nil {
		return nil, err
	}
	return &Grant{Answer: *a}, nil
}

// remoteAttempt loads the operation of an attempt and checks its secret.
func (l *Ledger) remoteAttempt(ctx context.Context, p Principal, id AttemptID, secret string) (*Operation, *Attempt, error) {
	op, _, err := l.load(ctx, p.Tenant, id.Operation)
	if err != nil {
		return nil, nil, err
	}
	hash := sha256.Sum256([]byte(secret))
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Number == id.Number && a.SecretHash != nil && subtle.ConstantTimeCompare(a.SecretHash, hash[:]) == 1 {
			return op, a, nil
		}
	}
	return nil, nil, attemptGone(id)
}

// attemptGone is what is said to whoever has not the secret of an attempt, and
// of one whose generation was retired meanwhile.
func attemptGone(id AttemptID) error {
	return &Error{Code: CodeAttemptNotFound, Op: "find attempt", OperationID: id.Operation, Message: "no such attempt, or its secret does not match",
		Hint: "use the attempt and secret that the claim answered with"}
}

// Heartbeat prolongs the lease of a remote attempt by the contract's lease from
// now. CodeFenceLost: the attempt does not hold the lease any more; stop writing.
func (l *Ledger) Heartbeat(ctx context.Context, p Principal, id AttemptID, secret string) (time.Time, error) {
	op, _, err := l.remoteAttempt(ctx, p, id, secret)
	if err != nil {
		return time.Time{}, err
	}
	generation := op.Generation
	op, err = l.change(ctx, op, func(now *Operation, at time.Time) ([]fact, error) {
		if now.Generation != generation {
			return nil, attemptGone(id)
		}
		return facts(p.String(), LeaseProlonged{Attempt: id.Number, Until: at.Add(now.Policy.Lease)}), nil
	})
	if err != nil {
		return time.Time{}, err
	}
	return op.Running().LeaseUntil, nil
}
