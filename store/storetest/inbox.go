package storetest

import (
	"time"

	"github.com/onceward/onceward"
)

var inboxEvents = []situation{
	{"EventIsStoredWhole", eventIsStoredWhole},
	{"EventThatIsThereStaysAsItIs", eventThatIsThereStays},
	{"EventsAreWrittenByCompareAndSet", eventsCompareAndSet},
	{"EventsAreHandedOutOnceTheLongestDueFirst", eventsAreHandedOut},
	{"EventsAreListedNewestFirst", eventsAreListed},
	{"EventsAreForgottenInSteps", eventsAreForgotten},
}

// event is a received event.
func (f *fixture) event(key string, edits ...func(*onceward.InboxEvent)) onceward.InboxEvent {
	e := onceward.InboxEvent{ID: onceward.NewInboxID(tenant, "shop", onceward.Key(key)), Tenant: tenant, Source: "shop", Version: "v1", Key: onceward.Key(key),
		ContentType: "application/json", Body: []byte(`{"id":"` + key + `"}`), ReceivedAt: f.origin, State: onceward.InboxReceived, NextAt: f.origin, Revision: 1, Token: token()}
	for _, edit := range edits {
		edit(&e)
	}
	return e
}

func (f *fixture) put(events ...onceward.InboxEvent) []bool {
	f.Helper()
	recorded, err := f.Store.PutEvents(f.ctx, events)
	f.must(err)
	return recorded
}

func (f *fixture) set(events ...onceward.InboxEvent) []bool {
	f.Helper()
	applied, err := f.Store.SetEvents(f.ctx, events)
	f.must(err)
	return applied
}

func (f *fixture) inboxEvent(id onceward.InboxID) *onceward.InboxEvent {
	f.Helper()
	e, err := f.other.LoadEvent(f.ctx, id)
	f.must(err)
	return e
}

// afterwards is the event after it was handled.
func afterwards(e onceward.InboxEvent, edits ...func(*onceward.InboxEvent)) onceward.InboxEvent {
	e.Revision, e.Token, e.State, e.NextAt = e.Revision+1, token(), onceward.InboxHandled, time.Time{}
	e.HandledAt = e.ReceivedAt.Add(step)
	for _, edit := range edits {
		edit(&e)
	}
	return e
}

func eventIsStoredWhole(f *fixture) {
	op := f.claimed("k")
	whole := f.event("whole", func(e *onceward.InboxEvent) {
		e.Key = "a \x00 key"
		e.Header = []onceward.HeaderField{{Name: "X-Topic", Value: "orders/paid \xff"}}
		e.Body = []byte("bytes \x00\xff")
		e.SentAt, e.HandledAt, e.DropAt, e.NextAt = f.origin.Add(-time.Hour), f.origin, f.origin.Add(time.Hour), time.Time{}
		e.State, e.Code, e.Message, e.By, e.Why, e.Tries = onceward.InboxFailed, onceward.CodeKeyReused, "because", "local:operator", "a reason", 3
		e.Run, e.Operations = onceward.RunID{7}, []onceward.OperationID{op.ID, {8}}
	})
	bare := f.event("bare", func(e *onceward.InboxEvent) { e.Body, e.ContentType = nil, "" })
	f.equal("what was recorded", []bool{true, true}, f.put(whole, bare))
	f.equal("the whole event", &whole, f.inboxEvent(whole.ID))
	f.equal("the bare event", &bare, f.inboxEvent(bare.ID))
	if none := f.inboxEvent(onceward.NewInboxID(tenant, "shop", "none")); none != nil {
		f.Fatalf("there is one: %+v", none)
	}
}

func eventThatIsThereStays(f *fixture) {
	first, again, other := f.event("k"), f.event("k", func(e *onceward.InboxEvent) { e.Body = []byte("another") }), f.event("o")
	f.equal("the first", []bool{true}, f.put(first))
	f.equal("one that is there, beside one that is not", []bool{false, true}, f.put(again, other))
	f.equal("the same again, as after a lost commit", []bool{true, true}, f.put(first, other))
	f.equal("the row", &first, f.inboxEvent(first.ID))
	f.equal("no events", 0, len(f.put()))
}

func eventsCompareAndSet(f *fixture) {
	a, b := f.event("a"), f.event("b")
	f.put(a, b)
	nextA, nextB := afterwards(a, func(e *onceward.InboxEvent) {
		e.Operations = []onceward.OperationID{{1}}
		e.Body = []byte("is not written")
		e.DropAt = f.origin.Add(time.Hour)
	}), afterwards(b)
	f.equal("both", []bool{true, true}, f.set(nextA, nextB))
	nextA.Body = a.Body
	f.equal("the row", &nextA, f.inboxEvent(a.ID))
	f.equal("the same again, as after a lost commit", []bool{true, true}, f.set(nextA, nextB))
	late := afterwards(a)
	f.equal("one that lost, beside one that is new", []bool{false, true}, f.set(late, afterwards(nextB)))
	f.equal("the row that it lost to", &nextA, f.inboxEvent(a.ID))
	f.equal("one that is not there", []bool{false}, f.set(afterwards(f.event("none"))))
}

func eventsAreHandedOut(f *fixture) {
	first := f.event("first", func(e *onceward.InboxEvent) {
		e.ReceivedAt, e.NextAt = f.origin.Add(-time.Minute), f.origin.Add(-time.Minute)
	})
	second := f.event("second", func(e *onceward.InboxEvent) {
		e.ReceivedAt, e.NextAt = f.origin.Add(-time.Second), f.origin.Add(-time.Second)
	})
	later := f.event("later", func(e *onceward.InboxEvent) { e.NextAt = f.origin.Add(time.Hour) })
	ended := f.event("ended", func(e *onceward.InboxEvent) { e.State, e.NextAt = onceward.InboxIgnored, time.Time{} })
	f.put(later, second, ended, first)
	take := func(s onceward.Store, limit int, hold time.Duration) (keys []onceward.Key) {
		f.Helper()
		taken, err := s.TakeEvents(f.ctx, limit, hold)
		f.must(err)
		for _, e := range taken {
			keys = append(keys, e.Key)
			if string(e.Body) != `{"id":"`+string(e.Key)+`"}` {
				f.Fatalf("the payload of %s is %q", e.Key, e.Body)
			}
		}
		return keys
	}
	f.equal("the longest due", []onceward.Key{"first"}, take(f.Store, 1, time.Hour))
	f.equal("what another replica gets", []onceward.Key{"second"}, take(f.other, 10, time.Hour))
	f.equal("what is left", 0, len(take(f.other, 10, time.Hour)))
	f.put(f.event("brief", func(e *onceward.InboxEvent) { e.NextAt = f.origin.Add(-time.Second) }))
	f.equal("what came since", []onceward.Key{"brief"}, take(f.Store, 10, step))
	f.pass(2 * step)
	f.equal("after its hold", []onceward.Key{"brief"}, take(f.other, 10, time.Hour))
}

func eventsAreListed(f *fixture) {
	var all []onceward.InboxEvent
	for i, s := range []onceward.InboxState{onceward.InboxFailed, onceward.InboxHandled, onceward.InboxLate, onceward.InboxUnmapped, onceward.InboxReceived} {
		all = append(all, f.event(string(s), func(e *onceward.InboxEvent) {
			e.State, e.ReceivedAt = s, f.origin.Add(time.Duration(i)*step)
		}))
	}
	all = append(all, f.event("other source", func(e *onceward.InboxEvent) { e.Source = "crm"; e.ReceivedAt = f.origin.Add(-step) }),
		f.event("other tenant", func(e *onceward.InboxEvent) { e.Tenant = "other"; e.ID = onceward.NewInboxID("other", e.Source, e.Key) }))
	f.put(all...)
	list := func(filter onceward.InboxFilter) (keys []string) {
		f.Helper()
		filter.Tenant = tenant
		page, err := f.other.ListEvents(f.ctx, filter)
		f.must(err)
		for _, e := range page {
			keys = append(keys, string(e.Key))
			if e.Body != nil || e.Header != nil {
				f.Fatalf("the list shows the payload of %s", e.Key)
			}
		}
		return keys
	}
	f.equal("all of the tenant", []string{"received", "unmapped", "late", "handled", "failed", "other source"}, list(onceward.InboxFilter{Limit: 10}))
	f.equal("of one source", []string{"other source"}, list(onceward.InboxFilter{Source: "crm", Limit: 10}))
	f.equal("in one state", []string{"handled"}, list(onceward.InboxFilter{State: onceward.InboxHandled, Limit: 10}))
	f.equal("what waits for a person", []string{"unmapped", "late", "failed"}, list(onceward.InboxFilter{Waiting: true, Limit: 10}))
	f.equal("a page", []string{"received", "unmapped"}, list(onceward.InboxFilter{Limit: 2}))
	f.equal("the next page", []string{"late", "handled"}, list(onceward.InboxFilter{Limit: 2, After: onceward.InboxCursor{ReceivedAt: all[3].ReceivedAt, ID: all[3].ID}}))
}

func eventsAreForgotten(f *fixture) {
	for _, key := range []string{"a", "b", "c"} {
		f.put(f.event(key, func(e *onceward.InboxEvent) {
			e.State, e.NextAt, e.DropAt = onceward.InboxHandled, time.Time{}, f.origin
		}))
	}
	kept, never := f.event("kept", func(e *onceward.InboxEvent) { e.DropAt = f.origin.Add(time.Hour) }), f.event("never")
	f.put(kept, never)
	drop := func(limit int) int {
		f.Helper()
		n, err := f.Store.DropEvents(f.ctx, limit)
		f.must(err)
		return n
	}
	f.equal("a step", 2, drop(2))
	f.equal("the next step", 1, drop(2))
	f.equal("nothing is left whose time is over", 0, drop(2))
	for _, e := range []onceward.InboxEvent{kept, never} {
		if f.inboxEvent(e.ID) == nil {
			f.Fatalf("%s is gone", e.Key)
		}
	}
}
