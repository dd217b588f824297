package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/testdb"
	"github.com/onceward/onceward/internal/testneed"
)

// slowTicket is a probed write whose effect may come late, with times so short
// that a test can wait for them.
const slowTicket = `apiVersion: onceward/v1
kind: Tool
metadata: {name: tickets.slow, owner: x, description: a ticket that may come late}
spec:
  effect: probed_write
  key: [input.id]
  request:
    method: POST
    url: '${env.SIM_URL}/tickets'
    json: {title: t, external_id: '${operation.provider_key}', audit_reference: '${input.id}'}
    deadline: 2500ms
  lease: 4s
  outcomes: [{when: 'response.status == 201', is: done, reference: '${response.json.id}'}]
  probe:
    request: {url: '${env.SIM_URL}/tickets?external_id=${operation.provider_key}'}
    found: '${response.json.items}'
    reference: '${item.id}'
    settle: 2s
  retry: {max_attempts: 5, backoff: {initial: 100ms, max: 1s}}
`

// jumping is replicas on a PostgreSQL whose clock the test steps, by libfaketime.
type jumping struct {
	*testing.T
	clock    string // the file that says how far it is ahead
	dsn      string
	provider *proctest.Provider
	servers  []*proctest.Server
}

func newJumping(t *testing.T, fault simprovider.Fault) *jumping {
	t.Helper()
	libraries, err := filepath.Glob("/usr/lib*/*/faketime/libfaketime.so.1")
	if err != nil || len(libraries) == 0 {
		testneed.Missing(t, fmt.Sprintf("no libfaketime (Debian: apt-get install libfaketime; %v)", err))
	}
	proctest.Binary(t)
	// Why not the test's own folder: its parent is closed to the server's account.
	dir, err := os.MkdirTemp("", "onceward-clock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j := &jumping{T: t, clock: filepath.Join(dir, "ahead"), provider: proctest.NewProvider(t)}
	j.write(0)
	server := testdb.ClusterWith(t, testdb.Options{Env: []string{
		"LD_PRELOAD=" + libraries[0], "FAKETIME_TIMESTAMP_FILE=" + j.clock, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}})
	j.dsn = server.DSN()
	if _, err := j.provider.AddFaults(simprovider.Script{System: "tickets", Faults: []simprovider.Fault{fault}}); err != nil {
		t.Fatal(err)
	}
	j.start(contractFile(t, slowTicket))
	j.start(contractFile(t, slowTicket))
	return j
}

func (j *jumping) start(contract string) {
	j.Helper()
	s := proctest.NewServer(j, j.dsn, []string{contract}, "SIM_URL="+j.provider.URL)
	s.Start("")
	j.servers = append(j.servers, s)
}

// ahead steps the database's clock: so far it is ahead of this machine's.
func (j *jumping) ahead(by time.Duration) {
	j.Helper()
	j.write(by)
	conn, err := pgx.Connect(j.Context(), j.dsn)
	if err != nil {
		j.Fatal(err)
	}
	defer func() { _ = conn.Close(j.Context()) }()
	var now time.Time
	if err := conn.QueryRow(j.Context(), "select clock_timestamp()").Scan(&now); err != nil {
		j.Fatal(err)
	}
	if off := time.Until(now) - by; off.Abs() > time.Minute {
		j.Fatalf("the database's clock is %s off where it was put", off)
	}
}

func (j *jumping) write(by time.Duration) {
	j.Helper()
	next := j.clock + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+ds\n", int(by.Seconds())), 0o644); err != nil {
		j.Fatal(err)
	}
	if err := os.Rename(next, j.clock); err != nil { // nobody reads half of it
		j.Fatal(err)
	}
}

// sent asks the first replica for a ticket and waits until the provider has it.
func (j *jumping) sent(id string) (operation string) {
	j.Helper()
	a, err := j.servers[0].Call(j.Context(), "tickets.slow", fmt.Sprintf(`{"id":%q}`, id), 0)
	if err != nil || a.Status != 202 {
		j.Fatalf("a slow ticket: %+v, %v", a, err)
	}
	for until := time.Now().Add(10 * time.Second); j.provider.Effects(id).Requests == 0; pause(j.T, 5*time.Millisecond) {
		if time.Now().After(until) {
			j.Fatal("the ticket is not sent")
		}
	}
	return a.Operation.ID
}

// watch reads the operation at all replicas until it is in one of the states.
func (j *jumping) watch(operation string, within time.Duration, each func(proctest.Operation), states ...string) {
	j.Helper()
	var last proctest.Operation
	for until := time.Now().Add(within); time.Now().Before(until); pause(j.T, 20*time.Millisecond) {
		for _, s := range j.servers {
			a, err := proctest.Ask(j.Context(), "GET", s.URL()+"/v1/operations/"+operation, "")
			if err != nil {
				j.Fatal(err)
			}
			last = a.Operation
			each(last)
			for _, state := range states {
				if last.State == state {
					return
				}
			}
		}
	}
	j.Fatalf("after %s it is %+v, want one of %v", within, last, states)
}

func (j *jumping) wantOne(id string, requests int) {
	j.Helper()
	if e := j.provider.Effects(id); e.Count != 1 || e.Requests != requests {
		j.Errorf("%s has %d effects of %d requests, want one of %d", id, e.Count, e.Requests, requests)
	}
}

// The clock of a real PostgreSQL is stepped while an attempt is in flight: no
// other replica takes its lease for over.
func TestSteppedDatabaseClockEndsNoLease(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"FiveMinutesAhead": 5 * time.Minute, "FiveMinutesBack": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJumping(t, simprovider.Fault{Name: "slow", Delay: simprovider.Duration(2 * time.Second)})
			pause(t, 12*time.Second) // who has watched for less than lease and settle believes no lease in any case
			operation := j.sent("a")
			owner := j.servers[0]
			j.servers = j.servers[1:]
			// Standing still, the owner cannot say in the new time that it lives.
			owner.Signal(syscall.SIGSTOP)
			defer time.AfterFunc(1200*time.Millisecond, func() { owner.Signal(syscall.SIGCONT) }).Stop()
			j.ahead(by)
			j.watch(operation, time.Minute, func(op proctest.Operation) {
				if op.State != "effect_pending" && op.State != "succeeded" || op.Attempts != 1 {
					t.Errorf("in flight it is %+v", op)
				}
			}, "succeeded")
			j.wantOne("a", 1)
		})
	}
}

// The clock jumps while an effect is still to come: a look-up that does not see
// it proves nothing, whatever the clock says how long ago it was sent.
func TestSteppedDatabaseClockProvesNoAbsence(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]time.Duration{"FiveMinutesAhead": {5 * time.Minute}, "BackAndAhead": {-5 * time.Minute, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJumping(t, simprovider.Fault{Name: "late_commit", Delay: simprovider.Duration(5 * time.Second)})
			operation := j.sent("a")
			j.watch(operation, 10*time.Second, func(proctest.Operation) {}, "outcome_unknown")
			for _, by := range steps {
				j.ahead(by)
				pause(t, 1500*time.Millisecond) // the replicas see it
			}
			j.start(contractFile(t, slowTicket))
			j.watch(operation, time.Minute, func(op proctest.Operation) {
				if op.Attempts != 1 {
					t.Errorf("it was sent again: %+v", op)
				}
			}, "succeeded")
			j.wantOne("a", 1)
		})
	}
}
