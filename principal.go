package onceward

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Role is a set of rights within one tenant; authorize.go has the table.
type Role string

// The roles.
const (
	RoleCaller   Role = "caller"   // submits operations, reads own results
	RoleApprover Role = "approver" // grants and rejects approvals
	RoleOperator Role = "operator" // settles reviews, replays, pauses tools
	RoleAuditor  Role = "auditor"  // reads everything, changes nothing
	RoleAdmin    Role = "admin"    // manages tokens and contracts
)

// AllRoles lists every role.
var AllRoles = []Role{RoleCaller, RoleApprover, RoleOperator, RoleAuditor, RoleAdmin}

// ParseRole returns the role of that name, or an Error with CodeInvalidRequest.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(AllRoles, r) {
		return r, nil
	}
	return "", &Error{Code: CodeInvalidRequest, Op: "read role", Message: fmt.Sprintf("no role is called %.60q", name),
		Hint: "the roles are " + inWords(AllRoles)}
}

// EveryGroup in Principal.Groups stands for every group there is.
const EveryGroup = "*"

// Principal is who acts: issuer and subject, a person or a service, inside one
// tenant. The tenant comes from the caller's credentials only.
type Principal struct {
	Tenant  Tenant
	Issuer  string // "local" for the implicit local principal, "token", the identity provider's URL, "source" for a sender's events, or "onceward" for what it submits itself
	Subject string
	Roles   []Role
	Groups  []string      // teams that approvals and reviews are given to; EveryGroup: all of them
	Tools   []ToolName    // narrowing: what it may act on; empty: every tool
	Effects []EffectClass // narrowing: the effect classes that it may act on; empty: every class

	Credential Credential // by what it was authenticated
}

// Credential is what a principal was authenticated by, for what is carried out
// later than it was asked for. The zero value is none that ends.
type Credential struct {
	Token  TokenID   // empty: it was no token
	EndsAt time.Time // of the token, or of the session of the sign-in; zero: it does not end
}

// DefaultTenant is the tenant of a server without configured tenants.
const DefaultTenant Tenant = "default"

// The issuers that are not identity providers.
const (
	IssuerLocal = "local"
	IssuerToken = "token"
)

// LocalPrincipal is the implicit principal of a loopback server without
// tokens: it has every role in DefaultTenant, and is in every group.
func LocalPrincipal() Principal {
	return Principal{Tenant: DefaultTenant, Issuer: IssuerLocal, Subject: "operator", Roles: AllRoles, Groups: []string{EveryGroup}}
}

// Has reports whether the principal holds the role.
func (p Principal) Has(r Role) bool { return slices.Contains(p.Roles, r) }

// In reports whether the principal is in the group.
func (p Principal) In(group string) bool {
	return slices.Contains(p.Groups, group) || slices.Contains(p.Groups, EveryGroup)
}

// String is "issuer:subject", the form that events keep.
func (p Principal) String() string { return p.Issuer + ":" + p.Subject }

// SeesResult reports whether the principal may see what an operation brought
// back: whoever asked for it first and may still ask for it, and the roles that
// settle or read everything. Anybody else of the tenant sees its status only.
// It is asked anew for every answer: rights that are gone show nothing.
func (p Principal) SeesResult(o *Operation) bool {
	if o.Tenant != p.Tenant || p.Permits(o.Tool, o.Effect) != nil {
		return false
	}
	return p.Has(RoleOperator) || p.Has(RoleAuditor) || p.Has(RoleCaller) && o.Actor == p.String()
}

// Permits reports, as an Error with CodeForbidden that says what is missing,
// whether the principal's narrowing keeps it from acting on a tool.
func (p Principal) Permits(tool ToolName, effect EffectClass) error {
	switch {
	case len(p.Tools) > 0 && !slices.Contains(p.Tools, tool):
		return p.tooNarrow(fmt.Sprintf("the tool %s; they are for %s", tool, inWords(p.Tools)))
	case len(p.Effects) > 0 && !slices.Contains(p.Effects, effect):
		return p.tooNarrow(fmt.Sprintf("the effect class %s; they are for %s", effect, effectsInWords(p.Effects)))
	}
	return nil
}

// permitsAll is Permits for what concerns every tool of the tenant.
func (p Principal) permitsAll() error {
	if len(p.Tools)+len(p.Effects) > 0 {
		return p.tooNarrow("every tool at once")
	}
	return nil
}

func (p Principal) tooNarrow(what string) error {
	return &Error{Code: CodeForbidden, Op: "authorize", Message: "the credentials are not for " + what, Hint: "ask with credentials that are not narrowed so"}
}

// inWords joins names, for messages.
func inWords[T ~string](names []T) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, ", ")
}

func effectsInWords(classes []EffectClass) string {
	words := make([]string, len(classes))
	for i, c := range classes {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}
