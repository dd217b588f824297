package storetest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

var tokens = []situation{
	{"TokenIsReadBackAsItWasStored", tokenIsReadBack},
	{"TokenWhoseIDIsTakenIsRefused", tokenIDIsTaken},
	{"TokensAreListedByIDWithinTheirTenant", tokensAreListed},
	{"FirstWhoRevokesATokenStays", firstRevokerStays},
	{"TokenOfAnotherTenantIsNotRevoked", tokenOfAnotherTenant},
	{"LastUseOfATokenOnlyMovesForward", lastUseMovesForward},
	{"RevokedTokenStillCountsAsOne", revokedTokenCounts},
}

// someToken is a token of the fixture's tenant with everything set that a new
// one has.
func (f *fixture) someToken(n int) onceward.Token {
	return onceward.Token{
		ID: onceward.TokenID(fmt.Sprintf("%016d", n)), Tenant: tenant, Subject: "crm sync", Note: "of the nightly job",
		Scope: onceward.Scope{Roles: []onceward.Role{onceward.RoleCaller, onceward.RoleOperator}, Groups: []string{"finance", "*"},
			Tools: []onceward.ToolName{tool}, Effects: []onceward.EffectClass{onceward.EffectRead, onceward.EffectUnsafeWrite}},
		Hash: sha256.Sum256(fmt.Append(nil, n)), CreatedBy: "local:operator", CreatedAt: f.origin, ExpiresAt: f.origin.Add(time.Hour),
	}
}

func (f *fixture) putToken(t onceward.Token) onceward.Token {
	f.Helper()
	f.must(f.Store.PutToken(f.ctx, t))
	return t
}

func (f *fixture) tokenIs(want onceward.Token) {
	f.Helper()
	got, err := f.other.LoadToken(f.ctx, want.ID)
	f.must(err)
	f.equal("the stored token", &want, got)
}

func tokenIsReadBack(f *fixture) {
	got, err := f.other.LoadToken(f.ctx, f.someToken(1).ID)
	f.must(err)
	f.equal("a token that is not there", (*onceward.Token)(nil), got)
	f.tokenIs(f.putToken(f.someToken(1)))
	plain := f.someToken(2)
	plain.Note, plain.Scope = "", onceward.Scope{Roles: []onceward.Role{onceward.RoleAuditor}}
	f.tokenIs(f.putToken(plain))
}

func tokenIDIsTaken(f *fixture) {
	first := f.putToken(f.someToken(1))
	second := f.someToken(1)
	second.Hash, second.Subject = sha256.Sum256([]byte("another")), "somebody else"
	f.code("a second token with the ID", f.other.PutToken(f.ctx, second), onceward.CodeWriteConflict)
	f.tokenIs(first)
}

func tokensAreListed(f *fixture) {
	var want []onceward.Token
	for n := range 5 {
		want = append(want, f.putToken(f.someToken(n)))
	}
	foreign := f.someToken(9)
	foreign.Tenant = "globex"
	f.putToken(foreign)
	page := func(after onceward.TokenID, limit int) []onceward.Token {
		all, err := f.other.ListTokens(f.ctx, tenant, after, limit)
		f.must(err)
		return all
	}
	f.equal("the whole list", want, page("", 100))
	f.equal("the first page", want[:2], page("", 2))
	f.equal("the second page", want[2:4], page(want[1].ID, 2))
	f.equal("behind the last", 0, len(page(want[4].ID, 2)))
}

func firstRevokerStays(f *fixture) {
	t := f.putToken(f.someToken(1))
	t.RevokedBy, t.RevokedAt = "token:first", f.origin.Add(step)
	got, err := f.Store.RevokeToken(f.ctx, tenant, t.ID, "token:first", t.RevokedAt)
	f.must(err)
	f.equal("the revoked token", &t, got)
	got, err = f.other.RevokeToken(f.ctx, tenant, t.ID, "token:second", f.origin.Add(2*step))
	f.must(err)
	f.equal("the token revoked again", &t, got)
	f.tokenIs(t)
}

func tokenOfAnotherTenant(f *fixture) {
	t := f.putToken(f.someToken(1))
	for _, id := range []onceward.TokenID{t.ID, "none"} {
		got, err := f.Store.RevokeToken(f.ctx, "globex", id, "token:first", f.origin)
		f.must(err)
		f.equal("what is told of another's token", (*onceward.Token)(nil), got)
	}
	f.tokenIs(t)
}

func lastUseMovesForward(f *fixture) {
	t := f.putToken(f.someToken(1))
	for _, c := range []struct{ at, want time.Duration }{{time.Hour, time.Hour}, {0, time.Hour}, {2 * time.Hour, 2 * time.Hour}} {
		f.must(f.Store.UseToken(f.ctx, t.ID, f.origin.Add(c.at)))
		t.LastUsedAt = f.origin.Add(c.want)
		f.tokenIs(t)
	}
	f.must(f.Store.UseToken(f.ctx, "none", f.origin))
}

func revokedTokenCounts(f *fixture) {
	any := func() bool {
		yes, err := f.other.AnyToken(f.ctx)
		f.must(err)
		return yes
	}
	f.equal("whether an empty ledger has a token", false, any())
	t := f.putToken(f.someToken(1))
	f.equal("whether there is a token", true, any())
	_, err := f.Store.RevokeToken(f.ctx, tenant, t.ID, "token:first", f.origin)
	f.must(err)
	f.equal("whether there is a token after its revocation", true, any())
}
