package onceward

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SignAs is the capacity in which a person signs a contract version.
type SignAs string

// The capacities.
const (
	SignBusiness  SignAs = "business"  // answers for what the write means
	SignTechnical SignAs = "technical" // answers for the contract
)

// AllSignAs lists the capacities: a version that widens risk needs each.
var AllSignAs = []SignAs{SignBusiness, SignTechnical}

// ParseSignAs reads business or technical; any other word is an Error with
// CodeUnsupportedPolicy.
func ParseSignAs(s string) (SignAs, error) {
	if as := SignAs(s); slices.Contains(AllSignAs, as) {
		return as, nil
	}
	return "", &Error{Code: CodeUnsupportedPolicy, Op: "sign contract", Message: "as is neither business nor technical", Hint: "sign as the owner that the contract names you"}
}

// ContractSigning is one person's yes to one version of a contract in place of
// one other: it says nothing of the same version in place of a third.
type ContractSigning struct {
	Tool    ToolName
	Version string // that was signed
	Against string // the version that was in force
	As      SignAs
	Actor   string // principal as "issuer:subject"
	Reason  string // in the person's words; never empty
	At      time.Time
}

// ContractDifference is one field in which two versions of a contract differ.
type ContractDifference struct {
	Field  string // under spec, as in retry.max_attempts; owners under metadata
	Was    string // empty: it did not stand
	Is     string // empty: it does not stand any more
	Widens bool   // the newer version risks more, or nobody can tell that it does not
	Why    string // in one sentence
}

// Comparer lists in what a contract differs from an older version of it.
type Comparer func(old, next Tool) []ContractDifference

// Widens reports whether any of the differences widens risk.
func Widens(all []ContractDifference) bool {
	return slices.ContainsFunc(all, func(d ContractDifference) bool { return d.Widens })
}

// SigningStore keeps proposed contract versions and who signed them. Its methods
// are safe for concurrent use and return the errors of [Store].
type SigningStore interface {
	// Propose stores a version that waits to be signed, and takes back what else
	// is proposed of the tool. A version that is active or proposed changes
	// nothing; one that was superseded is refused with CodeContractSuperseded
	// unless force. Where it changes something it notes the events in the same
	// transaction.
	Propose(ctx context.Context, c ContractVersion, force bool, notes ...AuditEvent) error
	// PutSigning stores a signing and notes the events in the same transaction.
	// False, and nothing is noted: somebody signed that version against the same
	// other in this capacity, or this actor did in any.
	PutSigning(ctx context.Context, s ContractSigning, notes ...AuditEvent) (applied bool, err error)
	// Signings lists who signed a version, by time, then by capacity.
	Signings(ctx context.Context, tool ToolName, version string) ([]ContractSigning, error)
	// ContractVersions lists at most limit versions of a tool, the newest serial
	// first, without sources.
	ContractVersions(ctx context.Context, tool ToolName, limit int) ([]ContractVersion, error)
}

// Unsigned lists the capacities in which nobody has signed.
func Unsigned(signed []ContractSigning) []SignAs {
	var open []SignAs
	for _, as := range AllSignAs {
		if !slices.ContainsFunc(signed, func(s ContractSigning) bool { return s.As == as }) {
			open = append(open, as)
		}
	}
	return open
}

// signedOff reports whether every capacity was signed in, each by another person.
func signedOff(signed []ContractSigning) bool {
	actors := map[string]bool{}
	for _, s := range signed {
		if actors[s.Actor] {
			return false
		}
		actors[s.Actor] = true
	}
	return len(Unsigned(signed)) == 0
}

// sameSubject reports whether a person may be the one who signed: whoever comes
// by a token and by an identity provider has two names, and is one person.
func (p Principal) sameSubject(actor string) bool {
	return actor == p.String() || strings.HasSuffix(actor, ":"+p.Subject)
}

// owns reports whether an owner's name in a contract is the principal's: its
// subject, its whole name, or a group that it is in.
func (p Principal) owns(owner string) bool {
	return owner != "" && (owner == p.Subject || owner == p.String() || p.In(owner))
}

// ownerOf says who has to sign in place of a version: those whom it names. Where
// it names nobody, those whom the newer one names.
func ownerOf(was, next *ToolInfo, as SignAs) string {
	for _, i := range []*ToolInfo{was, next} {
		owner := i.BusinessOwner
		if as == SignTechnical {
			owner = i.TechnicalOwner
		}
		if owner != "" {
			return owner
		}
	}
	return ""
}

// SignContract is one owner's yes to a proposed version. The second one's brings
// it in force: here at once, on other replicas that have it at their next look.
// The same yes again changes nothing.
//
// CodeForbidden: the principal is not that owner, has signed as the other one, or
// is of another tenant than [DefaultTenant]: contracts are the whole server's.
// CodeEvidenceRequired: no reason. CodeStateForbids: the version does not wait,
// or another person has signed as that owner.
func (l *Ledger) SignContract(ctx context.Context, p Principal, tool ToolName, version string, as SignAs, reason string) (ContractStanding, error) {
	if err := maySignContracts(p, reason); err != nil {
		return ContractStanding{}, err
	}
	s := ContractSigning{Tool: tool, Version: version, As: as, Actor: p.String(), Reason: strings.TrimSpace(reason), At: l.clock.now()}
	signed, err := l.tools.maySign(ctx, p, &s)
	if err != nil {
		return ContractStanding{}, err
	}
	if signed, err = l.putSigning(ctx, p, s, signed); err != nil {
		return ContractStanding{}, err
	}
	if signedOff(signed) {
		if err := l.refreshTools(ctx); err != nil {
			l.log.Error("contract signed, and not in force yet", "tool", tool, "version", version, "error", err)
		}
	}
	all, err := l.tools.History(ctx, tool)
	if i := slices.IndexFunc(all, func(c ContractStanding) bool { return c.Version == version }); i >= 0 {
		return all[i], err
	}
	return ContractStanding{}, err
}

func maySignContracts(p Principal, reason string) error {
	if err := Authorize(p, ActionSignContracts); err != nil {
		return err
	}
	if p.Tenant != DefaultTenant {
		return &Error{Code: CodeForbidden, Op: "sign contract", Message: "contracts are the whole server's, and are signed by people of its own tenant", Hint: "sign with credentials of the tenant " + string(DefaultTenant)}
	}
	if strings.TrimSpace(reason) == "" {
		return &Error{Code: CodeEvidenceRequired, Op: "sign contract", Message: "a signature needs a reason", Hint: "say why the wider risk is wanted"}
	}
	return nil
}

// putSigning writes it down unless it stands, or another one is in its way.
func (l *Ledger) putSigning(ctx context.Context, p Principal, s ContractSigning, signed []ContractSigning) ([]ContractSigning, error) {
	if stands, err := inTheWay(p, &s, signed); stands || err != nil {
		return signed, err
	}
	note := NewAuditEvent(AuditEvent{Tenant: p.Tenant, Actor: s.Actor, Action: AuditContractSigned, Subject: string(s.Tool), Reason: s.Reason,
		Detail: fmt.Sprintf("version %s in place of %s, as %s owner", s.Version, s.Against, s.As)})
	applied, err := l.store.PutSigning(ctx, s, note)
	if err != nil {
		return nil, fmt.Errorf("sign contract %s: %w", s.Tool, err)
	}
	if signed, err = l.tools.signings(ctx, s.Tool, s.Version, s.Against); err != nil || applied {
		return signed, err
	}
	// Somebody was quicker; if it was this same yes, sent again, it stands.
	if stands, err := inTheWay(p, &s, signed); stands || err != nil {
		return signed, err
	}
	return nil, &Error{Code: CodeWriteConflict, Op: "sign contract", Message: "the signatures changed meanwhile", Hint: "look at them, and sign again"}
}

// inTheWay compares a signing with those there are: it stands already, or one of
// them forbids it.
func inTheWay(p Principal, s *ContractSigning, signed []ContractSigning) (stands bool, err error) {
	for _, was := range signed {
		mine := p.sameSubject(was.Actor)
		switch {
		case mine && was.As == s.As:
			return true, nil
		case mine:
			return false, &Error{Code: CodeForbidden, Op: "sign contract", Message: fmt.Sprintf("you have signed as %s owner at %s: the two owners' yes is two people's", was.As, was.At.UTC().Format(time.RFC3339)),
				Hint: "let another owner sign"}
		case was.As == s.As:
			return false, &Error{Code: CodeStateForbids, Op: "sign contract", Message: fmt.Sprintf("%s has signed as %s owner at %s", was.Actor, was.As, was.At.UTC().Format(time.RFC3339)),
				Hint: "nothing is left to sign in this capacity"}
		}
	}
	return false, nil
}

// maySign refuses whoever is not the owner, and what does not wait. It fills in
// which version is in force, and returns who signed in place of that one.
func (r *Registry) maySign(ctx context.Context, p Principal, s *ContractSigning) ([]ContractSigning, error) {
	c, err := r.store.Contract(ctx, s.Tool, s.Version)
	if err != nil {
		return nil, err
	}
	next, err := r.stored(&c)
	if err != nil {
		return nil, err
	}
	if err := p.Permits(s.Tool, next.Info().Policy.Effect); err != nil {
		return nil, err
	}
	if s.Against, err = r.versionInForce(ctx, s.Tool); err != nil {
		return nil, err
	}
	if !c.Proposed || s.Against == "" {
		return nil, notWaiting(&c)
	}
	old, err := r.store.Contract(ctx, s.Tool, s.Against)
	if err != nil {
		return nil, err
	}
	was, err := r.stored(&old)
	if err != nil {
		return nil, err
	}
	owner := ownerOf(was.Info(), next.Info(), s.As)
	if owner == "" {
		return nil, &Error{Code: CodeForbidden, Op: "sign contract", Message: fmt.Sprintf("the contract names no %s owner", s.As), Hint: fmt.Sprintf("add %s_owner to the metadata", s.As)}
	}
	if !p.owns(owner) {
		return nil, &Error{Code: CodeForbidden, Op: "sign contract", Message: fmt.Sprintf("the %s owner is %s, and you are not", s.As, owner), Hint: "let the owner sign, or somebody of the group of that name"}
	}
	return r.signings(ctx, s.Tool, s.Version, s.Against)
}

func notWaiting(c *ContractVersion) error {
	e := &Error{Code: CodeStateForbids, Op: "sign contract", Message: fmt.Sprintf("version %s of %s does not wait for signatures: it was superseded", c.Version, c.Tool), Hint: "onceward contract history shows what waits"}
	if c.Active {
		e.Message = fmt.Sprintf("version %s of %s is in force already", c.Version, c.Tool)
	}
	return e
}

// signings lists who signed a version in place of another one.
func (r *Registry) signings(ctx context.Context, tool ToolName, version, against string) ([]ContractSigning, error) {
	all, err := r.store.Signings(ctx, tool, version)
	if err != nil {
		return nil, fmt.Errorf("list signatures of contract %s: %w", tool, err)
	}
	return slices.DeleteFunc(all, func(s ContractSigning) bool { return s.Against != against }), nil
}
