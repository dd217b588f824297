package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/faultproxy"
	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/testdb"
)

// synchronous makes the primary wait for its standby with each commit.
func synchronous(t *testing.T, primary *testdb.Server) {
	t.Helper()
	if err := primary.Synchronous(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// pair is a primary with a standby that follows through a proxy, and one replica
// that reaches "the primary" through another.
type pair struct {
	*testing.T
	primary, standby   *testdb.Server
	between, toPrimary *faultproxy.Proxy
	provider           *proctest.Provider
	replica            *proctest.Server
}

func newPair(t *testing.T, env ...string) *pair {
	t.Helper()
	proctest.Binary(t)
	p := &pair{T: t, primary: testdb.Cluster(t), provider: proctest.NewProvider(t)}
	var dsn string
	p.toPrimary, dsn = proxied(t, p.primary.DSN())
	p.between, _ = proxied(t, p.primary.DSN())
	p.standby = p.primary.Standby(t, p.between.Addr())
	p.replica = simServer(t, dsn, p.provider, env...)
	p.replica.Start("")
	return p
}

// failover lets the standby take the place of the primary, which dies.
func (p *pair) failover() {
	p.Helper()
	if err := p.primary.Kill(); err != nil {
		p.Fatal(err)
	}
	p.between.ResetAll()
	p.between.Heal()
	if err := p.standby.Promote(p.Context()); err != nil {
		p.Fatal(err)
	}
	p.toPrimary.Redirect(p.standby.Addr())
	p.toPrimary.ResetAll()
}

// forgettable are writes of each class that promises one effect, and what a
// ledger that forgot its acknowledged operation makes of asking again.
var forgettable = []struct {
	write
	effects int
}{
	{write{tool: "payments.create", input: `{"order_id":"o","amount":100,"currency":"EUR"}`, reference: "o"}, 1},               // the provider knows the key
	{write{tool: "contacts.upsert", input: `{"external_id":"c","change_id":"1","name":"n"}`, reference: "c/1"}, 1},             // it is there already
	{write{tool: "tickets.create", input: `{"source":"forgotten","event_id":"e","subject":"s"}`, reference: "forgotten/e"}, 2}, // a second ticket
	{write{tool: "fax.send", input: `{"case_id":"f","to":"+49301234567","document":"d"}`, reference: "f"}, 2},                  // a second fax
}

// ask asks until the write has an end.
func (p *pair) ask(w write) proctest.Answer {
	p.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); pause(p.T, 50*time.Millisecond) {
		if a, err := p.replica.Call(p.Context(), w.tool, w.input, 10*time.Second); err == nil && a.Operation.Final() {
			return a
		}
	}
	p.Fatalf("%s does not end", w.reference)
	return proctest.Answer{}
}

// What docs/operating says can be lost is lost: a standby that the primary does
// not wait for has not heard of what was acknowledged last. This is also what
// shows that the test with a synchronous standby could fail.
func TestAsynchronousStandbyForgetsWhatWasAcknowledgedLast(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	if err := p.primary.AwaitStandbys(t.Context(), 1, "async"); err != nil {
		t.Fatal(err)
	}
	early := write{tool: "tickets.create", input: `{"source":"early","event_id":"e","subject":"s"}`, reference: "early/e"}
	p.ask(early)
	if err := p.standby.AwaitReplayed(t.Context(), p.primary); err != nil {
		t.Fatal(err)
	}
	p.between.Partition()
	for _, f := range forgettable {
		if a := p.ask(f.write); a.Operation.State != "succeeded" || a.Decision != "fresh" {
			t.Fatalf("%s: %+v", f.reference, a)
		}
	}
	p.failover()
	if a := p.ask(early); a.Decision != "replayed" {
		t.Errorf("what the standby had is answered %+v", a)
	}
	for _, f := range forgettable {
		a := p.ask(f.write)
		if n := p.provider.Effects(f.reference).Count; a.Decision != "fresh" || n != f.effects {
			t.Errorf("%s is answered %s and has %d effects, want it forgotten, and %d", f.reference, a.Decision, n, f.effects)
		}
	}
}

// A claim that only the primary has is not acknowledged and nothing is sent.
// When the standby takes over, the claim is made there, by the same request.
func TestClaimThatTheSynchronousStandbyHasNotGotSendsNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	synchronous(t, p.primary)
	p.between.Partition()
	w := forgettable[2]
	answered := make(chan proctest.Answer, 1)
	go func() {
		a, err := p.replica.Call(t.Context(), w.tool, w.input, 20*time.Second)
		if err != nil {
			t.Errorf("the request was cut off: %v", err)
		}
		answered <- a
	}()
	if err := p.primary.AwaitHeldCommit(t.Context()); err != nil {
		t.Fatal(err)
	}
	pause(t, time.Second) // long enough to send, if somebody would
	select {
	case a := <-answered:
		t.Fatalf("a claim that is nowhere but on the primary is answered %+v", a)
	default:
	}
	if n := p.provider.Effects(w.reference).Requests; n != 0 {
		t.Fatalf("it was sent %d times", n)
	}
	p.failover()
	first, again := <-answered, p.ask(w.write)
	if n := p.provider.Effects(w.reference).Count; again.Operation.State != "succeeded" || n != 1 {
		t.Errorf("it is answered %+v, and then %+v with %d effects", first, again, n)
	}
}

func TestDoctorWarnsOfAnAsynchronousStandby(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	if err := p.primary.AwaitStandbys(t.Context(), 1, "async"); err != nil {
		t.Fatal(err)
	}
	if k := p.doctor("synchronous_standby_names"); k.Status != "warning" || !strings.Contains(k.Detail, "a failover can lose") {
		t.Errorf("doctor says %+v of an asynchronous standby", k)
	}
	synchronous(t, p.primary)
	if k := p.doctor("synchronous_standby_names"); k.Status != "ok" {
		t.Errorf("doctor says %+v of a synchronous standby", k)
	}
	if err := p.primary.Set(t.Context(), "synchronous_commit", "off"); err != nil {
		t.Fatal(err)
	}
	if k := p.doctor("synchronous_commit"); k.Status != "warning" || !strings.Contains(k.Detail, "the ledger's commits ask for on") {
		t.Errorf("doctor says %+v of commits that do not wait", k)
	}
}

// doctor is what onceward doctor says of one thing. It exits as for a ledger that
// cannot be relied on: these servers do not sync their disks.
func (p *pair) doctor(name string) check {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), proctest.Binary(p), "doctor", "--json", "--db", p.primary.DSN())
	out, err := cmd.Output()
	var said struct{ Checks []check }
	if unread := json.Unmarshal(out, &said); unread != nil {
		p.Fatalf("doctor: %v, %v: %s", err, unread, out)
	}
	if cmd.ProcessState.ExitCode() != exitUnreachable {
		p.Errorf("doctor exits %d where fsync is off, want %d", cmd.ProcessState.ExitCode(), exitUnreachable)
	}
	i := slices.IndexFunc(said.Checks, func(k check) bool { return k.Name == name })
	if i < 0 {
		p.Fatalf("doctor says nothing of %s: %s", name, out)
	}
	return said.Checks[i]
}
