package onceward_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

// mayDo is the table of rights, written down a second time: an action that is
// not here, or whose roles change, fails the test.
var mayDo = map[onceward.Action]string{
	"submit operations": "caller", "perform operations": "caller", "fork operations": "caller", "cancel operations": "caller operator",
	"read operations": "approver auditor caller operator", "reconcile operations": "operator", "resolve operations": "operator", "replay operations": "operator",
	"read tools": "admin approver auditor caller operator", "pause and resume tools": "operator",
	"start runs": "caller", "read runs": "approver auditor caller operator",
	"start sagas": "caller", "read sagas": "approver auditor caller operator", "cancel sagas": "caller operator",
	"pin decisions": "caller", "decide anew": "operator", "read decisions": "approver auditor caller operator",
	"decide approvals": "approver", "read approvals": "approver auditor caller operator",
	"add documents": "caller", "read documents": "approver auditor caller operator",
	"read reviews": "approver auditor operator", "work on reviews": "operator", "stop everything": "admin", "hand over": "approver operator", "sign contracts": "approver",
	"read the audit trail": "auditor", "read reports": "auditor operator", "read metrics": "auditor operator",
	"deliver events": "caller", "read events": "auditor operator", "handle events": "operator",
	"hold and lift holds": "admin", "read holds": "admin auditor operator", "shred subjects": "admin", "rotate keys": "admin", "read keys": "admin auditor",
	"manage tokens": "admin", "read tokens": "admin auditor", "read who they are": "admin approver auditor caller operator",
}

func TestEveryActionIsForTheRolesThatTheTableSays(t *testing.T) {
	t.Parallel()
	actions := onceward.AllActions()
	if len(actions) != len(mayDo) {
		t.Errorf("there are %d actions, and %d lines here", len(actions), len(mayDo))
	}
	for _, a := range actions {
		want, ok := mayDo[a]
		if !ok {
			t.Errorf("the action %q has no line here", a)
			continue
		}
		for _, role := range onceward.AllRoles {
			err := onceward.Authorize(onceward.Principal{Roles: []onceward.Role{role}}, a)
			if may := slices.Contains(strings.Fields(want), string(role)); (err == nil) != may || err != nil && !onceward.Is(err, onceward.CodeForbidden) {
				t.Errorf("a principal with the role %s who wants to %s gets %v, want allowed %v", role, a, err, may)
			}
		}
		if err := onceward.Authorize(onceward.Principal{}, a); !onceward.Is(err, onceward.CodeForbidden) {
			t.Errorf("a principal without roles who wants to %s gets %v", a, err)
		}
		if err := onceward.Authorize(onceward.LocalPrincipal(), a); err != nil {
			t.Errorf("the local principal who wants to %s gets %v", a, err)
		}
	}
}

func TestUnknownActionIsForNobody(t *testing.T) {
	t.Parallel()
	if err := onceward.Authorize(onceward.LocalPrincipal(), "drop the ledger"); !onceward.Is(err, onceward.CodeForbidden) {
		t.Errorf("the local principal gets %v", err)
	}
}

func TestRefusalNamesTheMissingRole(t *testing.T) {
	t.Parallel()
	err := onceward.Authorize(onceward.Principal{Roles: []onceward.Role{onceward.RoleAuditor}}, onceward.ActionCancel)
	if err == nil || !strings.Contains(err.Error(), "role caller or operator to cancel operations") {
		t.Errorf("error is %v", err)
	}
}

func TestNarrowedPrincipalActsOnWhatItIsFor(t *testing.T) {
	t.Parallel()
	const probed, unsafely = onceward.EffectProbedWrite, onceward.EffectUnsafeWrite
	for _, c := range []struct {
		tools   []onceward.ToolName
		effects []onceward.EffectClass
		tool    onceward.ToolName
		effect  onceward.EffectClass
		missing string // empty: permitted
	}{
		{nil, nil, "tickets.create", unsafely, ""},
		{[]onceward.ToolName{"tickets.create"}, nil, "tickets.create", unsafely, ""},
		{[]onceward.ToolName{"tickets.create"}, nil, "tickets.close", unsafely, "the tool tickets.close"},
		{nil, []onceward.EffectClass{onceward.EffectRead, probed}, "tickets.create", probed, ""},
		{nil, []onceward.EffectClass{onceward.EffectRead, probed}, "fax.send", unsafely, "the effect class unsafe_write"},
		{[]onceward.ToolName{"fax.send"}, []onceward.EffectClass{probed}, "fax.send", unsafely, "the effect class unsafe_write"},
	} {
		p := onceward.Principal{Tools: c.tools, Effects: c.effects}
		err := p.Permits(c.tool, c.effect)
		switch {
		case c.missing == "" && err != nil:
			t.Errorf("%v on %s: %v", p, c.tool, err)
		case c.missing != "" && (!onceward.Is(err, onceward.CodeForbidden) || !strings.Contains(err.Error(), c.missing)):
			t.Errorf("%v on %s: got %v, want a refusal that names %s", p, c.tool, err, c.missing)
		}
	}
}

func TestResultIsSeenByItsCallerAndWhoReadsEverything(t *testing.T) {
	t.Parallel()
	op := &onceward.Operation{Tenant: "acme", Tool: "tickets.create", Effect: onceward.EffectProbedWrite, Actor: "token:bot"}
	bot := onceward.Principal{Tenant: "acme", Issuer: "token", Subject: "bot", Roles: []onceward.Role{onceward.RoleCaller}}
	with := func(edit func(*onceward.Principal)) onceward.Principal { p := bot; edit(&p); return p }
	for name, c := range map[string]struct {
		who  onceward.Principal
		sees bool
	}{
		"who asked":                       {bot, true},
		"who asked, of another issuer":    {with(func(p *onceward.Principal) { p.Issuer = "local" }), false},
		"who asked, in another tenant":    {with(func(p *onceward.Principal) { p.Tenant = "globex" }), false},
		"who asked, and may not ask now":  {with(func(p *onceward.Principal) { p.Roles = []onceward.Role{onceward.RoleApprover} }), false},
		"who asked, for other tools now":  {with(func(p *onceward.Principal) { p.Tools = []onceward.ToolName{"fax.send"} }), false},
		"who asked, for reading only now": {with(func(p *onceward.Principal) { p.Effects = []onceward.EffectClass{onceward.EffectRead} }), false},
		"another caller":                  {with(func(p *onceward.Principal) { p.Subject = "other" }), false},
		"another operator":                {with(func(p *onceward.Principal) { p.Subject, p.Roles = "o", []onceward.Role{onceward.RoleOperator} }), true},
		"another auditor":                 {with(func(p *onceward.Principal) { p.Subject, p.Roles = "a", []onceward.Role{onceward.RoleAuditor} }), true},
		"an operator of another tenant":   {with(func(p *onceward.Principal) { p.Tenant, p.Roles = "globex", onceward.AllRoles }), false},
		"an operator narrowed to other tools": {with(func(p *onceward.Principal) {
			p.Roles, p.Tools = []onceward.Role{onceward.RoleOperator}, []onceward.ToolName{"fax.send"}
		}), false},
	} {
		if got := c.who.SeesResult(op); got != c.sees {
			t.Errorf("%s sees the result: %v, want %v", name, got, c.sees)
		}
	}
}
