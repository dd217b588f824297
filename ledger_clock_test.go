package onceward_test

import (
	"context"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/oncewardtest"
)

// jump is how far the database's clock is stepped in these tests: past every
// lease and settle time that is in force.
const jump = 5 * time.Minute

func slowToSettle(i *onceward.ToolInfo) { i.Policy.Settle = 120 * time.Second }

// lookers are the processes that look at an attempt after the database's clock
// jumped. Each returns the looker; attempt makes the attempt.
var lookers = map[string]func(t *testing.T, w *world, attempt func()) *replica{
	"OwnerItself": func(_ *testing.T, w *world, attempt func()) *replica {
		attempt()
		w.ahead.Add(int64(jump))
		return w.replica
	},
	"ProcessThatWatched": func(_ *testing.T, w *world, attempt func()) *replica {
		other := w.another()
		other.passSlowly(5*time.Minute, 10*time.Second)
		attempt()
		w.ahead.Add(int64(jump))
		return other
	},
	"ProcessStartedAfterwards": func(_ *testing.T, w *world, attempt func()) *replica {
		attempt()
		w.ahead.Add(int64(jump))
		return w.another()
	},
}

// The database's clock jumps ahead (a failover, a step) while attempts are in
// flight. Whoever looks, no lease ends early and no absence is believed early:
// an effect that appears after 90 of 120 seconds is found, and is the only one.
func TestAClockJumpEndsNoLeaseAndProvesNoAbsence(t *testing.T) {
	t.Parallel()
	tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, slowToSettle)
	for name, looker := range lookers {
		t.Run("Lease/"+name, func(t *testing.T) {
			t.Parallel()
			onEveryStore(t, tool, func(t *testing.T, w *world) {
				var a *onceward.Answer
				slow := w.provider.HoldAnswer()
				r := looker(t, w, func() {
					var err error
					if a, err = w.submit(`{"id":"a"}`); err != nil {
						t.Fatal(err)
					}
					held(t, slow)
				})
				for range 4 {
					w.clock.Advance(time.Second)
					w.step(1)
					r.step(1)
					if op := w.get(a.Operation.ID); op.State != onceward.StateEffectPending {
						t.Fatalf("inside its lease it is %s\n%s", op.State, w.timeline(op))
					}
				}
				slow.Release()
				w.ledger.WaitIdle()
				w.want(a.Operation, onceward.StateSucceeded, 1)
			})
		})
		t.Run("Absence/"+name, func(t *testing.T) {
			t.Parallel()
			onEveryStore(t, tool, func(t *testing.T, w *world) {
				var a *onceward.Answer
				w.provider.Script(oncewardtest.FaultLate)
				r := looker(t, w, func() { a = w.ask(`{"id":"a"}`) })
				w.comesLate(r, a.Operation)
			})
		})
	}
	t.Run("Absence/AfterTheOwnersDeath", func(t *testing.T) {
		t.Parallel()
		onEveryStore(t, tool, func(t *testing.T, w *world) {
			w.provider.Script(oncewardtest.FaultLate)
			w.crash("dispatch.after_send", `{"id":"a"}`)
			w.ahead.Add(int64(jump))
			w.restart()
			w.comesLate(w.replica, w.ask(`{"id":"a"}`).Operation)
		})
	})
}

// comesLate lets a process look for an effect that appears after 90 seconds.
func (w *world) comesLate(r *replica, op *onceward.Operation) {
	w.t.Helper()
	r.passSlowly(60*time.Second, 5*time.Second)
	if w.provider.Probes() == 0 {
		w.t.Fatal("nobody looked")
	}
	r.want(op, onceward.StateOutcomeUnknown, 0)
	r.pass(30 * time.Second)
	w.provider.Commit()
	r.passSlowly(10*time.Minute, 10*time.Second)
	r.want(op, onceward.StateSucceeded, 1)
	r.wantWrites(1)
}

// A jump suspends, and does not end, recovery.
func TestAfterAClockJumpRecoveryGoesOnInTime(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, slowToSettle), func(t *testing.T, w *world) {
		w.crash("dispatch.before_send", `{"id":"a"}`)
		w.step(1)
		w.ahead.Add(int64(jump))
		w.passSlowly(5*time.Minute, 10*time.Second)
		a := w.ask(`{"id":"a"}`)
		w.want(a.Operation, onceward.StateSucceeded, 1)
	})
}

// off is the provider as a process sees it whose clock differs.
type off struct {
	onceward.Provider
	by time.Duration
}

func (p off) Send(ctx context.Context, req *onceward.Request, opts onceward.SendOptions) onceward.Evidence {
	ev := p.Provider.Send(ctx, req, opts)
	if !ev.LastByteAt.IsZero() {
		ev.LastByteAt = ev.LastByteAt.Add(p.by)
	}
	return ev
}

// A process whose own clock is five minutes off takes nothing over early,
// believes no absence early, sends its own writes, and advises sensible waits.
func TestAProcessWhoseClockIsOffWorksByTheDatabases(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"Ahead": jump, "Behind": -jump} {
		wrong := func(w *world) *replica {
			return w.another(func(o *onceward.Options) { o.Clock, o.Provider = w.clock.Off(by), off{w.provider, by} })
		}
		tool := oncewardtest.NewTool("t.write", onceward.EffectProbedWrite, slowToSettle)
		t.Run(name+"/Lease", func(t *testing.T) {
			t.Parallel()
			onEveryStore(t, tool, func(t *testing.T, w *world) {
				other := wrong(w)
				other.passSlowly(5*time.Minute, 10*time.Second)
				w.work()
				for i, r := range []*replica{w.replica, other} { // each owns one, the other looks
					looks := []*replica{other, w.replica}[i]
					slow := w.provider.HoldAnswer()
					a, err := r.submit([]string{`{"id":"a"}`, `{"id":"b"}`}[i])
					if err != nil {
						t.Fatal(err)
					}
					held(t, slow)
					looks.pass(4 * time.Second)
					again := looks.ask([]string{`{"id":"a"}`, `{"id":"b"}`}[i])
					if again.Operation.State != onceward.StateEffectPending || again.RetryAfter <= 0 || again.RetryAfter > time.Minute {
						t.Fatalf("it is %s, ask again after %s", again.Operation.State, again.RetryAfter)
					}
					if until := a.Operation.Running().LeaseUntil; !until.Equal(a.Operation.CreatedAt.Add(5 * time.Second)) {
						t.Fatalf("a lease of %s", until.Sub(a.Operation.CreatedAt))
					}
					slow.Release()
					r.ledger.WaitIdle()
					w.want(a.Operation, onceward.StateSucceeded, i+1)
				}
			})
		})
		t.Run(name+"/Absence", func(t *testing.T) {
			t.Parallel()
			onEveryStore(t, tool, func(t *testing.T, w *world) {
				other := wrong(w)
				w.provider.Script(oncewardtest.FaultLate)
				a := other.ask(`{"id":"a"}`)
				if a.RetryAfter <= 0 || a.RetryAfter > time.Minute {
					t.Fatalf("ask again after %s", a.RetryAfter)
				}
				if last := a.Operation.Attempts[0].LastByteAt; !last.Equal(a.Operation.CreatedAt) {
					t.Fatalf("the last byte left %s after the claim", last.Sub(a.Operation.CreatedAt))
				}
				w.comesLate(other, a.Operation)
			})
		})
	}
}

// farStore is a database that answers late: its clock was read long before.
type farStore struct {
	onceward.Store
	clock *oncewardtest.Clock
	late  *time.Duration
}

func (s farStore) Beat(ctx context.Context, r onceward.Replica) ([]onceward.Replica, time.Time, error) {
	defer s.clock.Advance(*s.late)
	return s.Store.Beat(ctx, r)
}

func (s farStore) Commit(ctx context.Context, batch []onceward.Change) (onceward.Commit, error) {
	defer s.clock.Advance(*s.late)
	return s.Store.Commit(ctx, batch)
}

// The claim's own commit, and every exchange before it, took most of a lease: by
// the database's clock the lease is over, though the process's notion of that
// clock is younger. Nothing is sent, and it is sent once the database is near.
func TestALeaseIsNotTrustedFurtherThanTheDatabasesClockIsKnown(t *testing.T) {
	t.Parallel()
	onEachStore(t, oncewardtest.NewTool("t.write", onceward.EffectUnsafeWrite), func(t *testing.T, w *world) {
		late := 4 * time.Second // of a lease of 5
		far := w.another(func(o *onceward.Options) {
			o.Store = farStore{o.Store, w.clock, &late}
			o.Writer = onceward.DirectWriter{Store: o.Store}
		})
		a, err := far.submit(`{"id":"a"}`)
		if err != nil {
			t.Fatal(err)
		}
		far.ledger.WaitIdle()
		if op := far.get(a.Operation.ID); w.provider.Writes() != 0 || op.OpenAttempts() > 0 {
			t.Fatalf("%d writes left under a lease that was over\n%s", w.provider.Writes(), w.timeline(op))
		}
		late = 0
		far.pass(time.Minute)
		far.want(a.Operation, onceward.StateSucceeded, 1)
	})
}
