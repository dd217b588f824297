package auth

import (
	"fmt"

	"github.com/onceward/onceward"
)

// Claims says what the claims of a person's ID token mean here. Nobody gets a
// role, a group or a tenant that is not mapped.
type Claims struct {
	// Tenant is everybody's tenant; empty: TenantClaim says.
	Tenant onceward.Tenant
	// TenantClaim is the claim that names the tenant, by a value of Tenants.
	TenantClaim string
	Tenants     map[string]onceward.Tenant
	// RolesClaim is the claim, a text or a list, whose values Roles maps.
	RolesClaim string
	Roles      map[string][]onceward.Role
	// GroupsClaim is the claim whose values Groups maps to groups.
	GroupsClaim string
	Groups      map[string]string
}

func (c *Claims) check() error {
	if err := c.checkTenant(); err != nil {
		return err
	}
	if c.RolesClaim == "" || len(c.Roles) == 0 {
		return claimsInvalid("roles_claim and roles say who has which role; without them nobody could sign in")
	}
	return nil
}

func claimsInvalid(format string, args ...any) error {
	return &onceward.Error{Code: onceward.CodeConfigInvalid, Op: "configure oidc", Message: fmt.Sprintf(format, args...), Hint: "docs/operating/access.md has an example"}
}

// checkTenant checks everything but that somebody has a role.
func (c *Claims) checkTenant() error {
	if (c.Tenant == "") == (c.TenantClaim == "") {
		return claimsInvalid("either tenant or tenant_claim says whose people they are")
	}
	tenants := []onceward.Tenant{c.Tenant}
	if c.TenantClaim != "" {
		tenants = nil
		for _, t := range c.Tenants {
			tenants = append(tenants, t)
		}
		if len(tenants) == 0 {
			return claimsInvalid("tenant_claim needs tenants: which of its values is which tenant")
		}
	}
	for _, t := range tenants {
		if _, err := onceward.ParseTenant(string(t)); err != nil {
			return claimsInvalid("%q is no tenant's name", t)
		}
	}
	for value, roles := range c.Roles {
		for _, r := range roles {
			if _, err := onceward.ParseRole(string(r)); err != nil {
				return claimsInvalid("roles: %q is given %q, which is no role", value, r)
			}
		}
	}
	if (c.GroupsClaim == "") != (len(c.Groups) == 0) {
		return claimsInvalid("groups_claim and groups go together")
	}
	return nil
}

// missing reports whether a claim that is asked for is not among them: some
// providers tell it at their userinfo endpoint only.
func (c *Claims) missing(claims map[string]any) bool {
	for _, name := range []string{c.TenantClaim, c.RolesClaim, c.GroupsClaim} {
		if _, ok := claims[name]; name != "" && !ok {
			return true
		}
	}
	return false
}

// principal is who the claims speak of, and a name to show.
func (c *Claims) principal(issuer, subject string, claims map[string]any) (onceward.Principal, string, error) {
	p := onceward.Principal{Tenant: c.Tenant, Issuer: issuer, Subject: subject}
	if c.TenantClaim != "" {
		for _, v := range texts(claims[c.TenantClaim]) {
			t, ok := c.Tenants[v]
			if ok && p.Tenant != "" && p.Tenant != t {
				return onceward.Principal{}, "", noPlace("the identity provider names more than one tenant")
			}
			if ok {
				p.Tenant = t
			}
		}
		if p.Tenant == "" {
			return onceward.Principal{}, "", noPlace("the identity provider names no tenant that this server knows")
		}
	}
	given := map[onceward.Role]bool{}
	for _, v := range texts(claims[c.RolesClaim]) {
		for _, r := range c.Roles[v] {
			given[r] = true
		}
	}
	for _, r := range onceward.AllRoles {
		if given[r] {
			p.Roles = append(p.Roles, r)
		}
	}
	for _, v := range texts(claims[c.GroupsClaim]) {
		if g, ok := c.Groups[v]; ok {
			p.Groups = append(p.Groups, g)
		}
	}
	return p, nameOf(claims), nil
}

func noPlace(message string) error {
	return &onceward.Error{Code: onceward.CodeForbidden, Op: "sign in", Message: message, Hint: "ask whoever runs the server to map your organisation to a tenant"}
}

// texts reads a claim that is a text or a list of texts.
func texts(claim any) []string {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// nameOf is what a person is called on pages, at most 200 bytes of it.
func nameOf(claims map[string]any) string {
	for _, claim := range []string{"name", "preferred_username", "email"} {
		if s, ok := claims[claim].(string); ok && s != "" && len(s) <= onceward.SubjectBytesMax {
			return s
		}
	}
	return ""
}
