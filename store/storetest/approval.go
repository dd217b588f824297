package storetest

import (
	"crypto/sha256"
	"time"

	"github.com/onceward/onceward"
)

var documents = []situation{
	{"DocumentIsKeptByItsContent", documentIsKept},
	{"DocumentOfAnotherTenantIsNotSeen", documentIsTheTenants},
	{"OldDocumentsAreListedUnlessTheyWereNamedOrShown", agedDocuments},
	{"DocumentThatWasNamedIsNotDropped", documentIsDropped},
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

// agedOf names the old documents that are listed.
func (f *fixture) agedOf(after onceward.DocumentCursor, before time.Time, limit int) (bodies []onceward.Digest) {
	f.Helper()
	all, err := f.other.AgedDocuments(f.ctx, after, before, limit)
	f.must(err)
	for i := range all {
		if all[i].Body != nil || all[i].MediaType == "" || all[i].CreatedAt.IsZero() {
			f.Fatalf("listed is %+v", all[i])
		}
		bodies = append(bodies, all[i].Digest)
	}
	return bodies
}

func agedDocuments(f *fixture) {
	old, older, named, fresh, shown := f.document("old"), f.document("older"), f.document("named"), f.document("fresh"), f.document("shown")
	older.CreatedAt, older.Tenant = f.origin.Add(-time.Hour), "globex"
	fresh.CreatedAt = f.origin.Add(time.Hour)
	shown.MediaType = onceward.ShowingMediaType
	for _, d := range []onceward.Document{old, older, named, fresh, shown} {
		f.must(f.Store.PutDocument(f.ctx, d))
	}
	there, err := f.Store.NameDocument(f.ctx, tenant, named.Digest, f.origin.Add(time.Hour))
	f.must(err)
	f.equal("whether the document is there", true, there)
	there, err = f.Store.NameDocument(f.ctx, "globex", named.Digest, f.origin)
	f.must(err)
	f.equal("whether another tenant's is", false, there)
	before := f.origin.Add(time.Minute)
	f.equal("the old documents", []onceward.Digest{older.Digest, old.Digest}, f.agedOf(onceward.DocumentCursor{}, before, 10))
	f.equal("the first", []onceward.Digest{older.Digest}, f.agedOf(onceward.DocumentCursor{}, before, 1))
	f.equal("the one after it", []onceward.Digest{old.Digest}, f.agedOf(onceward.DocumentCursor{CreatedAt: older.CreatedAt, Tenant: older.Tenant, Digest: older.Digest}, before, 10))
}

func documentIsDropped(f *fixture) {
	d := f.document("invoice")
	f.must(f.Store.PutDocument(f.ctx, d))
	named := f.origin.Add(time.Hour)
	for range 2 { // an earlier time changes nothing
		_, err := f.Store.NameDocument(f.ctx, tenant, d.Digest, named)
		f.must(err)
		named = f.origin
	}
	for _, c := range []struct {
		t      onceward.Tenant
		before time.Duration
		want   bool
	}{{tenant, time.Hour, false}, {"globex", 2 * time.Hour, false}, {tenant, 2 * time.Hour, true}, {tenant, 2 * time.Hour, false}} {
		dropped, err := f.Store.DropDocument(f.ctx, c.t, d.Digest, f.origin.Add(c.before), onceward.NewAuditEvent(onceward.AuditEvent{Tenant: tenant, Actor: "ledger", Action: onceward.AuditDocumentDropped, Subject: d.Digest.String()}))
		f.must(err)
		f.equal("whether it was dropped", c.want, dropped)
	}
	gone, err := f.other.LoadDocument(f.ctx, tenant, d.Digest)
	f.must(err)
	f.equal("the document", (*onceward.Document)(nil), gone)
	rows, err := f.other.AuditRows(f.ctx, onceward.AuditQuery{Source: onceward.SourceEvents, Limit: 10, Open: true})
	f.must(err)
	f.equal("the lines of the audit trail", 1, len(rows))
}
