package onceward

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// DecisionRequest asks for a step's decision: for the one that is pinned, for
// the right to decide, or, with Output, to pin what was decided.
type DecisionRequest struct {
	Principal     Principal
	Run           RunID
	Step          string
	Input         []byte // JSON as received, of which the digest is kept; nil: InputDigest
	InputDigest   Digest // see ContentDigest
	Model         string
	PromptVersion string
	RuleVersion   string // where a workflow document has the rules: that one, or empty; else a word of the caller's, kept with what is pinned
	Schema        []byte // JSON Schema of the output, where no document has one; nil: none
	Confidence    *float64
	Output        []byte // JSON; nil: none yet
	ClaimToken    string // the caller's own, or the one that a claim was answered with; empty: one is made
	Lease         time.Duration
	Wait          time.Duration // how long to wait for somebody else's output; negative: DefaultWait
}

// DecisionState is how a request for a decision was answered.
type DecisionState string

// The answers to a request for a decision.
const (
	DecisionPinned  DecisionState = "pinned"  // it is decided: act on the output
	DecisionClaimed DecisionState = "claimed" // the caller decides, and pins the output with its token
	DecisionPending DecisionState = "pending" // somebody else is deciding: ask again
)

// DecisionAnswer is what a request for a decision gets.
type DecisionAnswer struct {
	Step       *StepDecision
	State      DecisionState
	Decision   Decision      // fresh: this request pinned or claimed it; replayed, joined: somebody else's
	ClaimToken string        // of a claim
	LeaseUntil time.Time     // of a claim
	RetryAfter time.Duration // of a pending one
}

// PutDecision decides a step once for each run. Without output it returns what
// is pinned; else it hands out the right to decide, so that two workers do not
// both ask the model, or waits for whoever has that right. With output it pins
// that: the first to do so wins, and everybody else gets the first one's. A
// request that repeats a lost one changes nothing.
//
// CodeDecisionConflict: the step was asked about another input, or under other
// rules. CodeOutputInvalid: the output breaks its schema, or no rule can be
// evaluated over it; the claim goes on, and the step may try again.
func (l *Ledger) PutDecision(ctx context.Context, in DecisionRequest) (*DecisionAnswer, error) {
	if err := Authorize(in.Principal, ActionPinDecisions); err != nil {
		return nil, err
	}
	p, err := l.admitDecision(ctx, &in)
	if err != nil {
		return nil, err
	}
	moved, done := l.waiters.register(OperationID(p.id))
	defer done()
	over := l.opts.Clock.After(p.wait)
	first := true
	for poll := pollFirst; ; poll = min(poll*2, pollMax) {
		a, err := l.decide(ctx, p, first)
		if err != nil || a.State != DecisionPending || p.wait == 0 {
			return a, err
		}
		first = false
		select {
		case <-moved:
		case <-l.opts.Clock.After(poll):
		case <-over:
			return a, nil
		case <-l.draining:
			return a, nil
		case <-ctx.Done():
			return nil, &Error{Code: CodeCanceled, Op: "wait for decision", Message: "the caller stopped waiting", Hint: "ask again for the same step", Err: ctx.Err()}
		}
	}
}

// puttable is a request that passed every check that needs no decision.
type puttable struct {
	in     *DecisionRequest
	id     DecisionID
	run    *Run
	flow   Workflow // nil: no document
	digest Digest
	rules  string
	output []byte // canonical; nil: none
	token  string
	wait   time.Duration
}

func (l *Ledger) admitDecision(ctx context.Context, in *DecisionRequest) (*puttable, error) {
	p := &puttable{in: in, id: NewDecisionID(in.Run, in.Step), token: in.ClaimToken, rules: in.RuleVersion}
	var err error
	if p.wait, err = boundedWait(in.Wait); err != nil {
		return nil, err
	}
	if in.Lease == 0 {
		in.Lease = DefaultDecisionLease
	}
	switch {
	case in.Lease < 0 || in.Lease > MaxDecisionLease:
		return nil, Errorf(CodeUnsupportedPolicy, "the lease of a claim is at most %s", MaxDecisionLease)
	case in.ClaimToken != "" && len(in.ClaimToken) < ClaimTokenMin:
		return nil, Errorf(CodeInvalidRequest, "claim_token is shorter than %d characters", ClaimTokenMin)
	case in.Confidence != nil && !(*in.Confidence >= 0 && *in.Confidence <= 1):
		return nil, Errorf(CodeInvalidRequest, "confidence is not between 0 and 1")
	}
	if p.digest, _, err = contentOf("decide", in.Input, in.InputDigest, len(in.Input)+1); err != nil {
		return nil, err
	}
	if p.digest.IsZero() {
		return nil, &Error{Code: CodeInvalidRequest, Op: "decide", Message: "neither input nor input_digest is given", Hint: "a decision is pinned for one input"}
	}
	if in.Output != nil {
		if p.output, err = Canonicalize(in.Output); err != nil {
			return nil, err
		}
		if len(p.output) > DecisionOutputBytesMax {
			return nil, Errorf(CodeTooLarge, "the output is longer than %d bytes", DecisionOutputBytesMax)
		}
	}
	if p.run, err = l.run(ctx, in.Principal.Tenant, in.Run); err != nil {
		return nil, err
	}
	return p, l.underRules(ctx, p)
}

// underRules finds the document that holds for the run, and holds the request to it.
func (l *Ledger) underRules(ctx context.Context, p *puttable) (err error) {
	if p.run.Rules == "" {
		if p.in.Schema == nil {
			return nil
		}
		if len(p.in.Schema) > DecisionSchemaBytesMax {
			return Errorf(CodeTooLarge, "the schema is longer than %d bytes", DecisionSchemaBytesMax)
		}
		p.in.Schema, err = Canonicalize(p.in.Schema)
		return err
	}
	if p.flow, err = l.tools.WorkflowVersion(ctx, p.run.Workflow, p.run.Rules); err != nil {
		return err
	}
	switch {
	case !p.flow.Info().Has(p.in.Step):
		return &Error{Code: CodeInvalidRequest, Op: "decide", Message: "the workflow " + p.run.Workflow + " has no step " + p.in.Step, Hint: "onceward contract show " + p.run.Workflow + " lists its steps"}
	case p.in.Schema != nil:
		return &Error{Code: CodeInvalidRequest, Op: "decide", Message: "the workflow's document has the schema of this step", Hint: "leave schema out"}
	case p.rules != "" && p.rules != p.run.Rules:
		return conflict(p.id, "the run started under rule version "+p.run.Rules+", not "+p.rules)
	}
	p.rules = p.run.Rules
	return nil
}

// decide looks at the step once, and changes it if that is this request's to do.
func (l *Ledger) decide(ctx context.Context, p *puttable, first bool) (*DecisionAnswer, error) {
	for {
		d, err := l.store.LoadDecision(ctx, p.id)
		if err != nil {
			return nil, err
		}
		at, err := l.store.Now(ctx)
		if err != nil {
			return nil, err
		}
		if a, err := p.stands(d, at, first); a != nil || err != nil {
			return a, err
		}
		if p.run.State == RunFinished {
			_, err := l.openRun(ctx, p.run.Tenant, p.run.ID)
			return nil, err
		}
		next, err := l.decided(p, d, at)
		if err != nil {
			return nil, err
		}
		stored, applied, err := l.putDecision(ctx, next, p.notes(&next)...)
		switch {
		case err != nil:
			return nil, err
		case applied && stored.Pinned():
			return &DecisionAnswer{Step: stored, State: DecisionPinned, Decision: DecisionFresh}, nil
		case applied:
			return &DecisionAnswer{Step: stored, State: DecisionClaimed, Decision: DecisionFresh, ClaimToken: p.token, LeaseUntil: stored.Claim.Until}, nil
		}
	}
}

// notes tells the trail that a step was decided; a claim is no decision.
func (p *puttable) notes(next *StepDecision) []AuditEvent {
	if !next.Pinned() {
		return nil
	}
	return []AuditEvent{NewAuditEvent(AuditEvent{Tenant: p.run.Tenant, Actor: p.in.Principal.String(), Action: AuditDecisionPinned, Subject: p.id.String(),
		Detail: "step " + next.Step + fmt.Sprintf(", version %d", next.Current().Number)})}
}

// stands answers from what is stored, if that is not this request's to change.
func (p *puttable) stands(d *StepDecision, at time.Time, first bool) (*DecisionAnswer, error) {
	if d == nil {
		if p.output != nil && p.token != "" {
			return nil, fenced(p.id)
		}
		return nil, nil
	}
	now, pinned, claimed := d.Current(), d.Pinned(), d.claimed(at)
	switch {
	case d.Tenant != p.in.Principal.Tenant || d.Run != p.in.Run || d.Step != p.in.Step:
		return nil, &Error{Code: CodeKeyCollision, Op: "decide", Message: "another run or step has this decision ID"}
	case (pinned || claimed) && now.InputDigest != p.digest:
		return nil, conflict(p.id, "the step "+p.in.Step+" was asked about another input")
	case pinned && first:
		return &DecisionAnswer{Step: d, State: DecisionPinned, Decision: DecisionReplayed}, nil
	case pinned:
		return &DecisionAnswer{Step: d, State: DecisionPinned, Decision: DecisionJoined}, nil
	case p.holds(d):
		return nil, nil
	case claimed:
		return &DecisionAnswer{Step: d, State: DecisionPending, Decision: DecisionJoined, RetryAfter: max(time.Second, min(d.Claim.Until.Sub(at), 5*time.Second))}, nil
	case p.output != nil && (p.token != "" || now.Number > 1):
		// Why a later version is pinned by its own claim only: the output of an
		// earlier one may still be on its way.
		return nil, fenced(p.id)
	}
	return nil, nil
}

// fenced refuses the output of a worker that has not the right to decide.
func fenced(id DecisionID) error {
	return &Error{Code: CodeFenceLost, Op: "decide", Message: id.String() + ": this claim token does not hold the step",
		Hint: "ask again without output: you get what is pinned, or a claim of your own"}
}

func conflict(id DecisionID, message string) error {
	return &Error{Code: CodeDecisionConflict, Op: "decide", Message: id.String() + ": " + message,
		Hint: "what is pinned holds for its run; to replace it, decide anew with a reason: POST /v1/decisions/{id}/redecide"}
}

// holds reports whether the request carries the token of the claim.
func (p *puttable) holds(d *StepDecision) bool {
	return p.token != "" && d.Claim.TokenHash != "" && subtle.ConstantTimeCompare([]byte(hashToken(p.token)), []byte(d.Claim.TokenHash)) == 1
}

// decided is the row after this request: pinned, or claimed by it.
func (l *Ledger) decided(p *puttable, d *StepDecision, at time.Time) (StepDecision, error) {
	who := p.in.Principal.String()
	next := StepDecision{ID: p.id, Tenant: p.run.Tenant, Run: p.run.ID, Step: p.in.Step, CreatedAt: at, Revision: 1, Token: newToken(),
		Versions: []DecisionVersion{{Number: 1, OpenedAt: at, OpenedBy: who}}}
	next.Subject = p.run.Subject
	if d != nil {
		if err := d.lost("decide"); err != nil {
			return StepDecision{}, err
		}
		next = d.next()
	}
	v := next.Current()
	v.InputDigest, v.RuleVersion = p.digest, p.rules
	for _, given := range []struct {
		to   *string
		text string
	}{{&v.Model, p.in.Model}, {&v.PromptVersion, p.in.PromptVersion}} {
		if given.text != "" {
			*given.to = given.text
		}
	}
	if p.in.Schema != nil {
		v.Schema = p.in.Schema
	}
	if p.output == nil {
		if p.token == "" {
			p.token = "ct_" + hex.EncodeToString(randomBytes(16))
		}
		next.Claim = DecisionClaim{TokenHash: hashToken(p.token), By: who, Until: at.Add(p.in.Lease)}
		return next, nil
	}
	if err := l.rule(p, v); err != nil {
		return StepDecision{}, err
	}
	v.PinnedAt, v.PinnedBy, v.Output, v.Confidence, next.Claim = at, who, p.output, p.in.Confidence, DecisionClaim{}
	return next, nil
}

// rule holds the output to its schema, and finds the branch that it leads to.
func (l *Ledger) rule(p *puttable, v *DecisionVersion) error {
	if p.flow == nil {
		if v.Schema == nil {
			return nil
		}
		if l.opts.CheckOutput == nil {
			return &Error{Code: CodeConfigInvalid, Op: "check output", Message: "this program has nothing that reads a JSON Schema", Hint: "set Options.CheckOutput: contract.CheckOutput"}
		}
		return l.opts.CheckOutput(v.Schema, p.output)
	}
	confidence := 0.0
	if p.in.Confidence != nil {
		confidence = *p.in.Confidence
	}
	r, err := p.flow.Decide(p.in.Step, p.output, confidence)
	v.Branch, v.Rule = r.Branch, r.Rule
	return err
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
