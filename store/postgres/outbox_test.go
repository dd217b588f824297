package postgres_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/store/postgres"
)

// A dump is restored on another server, whose transactions are not numbered as far:
// neither what the sink had not had yet, nor what is added there, is passed over.
func TestOutboxOfARestoredDumpIsReadOn(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	s := open(t, dsn, postgres.Options{})
	add := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			e, err := onceward.NewOutboxEvent(onceward.OutboxEvent{ID: id, Type: "test.happened", At: time.Now()})
			if err == nil {
				err = s.AddEvents(t.Context(), []onceward.OutboxEvent{e})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(after onceward.OutboxPlace, want int) (events []onceward.OutboxEvent) {
		t.Helper()
		await(t, "the events", func() bool {
			var err error
			if events, err = s.ReadOutbox(t.Context(), after, 10); err != nil {
				t.Fatal(err)
			}
			return len(events) >= want
		})
		return events
	}
	hold := func() onceward.Sink {
		t.Helper()
		sink, err := s.HoldSink(t.Context(), "s", "r", time.Hour)
		if err != nil || !sink.Held {
			t.Fatalf("hold: %+v, %v", sink, err)
		}
		return sink
	}
	add("1", "2", "3")
	hold()
	first := read(onceward.OutboxPlace{}, 3)
	ours, err := s.StepSink(t.Context(), onceward.SinkStep{Sink: "s", Owner: "r", Lease: time.Hour, To: first[1].Place, Aside: []onceward.SetAside{{Event: first[0], Dead: true}}})
	if err != nil || !ours {
		t.Fatalf("step: %t, %v", ours, err)
	}
	conn := connect(t, dsn)
	for _, table := range []string{"outbox", "sinks", "aside"} { // as if that server had done a million more
		if _, err := conn.Exec(t.Context(), "update "+table+" set stamp = (stamp::text::bigint + 1000000000)::text::xid8"); err != nil {
			t.Fatal(err)
		}
	}
	add("4")
	place := hold().Place
	var ids []string
	for _, e := range read(place, 2) {
		ids = append(ids, e.ID)
	}
	if len(ids) != 2 || ids[0] != "3" || ids[1] != "4" {
		t.Fatalf("the sink is given %q", ids)
	}
	aside, err := s.ListAside(t.Context(), onceward.AsideFilter{Tenant: onceward.DefaultTenant, Sink: "s", Limit: 10})
	if err != nil || len(aside) != 1 || aside[0].Event.ID != "1" {
		t.Fatalf("set aside is %+v, %v", aside, err)
	}
	if again := hold().Place; again != place {
		t.Fatalf("the sink moved from %+v to %+v", place, again)
	}
}
