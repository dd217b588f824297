package storetest

import (
	"slices"

	"github.com/onceward/onceward"
)

var dataKeys = []situation{
	{"SubjectHasOneDataKeyInUse", dataKeyInUse},
	{"ClosedDataKeyCanBeReadAndIsFollowedByAnother", dataKeyClosed},
	{"DataKeyIsWrappedAnewOnce", dataKeyRewrapped},
	{"ShreddedDataKeyIsGoneAndItsRowStays", dataKeyShredded},
	{"OperationsAreListedBySubject", listedBySubject},
	{"EncryptedBodiesComeBackAsTheyWere", sealedComesBack},
}

func (f *fixture) dataKey(id byte, subject onceward.SubjectID) onceward.DataKey {
	return onceward.DataKey{ID: onceward.DataKeyID{id}, Tenant: tenant, Subject: subject, Master: "mk_a", Wrapped: []byte{1, 2, id}, CreatedAt: f.origin}
}

func (f *fixture) putDataKey(k onceward.DataKey) onceward.DataKey {
	f.Helper()
	stands, err := f.Store.PutDataKey(f.ctx, k)
	f.must(err)
	return stands
}

func (f *fixture) dataKeysOf(ids ...byte) []onceward.DataKey {
	f.Helper()
	all := make([]onceward.DataKeyID, len(ids))
	for i := range ids {
		all[i] = onceward.DataKeyID{ids[i]}
	}
	found, err := f.other.DataKeys(f.ctx, all)
	f.must(err)
	return found
}

func dataKeyInUse(f *fixture) {
	none, err := f.other.DataKeyInUse(f.ctx, tenant, "sub_a")
	f.must(err)
	f.equal("the key of a new subject", (*onceward.DataKey)(nil), none)
	first, late, other := f.dataKey(1, "sub_a"), f.dataKey(2, "sub_a"), f.dataKey(3, "sub_b")
	elsewhere := f.dataKey(4, "sub_a")
	elsewhere.Tenant = "globex"
	for _, c := range []struct{ put, stands onceward.DataKey }{{first, first}, {late, first}, {other, other}, {elsewhere, elsewhere}} {
		f.equal("the key in use", c.stands, f.putDataKey(c.put))
	}
	page, err := f.other.ListDataKeys(f.ctx, tenant, "", onceward.DataKeyID{}, 10)
	f.must(err)
	f.equal("the tenant's keys", []onceward.DataKey{first, other}, page)
	page, err = f.other.ListDataKeys(f.ctx, onceward.EveryTenant, "sub_a", first.ID, 1)
	f.must(err)
	f.equal("every tenant's keys of a subject after the first", []onceward.DataKey{elsewhere}, page)
}

func dataKeyClosed(f *fixture) {
	first := f.putDataKey(f.dataKey(1, "sub_a"))
	f.must(f.Store.CloseDataKeys(f.ctx, tenant, "sub_a", f.origin.Add(step)))
	none, err := f.other.DataKeyInUse(f.ctx, tenant, "sub_a")
	f.must(err)
	f.equal("the key in use", (*onceward.DataKey)(nil), none)
	next := f.putDataKey(f.dataKey(2, "sub_a"))
	f.equal("the next key", onceward.DataKeyID{2}, next.ID)
	first.ClosedAt = f.origin.Add(step)
	f.equal("both keys", []onceward.DataKey{first, next}, f.dataKeysOf(2, 1, 9))
}

func dataKeyRewrapped(f *fixture) {
	k := f.putDataKey(f.dataKey(1, "sub_a"))
	left, err := f.other.KeysNotWrappedBy(f.ctx, "mk_b", 10)
	f.must(err)
	f.equal("keys to be wrapped by the other master key", []onceward.DataKey{k}, left)
	for _, want := range []bool{true, false} {
		applied, err := f.Store.RewrapDataKey(f.ctx, k.ID, k.Wrapped, "mk_b", []byte("again"))
		f.must(err)
		f.equal("applied", want, applied)
	}
	k.Master, k.Wrapped = "mk_b", []byte("again")
	f.equal("the key", []onceward.DataKey{k}, f.dataKeysOf(1))
	uses, err := f.other.MasterUses(f.ctx)
	f.must(err)
	f.equal("the master keys in use", []onceward.MasterUse{{Master: "mk_b", Keys: 1}}, uses)
}

func dataKeyShredded(f *fixture) {
	gone, stays := f.putDataKey(f.dataKey(1, "sub_a")), f.putDataKey(f.dataKey(2, "sub_b"))
	note := onceward.NewAuditEvent(onceward.AuditEvent{Tenant: tenant, Actor: "local:operator", Action: onceward.AuditSubjectShredded, Subject: "sub_a"})
	for _, want := range []int{1, 0} {
		n, err := f.Store.ShredDataKeys(f.ctx, []onceward.DataKeyID{gone.ID, {9}}, f.origin.Add(step), note)
		f.must(err)
		f.equal("the number of shredded keys", want, n)
	}
	gone.Master, gone.Wrapped, gone.ClosedAt, gone.ShreddedAt = "", nil, f.origin.Add(step), f.origin.Add(step)
	f.equal("the keys", []onceward.DataKey{gone, stays}, f.dataKeysOf(1, 2))
	applied, err := f.Store.RewrapDataKey(f.ctx, gone.ID, []byte{1, 2, 1}, "mk_b", []byte("again"))
	f.must(err)
	f.equal("a shredded key is wrapped again", false, applied)
	rows, err := f.other.AuditRows(f.ctx, onceward.AuditQuery{Source: onceward.SourceEvents, Limit: 10, Open: true})
	f.must(err)
	f.equal("the events noted with it", 1, len(rows))
}

func listedBySubject(f *fixture) {
	whose := func(s onceward.SubjectID) func(*onceward.Operation) {
		return func(o *onceward.Operation) { o.Subject = s }
	}
	f.store(insert(f.claimed("a", whose("sub_a"))), insert(f.claimed("b", whose("sub_b"))), insert(f.claimed("plain")), insert(f.claimed("a2", whose("sub_a"))))
	got := f.list(onceward.Filter{Tenant: tenant, Subject: "sub_a", Limit: 10})
	slices.Sort(got)
	f.equal("the subject's operations", []string{"a", "a2"}, got)
	f.equal("another tenant's", 0, len(f.list(onceward.Filter{Tenant: "globex", Subject: "sub_a", Limit: 10})))
}

func sealedComesBack(f *fixture) {
	for _, n := range []int{40, 5000} { // in the row, and beside it
		sealed := append([]byte{1}, make([]byte, n)...)
		op := f.claimed("a"+string(rune('0'+n%7)), func(o *onceward.Operation) {
			o.Subject, o.Sealed, o.Input, o.Request, o.Prints = "sub_a", sealed, nil, nil, nil
		})
		c := insert(op)
		c.Records = []onceward.Record{{Version: 1, At: f.origin, Event: "commented", From: op.State, To: op.State, Sealed: []byte{1, 7}}}
		f.store(c)
		f.stored(op)
		f.equal("the timeline", c.Records, f.records(op.ID))
		gone := next(done(op), func(o *onceward.Operation) { o.Sealed, o.Shredded, o.Version = nil, true, 2 })
		f.store(update(gone))
		f.stored(gone)
	}
}
