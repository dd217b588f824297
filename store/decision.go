package store

import (
	"math"
	"slices"

	"github.com/onceward/onceward"
)

// decisionFormat is the first byte of an encoded decision.
const decisionFormat = 1

// EncodeDecision is everything of a decision but its ID, revision and token. It
// refuses, with CodeInvalidInput, CodeTooLarge or CodeInternal, what no store
// could keep.
func EncodeDecision(s *onceward.StepDecision) ([]byte, error) {
	if s.ID.IsZero() || s.Run.IsZero() || s.Tenant == "" || s.Revision < 1 || s.Token == (onceward.WriteToken{}) || len(s.Versions) == 0 || s.CreatedAt.IsZero() {
		return nil, &onceward.Error{Code: onceward.CodeInternal, Op: "store decision", Message: "the row is not complete"}
	}
	e := encoder{buf: make([]byte, 0, 512)}
	e.sealable(decisionFormat, s.Sealed)
	e.string(string(s.Tenant))
	e.raw(s.Run[:])
	e.string(s.Step)
	e.time(Stored(s.CreatedAt))
	e.string(s.Claim.TokenHash)
	e.string(s.Claim.By)
	e.time(Stored(s.Claim.Until))
	e.uint(uint64(len(s.Versions)))
	for i := range s.Versions {
		e.decisionVersion(&s.Versions[i])
	}
	e.sealed(s.Sealed)
	if len(e.buf) > PartBytesMax {
		return nil, &onceward.Error{Code: onceward.CodeTooLarge, Op: "store decision", Message: "it is longer than 64 MiB"}
	}
	return e.buf, nil
}

func (e *encoder) decisionVersion(v *onceward.DecisionVersion) {
	e.uint(uint64(v.Number))
	e.time(Stored(v.OpenedAt))
	e.time(Stored(v.PinnedAt))
	for _, text := range []string{v.OpenedBy, v.Reason, v.Model, v.PromptVersion, v.RuleVersion, v.PinnedBy, v.Branch, v.Rule} {
		e.string(text)
	}
	e.raw(v.InputDigest[:])
	e.decided(v)
}

// decided encodes what a version decided, and by what schema.
func (e *encoder) decided(v *onceward.DecisionVersion) {
	e.bytes(v.Schema)
	e.bytes(v.Output)
	e.bool(v.Confidence != nil)
	if v.Confidence != nil {
		e.uint(math.Float64bits(*v.Confidence))
	}
}

func (d *decoder) decided(v *onceward.DecisionVersion) {
	v.Schema, v.Output = d.bytes(), d.bytes()
	if d.bool() {
		c := math.Float64frombits(d.uint())
		v.Confidence = &c
	}
}

// DecodeDecision reads what EncodeDecision wrote; it has CodeLedgerCorrupt if
// that cannot be read.
func DecodeDecision(id onceward.DecisionID, revision int64, token onceward.WriteToken, body []byte) (*onceward.StepDecision, error) {
	d := decoder{buf: body}
	sealed := d.sealable(decisionFormat)
	s := &onceward.StepDecision{ID: id, Revision: revision, Token: token, Tenant: onceward.Tenant(d.string())}
	d.fill(s.Run[:])
	s.Step, s.CreatedAt = d.string(), d.time()
	s.Claim = onceward.DecisionClaim{TokenHash: d.string(), By: d.string(), Until: d.time()}
	for range d.count() {
		s.Versions = append(s.Versions, d.decisionVersion())
	}
	s.Sealed = d.sealed(sealed)
	if !d.done() || len(s.Versions) == 0 {
		return nil, corruptRow("decision", id.String())
	}
	return s, nil
}

func (d *decoder) decisionVersion() onceward.DecisionVersion {
	v := onceward.DecisionVersion{Number: d.small(), OpenedAt: d.time(), PinnedAt: d.time(), OpenedBy: d.string(), Reason: d.string(),
		Model: d.string(), PromptVersion: d.string(), RuleVersion: d.string(), PinnedBy: d.string(), Branch: d.string(), Rule: d.string()}
	d.fill(v.InputDigest[:])
	d.decided(&v)
	return v
}

// decidedBy is what an operation keeps of the decision that led to it.
func (e *encoder) decidedBy(b *onceward.DecidedBy) {
	e.raw(b.Decision[:])
	e.uint(uint64(b.Version))
	e.string(b.Branch)
	e.string(b.Rules)
}

func (d *decoder) decidedBy() (b onceward.DecidedBy) {
	d.fill(b.Decision[:])
	b.Version, b.Branch, b.Rules = d.small(), d.string(), d.string()
	return b
}

// TakeDecisionSecrets takes out of a decision what was decided, by what schema,
// and why it was decided anew, and returns it encoded. Its versions are replaced,
// never written into.
func TakeDecisionSecrets(s *onceward.StepDecision) []byte {
	e := encoder{buf: make([]byte, 0, 256)}
	e.byte(secretFormat)
	e.uint(uint64(len(s.Versions)))
	s.Versions = slices.Clone(s.Versions)
	for i := range s.Versions {
		v := &s.Versions[i]
		e.string(v.Reason)
		e.decided(v)
		v.Reason, v.Schema, v.Output, v.Confidence = "", nil, nil, nil
	}
	return e.buf
}

// PutDecisionSecrets puts back what TakeDecisionSecrets took. It has
// CodeLedgerCorrupt if that cannot be read.
func PutDecisionSecrets(s *onceward.StepDecision, b []byte) error {
	d := decoder{buf: b}
	d.format(secretFormat)
	if d.count() != len(s.Versions) {
		d.bad = true
	}
	for i := range s.Versions {
		s.Versions[i].Reason = d.string()
		d.decided(&s.Versions[i])
	}
	return d.secret("decision", s.ID.String())
}
