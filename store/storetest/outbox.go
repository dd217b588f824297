package storetest

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

var outboxes = []situation{
	{"OutboxEventIsStoredWhole", outboxEventIsStoredWhole},
	{"OutboxEventsAreReadInOrder", outboxEventsAreReadInOrder},
	{"EventsOfAChangeAreStoredWithItAndOnlyWithIt", eventsOfAChange},
	{"OneOwnerHoldsASink", oneOwnerHoldsASink},
	{"StepOfASinkIsStoredWholeOrNotAtAll", stepOfASink},
	{"EventsSetAsideComeUpOneAfterAnotherOfTheirKey", eventsSetAsideComeUp},
	{"EventsSetAsideAreListedByPages", eventsSetAsideAreListedByPages},
	{"DeadEventIsDrivenAgainOrForgotten", deadEventIsDrivenAgain},
	{"OutboxIsDroppedWhereEverySinkIs", outboxIsDropped},
}

const sinkLease = time.Hour

// news is an event as a ledger hands it to a store.
func (f *fixture) news(id, key string, edits ...func(*onceward.OutboxEvent)) onceward.OutboxEvent {
	f.Helper()
	e, err := onceward.NewOutboxEvent(onceward.OutboxEvent{ID: id, Tenant: tenant, Type: "invoice.paid", Key: key, At: f.origin, Data: []byte(`{"id":"` + id + `"}`)})
	f.must(err)
	for _, edit := range edits {
		edit(&e)
	}
	return e
}

func (f *fixture) add(events ...onceward.OutboxEvent) {
	f.Helper()
	f.must(f.Store.AddEvents(f.ctx, events))
}

// outbox reads events through the second handle, once there are as many as are
// wanted: what can be read waits for every transaction on the server.
func (f *fixture) outbox(after onceward.OutboxPlace, limit, want int) []onceward.OutboxEvent {
	f.Helper()
	for until := time.Now().Add(20 * time.Second); ; {
		events, err := f.other.ReadOutbox(f.ctx, after, limit)
		f.must(err)
		if len(events) >= want || time.Now().After(until) {
			return events
		}
	}
}

func eventIDs(events []onceward.OutboxEvent) (ids []string) {
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func (f *fixture) hold(name, owner string) onceward.Sink {
	f.Helper()
	sink, err := f.Store.HoldSink(f.ctx, name, owner, sinkLease)
	f.must(err)
	return sink
}

// takeStep stores a step of sink "s" held by "r".
func (f *fixture) takeStep(from, to onceward.OutboxPlace, edits ...func(*onceward.SinkStep)) bool {
	f.Helper()
	step := onceward.SinkStep{Sink: "s", Owner: "r", Lease: sinkLease, From: from, To: to}
	for _, edit := range edits {
		edit(&step)
	}
	ours, err := f.Store.StepSink(f.ctx, step)
	f.must(err)
	return ours
}

func (f *fixture) dueAside() (ids []string) {
	f.Helper()
	due, err := f.other.DueAside(f.ctx, "s", 10)
	f.must(err)
	for _, a := range due {
		ids = append(ids, a.Event.ID)
		if string(a.Event.Data) != `{"id":"`+a.Event.ID+`"}` {
			f.Fatalf("the data of %s is %q", a.Event.ID, a.Event.Data)
		}
	}
	return ids
}

func (f *fixture) sink(name string) onceward.Sink {
	f.Helper()
	all, err := f.other.Sinks(f.ctx)
	f.must(err)
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	f.Fatalf("there is no sink %s: %+v", name, all)
	return onceward.Sink{}
}

func outboxEventIsStoredWhole(f *fixture) {
	whole := f.news("whole", "a key", func(e *onceward.OutboxEvent) {
		e.Source, e.Subject, e.CorrelationID, e.TraceParent, e.ContentType = "/shop", "invoice 7", "corr", "00-1-2-01", "application/octet-stream"
		e.Data = []byte("bytes \x00\xff")
	})
	bare := f.news("bare", "", func(e *onceward.OutboxEvent) { e.Data, e.ContentType = nil, "" })
	f.add(whole, bare)
	got := f.outbox(onceward.OutboxPlace{}, 10, 2)
	for i := range got {
		got[i].Place = onceward.OutboxPlace{}
	}
	f.equal("the events", []onceward.OutboxEvent{whole, bare}, got)
}

func outboxEventsAreReadInOrder(f *fixture) {
	var want []string
	for i := range 6 {
		a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
		f.add(f.news(a, "k"), f.news(b, "k"))
		want = append(want, a, b)
	}
	all := f.outbox(onceward.OutboxPlace{}, 100, 12)
	f.equal("all", want, eventIDs(all))
	f.equal("a part", want[:5], eventIDs(f.outbox(onceward.OutboxPlace{}, 5, 5)))
	f.equal("the rest", want[5:], eventIDs(f.outbox(all[4].Place, 100, 7)))
	f.equal("nothing is left", 0, len(f.outbox(all[11].Place, 100, 0)))
}

func eventsOfAChange(f *fixture) {
	op := f.claimed("k")
	first := insert(op)
	first.Events = []onceward.OutboxEvent{f.news("1", "k"), f.news("2", "k")}
	f.store(first)
	again := f.commit(first)
	f.applied("the same batch, run again", again[0])
	second, lost := update(done(op)), update(done(op))
	second.Events, lost.Events = []onceward.OutboxEvent{f.news("3", "k")}, []onceward.OutboxEvent{f.news("lost", "k")}
	third := insert(f.claimed("other"))
	third.Events = []onceward.OutboxEvent{f.news("4", "k")}
	f.store(second, third)
	if r := f.commit(lost); r[0].Applied {
		f.Fatal("the change that was too late was applied")
	}
	f.equal("the events", []string{"1", "2", "3", "4"}, sorted(eventIDs(f.outbox(onceward.OutboxPlace{}, 10, 4))))
}

func oneOwnerHoldsASink(f *fixture) {
	first := f.hold("s", "r")
	f.equal("the first owner", true, first.Held && first.Place == onceward.OutboxPlace{})
	f.equal("another one", false, f.hold("s", "other").Held)
	f.equal("the first one again", true, f.hold("s", "r").Held)
	brief, err := f.Store.HoldSink(f.ctx, "brief", "r", step)
	f.must(err)
	f.equal("the brief one", true, brief.Held)
	f.pass(2 * step)
	f.equal("another one, once it is over", true, f.hold("brief", "other").Held)
	ours, err := f.Store.StepSink(f.ctx, onceward.SinkStep{Sink: "brief", Owner: "r", Lease: sinkLease})
	f.must(err)
	f.equal("a step of whoever lost the lease", false, ours)
}

func stepOfASink(f *fixture) {
	f.add(f.news("1", "a"), f.news("2", "b"), f.news("3", "a"))
	f.hold("s", "r")
	e := f.outbox(onceward.OutboxPlace{}, 10, 3)
	aside := func(s *onceward.SinkStep) {
		s.Aside = []onceward.SetAside{{Event: e[0], Tries: 1, DueAt: f.origin.Add(time.Hour), Message: "no \x00"}, {Event: e[2]}}
	}
	f.equal("a step", true, f.takeStep(onceward.OutboxPlace{}, e[2].Place, aside))
	f.equal("the same from the old place", false, f.takeStep(onceward.OutboxPlace{}, e[1].Place))
	s := f.sink("s")
	f.equal("the sink", []any{e[2].Place, int64(0), 2, 0}, []any{s.Place, s.Behind, s.Aside, s.Dead})
	keys, err := f.other.HeldKeys(f.ctx, "s")
	f.must(err)
	f.equal("the held keys", []string{"a"}, keys)
	list, err := f.other.ListAside(f.ctx, onceward.AsideFilter{Tenant: tenant, Limit: 10})
	f.must(err)
	f.equal("what is set aside", 2, len(list))
	f.equal("the first", []any{"s", "1", 1, f.origin.Add(time.Hour), "no \uFFFD", 0}, []any{list[0].Sink, list[0].Event.ID, list[0].Tries, list[0].DueAt, list[0].Message, len(list[0].Event.Data)})
	others, err := f.other.ListAside(f.ctx, onceward.AsideFilter{Tenant: "other", Limit: 10})
	f.must(err)
	f.equal("what another tenant sees", 0, len(others))
	f.add(f.news("4", "b"))
	s = f.sink("s")
	f.equal("behind", []any{int64(1), f.origin}, []any{s.Behind, s.OldestAt})
}

// Two sinks have the same events set aside: no page leaves one of them out.
func eventsSetAsideAreListedByPages(f *fixture) {
	f.add(f.news("1", "a"), f.news("2", "b"))
	f.hold("s", "r")
	f.hold("t", "r")
	e := f.outbox(onceward.OutboxPlace{}, 10, 2)
	for _, sink := range []string{"s", "t"} {
		f.takeStep(onceward.OutboxPlace{}, e[1].Place, func(s *onceward.SinkStep) {
			s.Sink, s.Aside = sink, []onceward.SetAside{{Event: e[0], Tries: 1}, {Event: e[1], Tries: 9, Dead: sink == "t"}}
		})
	}
	var seen []string
	filter := onceward.AsideFilter{Tenant: tenant, Limit: 1}
	for {
		page, err := f.other.ListAside(f.ctx, filter)
		f.must(err)
		if len(page) == 0 {
			break
		}
		seen, filter.After = append(seen, page[0].Sink+page[0].Event.ID), page[0].Cursor()
	}
	f.equal("the pages", []string{"s1", "t1", "s2", "t2"}, seen)
	dead, err := f.other.ListAside(f.ctx, onceward.AsideFilter{Tenant: tenant, Dead: true, Limit: 10})
	f.must(err)
	f.equal("the dead", []any{1, "t"}, []any{len(dead), dead[0].Sink})
	of, err := f.other.ListAside(f.ctx, onceward.AsideFilter{Tenant: tenant, Sink: "t", Limit: 10})
	f.must(err)
	f.equal("those of one sink", []any{2, "t", "t"}, []any{len(of), of[0].Sink, of[1].Sink})
}

func eventsSetAsideComeUp(f *fixture) {
	f.add(f.news("1", "a"), f.news("2", "a"), f.news("3", ""))
	f.hold("s", "r")
	e := f.outbox(onceward.OutboxPlace{}, 10, 3)
	at := e[2].Place
	f.takeStep(onceward.OutboxPlace{}, at, func(s *onceward.SinkStep) {
		s.Aside = []onceward.SetAside{{Event: e[0], Tries: 1, DueAt: f.origin}, {Event: e[1]}, {Event: e[2], Tries: 1, DueAt: f.origin.Add(time.Hour)}}
	})
	f.equal("what is due", []string{"1"}, f.dueAside())
	f.takeStep(at, at, func(s *onceward.SinkStep) {
		s.Aside = []onceward.SetAside{{Event: e[0], Tries: 2, DueAt: f.origin.Add(time.Hour), Message: "again"}}
	})
	f.equal("what is due, after it was refused again", 0, len(f.dueAside()))
	f.takeStep(at, at, func(s *onceward.SinkStep) { s.Gone, s.Freed = []onceward.OutboxPlace{e[0].Place}, []string{"a"} })
	f.equal("what is due, after the first one was taken", []string{"2"}, f.dueAside())
	f.takeStep(at, at, func(s *onceward.SinkStep) { s.Gone, s.Freed = []onceward.OutboxPlace{e[1].Place}, []string{"a"} })
	f.equal("what is left", 1, f.sink("s").Aside)
}

func deadEventIsDrivenAgain(f *fixture) {
	f.add(f.news("1", "a"), f.news("2", "a"), f.news("3", "a"))
	f.hold("s", "r")
	e := f.outbox(onceward.OutboxPlace{}, 10, 3)
	dead := func(s *onceward.SinkStep) {
		s.Aside = []onceward.SetAside{{Event: e[0], Tries: 9, Dead: true}, {Event: e[1]}, {Event: e[2]}}
		s.Freed = []string{"a"}
	}
	f.takeStep(onceward.OutboxPlace{}, e[2].Place, dead)
	f.equal("what is due behind a dead one", 0, len(f.dueAside()))
	f.equal("the dead", 1, f.sink("s").Dead)
	redrive := func(t onceward.Tenant, id string, drop bool) bool {
		f.Helper()
		done, err := f.other.Redrive(f.ctx, t, "s", id, drop)
		f.must(err)
		return done
	}
	f.equal("one that is not dead", false, redrive(tenant, "2", false))
	f.equal("another tenant's", false, redrive("other", "1", false))
	f.equal("the dead one", true, redrive(tenant, "1", false))
	f.equal("what is due then", []string{"1"}, f.dueAside())
	f.equal("the dead one again", false, redrive(tenant, "1", false))
	f.takeStep(e[2].Place, e[2].Place, func(s *onceward.SinkStep) { s.Aside = []onceward.SetAside{{Event: e[0], Tries: 9, Dead: true}} })
	f.equal("the dead one, forgotten", true, redrive(tenant, "1", true))
	f.equal("what is due then", []string{"2"}, f.dueAside())
	f.equal("what is left", 2, f.sink("s").Aside)
}

func outboxIsDropped(f *fixture) {
	f.add(f.news("1", ""), f.news("2", ""), f.news("3", ""), f.news("4", ""))
	drop := func(limit int) int {
		f.Helper()
		n, err := f.Store.DropOutbox(f.ctx, limit)
		f.must(err)
		return n
	}
	f.equal("while there is no sink", 0, drop(10))
	f.hold("s", "r")
	f.hold("slow", "r")
	e := f.outbox(onceward.OutboxPlace{}, 10, 4)
	f.takeStep(onceward.OutboxPlace{}, e[3].Place, func(s *onceward.SinkStep) { s.Aside = []onceward.SetAside{{Event: e[1], Dead: true}} })
	f.equal("while one sink has none", 0, drop(10))
	f.takeStep(onceward.OutboxPlace{}, e[2].Place, func(s *onceward.SinkStep) { s.Sink = "slow" })
	f.equal("a step", 1, drop(1))
	f.equal("the rest", 1, drop(10))
	f.equal("what is left", []string{"2", "4"}, eventIDs(f.outbox(onceward.OutboxPlace{}, 10, 2)))
	there, err := f.Store.ForgetSink(f.ctx, "s")
	f.must(err)
	again, err := f.Store.ForgetSink(f.ctx, "s")
	f.must(err)
	f.equal("a sink is forgotten once", []bool{true, false}, []bool{there, again})
	f.equal("what nobody waits for any more", 1, drop(10))
}
