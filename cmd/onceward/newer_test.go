package main

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/testdb"
)

// A replica meets a row that a newer release wrote, as in the middle of an
// upgrade: it changes nothing, gives the row back at once, tells callers to ask
// again, and goes on with everything else. What can read the row goes on with it.
func TestReplicaLeavesARowThatANewerReleaseWroteAlone(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	provider := proctest.NewProvider(t)
	if _, err := provider.AddFaults(simprovider.Script{System: "tickets", Faults: []simprovider.Fault{{Name: "drop_after_commit"}}}); err != nil {
		t.Fatal(err)
	}
	replica := proctest.NewServer(t, dsn, []string{contractFile(t, slowTicket)}, "SIM_URL="+provider.URL)
	replica.Start("")
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	ask := func(id string) proctest.Answer {
		a, err := replica.Call(t.Context(), "tickets.slow", fmt.Sprintf(`{"id":%q}`, id), 0)
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		return a
	}
	const further = 200 // a tag of a detail that no release knows
	id := ask("newer").Operation.ID
	row := rows{t, conn}
	row.until("it is unknown, and looked up later", `select o.state = $1 and d.at > now() + interval '1 second' from operations o join due d on d.operation_id = o.id`, int16(onceward.StateOutcomeUnknown))
	row.exec(`update operations set detail = detail || $1::bytea`, []byte{further})
	var before int64
	row.scan(&before, `select version from operations`)
	row.until("it is due", `select at <= now() + interval '1 second' from due`)
	row.until("it is taken and given back", `select at > now() + interval '100 milliseconds' and at < now() + interval '5 seconds' from due where at > (select updated_at from operations) + interval '2 seconds'`)

	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if a := ask(fmt.Sprintf("neighbour-%d", i)); a.Status != http.StatusOK && a.Status != http.StatusAccepted {
				t.Errorf("a neighbour is answered %d %s", a.Status, a.Code)
			}
			if a := ask("newer"); a.Status != http.StatusServiceUnavailable || a.Code != string(onceward.CodeLedgerTooNew) {
				t.Errorf("it is answered %d %s, want 503 ledger_too_new", a.Status, a.Code)
			}
			if a, err := proctest.Ask(t.Context(), "GET", replica.URL()+"/v1/operations/"+id, ""); err != nil || a.Code != string(onceward.CodeLedgerTooNew) {
				t.Errorf("it is read as %+v, %v", a, err)
			}
		})
	}
	wg.Wait()
	var after int64
	row.scan(&after, `select version from operations where id = (select operation_id from due order by since limit 1)`)
	if after != before {
		t.Errorf("the row went from version %d to %d", before, after)
	}

	row.exec(`update operations set detail = substr(detail, 1, length(detail) - 1) where get_byte(detail, length(detail) - 1) = $1`, further)
	for until := time.Now().Add(30 * time.Second); ; pause(t, 50*time.Millisecond) {
		a := ask("newer")
		if a.Operation.State == "succeeded" {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("once it can be read it stays %+v", a)
		}
	}
	if e := provider.Effects("newer"); e.Count != 1 || e.Requests != 1 {
		t.Errorf("it has %d effects of %d requests, want one of one", e.Count, e.Requests)
	}
}

// rows is a look into a ledger's tables beside its replicas.
type rows struct {
	*testing.T
	conn *pgx.Conn
}

func (l rows) exec(sql string, args ...any) {
	l.Helper()
	tag, err := l.conn.Exec(l.Context(), sql, args...)
	if err != nil || tag.RowsAffected() != 1 {
		l.Fatalf("%s: %d rows, %v", sql, tag.RowsAffected(), err)
	}
}

func (l rows) scan(into any, sql string, args ...any) {
	l.Helper()
	if err := l.conn.QueryRow(l.Context(), sql, args...).Scan(into); err != nil {
		l.Fatalf("%s: %v", sql, err)
	}
}

// until asks until the answer is yes; no row is no.
func (l rows) until(what, sql string, args ...any) {
	l.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); pause(l.T, 10*time.Millisecond) {
		var yes bool
		if err := l.conn.QueryRow(l.Context(), "select exists(select from ("+sql+") q (yes) where yes)", args...).Scan(&yes); err != nil {
			l.Fatalf("%s: %v", sql, err)
		}
		if yes {
			return
		}
	}
	l.Fatalf("never: %s", what)
}
