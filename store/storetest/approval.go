package storetest

import (
	"crypto/sha256"
	"time"

	"github.com/onceward/onceward"
)

var documents = []situation{
	{"DocumentIsKeptByItsContent", documentIsKept},
	{"DocumentOfAnotherTenantIsNotSeen", documentIsTheTenants},
}

var earlyApprovals = []situation{
	{"EarlyApprovalWaitsForItsOperation", earlyApprovalWaits},
	{"EarlyApprovalOfTheSamePersonIsReplaced", earlyApprovalIsReplaced},
	{"EarlyApprovalThatIsVoidIsRemoved", earlyApprovalEnds},
	{"EarlyApprovalGoesWithTheTombstone", earlyApprovalIsDropped},
}

func (f *fixture) document(body string) onceward.Document {
	return onceward.Document{Tenant: tenant, Digest: sha256.Sum256([]byte(body)), MediaType: "text/plain", Body: []byte(body), Actor: "local:operator", CreatedAt: f.origin}
}

func documentIsKept(f *fixture) {
	want := f.document("invoice\x00 17")
	none, err := f.Store.LoadDocument(f.ctx, tenant, want.Digest)
	f.must(err)
	f.equal("a document that is not there", (*onceward.Document)(nil), none)
	f.must(f.Store.PutDocument(f.ctx, want))
	again := want
	again.MediaType, again.Actor = "text/html", "local:other"
	f.must(f.other.PutDocument(f.ctx, again)) // the first stays
	got, err := f.other.LoadDocument(f.ctx, tenant, want.Digest)
	f.must(err)
	f.equal("the document", &want, got)
}

func documentIsTheTenants(f *fixture) {
	d := f.document("secret")
	f.must(f.Store.PutDocument(f.ctx, d))
	got, err := f.other.LoadDocument(f.ctx, "globex", d.Digest)
	f.must(err)
	f.equal("another tenant's document", (*onceward.Document)(nil), got)
}

func (f *fixture) early(key, actor string) onceward.EarlyApproval {
	return onceward.EarlyApproval{
		Operation: onceward.NewOperationID(tenant, tool, onceward.Key(key)), Tenant: tenant, Tool: tool, Actor: actor, Digest: onceward.Digest{4, 5},
		Contract: "c0ffee", Reason: "as agreed", At: f.origin, Until: f.origin.Add(time.Hour),
	}
}

func (f *fixture) earlyOf(a onceward.EarlyApproval) []onceward.EarlyApproval {
	f.Helper()
	all, err := f.other.EarlyApprovals(f.ctx, a.Operation)
	f.must(err)
	return all
}

func earlyApprovalWaits(f *fixture) {
	ann, bob, other := f.early("k", "oidc:ann"), f.early("k", "oidc:bob"), f.early("other", "oidc:ann")
	bob.At = bob.At.Add(time.Second)
	for _, a := range []onceward.EarlyApproval{bob, other, ann} {
		f.must(f.Store.PutEarlyApproval(f.ctx, a))
	}
	f.equal("the early approvals", []onceward.EarlyApproval{ann, bob}, f.earlyOf(ann))
	f.must(f.other.DropEarlyApprovals(f.ctx, ann.Operation))
	f.equal("how many are left", 0, len(f.earlyOf(ann)))
	f.equal("those for another operation", []onceward.EarlyApproval{other}, f.earlyOf(other))
}

func earlyApprovalIsReplaced(f *fixture) {
	first := f.early("k", "oidc:ann")
	f.must(f.Store.PutEarlyApproval(f.ctx, first))
	second := first
	second.Digest, second.Reason, second.At = onceward.Digest{6}, "corrected", first.At.Add(time.Second)
	f.must(f.other.PutEarlyApproval(f.ctx, second))
	f.equal("the early approvals", []onceward.EarlyApproval{second}, f.earlyOf(first))
}

func earlyApprovalEnds(f *fixture) {
	void, late := f.early("void", "oidc:ann"), f.early("late", "oidc:ann")
	f.must(f.Store.PutEarlyApproval(f.ctx, void))
	late.At = void.Until.Add(time.Second)
	late.Until = late.At.Add(time.Hour)
	f.must(f.Store.PutEarlyApproval(f.ctx, late))
	f.equal("how many void ones are left", 0, len(f.earlyOf(void)))
	f.equal("the early approvals", []onceward.EarlyApproval{late}, f.earlyOf(late))
}

func earlyApprovalIsDropped(f *fixture) {
	op := f.claimed("k")
	f.store(insert(op))
	a := f.early("k", "oidc:ann")
	f.must(f.Store.PutEarlyApproval(f.ctx, a))
	n, err := f.Store.Drop(f.ctx, []onceward.Tombstone{{ID: op.ID, Version: op.Version}})
	f.must(err)
	f.equal("how many rows were dropped", 1, n)
	f.equal("how many early approvals are left", 0, len(f.earlyOf(a)))
}
