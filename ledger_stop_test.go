package onceward_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
	"github.com/onceward/onceward/worker"
)

func inTenant(p onceward.Principal, t onceward.Tenant) onceward.Principal {
	p.Tenant = t
	return p
}

func by(p onceward.Principal) func(*onceward.Intent) {
	return func(in *onceward.Intent) { in.Principal = p }
}

// The switch is thrown in one process while another one works: what it has on
// the wire settles, and nothing new starts after its next look at the switches.
func TestStopOfEverythingReachesOtherReplicasAndTenantsAndLetsRunningAttemptsSettle(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
	onEachStore(t, tool, func(t *testing.T, w *world) {
		other := w.another()
		looks := worker.NewSwitches(other.ledger)
		if every, _ := looks.Idle(); every > time.Second {
			t.Fatalf("a replica looks every %s only", every)
		}
		slow := w.provider.HoldAnswer()
		running, err := other.submit(`{"id":"running"}`)
		if err != nil {
			t.Fatal(err)
		}
		held(t, slow)
		admin := onceward.LocalPrincipal()
		wantCode(t, w.ledger.StopEverything(t.Context(), admin, " "), onceward.CodeEvidenceRequired)
		if err := w.ledger.StopEverything(t.Context(), admin, "the agent runs wild"); err != nil {
			t.Fatal(err)
		}
		if _, err := looks.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		rival := inTenant(admin, "rival")
		var waiting []*onceward.Operation
		for i, p := range []onceward.Principal{admin, rival, rival} {
			r := other
			if i == 2 {
				r = w.replica
			}
			a, err := r.submit(fmt.Sprintf(`{"id":"k%d"}`, i), by(p))
			if err != nil || a.Operation.State != onceward.StateReady || a.Operation.Parked != onceward.ParkToolPaused {
				t.Fatalf("submitted under the stop: %+v, %v", a, err)
			}
			waiting = append(waiting, a.Operation)
		}
		slow.Release()
		other.quiet()
		other.pass(time.Minute)
		w.pass(time.Minute)
		w.want(running.Operation, onceward.StateSucceeded, 1)
		w.wantWrites(1)
		stopped, err := w.ledger.Switches(t.Context(), rival)
		if err != nil || len(stopped) != 1 || stopped[0].By != admin.String() || stopped[0].Reason != "the agent runs wild" {
			t.Fatalf("stopped: %+v, %v", stopped, err)
		}
		report, err := w.ledger.Report(t.Context(), rival, w.clock.Now().Add(-time.Hour), w.clock.Now().Add(time.Hour))
		if err != nil || len(report.Stopped) != 1 || report.Stopped[0].Tenant != onceward.EveryTenant {
			t.Fatalf("the report of a stopped tenant says: %+v, %v", report.Stopped, err)
		}

		n, err := w.ledger.ResumeEverything(t.Context(), admin)
		if err != nil || n != len(waiting) {
			t.Fatalf("released %d, %v", n, err)
		}
		w.pass(time.Second)
		w.wantWrites(1 + len(waiting))
	})
}

// Two replicas are under load when the switch is thrown; once each has looked,
// nothing reaches the provider any more.
func TestNothingIsDispatchedAfterAStopUnderLoad(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite)
	inRealTime(t, tool, func(t *testing.T, w *world) {
		loaded := make(chan struct{})
		other := w.another(func(o *onceward.Options) { o.Provider = &together{Provider: o.Provider, n: 10, all: loaded} })
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var load sync.WaitGroup
		for i, r := range []*replica{w.replica, other} {
			load.Go(func() {
				for n := 0; ctx.Err() == nil && n < 500; n++ {
					_, _ = r.ledger.Submit(ctx, onceward.Intent{Principal: onceward.LocalPrincipal(), Tool: "t.write", Input: fmt.Appendf(nil, `{"id":"r%d-%d"}`, i, n), Wait: time.Millisecond})
				}
			})
		}
		await(t, loaded, "the load")
		if err := w.ledger.StopEverything(ctx, onceward.LocalPrincipal(), "the agent runs wild"); err != nil {
			t.Fatal(err)
		}
		if _, err := worker.NewSwitches(other.ledger).Step(ctx); err != nil {
			t.Fatal(err)
		}
		w.quiet()
		other.quiet()
		writes := w.provider.Writes()
		for i := range 20 {
			for j, r := range []*replica{w.replica, other} {
				if _, err := r.submit(fmt.Sprintf(`{"id":"late%d-%d"}`, j, i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		end()
		load.Wait()
		w.quiet()
		other.quiet()
		if got := w.provider.Writes(); got != writes {
			t.Fatalf("%d writes after the stop", got-writes)
		}
	})
}

func TestOnlyWhoRunsTheServerStopsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite))
	admin := onceward.LocalPrincipal()
	narrowed, onlyOperator, onlyAdmin := admin, admin, admin
	narrowed.Tools = []onceward.ToolName{"t.write"}
	onlyOperator.Roles = []onceward.Role{onceward.RoleOperator}
	onlyAdmin.Roles = []onceward.Role{onceward.RoleAdmin}
	for _, p := range []onceward.Principal{narrowed, onlyOperator, onlyAdmin, inTenant(admin, "rival")} {
		wantCode(t, w.ledger.StopEverything(t.Context(), p, "r"), onceward.CodeForbidden)
		_, err := w.ledger.ResumeEverything(t.Context(), p)
		wantCode(t, err, onceward.CodeForbidden)
	}
	if _, paused := w.ledger.Paused("rival", "t.write"); paused {
		t.Fatal("it was stopped")
	}
}
