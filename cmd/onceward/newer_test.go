package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
)

// A newer replica wrote an operation in a state that this one does not know. It is
// due, and asked for: nothing is sent and nothing of its row changes, the others are
// served, and it goes on once its form is known.
func TestAReplicaLeavesTheRecordThatANewerOneWroteAlone(t *testing.T) {
	t.Parallel()
	proctest.Binary(t)
	provider, dsn := proctest.NewProvider(t), testdb.Postgres(t)
	s := simServer(t, dsn, provider)
	s.Start("")
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	row := func() (text string) { // as it stands, whatever it means
		if err := conn.QueryRow(t.Context(), "select operations::text from operations where key like '%newer%'").Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	become := func(state string) {
		if _, err := conn.Exec(t.Context(), "update operations set state = state "+state+" where key like '%newer%'"); err != nil {
			t.Fatal(err)
		}
	}
	call := func(event string, wait time.Duration) proctest.Answer {
		a, err := s.Call(t.Context(), "tickets.create", fmt.Sprintf(`{"source":"up","event_id":%q,"subject":"s"}`, event), wait)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	turn := func(what, why string) {
		if a, err := proctest.Ask(t.Context(), "POST", s.URL()+"/v1/tools/tickets.create/"+what, why); err != nil || a.Status >= 300 {
			t.Fatalf("%s: %+v, %v", what, a, err)
		}
	}
	turn("pause", `{"reason":"an upgrade"}`)
	id := call("newer", time.Millisecond).Operation.ID
	become("+ 100")
	before := row()
	turn("resume", "")
	if a := call("other", 30*time.Second); a.Operation.State != "succeeded" {
		t.Fatalf("another operation is answered %+v", a)
	}
	var first, second time.Time
	for _, at := range []*time.Time{&first, &second} { // taken, and given back, twice
		becomes(t, "the record is given back", time.Minute, func() bool {
			err := conn.QueryRow(t.Context(), "select at from due where parked = '' and at > $1", first).Scan(at)
			return err == nil
		})
	}
	for _, a := range []func() (proctest.Answer, error){
		func() (proctest.Answer, error) { return call("newer", time.Millisecond), nil },
		func() (proctest.Answer, error) {
			return proctest.Ask(t.Context(), "GET", s.URL()+"/v1/operations/"+id, "")
		},
	} {
		if a, err := a(); err != nil || a.Status != http.StatusServiceUnavailable || a.Code != string(onceward.CodeLedgerTooNew) {
			t.Errorf("the newer record is answered %+v, %v", a, err)
		}
	}
	if now := row(); now != before || provider.Effects("up/newer").Count != 0 {
		t.Fatalf("of the newer record there are %d effects, and its row is\n%s\nwant\n%s", provider.Effects("up/newer").Count, now, before)
	}
	become("- 100")
	becomes(t, "it goes on", time.Minute, func() bool { return call("newer", time.Second).Operation.State == "succeeded" })
	if n := provider.Effects("up/newer").Count; n != 1 {
		t.Errorf("there are %d effects, want one", n)
	}
}
