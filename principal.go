package onceward

import "slices"

// Role is a set of rights within one tenant.
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

// Principal is who acts: issuer and subject, a person or a service, inside one
// tenant. The tenant comes from the caller's credentials only.
type Principal struct {
	Tenant  Tenant
	Issuer  string // "local" for the implicit local principal
	Subject string
	Roles   []Role
}

// DefaultTenant is the tenant of a server without configured tenants.
const DefaultTenant Tenant = "default"

// LocalPrincipal is the implicit principal of a loopback server without
// tokens: it has every role in DefaultTenant.
func LocalPrincipal() Principal {
	return Principal{Tenant: DefaultTenant, Issuer: "local", Subject: "operator", Roles: AllRoles}
}

// Has reports whether the principal holds the role.
func (p Principal) Has(r Role) bool { return slices.Contains(p.Roles, r) }

// String is "issuer:subject", the form that events keep.
func (p Principal) String() string { return p.Issuer + ":" + p.Subject }

// SeesResult reports whether the principal may see what an operation brought
// back: whoever asked for it first, and the roles that settle or read
// everything. Anybody else of the tenant sees its status only.
func (p Principal) SeesResult(o *Operation) bool {
	return p.Has(RoleOperator) || p.Has(RoleAuditor) || o.Actor == p.String()
}
